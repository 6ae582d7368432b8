"""Personal tokens of people of the provider: each look at a person gives them the roles of now, and no end of a session ends them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from api.auth.logins.session_tokens import SessionTokens
from api.auth.permissions.principal import OPERATOR
from tests.api.openid.signing_in import SigningIn
from tests.openid_provider import TOKENS

WRITE = {"namespace": "*", "project": "*", "resource": "redirect", "action": "write"}
READ = {**WRITE, "action": "read"}
GONE = b'{"error": "invalid_grant"}'


@pytest.fixture
def tokens(here: SigningIn) -> SessionTokens:
    """Return the session of an administrator by the claim."""
    here.provider.claims["groups"] = ["ops"]
    return here.login()


@pytest.fixture
def value(here: SigningIn, tokens: SessionTokens) -> str:
    """Return a personal token of the person, which may read and write rules."""
    expiry = here.world.clock.now.replace(year=here.world.clock.now.year + 1, day=1).isoformat().replace("+00:00", "Z")
    body = {"name": "laptop", "grants": [READ, WRITE], "expiresAt": expiry}
    answer = here.call("POST", "/api/me/tokens", body, token=tokens.access_token)
    assert answer.status == 201, answer.body
    return str(answer.json()["token"])


def grants(here: SigningIn, value: str) -> Any:
    """Return what a token may do now; None if it is refused."""
    answer = here.call("GET", "/api/me", token=value)
    return answer.json()["grants"] if answer.status == 200 else None


def refuse(here: SigningIn, tokens: SessionTokens) -> None:
    """Have the provider refuse the person at a refresh."""
    here.provider.fail(TOKENS, 400, GONE)
    assert here.refresh(tokens).status == 401
    assert here.session(tokens).revoked_because == "refused by the provider"
    here.provider.faults.clear()


def log_out(here: SigningIn, tokens: SessionTokens) -> None:
    """Have the provider end all sessions of the person."""
    token = here.provider.logout_token(sub=here.provider.subject, sid=None)
    asyncio.run(here.logins.logout_by_provider(token, None))
    assert here.session(tokens).revoked_because == "logout at the provider"


@pytest.mark.parametrize(("groups", "left"), [(["readers"], [READ]), ([], []), (None, [READ, WRITE])])
def test_a_token_follows_the_roles_that_a_refresh_finds(
    here: SigningIn, tokens: SessionTokens, value: str, groups: list[str] | None, left: list[Any]
) -> None:
    """None: the provider says nothing of roles, so they stay as they are."""
    assert grants(here, value) == [READ, WRITE]
    here.world.clock.advance(seconds=61)
    if groups is None:
        here.provider.answer["id_token"] = None
    here.provider.claims["groups"] = groups
    assert here.refresh(tokens).status == 200
    assert grants(here, value) == left


@pytest.mark.parametrize("end", [refuse, log_out])
def test_a_token_goes_on_with_the_last_roles_when_the_provider_ends_the_sessions(
    here: SigningIn, tokens: SessionTokens, value: str, end: Callable[[SigningIn, SessionTokens], None]
) -> None:
    """The provider does not say why: a person who changes a password, or logs out, would lose what their scripts push with."""
    here.world.clock.advance(seconds=61)
    end(here, tokens)
    assert here.call("GET", "/api/me", token=tokens.access_token).status == 401
    assert grants(here, value) == [READ, WRITE]
    here.provider.claims["groups"] = ["readers"]
    here.login()
    assert grants(here, value) == [READ], "the next login looks at the roles again"
    here.world.services.accounts.change(OPERATOR, tokens.user.id, {"active": False})
    assert grants(here, value) is None, "a deactivated account ends it"
