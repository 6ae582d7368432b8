"""The errors of the content store: each exception is one answer that a caller can act on.

`code` is stable and goes to the wire; the message is a sentence for people.
"""

import errno
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from content.records.problem import Problem


class StoreError(Exception):
    """The root of all errors that the content store raises on purpose; `problems` has the places and fields to change."""

    code: ClassVar[str] = "store_error"
    problems: tuple[Problem, ...] = ()


def run_each(steps: Iterable[Callable[[], None]]) -> None:
    """Run independent steps, the later ones also where an earlier one fails; raise the first error after all.

    FileNotFoundError is raised only if there is no other one: it may be gone at the next try.
    """
    failures = list[StoreError | OSError]()
    for step in steps:
        try:
            step()
        except (StoreError, OSError) as ex:
            failures.append(ex)
    if failures:
        raise min(failures, key=lambda ex: isinstance(ex, FileNotFoundError))


class NotFound(StoreError):
    """A named object does not exist: namespace, project, version, draft, redirect or page."""

    code = "not_found"


class VersionTooOld(StoreError):
    """The changes since a version cannot be found; the lists of the current one can."""

    code = "version_too_old"


class UnknownChange(NotFound):
    """The draft has no change with this id."""

    def __init__(self, message: str, record_id: str) -> None:
        super().__init__(message)
        self.id = record_id


class UnknownRecord(NotFound):
    """An edit names a record that the draft does not have; `place` is the edit's index in its list, from 0."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class AlreadyExists(StoreError):
    """The name is taken; `pointer` is the field of a request that has it, empty where it is none."""

    code = "already_exists"

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        if pointer:
            self.problems = (Problem(self.code, message, pointer=pointer),)


class DuplicateIdentity(StoreError):
    """Another redirect already has this source."""

    code = "duplicate_source"
    pointer: ClassVar = "/source"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.problems = (Problem(self.code, message, pointer=self.pointer),)


class DuplicatePath(DuplicateIdentity):
    """Another page already has this path."""

    code = "duplicate_path"
    pointer = "/path"


class BadRequest(StoreError):
    """The request is malformed, such as a version that is neither a number nor hex."""

    code = "bad_request"


class StaleItem(StoreError):
    """The item has changed since the caller read it (its etag no longer matches)."""

    code = "stale_item"


class StaleDraft(StoreError):
    """The draft's head is not the commit that the caller named."""

    code = "stale_draft"


class StaleProposal(StoreError):
    """The proposal's head is not the commit that the caller named."""

    code = "stale_proposal"


class StaleVersion(StoreError):
    """The project's newest version is not the one that the caller named."""

    code = "stale_version"


class DraftExists(StoreError):
    """A draft with this name already exists, and would be lost."""

    code = "draft_exists"


class NothingToChange(StoreError):
    """The requested state is already the current one."""

    code = "nothing_to_change"


class LostRace(StoreError):
    """Another writer moved the branch first. Nothing was written; the caller may retry."""

    code = "lost_race"


class NothingToPublish(StoreError):
    """The draft does not exist, or has no changes."""

    code = "nothing_to_publish"


class ApprovalRequired(StoreError):
    """The project requires the approval of a second person, which is missing."""

    code = "approval_required"


class SignatureRequired(ApprovalRequired):
    """The project requires signed commits, and one of those that would be published has no signature that counts."""

    code = "signature_required"


class NoVerdict(ApprovalRequired):
    """There is no verdict on the named head, neither an approval nor a rejection."""


class NotAllowed(StoreError):
    """The named object is of a kind that the caller may not write."""

    code = "forbidden"


class Conflicts(StoreError):
    """The same field of the same rule was changed differently on the draft and on release."""

    code = "conflict"

    def __init__(self, message: str, conflicts: Sequence[dict[str, object]]) -> None:
        super().__init__(message)
        self.conflicts = tuple(conflicts)


class ProposalConflicts(Conflicts):
    """A proposal and release conflict: the side `draft` of each is the branch."""


class Invalid(StoreError):
    """The content is invalid; `problems` has the place, the fault and the fix of each."""

    code = "invalid_content"

    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class InvalidPush(StoreError):
    """A push that is not what Git sends, such as a damaged pack or an invalid object; the message has no final period."""


class Broken(StoreError):
    """The repository on disk cannot be read: an object or ref is missing or damaged. Never report it as absence."""

    code = "store_broken"


class Rewound(StoreError):
    """Release does not continue from the state that was served last; nothing is published until that is resolved."""

    code = "release_rewound"


class NotCompiled(StoreError):
    """A state cannot be served before it is compiled, and no earlier one is known."""

    code = "not_compiled"


class Busy(StoreError):
    """Another living writer has held a lock for longer than a request should wait."""

    code = "store_busy"


class SigningKeyUnusable(StoreError):
    """The key with which the service signs its commits is missing or is not one; nothing is committed without it."""

    code = "signing_key_unusable"


class OutOfSpace(StoreError):
    """The disk is full; nothing changed."""

    code = "out_of_space"

    def __init__(
        self, message: str = "The disk is full; nothing was changed. Free some space, then try again."
    ) -> None:
        super().__init__(message)


# ENOSPC: no space left; EDQUOT: the user's quota; EFBIG: the process's file-size limit (RLIMIT_FSIZE).
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_disk_full(ex: BaseException) -> bool:
    """Tell whether an error means a full disk, on behalf of all packages."""
    return isinstance(ex, OutOfSpace) or (isinstance(ex, OSError) and ex.errno in _DISK_FULL)
