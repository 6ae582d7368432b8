"""The reviewers who may still give a verdict: users and API tokens that exist, are active, and have the grant."""

from collections.abc import Collection, Iterator
from datetime import datetime

from api.auth.permissions.principal import Principal, PrincipalKind
from api.auth.permissions.roles import grants_by_role
from api.auth.permissions.table import token_principal, user_principal
from api.db.accounts.tokens import find_live_tokens
from api.db.accounts.users import find_active_named, find_active_users
from api.db.database import Connection
from api.db.namespaces.reviews import DraftKey, Person

VERDICT_GRANT = ("project", "review")  # (resource, action)


def lapsed_reviewers(
    connection: Connection, key: DraftKey, people: Collection[Person], now: datetime
) -> frozenset[str]:
    """Return the addresses of the people whose verdicts on a draft of this project do not count `now`.

    Their account or token is removed, disabled or expired, or has lost the grant. With it, their verdicts count again.
    """
    able = {
        each.email
        for each in find_present(connection, people, now)
        if each.can(*VERDICT_GRANT, key.namespace, key.project)
    }
    return frozenset(person.email for person in people) - able


def find_owners(connection: Connection, key: DraftKey, owners: Collection[str]) -> list[Person]:
    """Return the active users with the names of code owners, who may review a draft of this project."""
    names = [owner.removeprefix("@") for owner in owners]
    role_grants = grants_by_role(connection) if names else {}
    found = (user_principal(user, role_grants) for user in find_active_named(connection, names))
    return [person_of(each) for each in found if each.can(*VERDICT_GRANT, key.namespace, key.project)]


def person_of(principal: Principal) -> Person:
    """Return a principal as the author of a remark."""
    return Person(principal.kind.value, principal.id, principal.name, principal.display_name, principal.email)


def find_present(connection: Connection, people: Collection[Person], now: datetime) -> Iterator[Principal]:
    """Yield the active users and live tokens among the people, with their current grants."""
    if not people:
        return
    role_grants = grants_by_role(connection)
    for user in find_active_users(connection, _ids(people, PrincipalKind.USER)):
        yield user_principal(user, role_grants)
    yield from _find_tokens(connection, _ids(people, PrincipalKind.TOKEN), now)


def find_caller(connection: Connection, caller: Principal, now: datetime) -> Principal | None:
    """Return a caller with its current grants; None for one whose account or token is removed, disabled or expired."""
    if caller.token:
        return next(_find_tokens(connection, [caller.token.id], now), None)
    return next(find_present(connection, [person_of(caller)], now), None)


def _find_tokens(connection: Connection, numbers: Collection[int], now: datetime) -> Iterator[Principal]:
    found, role_grants = find_live_tokens(connection, numbers, now), grants_by_role(connection)
    owners = find_active_users(connection, {token.owner_id for token in found if token.owner_id})
    people = {user.id: user_principal(user, role_grants) for user in owners}
    for token in found:
        principal = token_principal(token, role_grants, people)
        if principal:
            yield principal


def _ids(people: Collection[Person], kind: PrincipalKind) -> set[int]:
    return {person.id for person in people if person.kind == kind}
