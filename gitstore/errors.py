"""Why the content store stops: each exception is one answer that a caller can act on.

`code` is stable and goes to the wire; the message is a sentence for people.
"""

from collections.abc import Sequence
from typing import ClassVar

from content.problem import Problem


class StoreError(Exception):
    """The root of all that the content store raises on purpose."""

    code: ClassVar[str] = "store_error"


class NotFound(StoreError):
    """What was named does not exist: namespace, project, version, draft, redirect or page."""

    code = "not_found"


class UnknownChange(NotFound):
    """The draft changes nothing of this id."""

    def __init__(self, message: str, record_id: str) -> None:
        super().__init__(message)
        self.id = record_id


class UnknownRecord(NotFound):
    """An edit is of a record that the draft does not have; `place` is the edit's in its list, from 0."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class AlreadyExists(StoreError):
    """The name is taken."""

    code = "already_exists"


class DuplicateIdentity(StoreError):
    """Another redirect has this source already."""

    code = "duplicate_source"


class DuplicatePath(DuplicateIdentity):
    """The same, of a page."""

    code = "duplicate_path"


class BadRequest(StoreError):
    """The question itself is malformed, such as a version that is neither number nor hex."""

    code = "bad_request"


class StaleItem(StoreError):
    """The item was changed since the caller read it (its etag no longer holds)."""

    code = "stale_item"


class StaleDraft(StoreError):
    """The draft's head is not the one that the caller named."""

    code = "stale_draft"


class DraftExists(StoreError):
    """There is a draft of that name already, and it would be lost."""

    code = "draft_exists"


class NothingToChange(StoreError):
    """What was asked for is so already."""

    code = "nothing_to_change"


class LostRace(StoreError):
    """Another writer moved the branch first; nothing was written, the caller may try again."""

    code = "lost_race"


class NothingToPublish(StoreError):
    """There is no draft, or it changes nothing."""

    code = "nothing_to_publish"


class ApprovalRequired(StoreError):
    """The project wants a second person to approve, and nobody has."""

    code = "approval_required"


class NotAllowed(StoreError):
    """What was named turns out to be of a kind that the caller may not write."""

    code = "forbidden"


class Conflicts(StoreError):
    """The same field of the same rule was changed differently on the draft and on release."""

    code = "conflict"

    def __init__(self, message: str, conflicts: Sequence[dict[str, object]]) -> None:
        super().__init__(message)
        self.conflicts = tuple(conflicts)


class Invalid(StoreError):
    """The content is wrong; `problems` says what, where, and how to mend it."""

    code = "invalid_content"

    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class Broken(StoreError):
    """The repository on disk cannot be read: an object or ref is missing or damaged. Never to be told as absence."""

    code = "store_broken"


class Busy(StoreError):
    """A lock is held by another living writer for longer than a request should wait."""

    code = "store_busy"


class OutOfSpace(StoreError):
    """The disk is full; nothing was changed."""

    code = "out_of_space"
