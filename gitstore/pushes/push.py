"""A push: the changes of refs that it asks for, the pusher with its grants, and the verdict on each change."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from gitstore.git.repository import Author
from gitstore.layout import ALLOWED_FILES, CommitId
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject


class RefUpdate(NamedTuple):
    """The change of one ref; `old` is None for a new ref, `new` is None for a deletion."""

    name: str
    old: CommitId | None
    new: CommitId | None


class Scope(NamedTuple):
    """The projects of a namespace in which a pusher has a grant."""

    everywhere: bool = False
    projects: frozenset[str] = frozenset()

    def covers(self, project: str) -> bool:
        """Tell whether the grant holds in a project."""
        return self.everywhere or project in self.projects


class Pusher(NamedTuple):
    """The author of a push, with the scopes of the grants that its checks need.

    `redirects` and `pages` are those of `redirect:write` and `page:write`, `settings` of `project:write`.
    """

    author: Author
    redirects: Scope = Scope()
    pages: Scope = Scope()
    settings: Scope = Scope()
    publish: Scope = Scope()
    override: Scope = Scope()


class Push(NamedTuple):
    """A push as it was received: its changes of refs, its options, and whether it is all or nothing."""

    updates: tuple[RefUpdate, ...]
    pusher: Pusher
    options: tuple[str, ...] = ()
    is_atomic: bool = False


class Publish(NamedTuple):
    """A publish of one project by a pushed commit, with the reason of an override if there was one."""

    project: str
    commit: CommitId
    number: int
    override: str = ""


class PushedHead(NamedTuple):
    """The new head of a draft or proposal: the name of its reviews, and the projects that it changes."""

    name: str
    projects: tuple[str, ...]
    head: CommitId


class RefVerdict(NamedTuple):
    """The verdict on one change of a ref: `refusal` is the short reason in the ref's status line, empty if it is accepted.

    `lines` are printed to the pusher, before the status; with a refusal found later, such as a lost race, they do not
    hold. `publishes` are live as soon as the ref has moved; `notes` are recorded before, by commit. `brought` are the
    commits that the repository did not have.
    """

    update: RefUpdate
    refusal: str = ""
    lines: tuple[str, ...] = ()
    publishes: tuple[Publish, ...] = ()
    notes: tuple[tuple[CommitId, str], ...] = ()
    pushed: PushedHead | None = None
    brought: frozenset[CommitId] = frozenset()


class PushRecords(Protocol):
    """The records outside Git that the checks of a push need; they are passed to another process, so they are pickled."""

    @property
    def revokes_tokens(self) -> bool:
        """True if the tokens that `find_token` finds are revoked."""
        ...

    def verdicts(self, project: str, subject: ReviewSubject) -> Sequence[Verdict]:
        """Return the latest verdict of each reviewer on the head of a branch, whatever the branch is named."""
        ...

    def ask_override(self, project: str, head: CommitId, reason: str) -> None:
        """Record, before the attempt, a publish without an approval; an error refuses it."""
        ...

    def note_override(self, publish: Publish) -> None:
        """Record a finished publish without an approval; it is live, so nothing is raised."""
        ...

    def note_push(
        self, updates: Sequence[RefUpdate], heads: Sequence[PushedHead], brought: Collection[CommitId]
    ) -> None:
        """Record, before any ref moves, who pushes which refs, with new heads of branches and the commits that come with them.

        An error refuses the push.
        """
        ...

    def has_access(self) -> bool:
        """Tell whether the pusher still has the grants with which the push began."""
        ...

    def find_token(self, data: bytes) -> int | None:
        """Return the position of an API token of the service that is valid now in a file, None without one."""
        ...


class NoRecords:
    """The records of a service without reviews and tokens."""

    revokes_tokens = False

    def verdicts(self, project: str, subject: ReviewSubject) -> Sequence[Verdict]:
        """Return no verdicts."""
        del project, subject
        return ()

    def ask_override(self, project: str, head: CommitId, reason: str) -> None:
        """Record nothing."""

    def note_override(self, publish: Publish) -> None:
        """Record nothing."""

    def note_push(
        self, updates: Sequence[RefUpdate], heads: Sequence[PushedHead], brought: Collection[CommitId]
    ) -> None:
        """Record nothing."""

    def has_access(self) -> bool:
        """Take access as lasting."""
        return True

    def find_token(self, data: bytes) -> int | None:
        """Find none."""
        del data
        return None


MIRROR_OPTION = "mirror"
"""The push option of a Waypost that pushes what it has published: the trailers of its commits are accepted."""


class PushRules(NamedTuple):
    """The settings of a service for pushes: the files beside the projects, and the address of a proposal.

    In the address, `{namespace}` and `{id}` are replaced by those of the proposal.
    """

    allowed_files: tuple[str, ...] = ALLOWED_FILES
    proposal_address: str = ""


# Called with a line of progress, for the pusher's terminal.
Progress = Callable[[str], None]
