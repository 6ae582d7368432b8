"""Callers: users, API tokens, and the operator at the command line."""

from dataclasses import dataclass, replace
from enum import StrEnum

from api.auth.permissions.grants import EVERY, SERVICE_WIDE, Grant, everywhere
from api.db.audit import Actor
from api.db.audit_accounts import Account
from api.db.audit_caller import UsedToken

# Git strips `<` and `>` from a name, since they delimit the address; quotes and backslashes only at its ends:
# https://git-scm.com/docs/git-commit-tree#_commit_information
_NEVER_IN_AUTHOR = {ord(character): None for character in '<>%"\\'}


class PrincipalKind(StrEnum):
    """The kinds of principals."""

    USER = "user"
    TOKEN = "token"  # noqa: S105 - the name of a kind, not a password
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller with its grants; `session` is the session of an access token, empty for an API token.

    A caller with a personal token is its user, with the grants of the token; `token` is then its id and name.
    `person` is the name of the operator's person, by which the audit trail knows them.
    """

    kind: PrincipalKind
    id: int
    name: str
    display_name: str
    grants: tuple[Grant, ...]
    session: str = ""
    token: UsedToken | None = None
    person: str = ""

    @property
    def email(self) -> str:
        """An address for commits, unique to the principal and never deliverable."""
        return Account(self.kind.value, self.id).address

    @property
    def author(self) -> str:
        """Name and address in the form of a commit: `Ada Lovelace <user-1@waypost.invalid>`."""
        name = "".join(
            character for character in self.display_name.translate(_NEVER_IN_AUTHOR) if character.isprintable()
        ).strip()
        return f"{name or self.kind.value} <{self.email}>"

    @property
    def is_person(self) -> bool:
        """True if the principal may change accounts and create tokens, as users and the operator may."""
        return self.kind is not PrincipalKind.TOKEN and self.token is None

    def is_account(self, number: int) -> bool:
        """Return whether the principal is this user, in a session."""
        return self.kind is PrincipalKind.USER and self.is_person and self.id == number

    @property
    def used_token(self) -> UsedToken | None:
        """The API token that the principal came with: a personal one, or the principal itself."""
        return UsedToken(self.id, self.name) if self.kind is PrincipalKind.TOKEN else self.token

    def can(self, resource: str, action: str, namespace: str = EVERY, project: str = EVERY) -> bool:
        """Return whether the grants cover this action; `*` means all namespaces or projects."""
        wanted = Grant(namespace, project, resource, action)
        return any(grant.covers(wanted) for grant in self.grants)

    def can_see(self, namespace: str, project: str = "") -> bool:
        """Return whether the caller may read anything in the namespace, or in one of its projects."""
        return any(
            grant.action in {EVERY, "read"}
            and grant.resource not in SERVICE_WIDE
            and grant.namespace in {EVERY, namespace}
            and (not project or grant.project in {EVERY, project})
            for grant in self.grants
        )

    def can_push(self, namespace: str) -> bool:
        """Return whether the caller may write anything in the namespace, or in one of its projects."""
        return any(
            grant.action in {EVERY, "write"}
            and grant.resource in {EVERY, "redirect", "page", "project"}
            and grant.namespace in {EVERY, namespace}
            for grant in self.grants
        )

    def in_session(self, session: str) -> "Principal":
        """Return the same principal within a session."""
        return replace(self, session=session)

    def actor(self) -> Actor:
        """Return the principal as an actor of the audit trail."""
        return Actor(self.kind.value, self.id or None, self.person or self.name)

    def holder(self) -> Actor:
        """Return what lasting work goes on behalf of: a personal token itself, with which it ends, else the principal."""
        return Actor(PrincipalKind.TOKEN.value, *self.token) if self.token else self.actor()


def as_principal(found: object) -> Principal:
    """Check that a caller from the directory is a Principal, and return it with that type."""
    if not isinstance(found, Principal):
        raise TypeError(f"{type(found).__name__} is not a Principal.")
    return found


# The user of the command line on the machine itself; has all grants, since the files are theirs anyway.
OPERATOR = Principal(PrincipalKind.OPERATOR, 0, "operator", "Waypost operator", everywhere("*:*"))
