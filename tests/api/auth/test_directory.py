"""The directory: served from memory alone, current after each change, and available without the database."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import delete

from api.auth import directory as directory_module
from api.auth.directory import MAX_STALENESS, USE_INTERVAL, IdentityCache
from api.auth.logins.jwt_token import Claims, TokenUse, mint
from api.auth.permissions.principal import OPERATOR, Principal, PrincipalKind
from api.auth.tokens import api_token
from api.db.accounts import roles, tokens
from api.db.database import Database, default_url
from api.db.errors import StateBroken, StateBusy
from api.db.tables import sessions
from api.errors import ExpiredToken, Unauthenticated, UnknownSession
from tests.api.world import START, World, world


class SteadyClock:
    """A timer that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return seconds since an arbitrary start."""
        return self.now


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("ada", "viewer")
    found.services.directory.reload()
    return found


def directory_of(here: World, tmp_path: Path, timer: SteadyClock, lock_timeout: float = 0.1) -> IdentityCache:
    reader = Database(default_url(tmp_path), lock_timeout)
    return IdentityCache(reader, here.services.state.generation, here.services.keyring, here.clock, timer)


def authenticate(directory: IdentityCache, bearer: str) -> Principal:
    """Authenticate as a request does: a session that began a moment ago is looked up."""
    try:
        return directory.authenticate(bearer)
    except UnknownSession as ex:
        directory.learn(ex.session)
    return directory.authenticate(bearer)


def refuses(directory: IdentityCache, bearer: str) -> bool:
    try:
        authenticate(directory, bearer)
    except Unauthenticated:
        return True
    return False


def test_a_change_is_seen_at_once_in_every_worker(here: World, tmp_path: Path) -> None:
    other = world(tmp_path).services.directory
    other.reload()
    assert other.is_fresh()
    token = here.token("redirect:read")
    assert not other.is_fresh()
    other.reload()
    assert other.is_fresh()
    assert other.authenticate(token).can("redirect", "read", "acme", "shop")
    here.services.tokens.remove(OPERATOR, 1)
    assert not other.is_fresh()
    other.reload()
    assert refuses(other, token)


def test_asking_needs_no_database(here: World, tmp_path: Path) -> None:
    token, access = here.token("page:read"), here.access("ada")
    here.services.directory.reload()
    here.services.close()
    (tmp_path / "waypost.db").unlink()
    assert here.services.directory.authenticate(token).kind is PrincipalKind.TOKEN
    assert authenticate(here.services.directory, access).name == "ada"
    assert refuses(here.services.directory, token[:-1] + "!")


def test_a_change_without_a_new_stamp_is_seen_after_a_second(here: World, tmp_path: Path) -> None:
    """A change from another machine is an example."""
    timer = SteadyClock()
    directory = directory_of(here, tmp_path, timer)
    directory.reload()
    token = here.token("redirect:read")
    (tmp_path / "generation").unlink()
    elsewhere = IdentityCache(
        Database(default_url(tmp_path)),
        type(here.services.state.generation)(tmp_path / "another-machine"),
        here.services.keyring,
        here.clock,
        timer,
    )
    elsewhere.reload()
    here.services.tokens.remove(OPERATOR, 1)
    assert elsewhere.is_fresh()
    timer.now += MAX_STALENESS
    assert not elsewhere.is_fresh()
    elsewhere.reload()
    assert refuses(elsewhere, token)


def test_while_the_database_is_locked_the_last_good_table_serves_on(here: World, tmp_path: Path) -> None:
    timer = SteadyClock()
    directory = directory_of(here, tmp_path, timer)
    token = here.token("redirect:read")
    directory.reload()
    here.services.close()
    lock = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    timer.now += MAX_STALENESS
    begun = monotonic()
    directory.reload()
    assert monotonic() - begun < 4, "the reload waited as long as a writer"
    assert directory.is_stale
    assert directory.is_fresh()
    assert directory.authenticate(token).name == "ci"
    lock.execute("ROLLBACK")
    lock.close()
    timer.now += MAX_STALENESS
    assert not directory.is_fresh()
    directory.reload()
    assert not directory.is_stale
    assert directory.is_fresh()


def test_while_the_database_is_locked_an_unknown_token_is_not_called_invalid(here: World, tmp_path: Path) -> None:
    directory = directory_of(here, tmp_path, SteadyClock())
    known = here.token("redirect:read")
    directory.reload()
    new = here.token("redirect:read")
    here.services.close()
    with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        directory.reload()
        assert directory.authenticate(known).kind is PrincipalKind.TOKEN
        with pytest.raises(StateBusy):
            directory.authenticate(new)
        assert refuses(directory, "svc_x")
        directory.reload_locked()
        assert directory.is_stale
        lock.execute("ROLLBACK")
    directory.reload_locked()
    assert directory.authenticate(new).kind is PrincipalKind.TOKEN


def test_a_directory_that_was_never_read_refuses_everyone_with_the_reason(here: World, tmp_path: Path) -> None:
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
    timer = SteadyClock()
    directory = directory_of(here, tmp_path, timer)
    access = here.access("ada")
    directory.reload()
    (tmp_path / "keys" / "broken.json").touch(mode=0o644)
    timer.now += MAX_STALENESS
    directory.reload()
    assert directory.authenticate(access).name == "ada"
    assert directory.is_stale


def test_a_token_lives_until_the_moment_it_names(here: World) -> None:
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    here.services.directory.reload()
    here.clock.advance(seconds=3599)
    assert not refuses(here.services.directory, token)
    here.clock.advance(seconds=1)
    assert refuses(here.services.directory, token)
    here.clock.advance(seconds=1)
    assert refuses(here.services.directory, token)


@pytest.mark.parametrize(
    ("hours", "words"), [(2, "This API token expired on"), (9, "This value of an API token ended on")]
)
def test_the_holder_of_a_value_that_was_rotated_away_is_told_so(here: World, hours: int, words: str) -> None:
    """Unless the token itself ended before the value."""
    old, tokens = here.token("redirect:read", expires_at=START + timedelta(hours=hours)), here.services.tokens
    tokens.rotate(OPERATOR, 1, timedelta(hours=3))
    here.clock.advance(hours=4)
    here.services.directory.reload()
    with pytest.raises(ExpiredToken, match=words):
        here.services.directory.authenticate(old)


def test_the_holder_of_an_expired_token_gets_the_date(here: World) -> None:
    """It is in a table that was read before, and in one of later; another value gets no reason."""
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    before, after = here.services.directory, here.services.directory
    before.reload()
    here.clock.advance(hours=2)
    with pytest.raises(ExpiredToken, match=r"This API token expired on \d{4}-\d\d-\d\dT.*Z\. Create a new one\."):
        before.authenticate(token)
    here.token("page:read")
    after.retry()
    after.reload()
    with pytest.raises(ExpiredToken):
        after.authenticate(token)
    with pytest.raises(Unauthenticated, match="invalid or expired"):
        after.authenticate(api_token.mint().value)


def test_only_a_live_token_of_a_fresh_table_is_admitted_without_a_second_look(here: World, tmp_path: Path) -> None:
    timer = SteadyClock()
    directory = directory_of(here, tmp_path, timer)
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
    timer.now += MAX_STALENESS
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
    timer = SteadyClock()
    directory = directory_of(here, tmp_path, timer)
    token = here.token("redirect:read", expires_at=START + timedelta(hours=1))
    directory.reload()
    known = directory.admit(token)
    assert known is not None
    assert directory.take_uses() == {1: START}
    here.clock.advance(seconds=USE_INTERVAL.total_seconds())
    assert directory.is_admitted(known)
    assert directory.take_uses() == {1: START + USE_INTERVAL}
    timer.now += MAX_STALENESS
    assert not directory.is_admitted(known)
    directory.reload()
    assert directory.is_admitted(known)
    here.clock.advance(hours=1)
    assert not directory.is_admitted(known)
    here.clock.advance(hours=-1)
    assert directory.is_admitted(known)
    here.services.tokens.remove(OPERATOR, 1)
    assert not directory.is_admitted(known)
    directory.reload()
    assert not directory.is_admitted(known)
    assert known.table() is None  # holders of passes drop their outdated decisions


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
    assert not authenticate(here.services.directory, access).can("redirect", "write", "acme", "shop")
    here.services.accounts.change(OPERATOR, 1, {"roles": ["editor"]})
    here.services.directory.reload()
    assert authenticate(here.services.directory, access).can("redirect", "write", "acme", "shop")
    here.services.accounts.change(OPERATOR, 1, {"roles": []})
    here.services.directory.reload()
    assert authenticate(here.services.directory, access).grants == ()


def test_a_custom_role_is_for_its_project(here: World) -> None:
    made = roles.RoleRow("shop", "", (("acme", "shop", "redirect", "write"),), START)
    with here.services.state.changing() as connection:
        roles.put_role(connection, made)
        roles.put_role(connection, roles.RoleRow("admin", "no admin", (), START))
        assert roles.list_roles(connection)[1] == made
    here.user("eve", "shop")
    here.user("adam", "admin")
    access = here.access("eve")
    here.services.directory.reload()
    eve = authenticate(here.services.directory, access)
    assert eve.can("redirect", "write", "acme", "shop")
    assert not eve.can("redirect", "write", "acme", "docs")
    assert authenticate(here.services.directory, here.access("adam")).can("user", "write")
    with here.services.state.changing() as connection:
        roles.remove_role(connection, "shop")
    here.services.directory.reload()
    assert authenticate(here.services.directory, access).grants == ()


def test_the_end_of_a_session_is_remembered_as_long_as_its_access_tokens_could_live(
    here: World, tmp_path: Path
) -> None:
    """A worker that starts later also keeps it, even if its setting for the lifetime is shorter than the token's."""
    access = here.access("ada")
    here.services.directory.reload()
    here.services.logins.logout(authenticate(here.services.directory, access))
    later = world(tmp_path, access_lifetime=60)
    later.clock.advance(minutes=14, seconds=59)
    later.services.directory.reload()
    assert refuses(later.services.directory, access)


