"""The dependencies of the application: the settings, and interfaces of the components that are passed in."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

from api.data.dashboard_files import DashboardFiles
from api.data.preview import Preview
from api.data.served_data import ServedData
from api.readiness import ReadyCheck
from api.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")


class Principal(Protocol):
    """An authenticated caller and its permissions."""

    @property
    def kind(self) -> str:
        """`user` or `token`."""

    @property
    def name(self) -> str:
        """The name of the user or token."""

    @property
    def display_name(self) -> str:
        """The display name."""

    @property
    def session(self) -> str:
        """The session of an access token; empty for others."""

    @property
    def used_token(self) -> tuple[int, str] | None:
        """The id and name of the caller's API token; None for others."""

    @property
    def email(self) -> str:
        """An email address for commits."""

    def can(self, resource: str, action: str, namespace: str = "*", project: str = "*") -> bool:
        """Return whether the grants cover this action; `*` means all namespaces or projects."""

    def can_see(self, namespace: str, project: str = "") -> bool:
        """Return whether the caller may read anything in the namespace, or in one of its projects."""


class Authenticator(Protocol):
    """One worker's in-memory table of tokens, users and grants."""

    def is_fresh(self) -> bool:
        """Return whether the table is as new as the database; one `stat`, no SQL."""

    def reload(self) -> None:
        """Read the table again; blocks, so call it in a thread."""

    def reload_locked(self) -> None:
        """Read the table again if the database was locked at the last attempt; blocks."""

    @property
    def edition(self) -> int:
        """A number that changes with every change of the table."""

    def authenticate(self, bearer: str) -> Principal:
        """Return the principal of a token, from memory alone; raises errors.Unauthenticated.

        Raises errors.UnknownSession if `learn` may find the session, and Busy for an unknown token while the database is
        locked.
        """

    def learn(self, session: str) -> None:
        """Look up a session that began a moment ago; blocks, so call it in a thread."""


class Password(NamedTuple):
    """A user name and password, with the address that they came from."""

    username: str
    password: str
    address: str | None


class PasswordTurns(Protocol):
    """One worker's turns of the calls that hash a password."""

    async def run(self, address: str | None, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work`, which blocks, when it is the turn of the address; 503 if too many wait already."""


class PasswordCheck(Protocol):
    """One worker's check of passwords that come with every request; the last ones are kept in memory, as digests."""

    def find(self, password: Password) -> Principal | None:
        """Return the user of a password that was verified a moment ago, from memory alone; None to verify it."""

    def recall(self, password: Password) -> Principal:
        """Return the user of a password that was verified, from memory alone; raises errors.Unauthenticated."""

    async def verify(self, password: Password) -> Principal:
        """Verify a password when it is its turn. Raises errors.Unauthenticated, and 429 after too many failures."""


class CsrfCheck(Protocol):
    """The check of the tokens against forged requests."""

    def accepts(self, session: str, token: str) -> bool:
        """Return whether a token is that of the session."""


class TokenSearch(Protocol):
    """The search for valid API tokens in what one caller writes; what it finds is revoked. All calls block."""

    def find(self, data: bytes) -> int | None:
        """Return the position of a valid token in a file, None without one."""

    def revoke(self, values: Collection[str]) -> frozenset[str]:
        """Return those of the values that are valid tokens."""


LeakSearch = Callable[[Principal, str, str | None, str | None], TokenSearch]
"""Returns the search for a caller, from the reason of a revocation, the namespace and the caller's address."""


class ProjectVersion(Protocol):
    """The published version of a project."""

    @property
    def version(self) -> str:
        """The SHA of the version."""

    @property
    def number(self) -> int:
        """The publish number."""

    @property
    def time(self) -> int:
        """The time of the publish, in seconds since 1970."""


class BackgroundService(Protocol):
    """Background work of one worker beside its requests, such as writing heartbeats in batches."""

    async def start(self) -> None:
        """Start; called once, after the fork and before the first request. An exception stops the service."""

    async def stop(self) -> None:
        """Write all pending data, and stop; called after the last request."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The parts that every application needs, whatever its routes are."""

    settings: Settings
    directory: Authenticator
    ready_checks: Sequence[ReadyCheck] = ()
    background_services: Sequence[BackgroundService] = ()
    passwords: PasswordCheck | None = None
    """None for an application without passwords: HTTP Basic takes API tokens only."""
    csrf: CsrfCheck | None = None
    """None for an application without sessions of browsers: it takes no cookies."""
    leaks: LeakSearch | None = None
    """The search for API tokens in content; None for an application without tokens."""
    data: ServedData | None = None
    """The data directory that requests need; None for an application without one."""
    dashboard: DashboardFiles | None = None
    """The built dashboard; None where it is not built."""
    preview: Preview | None = None
    """The preview that is served; None for any other service."""
    audit_ends: Callable[[], tuple[tuple[int, str], tuple[int, str]]] | None = None
    """Returns the number and hash of the newest row of the audit trail, and of the newest one that was removed."""
    require_applied: Callable[[str], None] | None = None
    """Applies the settings of a namespace's source that this node does not work by yet, before it publishes."""
