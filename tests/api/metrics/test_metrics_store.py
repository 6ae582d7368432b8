"""Metric pages of workers: added up for readers, and archived when their workers end."""

import itertools
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.metrics import metrics_store as metrics_stores
from api.metrics.counters import Counts
from api.metrics.metrics_store import MetricsStore, WorkerMetrics

A, B, LEVEL = ("requests", "/a", "GET"), ("requests", "/b", "GET"), ("waiting",)


@pytest.fixture
def metrics_store(tmp_path: Path) -> MetricsStore:
    """Return an empty metrics store."""
    found = MetricsStore(tmp_path / "metrics")
    found.clear()
    return found


def page(counts: Counts, level: int = 0) -> WorkerMetrics:
    """Return a page with these counts and one level."""
    return WorkerMetrics(counts, {LEVEL: level})


def test_pages_are_added_up(metrics_store: MetricsStore) -> None:
    metrics_store.write("1-1", page({A: 1, B: 2.5}, 3))
    metrics_store.write("2-1", page({A: 10}, 4))
    assert metrics_store.read() == ({A: 11, B: 2.5}, {LEVEL: 7}, 2)


def test_a_later_page_replaces_an_earlier_one_of_the_same_worker(metrics_store: MetricsStore) -> None:
    metrics_store.write("1-1", page({A: 1}, 3))
    metrics_store.write("1-1", page({A: 2}, 1))
    assert metrics_store.read() == ({A: 2}, {LEVEL: 1}, 1)


def test_a_worker_that_ended_leaves_its_counts_and_takes_its_levels(metrics_store: MetricsStore) -> None:
    metrics_store.write("1-1", page({A: 1}, 3))
    metrics_store.write("2-1", page({A: 10}, 4))
    metrics_store.close({2})
    assert metrics_store.read() == ({A: 11}, {LEVEL: 4}, 1)


def test_a_process_id_that_comes_again_is_another_worker(metrics_store: MetricsStore) -> None:
    metrics_store.write("1-1", page({A: 1}))
    metrics_store.close(set())
    metrics_store.write("1-2", page({A: 10}))
    assert metrics_store.read().counts == {A: 11}
    metrics_store.close(set())
    assert metrics_store.read().counts == {A: 11}


def test_a_thousand_reloads_leave_one_file(metrics_store: MetricsStore, tmp_path: Path) -> None:
    for number in range(1000):
        metrics_store.write(f"{number}-1", page({A: 1}))
        metrics_store.close(set())
    assert [file.name for file in (tmp_path / "metrics").iterdir()] == ["ended.json"]
    assert metrics_store.read().counts == {A: 1000}


def test_the_names_of_ended_workers_are_bounded(
    metrics_store: MetricsStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a year of reloads must make no reading slower. A reader may meet the newest names only."""
    monkeypatch.setattr(metrics_stores, "_MOST_REMEMBERED", 3)
    for number in range(10):
        metrics_store.write(f"{number}-1", page({A: 1}))
        metrics_store.close(set())
    ended = orjson.loads((tmp_path / "metrics" / "ended.json").read_bytes())
    assert ended["names"] == ["7-1", "8-1", "9-1"]
    assert metrics_store.read().counts == {A: 10}


def test_a_page_that_was_read_just_before_its_worker_ended_counts_once(tmp_path: Path) -> None:
    """In every interleaving of the master with the steps of a reader, each count is included exactly once."""
    for moment in range(6):
        metrics_store = _Interrupted(tmp_path / str(moment), moment)
        metrics_store.clear()
        metrics_store.write("1-1", page({A: 1}))
        metrics_store.write("2-1", page({A: 10}))
        metrics_store.armed = True
        assert metrics_store.read().counts == {A: 11}


class _Interrupted(MetricsStore):
    """A store whose reader is interrupted before its step `moment` by a master that closes everything."""

    def __init__(self, directory: Path, moment: int) -> None:
        super().__init__(directory)
        self._steps = itertools.count()
        self._moment = moment
        self.armed = False

    def _names(self) -> list[str]:
        self._step()
        return super()._names()

    def _read(self, name: str) -> dict[str, object]:
        self._step()
        return super()._read(name)

    def _step(self) -> None:
        if self.armed and next(self._steps) == self._moment:
            self.armed = False
            self.close(set())


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5), st.booleans()), max_size=30))
def test_counts_never_shrink(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]]) -> None:
    """Any order of counting and ending is tried."""
    metrics_store = MetricsStore(tmp_path_factory.mktemp("ledger"))
    counted = 0
    running: dict[int, tuple[str, int]] = {}
    for at, (pid, more, ends) in enumerate(steps):
        name, count = running.get(pid, (f"{pid}-{at}", 0))
        running[pid] = (name, count + more)
        counted += more
        metrics_store.write(name, page({A: count + more}))
        if ends:
            del running[pid]
            metrics_store.close(running)
        assert metrics_store.read().counts.get(A, 0) == counted
        assert metrics_store.read().workers == len(running)


def test_a_damaged_page_is_left_out(metrics_store: MetricsStore, tmp_path: Path) -> None:
    metrics_store.write("1-1", page({A: 1}))
    (tmp_path / "metrics" / "2-1").write_bytes(b"")
    assert metrics_store.read() == ({A: 1}, {LEVEL: 0}, 1)
    metrics_store.close({1})
    assert metrics_store.read() == ({A: 1}, {LEVEL: 0}, 1)


def test_a_start_forgets_everything(metrics_store: MetricsStore) -> None:
    metrics_store.write("1-1", page({A: 1}))
    metrics_store.close(set())
    metrics_store.clear()
    assert metrics_store.read() == ({}, {}, 0)


def test_a_folder_that_is_gone_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    metrics_store = MetricsStore(tmp_path / "gone")
    assert metrics_store.read() == ({}, {}, 0)
    metrics_store.close(set())
    with pytest.raises(OSError, match="gone"):
        metrics_store.write("1-1", page({A: 1}))
