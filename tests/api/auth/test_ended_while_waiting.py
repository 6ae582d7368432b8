"""Rights that end between the admission of a call and its transaction, which waits for the lock: the call changes nothing."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from api.auth.identities import Identities
from api.auth.logins.jwt_token import TokenUse
from api.auth.permissions.grants import Grant, everywhere
from api.auth.permissions.principal import OPERATOR, Principal
from api.auth.tokens.new_token import NewToken
from api.db.accounts import users
from api.db.audit_chain import read_head
from api.errors import ApiError, Forbidden, Unauthenticated
from tests.api.world import World, world
from tests.postgres import running_postgres, waits_for_a_lock
from tests.service import wait_until

GRANT = Grant("acme", "*", "redirect", "write")
ISSUER = "https://id.example"
MANAGED = ("user", "role", "token")
PATIENCE = 60.0


class Made(NamedTuple):
    """The subjects of the calls: another user with a session, and the token of a machine."""

    user: int
    session: str
    token: int


Call = Callable[[World, Principal, Made], object]


def identities(here: World) -> Identities:
    return Identities(here.services.state, here.clock, ISSUER)


def deactivate(here: World, ada: Principal, made: Made) -> object:
    return here.services.accounts.change(ada, made.user, {"active": False})


# The resource whose `write` admits each call, and the call.
CALLS: dict[str, tuple[str, Call]] = {
    "a token": ("token", lambda here, ada, _: here.services.tokens.create(ada, "late", [GRANT])),
    "a token's rotation": ("token", lambda here, ada, made: here.services.tokens.rotate(ada, made.token)),
    "a token's removal": ("token", lambda here, ada, made: here.services.tokens.remove(ada, made.token)),
    "a role": ("role", lambda here, ada, _: here.services.roles.create(ada, "late", "", [GRANT])),
    "a role's change": ("role", lambda here, ada, _: here.services.roles.replace(ada, "early", "changed", [GRANT])),
    "a role's removal": ("role", lambda here, ada, _: here.services.roles.remove(ada, "early")),
    "the end of sessions": ("user", lambda here, ada, made: here.services.sessions().end_all(ada, made.user)),
    "a session's end": ("user", lambda here, ada, made: here.services.sessions().end(ada, made.user, made.session)),
    "an identity": ("user", lambda here, ada, made: identities(here).set(ada, made.user, "late")),
    "an identity's removal": ("user", lambda here, ada, made: identities(here).remove(ada, made.user)),
    "an account's change": ("user", deactivate),
    "an account's removal": ("user", lambda here, ada, made: here.services.accounts.remove(ada, made.user)),
}


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


@pytest.fixture(scope="module")
def on_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    """Return a service on a PostgreSQL server, and the address of its database."""
    with running_postgres() as server:
        url = server.database()
        found = world(tmp_path_factory.mktemp("on-postgres"), database=url)
        yield found, url
        found.services.state.close()


def make(here: World, name: str) -> tuple[Principal, Made]:
    """Create a manager, with a role for each resource and one for what the calls give; and what the calls are about."""
    roles, made = here.services.roles, here.user(f"other-{name}", "viewer").id
    present = {role.name for role in here.services.accounts.roles()}
    for resource in MANAGED:
        if f"{resource}s" not in present:
            roles.create(OPERATOR, f"{resource}s", "", everywhere(f"{resource}:write"))
    if "early" not in present:
        roles.create(OPERATOR, "early", "", [GRANT])
    identities(here).set(OPERATOR, made, f"early-{name}")
    session = here.services.logins.session_of(here.access(f"other-{name}"), TokenUse.ACCESS)
    token = here.services.tokens.create(OPERATOR, "of a machine", [GRANT]).token.id
    here.user(f"ada-{name}", *(f"{resource}s" for resource in MANAGED), "editor")
    return here.services.accounts.principal(f"ada-{name}"), Made(made, session, token)


def roles_without(resource: str) -> list[str]:
    return [*(f"{other}s" for other in MANAGED if other != resource), "editor"]


def entries(here: World) -> int:
    with here.services.state.database.reading() as connection:
        return read_head(connection).number


def check_refused(here: World, call: Callable[[], object], error: type[ApiError], words: str | None = None) -> None:
    """Check that a call is refused, and that the audit trail has nothing of it."""
    before = entries(here)
    with pytest.raises(error, match=words):
        call()
    assert entries(here) == before


@pytest.mark.parametrize("end", ["deactivated", "demoted"])
@pytest.mark.parametrize("name", CALLS)
def test_a_caller_has_only_the_rights_that_the_transaction_sees(here: World, name: str, end: str) -> None:
    """Also one who still holds all that the call would give, but no longer the grant that admits it."""
    (resource, call), (ada, made) = CALLS[name], make(here, "a")
    change = {"active": False} if end == "deactivated" else {"roles": roles_without(resource)}
    here.services.accounts.change(OPERATOR, ada.id, change)
    error, words = (Unauthenticated, None) if end == "deactivated" else (Forbidden, f"{resource}:write")
    check_refused(here, lambda: call(here, ada, made), error, words)


@pytest.mark.parametrize("name", CALLS)
def test_whose_rights_are_in_order_does_it(here: World, name: str) -> None:
    """So that the calls above are refused for what was taken away."""
    ada, made = make(here, "a")
    before = entries(here)
    CALLS[name][1](here, ada, made)
    assert entries(here) > before


@pytest.mark.usefixtures("postgres_programs")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_waits_for_the_lock_sees_what_its_holder_took_away(
    on_postgres: tuple[World, str], name: str
) -> None:
    """On PostgreSQL, where a transaction begins before it waits; SQLite begins none before it has the lock."""
    here, url = on_postgres
    (resource, call), (ada, made) = CALLS[name], make(here, str(list(CALLS).index(name)))
    with ThreadPoolExecutor(1) as thread:
        with here.services.state.changing() as connection:
            users.set_roles(connection, ada.id, roles_without(resource))
            found = thread.submit(call, here, ada, made)
            wait_until(lambda: waits_for_a_lock(url), PATIENCE, "the call to wait for the lock")
        check_refused(here, lambda: found.result(PATIENCE), Forbidden, f"{resource}:write")


def test_a_session_that_has_ended_ends_no_others(here: World) -> None:
    here.user("ada", "viewer")
    sessions = [here.services.logins.session_of(here.access("ada"), TokenUse.ACCESS) for _ in range(2)]
    ada = here.services.accounts.principal("ada")
    here.services.logins.end(sessions[0])
    with pytest.raises(Unauthenticated):
        here.services.sessions().end_others(ada.in_session(sessions[0]))
    assert here.services.sessions().window(ada.id, 10, 0)[1] == 1


@pytest.mark.parametrize("act", ["make", "rotate", "remove"])
def test_an_account_that_has_ended_changes_no_personal_token(here: World, act: str) -> None:
    here.user("root", "admin")
    ada = here.user("ada", "admin")
    caller, expires_at = here.services.accounts.principal("ada"), here.clock() + timedelta(days=1)
    session = here.services.logins.session_of(here.access("ada"), TokenUse.ACCESS)
    tokens = here.services.personal_tokens()
    new = NewToken("late", [GRANT], expires_at, None)
    number = tokens.create(caller, ada.id, new).token.id
    here.services.logins.end(session)
    calls: dict[str, Callable[[Principal], object]] = {
        "make": lambda caller: tokens.create(caller, ada.id, new),
        "rotate": lambda caller: tokens.rotate(caller, ada.id, number, timedelta(0)),
        "remove": lambda caller: tokens.remove(caller, ada.id, number),
    }
    check_refused(here, lambda: calls[act](caller.in_session(session)), Unauthenticated)
