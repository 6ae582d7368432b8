"""Accounts, sessions and grants that end while a password is hashed: the call that waits for the hash has nothing of them."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from api.auth.accounts import NewUser
from api.auth.logins.passwords import HashingHere, hash_elsewhere, hash_here
from api.auth.permissions.principal import OPERATOR, Principal
from api.db.accounts import sessions, users
from api.errors import ApiError, Forbidden, Unauthenticated
from api.interfaces import Password
from tests.api.world import PASSWORD, World, world

PATIENCE = 60.0
NEW = "a new horse battery"


class HeldHashing(HashingHere):
    """Hashing that begins only when the test says so; it tells that someone waits."""

    def __init__(self) -> None:
        self.waits = Event()
        self.may_go_on = Event()

    def hash(self, password: str) -> str:
        """Hash a password when the test says so."""
        self._wait()
        return super().hash(password)

    def verify(self, stored: str, password: str) -> bool:
        """Verify a password when the test says so."""
        self._wait()
        return super().verify(stored, password)

    def _wait(self) -> None:
        self.waits.set()
        assert self.may_go_on.wait(PATIENCE)


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


@pytest.fixture
def ada(here: World) -> Principal:
    """Return an administrator in a session."""
    here.user("root", "admin")  # one must be left
    here.user("ada", "admin")
    session = here.login("ada")
    return here.services.accounts.principal("ada").in_session(session_of(here, session.access_token))


def session_of(here: World, access: str) -> str:
    here.services.directory.reload()
    return here.services.directory.authenticate(access).session


@pytest.fixture
def held() -> Iterator[HeldHashing]:
    found = HeldHashing()
    yield found
    found.may_go_on.set()
    hash_here()


def meanwhile(held: HeldHashing, call: Callable[[], object], change: Callable[[], object]) -> None:
    """Begin a call, make a change while it waits for its hash, and let it end, with its exception."""
    hash_elsewhere(held)
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(call)
        assert held.waits.wait(PATIENCE)
        change()
        held.may_go_on.set()
        found.result(PATIENCE)


def deactivate(here: World, number: int) -> None:
    here.services.accounts.change(OPERATOR, number, {"active": False})


def demote(here: World, number: int) -> None:
    here.services.accounts.change(OPERATOR, number, {"roles": ["viewer"]})


def log_out(here: World, ada: Principal) -> None:
    here.services.logins.logout(ada)


def open_sessions(here: World, number: int) -> int:
    with here.services.state.database.reading() as connection:
        return sessions.list_open(connection, number, here.clock(), 10, 0)[1]


@pytest.mark.parametrize("end", ["deactivated", "removed", "password"])
def test_a_login_that_waits_gets_no_session_of_an_account_that_has_ended(
    here: World, ada: Principal, held: HeldHashing, end: str
) -> None:
    accounts = here.services.accounts

    def change() -> None:
        if end == "removed":
            accounts.remove(OPERATOR, ada.id)
        elif end == "deactivated":
            deactivate(here, ada.id)
        else:
            with here.services.state.changing() as connection:
                users.change_user(connection, ada.id, {"password_hash": HashingHere().hash(NEW)})

    before = 1
    with pytest.raises(Unauthenticated, match="changed during the login"):
        meanwhile(held, lambda: here.login("ada"), change)
    assert open_sessions(here, ada.id) == (before if end == "password" else 0)


@pytest.mark.parametrize(
    ("end", "error"), [(deactivate, Unauthenticated), (demote, Forbidden)], ids=["deactivated", "demoted"]
)
@pytest.mark.parametrize("act", ["create", "change"])
def test_an_administrator_who_has_ended_changes_no_account(
    here: World,
    ada: Principal,
    held: HeldHashing,
    end: Callable[[World, int], None],
    error: type[ApiError],
    act: str,
) -> None:
    accounts, other = here.services.accounts, here.user("grace", "viewer")

    def call() -> None:
        if act == "create":
            accounts.create(ada, NewUser("kim", PASSWORD, ["viewer"]))
        else:
            accounts.change(ada, other.id, {"password": NEW})

    with pytest.raises(error):
        meanwhile(held, call, lambda: end(here, ada.id))
    assert {user.username for user in accounts.window(10, 0)[0]} == {"ada", "grace", "root"}
    assert here.login("grace")


@pytest.mark.parametrize("end", ["deactivated", "logged out"])
def test_no_one_changes_their_password_after_their_session(
    here: World, ada: Principal, held: HeldHashing, end: str
) -> None:
    fields = {"currentPassword": PASSWORD, "newPassword": NEW}
    with pytest.raises(Unauthenticated):
        meanwhile(
            held,
            lambda: here.services.accounts.change_own(ada, fields),
            lambda: log_out(here, ada) if end == "logged out" else deactivate(here, ada.id),
        )
    here.services.accounts.change(OPERATOR, ada.id, {"active": True})
    assert here.login("ada")


def test_a_password_of_git_that_waits_admits_no_account_that_has_ended(
    here: World, ada: Principal, held: HeldHashing
) -> None:
    access = here.services.passwords()
    here.services.directory.reload()

    def push() -> None:
        asyncio.run(access.verify(Password("ada", PASSWORD, None)))

    with pytest.raises(Unauthenticated):
        meanwhile(held, push, lambda: deactivate(here, ada.id))
