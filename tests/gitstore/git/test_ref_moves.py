"""Moves of several refs: what a dead writer noted is finished, whatever the refs are named."""

from pathlib import Path

import pytest

from gitstore.git import ref_moves, refs
from gitstore.git.lock import hold
from gitstore.git.ref_moves import JOURNAL, RefMove, finish_moves, has_unfinished_moves, prepare_moves
from gitstore.git.refs import read_ref
from gitstore.layout import CommitId
from tests.gitstore.fixtures import Place


@pytest.mark.parametrize("name", ["one", "a\u2028b", "a\x85b", "\u00e9"])
def test_noted_moves_are_finished(place: Place, name: str) -> None:
    ref = f"refs/heads/{name}"
    (place.repo / JOURNAL).write_text(f"{'0' * 40} {place.tip} {ref}\n", encoding="utf-8")
    with hold(place.repo) as lock:
        finish_moves(place.repo, lock)
    assert read_ref(place.repo, ref) == place.tip
    assert not has_unfinished_moves(place.repo)


def test_a_note_that_is_not_durable_is_taken_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The push is reported as failed, so the next writer must not move its refs."""

    def fail(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(ref_moves, "sync_directory", fail)
    moves = [RefMove(f"refs/heads/{name}", None, place.tip) for name in ("one", "two")]
    with (
        hold(place.repo) as lock,
        prepare_moves(place.repo, lock, moves) as prepared,
        pytest.raises(OSError, match="output"),
    ):
        prepared.commit(is_atomic=True)
    assert not has_unfinished_moves(place.repo)
    assert [read_ref(place.repo, move.ref) for move in moves] == [None, None]


def test_a_ref_that_could_not_be_compared_does_not_move(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    other = CommitId(place.git("rev-parse", "release~1").strip())
    place.git("update-ref", "refs/heads/one", other)

    def fail(_repository: Path, _ref: str) -> CommitId:
        raise OSError(13, "Permission denied")

    with hold(place.repo) as lock:
        with monkeypatch.context() as patch:
            patch.setattr(refs, "read_ref", fail)
            manager = prepare_moves(place.repo, lock, [RefMove("refs/heads/one", place.tip, place.tip)])
            prepared = manager.__enter__()
        assert prepared.commit(is_atomic=False) == ()
        manager.__exit__(None, None, None)
    assert read_ref(place.repo, "refs/heads/one") == other


def test_packed_refs_stay_locked_while_a_ref_is_removed(place: Place) -> None:
    """Otherwise a `git pack-refs` at the same time would bring it back."""
    place.git("update-ref", "refs/heads/one", place.tip)
    with (
        hold(place.repo) as lock,
        prepare_moves(place.repo, lock, [RefMove("refs/heads/one", place.tip, None)]) as prepared,
    ):
        assert (place.repo / "packed-refs.lock").exists()
        assert prepared.commit(is_atomic=False)
    assert not (place.repo / "packed-refs.lock").exists()
    assert read_ref(place.repo, "refs/heads/one") is None
