"""The ring of keys: readable by its owner alone, the same in all processes, and rotated without refusing a token."""

import json
import shutil
import stat
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from api.auth.logins.jwt_token import Claims, TokenUse, mint, verify
from api.auth.logins.keyring import SIGNING_PERIOD, InvalidKey, Keyring, Ring, create_keys
from api.errors import Unauthenticated
from gitstore.file_lock import hold_lock_file
from tests.api.world import START, ManualClock
from tests.processes import FORKED

OVERLAP = timedelta(days=30)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keyring(tmp_path: Path, clock: ManualClock) -> Keyring:
    return opened(tmp_path / "keys", clock)


def opened(folder: Path, clock: ManualClock) -> Keyring:
    """Return the ring of a process, which creates the first key if it is the first."""
    create_keys(folder, clock)
    return Keyring(folder, OVERLAP, clock)


def kids(folder: Path) -> list[str]:
    """Return the key ids of the ring that a process opens."""
    return [key.kid for key in opened(folder, ManualClock()).ring.keys]


def signed(keyring: Keyring, clock: ManualClock) -> str:
    now = int(clock().timestamp())
    key = keyring.ring.signing(clock())
    return mint(Claims(1, "s", "j", now, now + 10**8), TokenUse.ACCESS, key)


def test_the_first_start_makes_a_key_to_sign_with_and_the_next_one(keyring: Keyring, tmp_path: Path) -> None:
    first, second = keyring.ring.keys
    assert first.not_before == START.timestamp()
    assert second.not_before == (START + SIGNING_PERIOD).timestamp()
    assert first.secret != second.secret
    assert len(first.secret) >= 32
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_processes_that_start_at_once_have_the_same_ring(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, FORKED) as pool:
        found = list(pool.map(kids, [tmp_path / "keys"] * 8))
    assert len(found[0]) == 2
    assert found == [found[0]] * 8


def test_only_one_process_at_a_time_creates_a_key(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    with hold_lock_file(tmp_path / "keys" / ".lock"):
        starting = Thread(target=kids, args=(tmp_path / "keys",), daemon=True)
        starting.start()
        starting.join(0.3)
        assert starting.is_alive()
        assert not list((tmp_path / "keys").glob("*.json"))
    starting.join(10)
    assert len(kids(tmp_path / "keys")) == 2


def test_the_secret_is_in_no_representation(keyring: Keyring) -> None:
    key = keyring.ring.keys[0]
    assert repr(key.secret) not in repr(key)
    assert "secret" not in repr(keyring.ring)


def test_a_rotation_refuses_no_token(keyring: Keyring, clock: ManualClock, tmp_path: Path) -> None:
    """Every worker has the new key before any worker signs with it, and the old key remains."""
    other = Keyring(tmp_path / "keys", OVERLAP, clock)
    before = signed(keyring, clock)
    clock.advance(seconds=SIGNING_PERIOD.total_seconds())
    after = signed(keyring, clock)
    assert keyring.ring.signing(clock()) == keyring.ring.keys[1]
    for ring in (keyring.ring, other.ring):
        for token in (before, after):
            assert verify(token, TokenUse.ACCESS, ring, clock()).user_id == 1


def test_keys_follow_each_other_by_themselves_and_retire(keyring: Keyring, clock: ManualClock, tmp_path: Path) -> None:
    first, second = keyring.ring.keys
    old = signed(keyring, clock)
    clock.advance(days=90)
    keyring.reload()
    assert keyring.ring.signing(clock()) == second
    assert len(keyring.ring.keys) == 3
    assert verify(old, TokenUse.ACCESS, keyring.ring, clock())
    clock.advance(days=30)
    keyring.reload()
    assert keyring.ring.find(first.kid) is None
    with pytest.raises(Unauthenticated):
        verify(old, TokenUse.ACCESS, keyring.ring, clock())
    clock.advance(days=60)
    keyring.reload()
    assert not (tmp_path / "keys" / f"{first.kid}.json").exists()


def test_a_token_with_an_unknown_key_is_refused_without_a_look_at_the_disk(
    keyring: Keyring, clock: ManualClock, tmp_path: Path
) -> None:
    stranger = signed(opened(tmp_path / "other", clock), clock)
    shutil.rmtree(tmp_path / "keys")
    with pytest.raises(Unauthenticated):
        verify(stranger, TokenUse.ACCESS, keyring.ring, clock())


def test_a_key_that_is_taken_away_verifies_nothing_more(keyring: Keyring, clock: ManualClock, tmp_path: Path) -> None:
    token = signed(keyring, clock)
    (tmp_path / "keys" / f"{keyring.ring.signing(clock()).kid}.json").unlink()
    keyring.reload()
    with pytest.raises(Unauthenticated):
        verify(token, TokenUse.ACCESS, keyring.ring, clock())


def test_a_key_that_others_may_read_stops_the_start(keyring: Keyring, clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "keys" / f"{keyring.ring.keys[0].kid}.json"
    path.chmod(0o640)
    with pytest.raises(InvalidKey, match="chmod 600"):
        Keyring(tmp_path / "keys", OVERLAP, clock)


@pytest.mark.parametrize(
    "change",
    [
        {"secret": "Y2hhbmdlbWU="},
        {"secret": "not base64!"},
        {"secret": None},
        {"kid": "another"},
        {"notBefore": "soon"},
        {"notBefore": None},
    ],
)
def test_a_weak_or_broken_key_stops_the_start(
    keyring: Keyring, clock: ManualClock, tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "keys" / f"{keyring.ring.keys[0].kid}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidKey, match=path.name):
        Keyring(tmp_path / "keys", OVERLAP, clock)


def test_a_ring_that_cannot_be_reread_stays_as_it_was(keyring: Keyring, clock: ManualClock, tmp_path: Path) -> None:
    token = signed(keyring, clock)
    (tmp_path / "keys" / "broken.json").write_text("{", encoding="ascii")
    with pytest.raises(InvalidKey):
        keyring.reload()
    assert verify(token, TokenUse.ACCESS, keyring.ring, clock())


def test_a_clock_that_was_set_back_still_finds_a_key_to_sign_with(keyring: Keyring, clock: ManualClock) -> None:
    clock.advance(days=-365)
    assert keyring.ring.signing(clock()) == keyring.ring.keys[0]
    assert keyring.ring.without_retired(clock(), OVERLAP) == keyring.ring


def test_an_empty_ring_knows_no_key() -> None:
    assert Ring(()).find("any") is None
