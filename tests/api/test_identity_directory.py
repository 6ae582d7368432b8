"""The directory: from memory alone, as new as the last change, and still there when the database is not."""

import sqlite3
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest

from api.errors import Unauthenticated
from api.identity.directory import FLOOR, USE_INTERVAL, Directory
from api.identity.principal import OPERATOR, PrincipalKind
from api.state import roles, tokens
from api.state.database import Database, default_url
from api.state.errors import StateBroken, StateBusy
from tests.api.world import START, World, world


class SteadyClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds since some moment."""
        return self.now


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("ada", "viewer")
    found.services.directory.reload()
    return found


def directory_of(here: World, tmp_path: Path, steady: SteadyClock, patience: float = 0.1) -> Directory:
    reader = Database(default_url(tmp_path), patience)
    return Directory(reader, here.services.state.generation, here.services.keyring, here.clock, steady)


def refuses(directory: Directory, bearer: str) -> bool:
    try:
        directory.authenticate(bearer)
    except Unauthenticated:
        return True
    return False


def test_a_change_is_seen_at_once_in_every_worker(here: World, tmp_path: Path) -> None:
    other = world(tmp_path).services.directory
    other.reload()
    assert other.fresh()
    token = here.token("redirect:read")
    assert not other.fresh()
    other.reload()
    assert other.fresh()
    assert other.authenticate(token).may("redirect", "read", "acme", "shop")
    here.services.tokens.remove(OPERATOR, 1)
    assert not other.fresh()
    other.reload()
    assert refuses(other, token)


def test_asking_needs_no_database(here: World, tmp_path: Path) -> None:
    token, access = here.token("page:read"), here.access("ada")
    here.services.directory.reload()
    here.services.close()
    (tmp_path / "waypost.db").unlink()
    assert here.services.directory.authenticate(token).kind is PrincipalKind.TOKEN
    assert here.services.directory.authenticate(access).name == "ada"
    assert refuses(here.services.directory, token[:-1] + "!")


def test_a_change_that_the_file_does_not_tell_of_is_seen_after_a_second(here: World, tmp_path: Path) -> None:
    """As when another machine has made it."""
    steady = SteadyClock()
    directory = directory_of(here, tmp_path, steady)
    directory.reload()
    token = here.token("redirect:read")
    (tmp_path / "generation").unlink()
    elsewhere = Directory(
        Database(default_url(tmp_path)),
        type(here.services.state.generation)(tmp_path / "another-machine"),
        here.services.keyring,
        here.clock,
        steady,
    )
    elsewhere.reload()
    here.services.tokens.remove(OPERATOR, 1)
    assert elsewhere.fresh()
    steady.now += FLOOR
    assert not elsewhere.fresh()
    elsewhere.reload()
    assert refuses(elsewhere, token)


def test_while_the_database_is_locked_the_last_good_table_serves_on(here: World, tmp_path: Path) -> None:
    steady = SteadyClock()
    directory = directory_of(here, tmp_path, steady)
    token = here.token("redirect:read")
    directory.reload()
    here.services.close()
    lock = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    steady.now += FLOOR
    begun = monotonic()
    directory.reload()
    assert monotonic() - begun < 4, "it waits less than writers do"
    assert directory.trouble
    assert directory.fresh()
    assert directory.authenticate(token).name == "ci"
    lock.execute("ROLLBACK")
    lock.close()
    steady.now += FLOOR
    assert not directory.fresh()
    directory.reload()
    assert directory.trouble is None
    assert directory.fresh()


def test_a_directory_that_was_never_read_lets_nobody_in_and_says_why(here: World, tmp_path: Path) -> None:
    directory = directory_of(here, tmp_path, SteadyClock())
    token = here.token("redirect:read")
    with pytest.raises(StateBroken):
        directory.authenticate(token)
    here.services.close()
    lock = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateBusy):
        directory.reload()
    lock.close()
    directory.reload()
    assert directory.authenticate(token)


def test_a_broken_key_file_stops_no_request(here: World, tmp_path: Path) -> None:
    steady = SteadyClock()
    directory = directory_of(here, tmp_path, steady)
    access = here.access("ada")
    directory.reload()
    (tmp_path / "keys" / "broken.json").touch(mode=0o644)
    steady.now += FLOOR
    directory.reload()
    assert directory.authenticate(access).name == "ada"
    assert directory.trouble


def test_a_token_lives_until_the_moment_it_names(here: World) -> None:
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    here.services.directory.reload()
    here.clock.advance(seconds=3599)
    assert not refuses(here.services.directory, token)
    here.clock.advance(seconds=1)
    assert refuses(here.services.directory, token)
    here.clock.advance(seconds=1)
    assert refuses(here.services.directory, token)


def test_only_a_live_token_of_a_fresh_table_is_admitted_without_a_second_look(here: World, tmp_path: Path) -> None:
    steady = SteadyClock()
    directory = directory_of(here, tmp_path, steady)
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    access = here.access("ada")
    assert directory.admit(token) is None
    directory.reload()
    found = directory.admit(token)
    assert found is not None
    assert found.entry.principal.name == "ci"
    assert directory.take_uses() == {1: START}
    for other in ("", "x", access, token[:-1], token + "0"):
        assert directory.admit(other) is None
    steady.now += FLOOR
    assert directory.admit(token) is None
    directory.reload()
    here.clock.advance(hours=1)
    assert directory.admit(token) is None
    here.clock.advance(hours=-1)
    here.services.tokens.remove(OPERATOR, 1)
    assert directory.admit(token) is None
    directory.reload()
    assert directory.admit(token) is None


def test_a_pass_holds_exactly_as_long_as_its_token_is_admitted(here: World, tmp_path: Path) -> None:
    steady = SteadyClock()
    directory = directory_of(here, tmp_path, steady)
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    directory.reload()
    known = directory.admit(token)
    assert known is not None
    assert directory.take_uses() == {1: START}
    here.clock.advance(seconds=USE_INTERVAL.total_seconds())
    assert directory.admits(known)
    assert directory.take_uses() == {1: START + USE_INTERVAL}
    steady.now += FLOOR
    assert not directory.admits(known)
    directory.reload()
    assert directory.admits(known)
    here.clock.advance(hours=1)
    assert not directory.admits(known)
    here.clock.advance(hours=-1)
    assert directory.admits(known)
    here.services.tokens.remove(OPERATOR, 1)
    assert not directory.admits(known)
    directory.reload()
    assert not directory.admits(known)
    assert known.table() is None  # those who keep passes do not keep what was true before


def test_the_last_use_of_a_token_is_noted_once_a_minute(here: World) -> None:
    token = here.token("redirect:read")
    directory = here.services.directory
    directory.reload()
    for _ in range(3):
        directory.authenticate(token)
    assert directory.take_uses() == {1: START}
    directory.authenticate(token)
    assert directory.take_uses() == {}
    here.clock.advance(seconds=USE_INTERVAL.total_seconds())
    directory.authenticate(token)
    later = directory.take_uses()
    assert later == {1: START + USE_INTERVAL}
    with here.services.state.database.writing() as connection:
        tokens.note_uses(connection, later)
        tokens.note_uses(connection, {1: START})
        tokens.note_uses(connection, {})
    assert here.services.tokens.find(1).last_used_at == START + USE_INTERVAL


def test_roles_decide_what_a_user_may_from_the_next_request_on(here: World) -> None:
    access = here.access("ada")
    here.services.directory.reload()
    assert not here.services.directory.authenticate(access).may("redirect", "write", "acme", "shop")
    here.services.accounts.change(OPERATOR, 1, {"roles": ["editor"]})
    here.services.directory.reload()
    assert here.services.directory.authenticate(access).may("redirect", "write", "acme", "shop")
    here.services.accounts.change(OPERATOR, 1, {"roles": []})
    here.services.directory.reload()
    assert here.services.directory.authenticate(access).grants == ()


def test_a_role_of_ones_own_is_for_the_project_it_names(here: World) -> None:
    made = roles.Role("shop", "", (("acme", "shop", "redirect", "write"),), START)
    with here.services.state.changing() as connection:
        roles.put_role(connection, made)
        roles.put_role(connection, roles.Role("admin", "no admin", (), START))
        assert roles.list_roles(connection)[1] == made
    here.user("eve", "shop")
    here.user("adam", "admin")
    access = here.access("eve")
    here.services.directory.reload()
    eve = here.services.directory.authenticate(access)
    assert eve.may("redirect", "write", "acme", "shop")
    assert not eve.may("redirect", "write", "acme", "docs")
    assert here.services.directory.authenticate(here.access("adam")).may("user", "write")
    with here.services.state.changing() as connection:
        roles.remove_role(connection, "shop")
    here.services.directory.reload()
    assert here.services.directory.authenticate(access).grants == ()


def test_the_end_of_a_session_is_remembered_as_long_as_its_access_tokens_could_live(
    here: World, tmp_path: Path
) -> None:
    """Also by a worker that starts later, with a shorter lifetime in its settings than the token was made with."""
    access = here.access("ada")
    here.services.directory.reload()
    here.services.logins.logout(here.services.directory.authenticate(access))
    later = world(tmp_path, access_lifetime=60)
    later.clock.advance(minutes=14, seconds=59)
    later.services.directory.reload()
    assert refuses(later.services.directory, access)


def test_a_refresh_prolongs_how_long_the_end_of_a_session_is_remembered(here: World, tmp_path: Path) -> None:
    first = here.login("ada")
    here.clock.advance(minutes=14)
    access = here.services.logins.refresh(first.refresh_token).access_token
    here.services.directory.reload()
    here.services.logins.logout(here.services.directory.authenticate(access))
    later = world(tmp_path)
    later.clock.advance(minutes=28, seconds=59)
    later.services.directory.reload()
    assert refuses(later.services.directory, access)


def test_a_session_that_goes_on_is_no_ended_one(here: World) -> None:
    ended, going = here.access("ada"), here.access("ada")
    here.services.directory.reload()
    here.services.logins.logout(here.services.directory.authenticate(ended))
    here.services.directory.reload()
    assert refuses(here.services.directory, ended)
    assert not refuses(here.services.directory, going)