def test_a_refresh_prolongs_how_long_the_end_of_a_session_is_remembered(here: World, tmp_path: Path) -> None:
    first = here.login("ada")
    here.clock.advance(minutes=14)
    access = here.services.logins.refresh(first.refresh_token).access_token
    here.services.directory.reload()
    here.services.logins.logout(authenticate(here.services.directory, access))
    later = world(tmp_path)
    later.clock.advance(minutes=28, seconds=59)
    later.services.directory.reload()
    assert refuses(later.services.directory, access)


def test_a_session_that_goes_on_is_no_ended_one(here: World) -> None:
    ended, going = here.access("ada"), here.access("ada")
    here.services.directory.reload()
    here.services.logins.logout(authenticate(here.services.directory, ended))
    here.services.directory.reload()
    assert refuses(here.services.directory, ended)
    assert not refuses(here.services.directory, going)


def forged(here: World, user_id: int, session: str) -> str:
    """Sign an access token with the service's own key, as after a leak or a restored backup."""
    now = int(here.clock().timestamp())
    key = here.services.keyring.ring.signing(here.clock())
    return mint(Claims(user_id, session, "j", now, now + 600), TokenUse.ACCESS, key)


def test_an_access_token_of_no_session_is_refused(here: World) -> None:
    own = authenticate(here.services.directory, here.access("ada"))
    other = here.user("eve", "viewer")
    here.services.directory.reload()
    assert not refuses(here.services.directory, forged(here, own.id, own.session))
    assert refuses(here.services.directory, forged(here, own.id, "0" * 32))
    assert refuses(here.services.directory, forged(here, own.id, ""))
    assert refuses(here.services.directory, forged(here, other.id, own.session))
    with here.services.state.database.writing() as connection:
        connection.execute(delete(sessions))
    here.user("adam", "viewer")
    here.services.directory.reload()
    assert refuses(here.services.directory, forged(here, own.id, own.session)), "the session is gone"


def test_a_new_session_is_looked_up_once(here: World, tmp_path: Path) -> None:
    """Of another worker, say. No snapshot is read for a login: a fleet of scripts may log in all the time."""
    directory = directory_of(here, tmp_path, SteadyClock())
    directory.reload()
    access = here.access("ada")
    assert directory.is_fresh()
    with pytest.raises(UnknownSession):
        directory.authenticate(access)
    assert authenticate(directory, access).name == "ada"
    assert directory.authenticate(access).name == "ada"


def test_a_learned_session_ends_like_any_other(here: World, tmp_path: Path) -> None:
    directory = directory_of(here, tmp_path, SteadyClock())
    directory.reload()
    access = here.access("ada")
    principal = authenticate(directory, access)
    here.services.logins.logout(principal)
    directory.reload()
    assert refuses(directory, access)


def test_learned_sessions_are_bounded(here: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: they are dropped with the next snapshot, which may be far off."""
    monkeypatch.setattr(directory_module, "_MAX_LEARNED", 2)
    directory = directory_of(here, tmp_path, SteadyClock())
    directory.reload()
    for _ in range(4):
        authenticate(directory, here.access("ada"))
    assert len(directory._learned) == 2
