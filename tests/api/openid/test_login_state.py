"""The state of a login: bound to its cookie, for ten minutes, and never from the future."""

from datetime import timedelta
from pathlib import Path

import pytest

from api.auth.logins.keyring import Ring
from api.openid.login_state import LIFETIME, begin_state, read_state
from tests.api.world import START, world


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    services = world(tmp_path).services
    services.keyring.reload()
    services.close()
    return services.keyring.ring


@pytest.mark.parametrize(
    ("age", "is_read"),
    [
        (timedelta(0), True),
        (LIFETIME - timedelta(seconds=1), True),
        (LIFETIME, False),
        (LIFETIME + timedelta(days=1), False),
        (timedelta(seconds=-60), True),  # of a node whose clock is a minute ahead
        (timedelta(seconds=-61), False),
    ],
)
def test_a_state_is_read_until_it_expires_and_not_before_it_began(ring: Ring, age: timedelta, *, is_read: bool) -> None:
    login, cookie = begin_state(ring, START, "")
    assert read_state(ring, START + age, cookie, login.state) == (login if is_read else None)


def test_a_login_that_began_some_minutes_ago_is_not_begun_again(ring: Ring) -> None:
    """Else a login could be kept young, and would never expire."""
    login, cookie = begin_state(ring, START, "")
    assert begin_state(ring, START + timedelta(minutes=4), cookie) == (login, cookie)
    for age in (timedelta(minutes=5), timedelta(seconds=-61)):
        later, changed = begin_state(ring, START + age, cookie)
        assert changed != cookie
        assert {later.state, later.nonce, later.verifier}.isdisjoint({login.state, login.nonce, login.verifier})


def test_a_state_is_of_its_cookie(ring: Ring) -> None:
    login, cookie = begin_state(ring, START, "")
    other, another = begin_state(ring, START, "")
    assert read_state(ring, START, another, login.state) is None
    assert read_state(ring, START, cookie, other.state) is None
    assert read_state(ring, START, "", login.state) is None
