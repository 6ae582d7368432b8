"""A key that the provider has withdrawn: refused with the next key set, and after a day also where none can be fetched."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from joserfc.jwk import RSAKey

from api.errors import ApiError
from api.openid.documents import MAX_AGE
from api.openid.provider_tokens import KEYS_LIFETIME
from tests.api.openid.signing_in import SigningIn
from tests.openid_provider import KEYS, HostileProvider, hostile_provider

SECOND = timedelta(seconds=1)


@pytest.fixture
def provider() -> Iterator[HostileProvider]:
    """Return a provider whose keys no other test has."""
    with hostile_provider() as found:
        yield found


def new_key(provider: HostileProvider) -> RSAKey:
    """Replace the key in the set of the provider; its tokens still have the old one."""
    key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig", "alg": "RS256"})
    provider.published = [dict(key.as_dict(private=False))]
    return key


def status(here: SigningIn) -> int:
    """Return the status of a login."""
    try:
        here.login()
    except ApiError as ex:
        return ex.status
    return 200


def logout_status(here: SigningIn) -> int:
    """Return the status of a logout of the provider."""
    try:
        asyncio.run(here.logins.logout_by_provider(here.provider.logout_token(), None))
    except ApiError as ex:
        return ex.status
    return 200


def test_a_withdrawn_key_is_refused_once_a_key_set_without_it_was_fetched(here: SigningIn) -> None:
    assert status(here) == 200
    old, new = here.provider.key, new_key(here.provider)
    here.provider.key, here.provider.header["kid"] = new, "second"
    here.world.clock.advance(seconds=2)
    assert status(here) == 200, "the next key is fetched as soon as a token has it"
    here.provider.key, here.provider.header["kid"] = old, "first"
    here.world.clock.advance(minutes=2)
    assert (status(here), logout_status(here)) == (401, 401)
    assert status(here.restarted()) == 401
    here.provider.header["kid"] = "second"
    assert (status(here), logout_status(here)) == (401, 401), "signed by the old key, with the name of the new one"


def test_a_withdrawn_key_is_refused_after_an_hour_where_no_token_has_the_new_one(here: SigningIn) -> None:
    """So an attacker with the old key gains an hour, however the people of the provider log in."""
    assert status(here) == 200
    new_key(here.provider)
    here.world.clock.now += MAX_AGE - SECOND
    assert status(here) == 200
    here.world.clock.now += SECOND
    assert (status(here), logout_status(here)) == (401, 401)


def test_a_key_set_serves_for_a_day_while_no_good_one_can_be_fetched(here: SigningIn) -> None:
    """After that, logins wait for the provider, and sessions go on."""
    here.provider.claims["groups"] = ["readers"]
    here.login()
    here.provider.fail(KEYS, 500)
    here.world.clock.now += KEYS_LIFETIME
    tokens = here.login()
    here.world.clock.now += 61 * SECOND  # the provider is asked about a session at most once a minute
    for node in (here, here.restarted()):
        assert (status(node), logout_status(node)) == (503, 503)
    again = here.refresh(tokens)
    assert again.status == 200
    me = here.call("GET", "/api/me", token=again.json()["tokens"]["accessToken"])
    assert (me.status, me.json()["roles"]) == (200, ["viewer"])
    here.provider.faults.clear()
    here.world.clock.advance(minutes=1)
    assert (status(here), logout_status(here)) == (200, 200)
