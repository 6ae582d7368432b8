"""The look at a person at a refresh: done to its end, repeated if it failed, and of no effect on another person."""

import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import text

from api.auth.logins.session_tokens import SessionTokens
from api.auth.permissions.principal import OPERATOR
from api.errors import Unauthenticated
from api.openid import errors, openid_logins
from tests.api.openid.signing_in import SigningIn, signing_in
from tests.openid_provider import TOKENS, HostileProvider
from tests.service import wait_until

GONE = b'{"error": "invalid_grant"}'


def begin_to_refresh(here: SigningIn, tokens: SessionTokens) -> "asyncio.Task[None]":
    """Begin what a refresh asks the provider."""
    return asyncio.create_task(here.logins.check_again(here.session_id(tokens)))


async def asked(provider: HostileProvider, times: int) -> None:
    """Return once the provider was asked for tokens so often."""
    await asyncio.to_thread(wait_until, lambda: provider.counts[TOKENS] >= times, 20, "the provider to be asked")


async def all_ended() -> None:
    """Return once all other tasks have ended."""
    own = asyncio.current_task()
    async with asyncio.timeout(20):
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not own), return_exceptions=True)


async def leave(here: SigningIn, tokens: SessionTokens) -> None:
    """Refresh as a client that leaves while the provider hangs; the provider answers later."""
    here.provider.hold(TOKENS)
    refresh = begin_to_refresh(here, tokens)
    await asked(here.provider, 2)
    refresh.cancel()
    with pytest.raises(asyncio.CancelledError):
        await refresh
    here.provider.release()
    await all_ended()


def test_a_person_whom_the_provider_refuses_is_out_also_if_their_client_left_before(here: SigningIn) -> None:
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.fail(TOKENS, 400, GONE)
    asyncio.run(leave(here, tokens))
    assert here.session(tokens).revoked_because == "refused by the provider"
    assert here.refresh(tokens).status == 401


def test_what_the_provider_says_to_a_client_that_left_is_kept(here: SigningIn) -> None:
    here.provider.claims["groups"] = ["ops"]
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.claims["groups"] = ["readers"]
    here.provider.answer["refresh_token"] = "r2"
    asyncio.run(leave(here, tokens))
    assert here.unseal(tokens) == "r2"
    assert here.roles(tokens.user.id) == ("viewer",)
    assert here.refresh(tokens).status == 200
    assert here.provider.counts[TOKENS] == 2, "it was asked less than a minute ago"


@pytest.mark.parametrize("fault", [(500, None), (429, None), (200, b"{")])
def test_a_provider_that_could_not_tell_is_asked_again_at_the_next_refresh(
    here: SigningIn, fault: tuple[int, bytes | None]
) -> None:
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.fail(TOKENS, *fault)
    again = here.refresh(tokens)
    assert again.status == 200
    here.provider.fail(TOKENS, 400, GONE)
    answer = here.call("POST", "/auth/refresh", {"refreshToken": again.json()["tokens"]["refreshToken"]})
    assert answer.status == 401
    assert here.session(tokens).revoked_at is not None


def test_a_provider_that_gives_no_answer_is_asked_again_after_a_rest(tmp_path: Path, provider: HostileProvider) -> None:
    """Guard: each refresh of a session waited for the whole timeout of a provider that hangs."""
    with signing_in(tmp_path, provider, openid_timeout=1) as here:
        tokens = here.login()
        here.world.clock.advance(seconds=61)
        here.provider.hold(TOKENS)
        for _ in range(2):
            asyncio.run(here.logins.check_again(here.session_id(tokens)))
        assert here.provider.counts[TOKENS] == 2, "the login, and the first refresh"
        here.provider.release()
        here.world.clock.advance(seconds=31)
        asyncio.run(here.logins.check_again(here.session_id(tokens)))
        assert here.provider.counts[TOKENS] == 3


