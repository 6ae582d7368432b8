"""What was found right is known to be right, and nothing else is."""

from pathlib import Path

import pytest

from gitstore.checks import EDITION
from gitstore.judgements import note_right, was_right
from gitstore.layout import TreeId
from tests.gitstore.places import dice

ONE, OTHER = TreeId("1" * 40), TreeId("2" * 40)


def _known(log: Path, tree: TreeId) -> tuple[bool, bool]:
    return was_right(log, tree, clean=False), was_right(log, tree, clean=True)


def test_a_tree_is_right_with_warnings_or_without(tmp_path: Path) -> None:
    log = tmp_path / "folder" / "judged"
    assert _known(log, ONE) == (False, False)
    note_right(log, ONE, clean=False)
    note_right(log, OTHER, clean=True)
    assert (_known(log, ONE), _known(log, OTHER)) == ((True, False), (True, True))
    note_right(log, ONE, clean=True)
    assert _known(log, ONE) == (True, True)


def test_what_is_known_is_not_written_again(tmp_path: Path) -> None:
    log = tmp_path / "judged"
    note_right(log, ONE, clean=True)
    size = log.stat().st_size
    for clean in (True, False):
        note_right(log, ONE, clean=clean)
    assert log.stat().st_size == size


def test_what_other_checks_found_right_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: after an update with another check, old content is looked at again."""
    log = tmp_path / "judged"
    note_right(log, ONE, clean=True)
    monkeypatch.setattr("gitstore.judgements.EDITION", EDITION + 1)
    assert _known(log, ONE) == (False, False)
    note_right(log, ONE, clean=False)
    assert _known(log, ONE) == (True, False)


def test_a_torn_record_hides_none_behind_it(tmp_path: Path) -> None:
    """A crash in the middle of a write; whoever comes next appends behind what it left."""
    log = tmp_path / "judged"
    note_right(log, ONE, clean=True)
    log.write_bytes(log.read_bytes()[: dice().randrange(1, log.stat().st_size)])
    note_right(log, OTHER, clean=True)
    assert (_known(log, ONE), _known(log, OTHER)) == ((False, False), (True, True))


def test_no_damaged_byte_makes_a_tree_right(tmp_path: Path) -> None:
    """Guard: the checksum is over the id, the edition and what was found."""
    log = tmp_path / "judged"
    note_right(log, ONE, clean=False)
    whole = log.read_bytes()
    for at in range(len(whole)):
        log.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice().randrange(8)]) + whole[at + 1 :])
        assert _known(log, ONE) == (False, False)


def test_a_log_that_cannot_be_read_knows_nothing(tmp_path: Path) -> None:
    assert _known(tmp_path, ONE) == (False, False)
