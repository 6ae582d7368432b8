"""A logout of the provider that comes while a login is on its way: no session of it is left."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from api.db.accounts import openid
from api.errors import Unauthenticated
from tests.api.openid.signing_in import SigningIn, signing_in
from tests.openid_provider import TOKENS, HostileProvider
from tests.postgres import running_postgres, waits_for_a_lock
from tests.service import wait_until


@pytest.fixture
def on_postgres(tmp_path: Path, provider: HostileProvider) -> Iterator[tuple[SigningIn, str]]:
    """Return the parts of a service with PostgreSQL, and the address of its database."""
    with running_postgres() as server:
        url = server.database()
        with signing_in(tmp_path, provider, url) as found:
            yield found, url


def log_in_beside(here: SigningIn, **claims: Any) -> None:
    """Log in while the provider ends a session; its answer to the code comes later."""

    async def both() -> None:
        here.provider.hold(TOKENS)
        login = asyncio.create_task(here.log_in())
        await asyncio.to_thread(wait_until, lambda: here.provider.counts[TOKENS] > 0, 20, "the code to be sent")
        here.world.clock.advance(seconds=1)
        await here.logins.logout_by_provider(here.provider.logout_token(**claims), None)
        here.provider.release()
        await login

    here.provider.counts.clear()
    asyncio.run(both())


LOGOUTS: list[dict[str, Any]] = [{}, {"sub": "ada-1"}, {"sub": "ada-1", "sid": None}]


@pytest.mark.parametrize("claims", LOGOUTS)
def test_a_login_whose_session_the_provider_has_ended_opens_none(here: SigningIn, claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        log_in_beside(here, **claims)
    assert here.refresh(here.login()).status == 200, "a login that begins later is another one"


@pytest.mark.parametrize("claims", [{"sid": "sid-2"}, {"sub": "kim-1"}, {"sub": "kim-1", "sid": None}])
def test_a_logout_of_another_session_or_person_stops_no_login(here: SigningIn, claims: dict[str, Any]) -> None:
    log_in_beside(here, **claims)


def test_a_logout_is_forgotten_once_no_login_can_be_on_its_way(here: SigningIn) -> None:
    def count() -> int:
        with here.world.services.state.database.reading() as connection:
            return int(connection.exec_driver_sql("SELECT count(*) FROM openid_used").scalar_one())

    with pytest.raises(Unauthenticated):
        log_in_beside(here)
    assert count() == 3  # the state, the logout token, and the logout
    here.world.clock.advance(minutes=31)
    here.world.services.logins.sweep()
    assert count() == 0


@pytest.mark.usefixtures("postgres_programs")
def test_on_postgresql_a_login_sees_the_logout_before_it(on_postgres: tuple[SigningIn, str]) -> None:
    for claims in LOGOUTS:
        with pytest.raises(Unauthenticated):
            log_in_beside(on_postgres[0], **claims)


@pytest.mark.usefixtures("postgres_programs")
def test_on_postgresql_a_logout_waits_for_the_login_and_ends_its_session(
    on_postgres: tuple[SigningIn, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There another transaction does not see a session before it is committed, and could miss it."""
    (here, url), stored, may_commit = on_postgres, Event(), Event()
    here.login()  # creates the account, which is a change of accounts

    def add_and_wait(*given: Any) -> None:
        add_session(*given)
        stored.set()
        assert may_commit.wait(20)

    add_session = openid.add_session
    monkeypatch.setattr(openid, "add_session", add_and_wait)
    token = here.provider.logout_token()
    with ThreadPoolExecutor(2) as threads:
        login = threads.submit(here.login)
        assert stored.wait(20)
        logout = threads.submit(lambda: asyncio.run(here.restarted().logins.logout_by_provider(token, None)))
        wait_until(lambda: logout.done() or waits_for_a_lock(url), 20, "the logout to wait for the login")
        may_commit.set()
        logout.result(20)
        tokens = login.result(20)
    assert here.session(tokens).revoked_because == "logout at the provider"
    assert here.refresh(tokens).status == 401
