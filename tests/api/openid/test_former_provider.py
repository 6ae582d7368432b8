"""Sessions of a provider that is not that of the service any more: they end at their next refresh, whatever the provider gave for them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from api.auth.logins.browser import Client
from api.auth.logins.session_tokens import SessionTokens
from api.db.audit import AuditEvent, AuditFilter, list_entries
from tests.api.openid.signing_in import SigningIn, signing_in
from tests.api.world import PASSWORD, World, world
from tests.openid_provider import HostileProvider

NEXT = "http://127.0.0.1:9"  # where no one answers


@contextmanager
def restarted(folder: Path, provider: HostileProvider, issuer: str) -> Iterator[World]:
    """Open the same data with another provider, or without one."""
    if issuer:
        with signing_in(folder, provider, openid_issuer=issuer) as found:
            yield World(found.world.services, found.world.clock, found.world.projects, found.app)
    else:
        found_world = world(folder)
        with closing(found_world.services):
            yield found_world


def refresh_status(here: World, tokens: SessionTokens) -> int:
    return here.call("POST", "/auth/refresh", "", {"refreshToken": tokens.refresh_token}).status


@pytest.mark.parametrize("refresh_token", [None, "r1"], ids=["without a refresh token", "with one"])
@pytest.mark.parametrize("issuer", [NEXT, ""], ids=["another provider", "no provider"])
def test_a_session_of_a_former_provider_ends_at_its_next_refresh(
    tmp_path: Path, provider: HostileProvider, issuer: str, refresh_token: str | None
) -> None:
    provider.answer["refresh_token"] = refresh_token
    with signing_in(tmp_path, provider) as here:
        tokens = here.login()
        assert here.refresh(tokens).status == 200
        tokens = here.login()
        here.world.user("kim")
        by_password = here.world.services.logins.login("kim", PASSWORD, Client("192.0.2.7"))
    sent = len(provider.forms)
    with restarted(tmp_path, provider, issuer) as after:
        after.clock.advance(minutes=2)
        assert refresh_status(after, by_password) == 200
        assert after.call("GET", "/api/me", tokens.access_token).status == 200, "it ends at its refresh"
        assert refresh_status(after, tokens) == 401
        assert after.call("GET", "/api/me", tokens.access_token).status == 401
        assert refresh_status(after, tokens) == 401
        with after.services.state.database.reading() as connection:
            entries, _ = list_entries(connection, 9, 0, AuditFilter(AuditEvent.SESSIONS_ENDED))
    reason = "the provider was replaced" if issuer else "there is no provider any more"
    assert [(each.subject, each.detail["by"], each.detail["reason"]) for each in entries] == [("ada", "openid", reason)]
    assert len(provider.forms) == sent, "neither provider got a token of the other"


def test_sessions_go_on_with_the_same_provider_after_a_restart(here: SigningIn) -> None:
    tokens = here.login()
    assert here.restarted().refresh(tokens).status == 200
