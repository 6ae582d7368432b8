"""The pages of workers: added up for whoever reads, and kept when their workers end."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.ledger import Ledger, Page
from api.tally import Counts

A, B, LEVEL = ("requests", "/a", "GET"), ("requests", "/b", "GET"), ("waiting",)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An empty ledger."""
    found = Ledger(tmp_path / "metrics")
    found.clear()
    return found


def page(counts: Counts, level: int = 0) -> Page:
    """A page with these counts and one level."""
    return Page(counts, {LEVEL: level})


def test_pages_are_added_up(ledger: Ledger) -> None:
    ledger.write("1-1", page({A: 1, B: 2.5}, 3))
    ledger.write("2-1", page({A: 10}, 4))
    assert ledger.read() == ({A: 11, B: 2.5}, {LEVEL: 7}, 2)


def test_a_later_page_stands_for_an_earlier_one_of_the_same_worker(ledger: Ledger) -> None:
    ledger.write("1-1", page({A: 1}, 3))
    ledger.write("1-1", page({A: 2}, 1))
    assert ledger.read() == ({A: 2}, {LEVEL: 1}, 1)


def test_a_worker_that_ended_leaves_its_counts_and_takes_its_levels(ledger: Ledger) -> None:
    ledger.write("1-1", page({A: 1}, 3))
    ledger.write("2-1", page({A: 10}, 4))
    ledger.close({2})
    assert ledger.read() == ({A: 11}, {LEVEL: 4}, 1)


def test_a_process_id_that_comes_again_is_another_worker(ledger: Ledger) -> None:
    ledger.write("1-1", page({A: 1}))
    ledger.close(set())
    ledger.write("1-2", page({A: 10}))
    assert ledger.read().counts == {A: 11}
    ledger.close(set())
    assert ledger.read().counts == {A: 11}


def test_a_thousand_reloads_leave_one_file(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(1000):
        ledger.write(f"{number}-1", page({A: 1}))
        ledger.close(set())
    assert [file.name for file in (tmp_path / "metrics").iterdir()] == ["ended.json"]
    assert ledger.read().counts == {A: 1000}


def test_a_page_that_was_read_just_before_its_worker_ended_counts_once(tmp_path: Path) -> None:
    """Whatever the master does between any two steps of a reader, nothing counts twice or not at all."""
    for moment in range(6):
        ledger = _Interrupted(tmp_path / str(moment), moment)
        ledger.clear()
        ledger.write("1-1", page({A: 1}))
        ledger.write("2-1", page({A: 10}))
        ledger.armed = True
        assert ledger.read().counts == {A: 11}


class _Interrupted(Ledger):
    """A ledger whose reader is interrupted before its step `moment` by a master that closes everything."""

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
    """However workers count and end."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger"))
    counted = 0
    running: dict[int, tuple[str, int]] = {}
    for at, (pid, more, ends) in enumerate(steps):
        name, count = running.get(pid, (f"{pid}-{at}", 0))
        running[pid] = (name, count + more)
        counted += more
        ledger.write(name, page({A: count + more}))
        if ends:
            del running[pid]
            ledger.close(running)
        assert ledger.read().counts.get(A, 0) == counted
        assert ledger.read().workers == len(running)


def test_a_damaged_page_is_left_out(ledger: Ledger, tmp_path: Path) -> None:
    ledger.write("1-1", page({A: 1}))
    (tmp_path / "metrics" / "2-1").write_bytes(b"")
    assert ledger.read() == ({A: 1}, {LEVEL: 0}, 1)
    ledger.close({1})
    assert ledger.read() == ({A: 1}, {LEVEL: 0}, 1)


def test_a_start_forgets_everything(ledger: Ledger) -> None:
    ledger.write("1-1", page({A: 1}))
    ledger.close(set())
    ledger.clear()
    assert ledger.read() == ({}, {}, 0)


def test_a_folder_that_is_gone_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "gone")
    assert ledger.read() == ({}, {}, 0)
    ledger.close(set())
    with pytest.raises(OSError, match="gone"):
        ledger.write("1-1", page({A: 1}))
