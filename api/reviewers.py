"""Who of those that gave a verdict may still give one: a user or API token that is there, active, and holds the grant."""

from collections.abc import Collection, Iterator
from datetime import datetime

from api.identity.principal import Principal, PrincipalKind
from api.identity.roles import grants_by_role
from api.identity.table import token_principal, user_principal
from api.state.database import Connection
from api.state.reviews import DraftKey, Person
from api.state.tokens import find_live_tokens
from api.state.users import find_active_users

VERDICT = ("project", "review")
"""The (resource, action) grant that a verdict needs."""


def lapsed_reviewers(
    connection: Connection, key: DraftKey, people: Collection[Person], now: datetime
) -> frozenset[str]:
    """The addresses of those of these people by whom a verdict on a draft of this project does not count `now`.

    Their account or token is gone, disabled or expired, or has lost the grant. When they have it again, so it counts.
    """
    able = {each.email for each in _present(connection, people, now) if each.may(*VERDICT, key.namespace, key.project)}
    return frozenset(person.email for person in people) - able


def _present(connection: Connection, people: Collection[Person], now: datetime) -> Iterator[Principal]:
    """Those who could sign in or call, with the grants that they have now."""
    if not people:
        return
    held = grants_by_role(connection)
    for user in find_active_users(connection, _ids(people, PrincipalKind.USER)):
        yield user_principal(user, held)
    for token in find_live_tokens(connection, _ids(people, PrincipalKind.TOKEN), now):
        yield token_principal(token)


def _ids(people: Collection[Person], kind: PrincipalKind) -> set[int]:
    return {person.id for person in people if person.kind == kind}
