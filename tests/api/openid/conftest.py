"""Fixtures of the tests of OpenID Connect."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.openid.signing_in import SigningIn, signing_in
from tests.openid_provider import HostileProvider, hostile_provider


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[HostileProvider]:
    with hostile_provider() as found:
        yield found


@pytest.fixture
def provider(shared_provider: HostileProvider) -> HostileProvider:
    """Return the provider of the module, as it was at the beginning."""
    shared_provider.heal()
    shared_provider.counts.clear()
    return shared_provider


@pytest.fixture
def here(tmp_path: Path, provider: HostileProvider) -> Iterator[SigningIn]:
    with signing_in(tmp_path, provider) as found:
        yield found
