"""The cost of a round and of readiness: they follow the changed upstreams, whatever the number of namespaces. Calls count."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from api.upstreams.upstream_faults import UpstreamFaults
from api.upstreams.upstream_looks import UpstreamLooks
from gitstore.errors import Broken
from gitstore.store.store import Store
from gitstore.upstream.upstream_settings import UpstreamMode, UpstreamSettings, write_settings
from gitstore.upstream.upstream_state import UpstreamFault, UpstreamState, write_state
from tests.opened_files import opened_files

SETTINGS = UpstreamSettings("/srv/r.git", UpstreamMode.SOURCE)
STATE = UpstreamState(release="1" * 40)
FAULT = UpstreamFault("upstream_invalid", "The tip is not valid.", ("shop: a problem",))


def make_namespaces(store: Store, number: int) -> list[str]:
    """Create the files of namespaces with an upstream."""
    store.directory.create()
    names = [f"space-{each}" for each in range(number)]
    for name in names:
        repository = store.directory.namespace(name).repository
        (repository / "refs" / "heads").mkdir(parents=True)
        set_release(store, name, "1")
        write_settings(repository, SETTINGS)
        write_state(repository, STATE)
    return names


def set_release(store: Store, name: str, digit: str) -> None:
    """Move release, as Git does: by a new file in its place."""
    file = store.directory.namespace(name).repository / "refs" / "heads" / "release"
    new = file.with_suffix(".lock")
    new.write_text(digit * 40 + "\n", "utf-8")
    new.replace(file)


@pytest.mark.parametrize("number", [1, 100])
def test_a_round_opens_no_file_of_a_namespace_that_is_as_before(tmp_path: Path, number: int) -> None:
    store = Store(tmp_path)
    names = make_namespaces(store, number)
    looks = UpstreamLooks(store)
    before = [looks.look(name) for name in names]
    with opened_files() as reads:
        assert [looks.look(name) for name in names] == before == [(SETTINGS, STATE, "1" * 40)] * number
    assert reads == []


CHANGES: tuple[Callable[[Store, Path], object], ...] = (
    lambda _, repository: write_settings(repository, replace(SETTINGS, poll=7)),
    lambda _, repository: write_settings(repository, None),
    lambda _, repository: write_state(repository, replace(STATE, requests=7)),
    lambda store, _: set_release(store, "space-0", "2"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_seen_at_once_and_only_its_namespace_is_read(
    tmp_path: Path, change: Callable[[Store, Path], object]
) -> None:
    store = Store(tmp_path)
    names = make_namespaces(store, 20)
    looks = UpstreamLooks(store)
    before = [looks.look(name) for name in names]
    change(store, store.directory.namespace("space-0").repository)
    with opened_files() as reads:
        after = [looks.look(name) for name in names]
    assert after[0] == UpstreamLooks(store).look("space-0") != before[0]
    assert after[1:] == before[1:]
    assert 0 < len(reads) <= 4
    looks.keep(())
    assert looks.look("space-0") == after[0]


@pytest.mark.parametrize("number", [1, 100])
def test_readiness_opens_nothing_until_a_fault_begins_or_ends(tmp_path: Path, number: int) -> None:
    syncing, other = UpstreamFaults(tmp_path), UpstreamFaults(tmp_path)
    faults = {f"space-{each}": FAULT for each in range(number)}
    assert list(other.find()) == []
    syncing.note(faults)
    assert [each.namespace for each in other.find()] == [each.namespace for each in syncing.find()] == list(faults)
    with opened_files() as reads:
        syncing.note(dict(faults))
        assert other.find()[0].detail == "The tip is not valid. shop: a problem"
    assert reads == []
    syncing.note({})
    assert list(other.find()) == []


def test_a_damaged_release_is_told_and_the_settings_are_known_still(tmp_path: Path) -> None:
    store = Store(tmp_path)
    [name] = make_namespaces(store, 1)
    set_release(store, name, "x")
    found = UpstreamLooks(store).look(name)
    assert (found.settings, found.state) == (SETTINGS, STATE)
    with pytest.raises(Broken):
        found.require_release()


def test_a_damaged_or_removed_file_of_faults_is_written_again(tmp_path: Path) -> None:
    faults = UpstreamFaults(tmp_path)
    faults.note({"acme": FAULT})
    [file] = tmp_path.iterdir()
    file.write_text('{"acme": []}', "utf-8")
    assert list(faults.find()) == []
    faults.note({"acme": FAULT})
    file.unlink()
    faults.note({"acme": FAULT})
    assert [each.namespace for each in UpstreamFaults(tmp_path).find()] == ["acme"]