def test_short_sessions_are_logged_once(here: SigningIn, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list[str]()
    monkeypatch.setattr(openid_logins._log, "warning", lambda event, **_: lines.append(event))
    openid_logins._warn_of_short_sessions.cache_clear()
    here.provider.answer["refresh_token"] = None
    for _ in range(2):
        here.login()
    assert lines == ["openid_session_is_short"]


def test_a_provider_that_told_is_not_asked_again_within_a_minute(here: SigningIn) -> None:
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.fail(TOKENS, 400, json.dumps({"error": "invalid_client"}).encode())
    for _ in range(2):
        assert here.refresh(tokens).status == 200
    assert here.provider.counts[TOKENS] == 2


def test_tokens_of_a_refresh_beside_a_look_that_hangs_end_with_the_answer_to_it(here: SigningIn) -> None:
    """The second refresh does not wait for the provider; what it gets lasts no longer than the first look."""
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.fail(TOKENS, 400, GONE)
    directory, got = here.world.services.directory, list[SessionTokens]()

    async def both() -> None:
        here.provider.hold(TOKENS)
        first = begin_to_refresh(here, tokens)
        await asked(here.provider, 2)
        await here.logins.check_again(here.session_id(tokens))
        got.append(here.world.services.logins.refresh(tokens.refresh_token))
        here.provider.release()
        with pytest.raises(Unauthenticated):
            await first

    asyncio.run(both())
    assert here.provider.counts[TOKENS] == 2, "the second one asked too"
    body = {"refreshToken": got[0].refresh_token}
    assert here.call("POST", "/auth/refresh", body).status == 401
    assert not directory.is_fresh(), "each worker reads the sessions before its next request"
    assert here.call("GET", "/api/me", token=got[0].access_token).status == 401


@pytest.mark.parametrize("change", ["set", "remove"])
def test_roles_of_the_person_before_never_reach_the_account(here: SigningIn, change: str) -> None:
    """The provider answers after an administrator has given the account to another person."""
    here.provider.claims["groups"] = ["readers"]
    tokens = here.login()
    here.world.clock.advance(seconds=61)
    here.provider.claims["groups"] = ["ops"]
    identities = here.world.services.identities

    async def refresh() -> None:
        here.provider.hold(TOKENS)
        task = begin_to_refresh(here, tokens)
        await asked(here.provider, 2)
        if change == "set":
            identities.set(OPERATOR, tokens.user.id, "kim-1")
        else:
            identities.remove(OPERATOR, tokens.user.id)
        here.provider.release()
        await task

    asyncio.run(refresh())
    assert here.roles(tokens.user.id) == ("viewer",)
    assert here.refresh(tokens).status == 401


def test_roles_that_are_never_looked_at_again_hold_for_an_hour(here: SigningIn) -> None:
    here.provider.answer["refresh_token"] = None
    tokens = here.login()
    found = here.session(tokens)
    assert (found.expires_at - found.created_at).total_seconds() == 3600
    here.world.clock.advance(minutes=59)
    again = here.refresh(tokens).json()["tokens"]["refreshToken"]
    here.world.clock.advance(minutes=1)
    assert here.call("POST", "/auth/refresh", {"refreshToken": again}).status == 401


def test_a_session_of_less_than_an_hour_stays_one(tmp_path: Path, provider: HostileProvider) -> None:
    provider.answer["refresh_token"] = None
    with signing_in(tmp_path, provider, openid_session_lifetime=600) as here:
        found = here.session(here.login())
        assert (found.expires_at - found.created_at).total_seconds() == 600


def test_roles_that_waypost_gives_do_not_make_a_session_short(tmp_path: Path, provider: HostileProvider) -> None:
    provider.answer["refresh_token"] = None
    with signing_in(tmp_path, provider, openid_roles_claim="") as here:
        found = here.session(here.login())
        assert (found.expires_at - found.created_at).total_seconds() == 12 * 3600


@pytest.mark.parametrize(
    ("scopes", "prompt", "action"),
    [
        ("openid", "", "add offline_access to openid_scopes"),
        ("openid offline_access", "", "set openid_prompt to consent"),
        ("openid offline_access", "consent", "allow refresh tokens for this client at the provider"),
    ],
)
def test_a_short_session_is_logged_with_what_to_do(
    tmp_path: Path,
    provider: HostileProvider,
    monkeypatch: pytest.MonkeyPatch,
    scopes: str,
    prompt: str,
    action: str,
) -> None:
    openid_logins._warn_of_short_sessions.cache_clear()
    logged: list[str] = []
    monkeypatch.setattr(openid_logins._log, "warning", lambda _, **parts: logged.append(parts["action"]), raising=False)
    provider.answer["refresh_token"] = None
    with signing_in(tmp_path, provider, openid_scopes=scopes, openid_prompt=prompt) as here:
        here.login()
        url, _ = asyncio.run(here.logins.begin(""))
        assert parse_qs(urlsplit(url).query).get("prompt", []) == prompt.split()
    assert logged == [action]


def test_a_login_with_the_provider_says_so_in_the_trail(here: SigningIn) -> None:
    here.login()
    with here.world.services.state.database.reading() as connection:
        found = connection.execute(text("SELECT detail FROM audit WHERE event = 'authn_login_success'")).scalars().all()
    assert [json.loads(each) for each in found] == [{"by": "openid", "issuer": here.provider.issuer}]


def test_a_logout_token_that_is_refused_is_logged_with_its_address(
    here: SigningIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[object] = []
    monkeypatch.setattr(errors._log, "warning", lambda event, **parts: logged.append((event, parts)), raising=False)
    with pytest.raises(Unauthenticated):
        asyncio.run(here.logins.logout_by_provider("junk", "192.0.2.9"))
    assert logged == [("openid_logout_failed", {"reason": "logout token: DecodeError", "address": "192.0.2.9"})]
