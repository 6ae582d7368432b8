"""Garbage in place of the configuration, the keys or the user info stops no session, and no login that could go on."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from api.auth.logins.session_tokens import SessionTokens
from api.errors import ApiError
from tests.api.openid.signing_in import SigningIn, signing_in
from tests.openid_provider import CONFIGURATION, KEYS, USER_INFO, HostileProvider, hostile_provider

GARBAGE = {
    "nothing": b"",
    "half": b"{",
    "a list": b"[]",
    "no text": b"\xff",
    "too deep": b"[" * 100_000,
    "too long": b'{"a":"' + b"x" * (2 << 20) + b'"}',
    "another document": b'{"a": 1}',
}
Break = Callable[[HostileProvider, str], None]


def failing(status: int = 200, raw: bytes | None = None) -> Break:
    return lambda provider, path: provider.fail(path, status, raw)


FAULTS: dict[str, Break] = {
    **{name: failing(raw=raw) for name, raw in GARBAGE.items()},
    **{f"status {status}": failing(status) for status in (302, 404, 429, 500)},
    "no answer": lambda provider, path: provider.hold(path),
}
SOME = ("half", "too long", "status 404", "status 500")
AWAY = ("too long", "status 500", "no answer")
"""The faults by which also an endpoint that may refuse is away."""


@pytest.fixture
def here(tmp_path: Path, provider: HostileProvider) -> Iterator[SigningIn]:
    provider.metadata["userinfo_endpoint"] = provider.issuer + USER_INFO
    with signing_in(tmp_path, provider) as found:
        yield found


@pytest.fixture
def hasty(tmp_path: Path, provider: HostileProvider) -> Iterator[SigningIn]:
    """Yield what waits for the provider for a short time only."""
    with signing_in(tmp_path, provider, openid_timeout=3) as found:
        yield found


def goes_on(here: SigningIn, tokens: SessionTokens) -> None:
    """Check that a session goes on, with the roles that it had, and that a login can begin."""
    answer = here.refresh(tokens)
    assert answer.status == 200, answer.body
    me = here.call("GET", "/api/me", token=answer.json()["tokens"]["accessToken"])
    assert (me.status, me.json()["roles"]) == (200, ["viewer"])
    begun = here.call("GET", "/auth/openid")
    assert (begun.status, begun.json()["enabled"]) == (200, True)


def login_status(here: SigningIn) -> int:
    """Return the status of a login that fails."""
    with pytest.raises(ApiError) as refused:
        here.login()
    assert refused.value.code == "openid_unavailable"
    return refused.value.status


@pytest.mark.parametrize(("path", "faults"), [(CONFIGURATION, [*FAULTS][:-1]), (KEYS, SOME)])
def test_an_older_document_serves_while_the_provider_has_no_good_one(
    here: SigningIn, path: str, faults: Sequence[str]
) -> None:
    for fault in faults:
        here.provider.heal()
        here.provider.claims["groups"] = ["readers"]
        here.provider.metadata["userinfo_endpoint"] = here.provider.issuer + USER_INFO
        here.world.clock.advance(hours=2)
        tokens = here.login()
        here.world.clock.advance(hours=2)  # longer than a document serves without a look
        FAULTS[fault](here.provider, path)
        before = here.provider.counts[path]
        assert here.login().user.id == tokens.user.id
        assert here.provider.counts[path] == before + 1, "it was fetched, and was none"
        goes_on(here, tokens)


@pytest.mark.parametrize("path", [CONFIGURATION, KEYS, USER_INFO])
def test_a_provider_that_does_not_answer_stops_no_session(hasty: SigningIn, path: str) -> None:
    hasty.provider.metadata["userinfo_endpoint"] = hasty.provider.issuer + USER_INFO
    hasty.provider.info["groups"] = ["readers"]
    tokens = hasty.login()
    hasty.world.clock.advance(hours=2)
    hasty.provider.hold(path)
    goes_on(hasty, tokens)
    assert hasty.provider.counts[path] > 1, "it was asked"


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "another issuer": (CONFIGURATION, {"issuer": "http://evil.example"}),
    "an endpoint that is none": (CONFIGURATION, {"token_endpoint": 7}),
    "no endpoint": (CONFIGURATION, {"jwks_uri": None}),
    "keys of another kind": (KEYS, {"keys": {"a": 1}}),
    "no keys": (KEYS, {"keys": []}),
    "keys that are none": (KEYS, {"keys": ["a", 7]}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_document_replaces_no_good_one(here: SigningIn, name: str) -> None:
    path, document = WRONG[name]
    here.login()
    here.world.clock.advance(hours=2)
    usual = here.provider.respond(path)
    here.provider.fail(path, raw=json.dumps({**usual, **document}).encode())
    assert here.login().user.username == "ada"
    here.world.clock.advance(minutes=2)
    assert here.restarted().login().user.username == "ada"
    here.provider.heal()
    here.world.clock.advance(minutes=2)
    before = here.provider.counts[path]
    here.login()
    assert here.provider.counts[path] == before + 1, "the good one is fetched as soon as there is one"


@pytest.mark.parametrize("fault", ["another document", "status 404", "no answer"])
@pytest.mark.parametrize("path", [CONFIGURATION, KEYS])
def test_a_login_without_any_document_is_503(hasty: SigningIn, path: str, fault: str) -> None:
    here = hasty
    FAULTS[fault](here.provider, path)
    assert login_status(here) == 503
    here.world.clock.advance(minutes=2)
    assert here.call("GET", "/auth/openid").status == (503 if path == CONFIGURATION else 200)
    here.provider.faults.clear()
    here.provider.release()
    here.world.clock.advance(minutes=2)
    assert here.login().user.username == "ada"


def test_user_info_that_does_not_come_changes_no_roles_and_gives_none(here: SigningIn) -> None:
    here.provider.info["groups"] = ["readers"]
    tokens = here.login()
    for name in SOME:
        here.provider.faults.clear()
        here.provider.release()
        tokens = here.login()
        assert here.roles(tokens.user.id) == ("viewer",)
        here.world.clock.advance(seconds=61)
        FAULTS[name](here.provider, USER_INFO)
        goes_on(here, tokens)
        if name in AWAY:
            assert login_status(here) == 503
        else:
            assert here.roles(here.login("kim-1").user.id) == ()


def test_all_goes_on_at_a_closed_port_but_logins(tmp_path: Path) -> None:
    with ExitStack() as worlds:
        with hostile_provider() as provider:
            provider.claims["groups"] = ["readers"]
            here = worlds.enter_context(signing_in(tmp_path / "a", provider))
            tokens = here.login()
            provider.metadata["userinfo_endpoint"] = "http://127.0.0.1:9/userinfo"
            del provider.claims["groups"]
            here.world.clock.advance(hours=2)
            assert login_status(here) == 503, "the user info alone is away"
        here.world.clock.advance(hours=2)
        goes_on(here, tokens)
        assert login_status(here) == 503
        never = worlds.enter_context(signing_in(tmp_path / "b", provider))
        assert never.call("GET", "/auth/openid").status == 503
