"""What the service works with: the settings, and the parts that are handed in, as far as the skeleton knows them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from api.settings import Settings


class Principal(Protocol):
    """Who is calling, and what their grants cover."""

    @property
    def kind(self) -> str:
        """`user` or `token`."""

    @property
    def name(self) -> str:
        """The user's name, or the token's."""

    @property
    def display_name(self) -> str:
        """The name for people."""

    @property
    def email(self) -> str:
        """An address for commits."""

    def may(self, resource: str, action: str, namespace: str = "*", project: str = "*") -> bool:
        """Tell whether the grants cover this action; `*` asks for all namespaces or projects."""

    def sees(self, namespace: str, project: str = "") -> bool:
        """Tell whether anything may be read in the namespace, or in one project of it."""


class Directory(Protocol):
    """The in-memory table of tokens, users and grants of one worker."""

    def fresh(self) -> bool:
        """Tell whether the table is as new as the state behind it; one `stat`, no SQL."""

    def reload(self) -> None:
        """Read the table anew; blocks, so it runs in a thread."""

    def authenticate(self, bearer: str) -> Principal:
        """The principal of a token, from memory alone; raises errors.Unauthenticated."""


class ProjectVersion(Protocol):
    """What a project serves now."""

    @property
    def version(self) -> str:
        """The SHA of the version."""

    @property
    def number(self) -> int:
        """The publish number."""

    @property
    def time(self) -> int:
        """When it was published, in seconds since 1970."""


class Store(Protocol):
    """What parts of the service that are not about content need of the content store."""

    def project_version(self, namespace: str, project: str) -> ProjectVersion:
        """The version that is served now; raises gitstore.errors.NotFound."""

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """SHA and publish number of what an agent reported (a number, a decimal or 7 to 40 hex digits), if known."""


class Companion(Protocol):
    """Work that goes on beside the requests of one worker, such as writing heartbeats in batches."""

    async def start(self) -> None:
        """Begin; called once, after the fork and before the first request. An exception stops the service."""

    async def stop(self) -> None:
        """End, with everything written; called after the last request."""


@dataclass(frozen=True, slots=True)
class ReadyCheck:
    """One named reason why the service might not be ready; `find` gives what is wrong, or None, and may block briefly."""

    name: str
    find: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Collaborators:
    """Everything that an application is made of.

    `store` is the facade of the content store and `state` the services of the database; the resources
    that use them know their full types.
    """

    settings: Settings
    directory: Directory
    store: Any
    state: Any
    ready_checks: Sequence[ReadyCheck] = ()
    companions: Sequence[Companion] = ()
