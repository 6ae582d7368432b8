"""The operations that Waypost needs of a Git host, whatever its kind, and their values."""

from enum import Enum
from typing import NamedTuple, Protocol


class StatusState(Enum):
    """The verdict of a commit status; each host has words of its own for it."""

    SUCCESS = "success"
    FAILURE = "failure"
    PENDING = "pending"


class CommitStatus(NamedTuple):
    """A status on a commit: `context` tells it from those of others, `target` is a URL or empty."""

    commit: str
    context: str
    state: StatusState
    text: str
    target: str = ""


class PullState(Enum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class PullRequest(NamedTuple):
    """A pull request on a host; `number` is that of people, within the repository."""

    number: int
    url: str
    state: PullState = PullState.OPEN


class PullText(NamedTuple):
    """The text of a pull request, its body in Markdown."""

    title: str
    body: str


class HostApi(Protocol):
    """The API of one repository on a host. Every call raises RemoteAway or RemoteRefused."""

    async def post_status(self, status: CommitStatus) -> None:
        """Set a status on a commit."""
        ...

    async def open_pull_request(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Open a pull request of a branch into another; where there is an open one, change its text."""
        ...

    async def change_pull_request(self, number: int, text: PullText) -> PullRequest:
        """Change the text of a pull request; return its state, also where it is not open any more."""
        ...

    async def read_pull_request(self, number: int) -> PullRequest:
        """Return a pull request."""
        ...


def shorten_text(text: str, most: int) -> str:
    """Return a text as one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
