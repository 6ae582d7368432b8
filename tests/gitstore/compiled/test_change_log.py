"""The log of changes: written changes are read back; damaged, torn or foreign blocks are missing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from content.changes.diff import Change, ChangeType
from content.records.record import Record, identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.indexes.change_log import ChangeLog, LoggedChange, append_blocks, build_entries, dump_block
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.layout import CommitId
from tests.gitstore.fixtures import page, redirect, seeded_random


def _commit(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def _commits(last: int) -> list[bytes]:
    return [bytes.fromhex(_commit(number)) for number in range(1, last + 1)]


def _added(*records: Record) -> ChangesByKind:
    of = {kind: [Change(kind, None, each) for each in records if _kind(each) is kind] for kind in Kind}
    return dict(of)


def _block(number: int, commit: CommitId, changes: ChangesByKind) -> bytes:
    return dump_block(number, commit, build_entries(changes))


def _kind(record: Record) -> Kind:
    return Kind.REDIRECTS if hasattr(record, "source") else Kind.PAGES


def _find(log: ChangeLog, identity: str, kind: Kind = Kind.REDIRECTS) -> list[LoggedChange]:
    found, total = log.find(kind, identity_id(identity), slice(0, 1_000))
    assert len(found) == total
    return found


def _numbers(log: ChangeLog, identity: str, kind: Kind = Kind.REDIRECTS) -> list[int]:
    return [noted.publish for noted in _find(log, identity, kind)]


def _write(path: Path, *numbers: int) -> None:
    append_blocks(
        path,
        [_block(number, _commit(number), _added(redirect(f"/{number}"), redirect("/all"))) for number in numbers],
    )


def test_changes_are_found_newest_first_in_any_order_of_writing(tmp_path: Path) -> None:
    """A publish is logged when it happens, older ones when they are first requested."""
    _write(tmp_path / "log", 3, 1)
    log = ChangeLog(tmp_path / "log", _commits(4))
    assert (_numbers(log, "/all"), _numbers(log, "/1"), _numbers(log, "/none")) == ([3, 1], [1], [])
    assert log.missing == [2, 4]


def test_a_redirect_and_a_page_of_one_name_are_distinguished(tmp_path: Path) -> None:
    """A redirect and a page of one name have the same id."""
    path = tmp_path / "log"
    append_blocks(path, [_block(1, _commit(1), _added(redirect("/a"), page("/a")))])
    append_blocks(
        path, [_block(2, _commit(2), {Kind.REDIRECTS: [], Kind.PAGES: [Change(Kind.PAGES, page("/a"), None)]})]
    )
    log = ChangeLog(path, _commits(2))
    assert _numbers(log, "/a") == [1]
    found = _find(log, "/a", Kind.PAGES)
    assert [(each.publish, each.change) for each in found] == [(2, ChangeType.REMOVED), (1, ChangeType.ADDED)]
    assert (log.details(found[0]) or {})["path"] == "/a"


def test_an_id_that_spans_others_is_not_found(tmp_path: Path) -> None:
    """Guard: a search through bytes matches only at the beginning of an id."""
    records = [redirect(f"/{number}") for number in range(200)]
    append_blocks(tmp_path / "log", [_block(1, _commit(1), _added(*records))])
    log = ChangeLog(tmp_path / "log", _commits(1))
    ids = "".join(each.id for each in records)
    across = [ids[at : at + 16] for at in range(8, 160, 2) if at % 16]
    assert not any(log.find(Kind.REDIRECTS, each, slice(1))[1] for each in across)
    assert all(_find(log, each.source) for each in records)


def test_many_changes_have_no_details(tmp_path: Path) -> None:
    """A change takes nine bytes: the log of an import of 100,000 stays below a megabyte."""
    records = [redirect(f"/{number}") for number in range(1_000)]
    data = _block(1, _commit(1), _added(*records))
    append_blocks(tmp_path / "log", [data])
    log = ChangeLog(tmp_path / "log", _commits(1))
    assert log.details(_find(log, "/5")[0]) is None
    assert len(data) < 9 * 1_000 + 100


def test_a_block_of_another_commit_does_not_count(tmp_path: Path) -> None:
    """Guard: the log is tied to the chain of versions. A publish that lost its race has left a block under a number."""
    path = tmp_path / "log"
    _write(path, 1)
    append_blocks(path, [_block(2, _commit(99), _added(redirect("/lost")))])
    log = ChangeLog(path, _commits(2))
    assert (log.missing, _numbers(log, "/lost")) == ([2], [])
    _write(path, 2)
    log = ChangeLog(path, _commits(2))
    assert (log.missing, _numbers(log, "/lost"), _numbers(log, "/all")) == ([], [], [2, 1])


def test_a_block_beyond_the_newest_version_does_not_count(tmp_path: Path) -> None:
    """A publish is logged before release moves to it."""
    _write(tmp_path / "log", 1, 2)
    assert _numbers(ChangeLog(tmp_path / "log", _commits(1)), "/all") == [1]


def test_what_follows_a_torn_end_is_found(tmp_path: Path) -> None:
    """A crash in the middle of a write leaves half a block, and the next publish appends to it."""
    path = tmp_path / "log"
    _write(path, 1, 2)
    whole = path.read_bytes()
    length = len(_block(2, _commit(2), _added(redirect("/2"), redirect("/all"))))
    for cut in range(1, length):
        path.unlink()
        path.write_bytes(whole[:-cut])
        assert ChangeLog(path, _commits(2)).missing == [2]
        _write(path, 3)
        log = ChangeLog(path, _commits(3))
        assert (log.missing, _numbers(log, "/all")) == ([2], [3, 1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data, at: data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :],
        lambda data, at: data[:at],
        lambda data, at: data[:at] + b"\0" * (len(data) - at),
        lambda data, at: data[:at] + data[at + 1 :],
    ],
    ids=["flipped", "cut", "zeroed", "shifted"],
)
def test_damage_makes_changes_missing_and_never_incorrect(
    tmp_path: Path, damage: Callable[[bytes, int], bytes]
) -> None:
    """Guard: the checksums. A change that is read is correct, and one that cannot be read is reported as missing."""
    path = tmp_path / "log"
    _write(path, 1, 2, 3)
    whole, chance = path.read_bytes(), seeded_random()
    for _ in range(100):
        path.unlink()
        path.write_bytes(damage(whole, chance.randrange(len(whole))))
        log = ChangeLog(path, _commits(3))
        assert log.missing
        assert _numbers(log, "/all") == [number for number in (3, 2, 1) if number not in log.missing]
        _write(path, *log.missing)
        assert ChangeLog(path, _commits(3)).missing == []


def test_what_follows_damage_is_still_found(tmp_path: Path) -> None:
    """Guard: the search continues at the next block. Otherwise changes added later would not be read."""
    path = tmp_path / "log"
    _write(path, 1, 2)
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(b"X" + data[1:])
    _write(path, 3)
    assert ChangeLog(path, _commits(3)).missing == [1]
