"""Who is calling: a user, an API token, or the operator at the command line."""

from dataclasses import dataclass, replace
from enum import StrEnum

from api.identity.grants import EVERY, SERVICE_WIDE, Grant, everywhere
from api.state.audit import Actor

_NEVER_IN_AUTHOR = {ord(sign): None for sign in '<>%"\\'}


class PrincipalKind(StrEnum):
    """What a principal is."""

    USER = "user"
    TOKEN = "token"  # noqa: S105 - the word for a kind, no password
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller with their grants; `session` is the session of an access token, empty for an API token."""

    kind: PrincipalKind
    id: int
    name: str
    display_name: str
    grants: tuple[Grant, ...]
    session: str = ""

    @property
    def email(self) -> str:
        """An address for commits that tells principals apart and reaches nobody."""
        return f"{self.kind.value}-{self.id}@waypost.invalid"

    @property
    def author(self) -> str:
        """Name and address as a commit has them: `Ada Lovelace <user-1@waypost.invalid>`."""
        name = "".join(sign for sign in self.display_name.translate(_NEVER_IN_AUTHOR) if sign.isprintable()).strip()
        return f"{name or self.kind.value} <{self.email}>"

    @property
    def is_person(self) -> bool:
        """True for those who may change accounts and make tokens; an API token never may."""
        return self.kind is not PrincipalKind.TOKEN

    def may(self, resource: str, action: str, namespace: str = EVERY, project: str = EVERY) -> bool:
        """Tell whether the grants cover this action; `*` asks for all namespaces or projects."""
        wanted = Grant(namespace, project, resource, action)
        return any(grant.covers(wanted) for grant in self.grants)

    def sees(self, namespace: str, project: str = "") -> bool:
        """Tell whether anything may be read in the namespace, or in one project of it."""
        return any(
            grant.action in {EVERY, "read"}
            and grant.resource not in SERVICE_WIDE
            and grant.namespace in {EVERY, namespace}
            and (not project or grant.project in {EVERY, project})
            for grant in self.grants
        )

    def in_session(self, session: str) -> "Principal":
        """The same principal, calling within a session."""
        return replace(self, session=session)

    def actor(self) -> Actor:
        """The principal as the audit trail names it."""
        return Actor(self.kind.value, self.id or None, self.name)


def caller(found: object) -> Principal:
    """A caller as the directory has made it, with its full type."""
    if not isinstance(found, Principal):
        raise TypeError(f"{type(found).__name__} is no principal of this service")
    return found


OPERATOR = Principal(PrincipalKind.OPERATOR, 0, "operator", "Waypost operator", everywhere("*:*"))
"""Whoever runs the program on the machine itself; the files are theirs anyway."""
