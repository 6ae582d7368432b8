"""A push: the changes of refs that it asks for, the pusher with its grants, and the verdict on each change."""

from collections.abc import Callable
from typing import NamedTuple

from gitstore.git.repository import Author
from gitstore.layout import CommitId


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
    """The author of a push, with the scopes of the grants that its checks need."""

    author: Author
    write: Scope
    publish: Scope
    override: Scope


class Push(NamedTuple):
    """A push as it was received: its changes of refs, its options, and whether it is all or nothing."""

    updates: tuple[RefUpdate, ...]
    pusher: Pusher
    options: tuple[str, ...] = ()
    is_atomic: bool = False


class RefVerdict(NamedTuple):
    """The verdict on one change of a ref: `refusal` is the short reason in the ref's status line, empty if it is accepted.

    `lines` are printed to the pusher, before the status.
    """

    update: RefUpdate
    refusal: str = ""
    lines: tuple[str, ...] = ()


# Called with a line of progress, for the pusher's terminal.
Progress = Callable[[str], None]
