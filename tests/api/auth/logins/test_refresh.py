"""Refresh tokens: one successor each, in all processes, in every order of events."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule
from sqlalchemy import delete, update

from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.keyring import SIGNING_PERIOD, Keyring, Ring, create_keys
from api.auth.logins.login import Logins
from api.auth.logins.refresh import GRACE
from api.auth.logins.session_tokens import Lifetimes, SessionTokens
from api.auth.logins.throttle import Throttle
from api.auth.permissions.principal import OPERATOR
from api.db import audit
from api.db.audit import AuditEvent
from api.db.state_store import open_state_store
from api.db.tables import refresh_tokens
from api.errors import ApiError, Unauthenticated
from tests.api.world import PASSWORD, ManualClock, World, world
from tests.processes import FORKED
from tests.rounds import rounds

IDLE = timedelta(days=7)
SESSION = timedelta(days=30)


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("ada", "viewer")
    return found


def refused(work: Callable[[], object]) -> bool:
    try:
        work()
    except Unauthenticated:
        return True
    return False


def events(here: World) -> list[str]:
    with here.services.state.database.reading() as connection:
        return [entry.event for entry in audit.list_entries(connection, 100, 0)[0]]


def test_a_refresh_answers_as_a_login_does_and_rotates(here: World) -> None:
    first = here.login("ada")
    here.clock.advance(minutes=10)
    second = here.services.logins.refresh(first.refresh_token)
    assert second.user == here.services.accounts.find(first.user.id)
    assert second.expires_at == first.expires_at + 600
    assert len({first.access_token, second.access_token, first.refresh_token, second.refresh_token}) == 4
    here.services.directory.reload()
    assert here.services.directory.authenticate(second.access_token).name == "ada"


def test_the_same_token_again_within_the_grace_gives_the_very_same_answer(here: World) -> None:
    first = here.login("ada").refresh_token
    second = here.services.logins.refresh(first)
    here.clock.advance(seconds=GRACE.total_seconds())
    assert here.services.logins.refresh(first) == second
    third = here.services.logins.refresh(second.refresh_token)
    assert here.services.logins.refresh(first) == second
    assert here.services.logins.refresh(second.refresh_token) == third


def test_the_same_token_after_the_grace_ends_the_whole_session(here: World) -> None:
    first = here.login("ada").refresh_token
    second = here.services.logins.refresh(first)
    here.clock.advance(seconds=GRACE.total_seconds() + 1)
    assert refused(lambda: here.services.logins.refresh(first))
    assert refused(lambda: here.services.logins.refresh(second.refresh_token))
    here.services.directory.reload()
    assert refused(lambda: here.services.directory.authenticate(second.access_token))
    with here.services.state.database.reading() as connection:
        (reused, *_, login, _), _ = audit.list_entries(connection, 100, 0)
    assert (reused.event, login.event) == (AuditEvent.TOKEN_REUSED, AuditEvent.LOGIN)
    assert reused.session == login.session == here.services.logins.session_of(first, TokenUse.REFRESH)


def test_the_end_of_one_session_is_not_the_end_of_another(here: World) -> None:
    other = here.login("ada")
    first = here.login("ada").refresh_token
    here.services.logins.refresh(first)
    here.clock.advance(minutes=1)
    assert refused(lambda: here.services.logins.refresh(first))
    assert here.services.logins.refresh(other.refresh_token).user.username == "ada"


def test_a_clock_that_is_set_back_ends_no_session(here: World) -> None:
    first = here.login("ada").refresh_token
    second = here.services.logins.refresh(first)
    here.clock.advance(seconds=-20)
    assert here.services.logins.refresh(first) == second


def test_a_key_that_changes_between_two_tries_changes_nothing(here: World) -> None:
    here.clock.advance(seconds=SIGNING_PERIOD.total_seconds() - 60)
    first = here.login("ada").refresh_token
    here.clock.advance(seconds=55)
    second = here.services.logins.refresh(first)
    here.clock.advance(seconds=8)
    assert here.services.logins.refresh(first) == second


def test_an_unused_token_lives_for_the_idle_time_and_a_session_for_its_own(here: World) -> None:
    idle = here.login("ada").refresh_token
    busy = here.login("ada").refresh_token
    for _ in range(4):
        here.clock.advance(days=6)
        busy = here.services.logins.refresh(busy).refresh_token
    assert refused(lambda: here.services.logins.refresh(idle))
    here.clock.advance(days=5, hours=23)
    busy = here.services.logins.refresh(busy).refresh_token
    here.clock.advance(hours=1)
    assert refused(lambda: here.services.logins.refresh(busy))


def test_a_token_that_the_database_does_not_know_is_refused_and_ends_nothing(here: World) -> None:
    """A restored backup is an example: the token is signed, but newer than the database."""
    first = here.login("ada").refresh_token
    second = here.services.logins.refresh(first).refresh_token
    with here.services.state.database.writing() as connection:
        connection.execute(delete(refresh_tokens).where(refresh_tokens.c.parent.is_not(None)))
        connection.execute(update(refresh_tokens).values(used_at=None, successor=None))
    assert refused(lambda: here.services.logins.refresh(second))
    assert here.services.logins.refresh(first).refresh_token == second


def test_a_successor_whose_key_was_taken_away_is_refused_and_ends_nothing(here: World) -> None:
    here.clock.advance(seconds=SIGNING_PERIOD.total_seconds() - 60)
    first = here.login("ada").refresh_token
    here.clock.advance(seconds=60)
    second = here.services.logins.refresh(first).refresh_token
    here.services.keyring.ring = Ring(here.services.keyring.ring.keys[:1])
    assert refused(lambda: here.services.logins.refresh(first))
    here.services.keyring.reload()
    assert here.services.logins.refresh(second)


def test_logout_ends_both_tokens(here: World) -> None:
    signed_in = here.login("ada")
    here.services.directory.reload()
    here.services.logins.logout(here.services.directory.authenticate(signed_in.access_token))
    here.services.directory.reload()
    assert refused(lambda: here.services.directory.authenticate(signed_in.access_token))
    assert refused(lambda: here.services.logins.refresh(signed_in.refresh_token))


def test_a_deactivated_user_cannot_refresh(here: World) -> None:
    number = here.services.accounts.find(1).id
    signed_in = here.login("ada")
    here.services.accounts.change(OPERATOR, number, {"active": False})
    assert refused(lambda: here.services.logins.refresh(signed_in.refresh_token))
    here.services.accounts.change(OPERATOR, number, {"active": True})
    assert refused(lambda: here.services.logins.refresh(signed_in.refresh_token))
    assert here.login("ada").user.username == "ada"


def test_the_tokens_of_a_removed_account_fit_no_later_one(here: World) -> None:
    signed_in = here.login("ada")
    here.services.accounts.remove(OPERATOR, signed_in.user.id)
    later = here.user("bob", "admin")
    assert later.id != signed_in.user.id
    here.services.directory.reload()
    assert refused(lambda: here.services.directory.authenticate(signed_in.access_token))
    assert refused(lambda: here.services.logins.refresh(signed_in.refresh_token))


def test_an_access_token_is_no_refresh_token_and_the_other_way_round(here: World) -> None:
    signed_in = here.login("ada")
    here.services.directory.reload()
    assert refused(lambda: here.services.logins.refresh(signed_in.access_token))
    assert refused(lambda: here.services.directory.authenticate(signed_in.refresh_token))
    assert here.services.logins.refresh(signed_in.refresh_token)


def test_the_database_holds_no_token(here: World, tmp_path: Path) -> None:
    signed_in = here.login("ada")
    second = here.services.logins.refresh(signed_in.refresh_token)
    value = here.token("redirect:read")
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (signed_in.access_token, second.refresh_token, value, value[4:], PASSWORD):
        assert secret.encode() not in content


def test_what_has_expired_is_forgotten_and_nothing_else(here: World) -> None:
    old = here.login("ada").refresh_token
    here.services.logins.refresh(old)
    here.clock.advance(days=20)
    recent = here.login("ada").refresh_token
    here.clock.advance(days=6)
    recent = here.services.logins.refresh(recent).refresh_token
    here.clock.advance(days=4, hours=1)
    assert here.services.logins.sweep() == 1
    assert here.services.logins.sweep() == 0
    assert here.services.logins.refresh(recent)


def refresh_all(folder: Path, tokens: list[str]) -> list[SessionTokens]:
    """Return the outcomes of one process for tokens that other processes send at the same time."""
    state = open_state_store(folder)
    create_keys(folder / "keys", ManualClock())
    keyring = Keyring(folder / "keys", SESSION, ManualClock())
    logins = Logins(state, keyring, Throttle(state, ManualClock()), Lifetimes(), ManualClock())
    found = [logins.refresh(token) for token in tokens]
    state.close()
    return found


def test_of_many_processes_with_one_token_all_get_the_one_successor(here: World, tmp_path: Path) -> None:
    tokens = [here.login("ada").refresh_token for _ in range(20)]
    with ProcessPoolExecutor(6, FORKED) as pool:
        answers = list(pool.map(refresh_all, [tmp_path] * 6, [tokens] * 6))
    assert answers == [answers[0]] * 6
    assert len({answer.refresh_token for answer in answers[0]}) == 20
    for answer in answers[0]:
        assert here.services.logins.refresh(answer.refresh_token)


class Chain(RuleBasedStateMachine):
    """Sessions compared with a model that tracks each token's position in its chain."""

    tokens = Bundle("tokens")

    @initialize()
    def begin(self) -> None:
        """Create an account in an empty folder."""
        self.folder = TemporaryDirectory()
        self.here = world(Path(self.folder.name))
        self.here.user("ada", "viewer")
        self.used: dict[str, tuple[float, str]] = {}
        self.session_of: dict[str, int] = {}
        self.ended: set[int] = set()
        self.expires: dict[str, float] = {}
        self.session_ends: list[float] = []

    @property
    def now(self) -> float:
        """Unix time."""
        return self.here.clock().timestamp()

    @rule(target=tokens)
    def login(self) -> str:
        """Start a new chain."""
        token = self.here.login("ada").refresh_token
        self.session_of[token] = len(self.session_ends)
        self.session_ends.append(self.now + SESSION.total_seconds())
        self.expires[token] = self.now + IDLE.total_seconds()
        return token

    @rule(target=tokens, token=tokens)
    def refresh(self, token: str) -> str:
        """Use any token of any chain once more."""
        expected = self.expect(token)
        try:
            found = self.here.services.logins.refresh(token).refresh_token
        except Unauthenticated:
            assert expected is None
            if token in self.used and self.expires[token] > self.now:
                self.ended.add(self.session_of[token])
            return token
        assert expected is not None
        assert expected in {"new", found}
        if expected == "new":
            assert found not in self.session_of
            session = self.session_of[token]
            self.used[token] = (self.now, found)
            self.session_of[found] = session
            self.expires[found] = min(self.session_ends[session], self.now + IDLE.total_seconds())
        return found

    def expect(self, token: str) -> str | None:
        """Return the expected result: none, a new token, or a certain token."""
        session = self.session_of[token]
        if session in self.ended or self.expires[token] <= self.now:
            return None
        if token not in self.used:
            return "new"
        at, successor = self.used[token]
        return successor if self.now - at <= GRACE.total_seconds() else None

    @rule(token=tokens)
    def logout(self, token: str) -> None:
        """End a chain by its owner."""
        session = self.session_of[token]
        if session not in self.ended and self.expect(token) is not None:
            access = self.here.services.logins.refresh(token)
            if token not in self.used:
                self.used[token] = (self.now, access.refresh_token)
                self.session_of[access.refresh_token] = session
                self.expires[access.refresh_token] = min(self.session_ends[session], self.now + IDLE.total_seconds())
            self.here.services.directory.reload()
            self.here.services.logins.logout(self.here.services.directory.authenticate(access.access_token))
            self.ended.add(session)

    @rule(seconds=st.sampled_from([1, 9, 10, 11, 3600, 86400, 6 * 86400]))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.here.clock.advance(seconds=seconds)

    @rule()
    def restart(self) -> None:
        """Continue in another process."""
        self.here.services.close()
        clock = self.here.clock
        self.here = world(Path(self.folder.name))
        self.here.clock.now = clock.now

    @rule()
    def sweep(self) -> None:
        """Remove expired records."""
        self.here.services.logins.sweep()

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "here"):
            self.here.services.close()
            self.folder.cleanup()


TestChain = Chain.TestCase
TestChain.settings = settings(
    max_examples=rounds(6, 20), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_wrong_password_and_an_unknown_account_are_distinguished_unless_set_otherwise(here: World) -> None:
    logins = here.services.logins
    quiet = replace(logins, hide_unknown=True)

    def code(work: Callable[[], object]) -> tuple[int, str]:
        with pytest.raises(ApiError) as caught:
            work()
        return caught.value.status, caught.value.code

    assert code(lambda: logins.login("ada", "wrong")) == (401, "invalid_credentials")
    assert code(lambda: logins.login("bob", "wrong")) == (403, "user_not_exist")
    assert code(lambda: quiet.login("ada", "wrong")) == code(lambda: quiet.login("bob", "wrong"))
    here.services.accounts.change(OPERATOR, 1, {"active": False})
    assert code(lambda: logins.login("ada", PASSWORD)) == (403, "user_not_exist")


def test_a_name_is_known_in_any_case_of_its_letters(here: World) -> None:
    assert here.services.logins.login("ADA", PASSWORD).user.username == "ada"
