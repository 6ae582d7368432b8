"""Fixtures of the tests of signatures: keys by ssh-keygen."""

from pathlib import Path

import pytest

from tests.ssh_keys import SERVICE, Key, KeyMaker


@pytest.fixture
def service_key(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key of a service."""
    return ssh_keygen(tmp_path, SERVICE)


@pytest.fixture
def kim(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key of a person."""
    return ssh_keygen(tmp_path, "kim@acme.example")
