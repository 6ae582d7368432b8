"""Every refused password costs one hash with the current parameters, whatever it is that refuses it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event

from api.auth.logins import passwords
from api.auth.logins.login import Logins
from api.auth.logins.passwords import HashingHere, hash_elsewhere, hash_here, is_outdated
from api.auth.permissions.principal import OPERATOR
from api.db.accounts import users
from api.errors import ApiError
from api.openid.people import make_spare_hash
from tests.api.world import PASSWORD, World, world

ADDRESS = "192.0.2.7"


class _Counting(HashingHere):
    """Hashing that notes the parameters of every hash that it computes."""

    def __init__(self) -> None:
        self.work: list[str] = []

    def hash(self, password: str) -> str:
        found = super().hash(password)
        self.work.append(_parameters(found))
        return found

    def verify(self, stored: str, password: str) -> bool:
        self.work.append(_parameters(stored))
        return super().verify(stored, password)


@pytest.fixture
def here(tmp_path: Path) -> World:
    """Accounts: ada with a password, grace deactivated, and linus, who came by OpenID Connect and has none."""
    found = world(tmp_path)
    found.user("ada")
    accounts = found.services.accounts
    accounts.change(OPERATOR, found.user("grace").id, {"active": False})
    linus = found.user("linus")
    with found.services.state.changing() as connection:
        users.change_user(connection, linus.id, {"password_hash": make_spare_hash()})
    return found


@pytest.fixture
def counting() -> Iterator[_Counting]:
    found = _Counting()
    hash_elsewhere(found)
    yield found
    hash_here()


def _parameters(stored: str) -> str:
    """Return the part of a hash that decides what it costs."""
    assert not is_outdated(stored)
    return stored.rpartition("$")[0].rpartition("$")[0]


def _open(here: World) -> Logins:
    return here.services.logins


def _closed(here: World) -> Logins:
    """Login by password is switched off but for ada."""
    return replace(here.services.logins, only_account="ada")


def _closed_for_all(here: World) -> Logins:
    return replace(here.services.logins, only_account="")


def _hiding(here: World) -> Logins:
    return replace(here.services.logins, hide_unknown=True)


REFUSED = [
    pytest.param("ada", "wrong horse", id="wrong password"),
    pytest.param("nobody", PASSWORD, id="unknown account"),
    pytest.param("grace", PASSWORD, id="deactivated, right password"),
    pytest.param("grace", "wrong horse", id="deactivated, wrong password"),
    pytest.param("linus", PASSWORD, id="account of the OpenID provider"),
    pytest.param("", PASSWORD, id="no name"),
    pytest.param("ada", "", id="no password"),
]


@pytest.mark.parametrize("logins", [_open, _hiding, _closed, _closed_for_all])
@pytest.mark.parametrize(("username", "password"), REFUSED)
def test_every_refusal_costs_one_hash(
    here: World, counting: _Counting, logins: Callable[[World], Logins], username: str, password: str
) -> None:
    """At a login, and for a password that comes with a request of Git."""
    one = [_parameters(passwords._DUMMY_HASH)]
    for attempt in (logins(here).login, logins(here).verify):
        counting.work.clear()
        with pytest.raises(ApiError) as refused:
            attempt(username, password)
        assert refused.value.status in {401, 403}
        assert counting.work == one


@contextmanager
def _statements(here: World) -> Iterator[list[str]]:
    """Note each statement of the database."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        found.append(statement)

    engine = here.services.state.database._engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("logins", [_open, _hiding, _closed, _closed_for_all])
def test_every_account_is_looked_up_alike_also_where_only_one_may_log_in(
    here: World, logins: Callable[[World], Logins]
) -> None:
    """Else the one that may log in by password would answer later than all others."""
    found = []
    for username in ("ada", "grace", "linus", "LINUS"):
        with _statements(here) as statements, pytest.raises(ApiError):
            logins(here).verify(username, "wrong horse")
        found.append(statements)
    assert len(found[0]) == 3  # with the BEGIN
    assert found == [found[0]] * 4


@pytest.mark.parametrize("logins", [_closed_for_all])
def test_the_right_password_costs_the_same_where_no_password_is_taken(
    here: World, counting: _Counting, logins: Callable[[World], Logins]
) -> None:
    with pytest.raises(ApiError):
        logins(here).login("ada", PASSWORD)
    assert counting.work == [_parameters(passwords._DUMMY_HASH)]


def test_a_login_that_succeeds_costs_one_hash_too(here: World, counting: _Counting) -> None:
    here.services.logins.login("ada", PASSWORD)
    assert counting.work == [_parameters(passwords._DUMMY_HASH)]


def test_accounts_of_the_identity_provider_cost_no_hash_each(counting: _Counting) -> None:
    first = make_spare_hash()
    counting.work.clear()
    assert (make_spare_hash(), counting.work) == (first, [])


@pytest.mark.parametrize(("username", "password"), REFUSED)
def test_with_hidden_accounts_all_refusals_are_one_answer(here: World, username: str, password: str) -> None:
    found = _refusal(_hiding(here), username, password)
    assert found == _refusal(_hiding(here), "ada", "another wrong one")


@pytest.mark.parametrize(("username", "password"), REFUSED)
def test_where_login_by_password_is_off_all_refusals_are_one_answer(here: World, username: str, password: str) -> None:
    """Also those of the account that may log in: the answer does not name it."""
    found = _refusal(_closed(here), username, password)
    assert found == _refusal(_closed_for_all(here), "ada", PASSWORD)


def test_only_an_unknown_account_is_named_at_a_login_as_the_contract_words_it(here: World) -> None:
    """Deactivated is unknown; the words do not tell the two apart."""
    unknown = _refusal(_open(here), "nobody", PASSWORD)
    assert unknown[:2] == (403, "user_not_exist")
    assert _refusal(_open(here), "grace", PASSWORD) == unknown
    assert _refusal(_open(here), "ada", "wrong horse")[:2] == (401, "invalid_credentials")
    assert _refusal(_open(here), "linus", PASSWORD)[:2] == (401, "invalid_credentials")


def test_refused_before_the_hash_says_nothing_of_the_account(here: World, counting: _Counting) -> None:
    """After too many attempts no name costs a hash, not even one that is right."""
    limited = replace(here.services.logins, throttle=replace(here.services.logins.throttle, tries=1))
    for username, password in [("nobody", "x"), ("ada", PASSWORD), ("nobody", "x"), ("ada", "x")]:
        with pytest.raises(ApiError) as refused:
            limited.verify(username, password, ADDRESS)
        if refused.value.status == 429:
            counting.work.append("none")
    assert counting.work == [_parameters(passwords._DUMMY_HASH), "none", "none", "none"]


def _refusal(logins: Logins, username: str, password: str) -> tuple[int, str, str, dict[str, str]]:
    with pytest.raises(ApiError) as refused:
        logins.login(username, password)
    found = refused.value
    return found.status, found.code, found.message, found.headers
