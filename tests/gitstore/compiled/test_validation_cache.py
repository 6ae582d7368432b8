"""The validation cache: trees that passed the checks are recorded as valid, and no others."""

from pathlib import Path

import pytest

from gitstore.compiled.validation.checks import EDITION
from gitstore.compiled.validation.validation_cache import is_validated, record_validated
from gitstore.layout import TreeId
from tests.gitstore.fixtures import bytes_read, seeded_random

ONE, OTHER = TreeId("1" * 40), TreeId("2" * 40)


def _validated(log: Path, tree: TreeId) -> tuple[bool, bool]:
    return is_validated(log, tree, without_warnings=False), is_validated(log, tree, without_warnings=True)


def test_a_tree_is_valid_with_warnings_or_without(tmp_path: Path) -> None:
    log = tmp_path / "folder" / "validated"
    assert _validated(log, ONE) == (False, False)
    record_validated(log, ONE, without_warnings=False)
    record_validated(log, OTHER, without_warnings=True)
    assert (_validated(log, ONE), _validated(log, OTHER)) == ((True, False), (True, True))
    record_validated(log, ONE, without_warnings=True)
    assert _validated(log, ONE) == (True, True)


def test_a_recorded_tree_is_not_written_again(tmp_path: Path) -> None:
    log = tmp_path / "validated"
    record_validated(log, ONE, without_warnings=True)
    size = log.stat().st_size
    for without_warnings in (True, False):
        record_validated(log, ONE, without_warnings=without_warnings)
    assert log.stat().st_size == size


def test_a_verdict_of_other_checks_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: after an update with another check, old content is checked again."""
    log = tmp_path / "validated"
    record_validated(log, ONE, without_warnings=True)
    monkeypatch.setattr("gitstore.compiled.validation.validation_cache.EDITION", EDITION + 1)
    assert _validated(log, ONE) == (False, False)
    record_validated(log, ONE, without_warnings=False)
    assert _validated(log, ONE) == (True, False)


def test_a_torn_record_hides_none_behind_it(tmp_path: Path) -> None:
    """A crash in the middle of a write leaves part of a record; the next writer appends behind it."""
    log = tmp_path / "validated"
    record_validated(log, ONE, without_warnings=True)
    log.write_bytes(log.read_bytes()[: seeded_random().randrange(1, log.stat().st_size)])
    record_validated(log, OTHER, without_warnings=True)
    assert (_validated(log, ONE), _validated(log, OTHER)) == ((False, False), (True, True))


def test_no_damaged_byte_makes_a_tree_valid(tmp_path: Path) -> None:
    """Guard: the checksum covers the id, the edition and the result."""
    log = tmp_path / "validated"
    record_validated(log, ONE, without_warnings=False)
    whole = log.read_bytes()
    for at in range(len(whole)):
        log.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << seeded_random().randrange(8)]) + whole[at + 1 :])
        assert _validated(log, ONE) == (False, False)


def test_an_unreadable_log_has_no_verdicts(tmp_path: Path) -> None:
    assert _validated(tmp_path, ONE) == (False, False)


def test_only_what_was_appended_is_read_again(tmp_path: Path) -> None:
    """Guard: a publish looks into the log seven times, and it has a record for each publish. Replaced logs are read as a whole."""
    log = tmp_path / "validated"
    trees = [TreeId(f"{number:040x}") for number in range(1_000)]
    for tree in trees:
        record_validated(log, tree, without_warnings=True)
    before = bytes_read()
    record_validated(log, ONE, without_warnings=True)
    assert _validated(log, ONE) == _validated(log, trees[0]) == (True, True)
    assert bytes_read() - before < log.stat().st_size / 10
    data = log.read_bytes()
    log.write_bytes(data[: len(data) // 2])
    assert (_validated(log, ONE), _validated(log, trees[0])) == ((False, False), (True, True))
    log.unlink()
    assert _validated(log, trees[0]) == (False, False)
