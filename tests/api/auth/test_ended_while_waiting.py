"""Rights that end between the admission of a call and its transaction, which waits for the lock: the call changes nothing."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from api.auth.logins.jwt_token import TokenUse
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR, Principal
from api.auth.tokens.new_token import NewToken
from api.errors import Forbidden, Unauthenticated
from tests.api.world import World, world

GRANT = Grant("acme", "*", "redirect", "write")
CALLS: dict[str, Callable[[World, Principal, int], object]] = {
    "a token": lambda here, ada, _: here.services.tokens.create(ada, "late", [GRANT]),
    "the rotation of a token": lambda here, ada, _: here.services.tokens.rotate(ada, 1),
    "a role": lambda here, ada, _: here.services.roles.create(ada, "late", "", [GRANT]),
    "the end of sessions": lambda here, ada, other: here.services.sessions().end_all(ada, other),
    "the removal of an account": lambda here, ada, other: here.services.accounts.remove(ada, other),
}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.services.tokens.create(OPERATOR, "of a machine", [GRANT])
    return found


@pytest.mark.parametrize("end", ["deactivated", "demoted"])
@pytest.mark.parametrize("name", CALLS)
def test_a_caller_has_only_the_rights_that_the_transaction_sees(here: World, name: str, end: str) -> None:
    here.user("root", "admin")  # one must be left
    ada, other = here.user("ada", "admin"), here.user("other", "admin")
    caller = here.services.accounts.principal("ada")
    change = {"active": False} if end == "deactivated" else {"roles": ["viewer"]}
    here.services.accounts.change(OPERATOR, ada.id, change)
    with pytest.raises(Unauthenticated if end == "deactivated" else Forbidden):
        CALLS[name](here, caller, other.id)


def test_a_session_that_has_ended_ends_no_others(here: World) -> None:
    here.user("ada", "viewer")
    sessions = [here.services.logins.session_of(here.access("ada"), TokenUse.ACCESS) for _ in range(2)]
    ada = here.services.accounts.principal("ada")
    here.services.logins.end(sessions[0])
    with pytest.raises(Unauthenticated):
        here.services.sessions().end_others(ada.in_session(sessions[0]))
    assert here.services.sessions().window(ada.id, 10, 0)[1] == 1


def test_a_personal_token_is_not_made_for_an_account_that_has_ended(here: World) -> None:
    here.user("root", "admin")
    ada = here.user("ada", "admin")
    caller, expires_at = here.services.accounts.principal("ada"), here.clock() + timedelta(days=1)
    here.services.accounts.change(OPERATOR, ada.id, {"active": False})
    with pytest.raises(Unauthenticated):
        here.services.personal_tokens().create(caller, ada.id, NewToken("late", [GRANT], expires_at, None))
