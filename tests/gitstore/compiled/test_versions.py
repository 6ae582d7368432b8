"""The index of versions, compared with a plain list."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.indexes.versions import Version, VersionIndex, has_commit, write_versions
from gitstore.errors import BadRequest, Broken, NotFound
from gitstore.layout import CommitId, TreeId

_ids = st.binary(min_size=20, max_size=20).map(bytes.hex)
_counts = st.builds(Counts, *[st.integers(0, 2**32 - 1)] * 3)
_rows = st.lists(
    st.tuples(
        _ids.map(CommitId),
        st.none() | _ids.filter(lambda text: text != "0" * 40).map(TreeId),
        st.integers(-(2**62), 2**62),
        st.none() | st.fixed_dictionaries(dict.fromkeys(Kind, _counts)),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[0][:7],
)


def _versions(rows: list[tuple[CommitId, TreeId | None, int, dict[Kind, Counts] | None]]) -> list[Version]:
    return [Version(number, *row) for number, row in enumerate(rows, 1)]


def _fail() -> None:
    pytest.fail("an index without damage was rebuilt")


@given(rows=_rows, offset=st.integers(0, 15), limit=st.integers(0, 15), cut=st.integers(1, 12))
def test_index_answers_as_a_list_does(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[CommitId, TreeId | None, int, dict[Kind, Counts] | None]],
    offset: int,
    limit: int,
    cut: int,
) -> None:
    """Entries written at once or in pieces are read by number, by short or full SHA, and in windows, newest first."""
    path = tmp_path_factory.getbasetemp() / "index"
    path.unlink(missing_ok=True)
    versions = _versions(rows)
    for part in (versions[:cut], versions[cut:]):
        if part:
            write_versions(path, part)
    index = VersionIndex(path, len(versions), _fail)
    assert [index.get(version.number) for version in versions] == versions
    assert index.window(offset, limit) == versions[::-1][offset : offset + limit]
    assert has_commit(path, len(versions), versions[-1].commit)
    for version in versions:
        for length in (7, 8, 39, 40):
            prefix = version.commit[:length]
            if not prefix.isdecimal():
                assert index.resolve(prefix) == version


def test_ambiguous_sha_is_a_bad_request_and_digits_are_a_number_first(tmp_path: Path) -> None:
    """A SHA that consists of digits is found where no version has that number."""
    commits = ["1234567" + "a" * 33, "1234567" + "b" * 33, "7654321" + "c" * 33]
    write_versions(tmp_path / "i", _versions([(CommitId(commit), None, 0, None) for commit in commits]))
    index = VersionIndex(tmp_path / "i", 3, _fail)
    with pytest.raises(BadRequest):
        index.resolve("1234567")
    assert index.resolve("7654321").number == 3
    assert index.resolve("3").number == 3


def test_readers_stop_at_the_given_length(tmp_path: Path) -> None:
    """Entries of an interrupted publish are not read, and are overwritten."""
    versions = _versions([(CommitId(str(number) * 40), None, number, None) for number in range(1, 4)])
    write_versions(tmp_path / "i", versions)
    index = VersionIndex(tmp_path / "i", 2, _fail)
    assert [version.number for version in index.window(0, 9)] == [2, 1]
    for word in ("3", "3" * 40):
        with pytest.raises(NotFound):
            index.resolve(word)


def _many(count: int, salt: str = "") -> list[Version]:
    """Return versions whose commits are spread like real ones; those of different salts have no commit in common."""
    commits = (sha1(f"{salt}{number}".encode(), usedforsecurity=False).hexdigest() for number in range(count))
    return [Version(number, CommitId(commit), None, 0) for number, commit in enumerate(commits, 1)]


def _sorted_file(index: Path) -> Path:
    return index.with_name(f"{index.name}.sorted")


def _bytes_read(work: Callable[[], object]) -> int:
    before = _rchar()
    work()
    return _rchar() - before


def _rchar() -> int:
    return int(Path("/proc/self/io").read_text(encoding="ascii").split("rchar: ")[1].split()[0])


def test_a_sha_among_many_versions_is_found_by_a_few_small_reads(tmp_path: Path) -> None:
    """The bytes read do not grow with the versions, for a version that exists, a short SHA and an unknown one."""
    read = list[int]()
    for count in (2_048, 20_480):
        versions = _many(count)
        write_versions(tmp_path / str(count), versions)
        index = VersionIndex(tmp_path / str(count), count, _fail)
        wanted = [versions[0], versions[count // 2], versions[-1]]
        assert [index.resolve(version.commit) for version in wanted] == wanted

        def ask(index: VersionIndex = index, wanted: Sequence[Version] = wanted) -> None:
            for version in wanted:
                assert index.resolve(version.commit[:12]) == version
            with pytest.raises(NotFound):
                index.resolve("e" * 40)

        read.append(_bytes_read(ask))
    assert read[1] <= 1.2 * read[0]
    assert read[1] < 20_480 * 20


@pytest.mark.parametrize("fault", ["missing", "cut", "one bit", "other history", "longer history"])
def test_a_fault_in_the_sorted_commits_hides_no_version_and_invents_none(tmp_path: Path, fault: str) -> None:
    path, versions, others = tmp_path / "i", _many(2_500), _many(2_600, "other")
    wanted = versions[::50]
    if fault in {"other history", "longer history"}:
        earlier = [*versions[:300], *others[300:2_450]] if fault == "other history" else others
        write_versions(path, [replace(version, number=number) for number, version in enumerate(earlier, 1)])
        VersionIndex(path, len(earlier), _fail).resolve(earlier[0].commit)
        path.unlink()
    write_versions(path, versions)
    if fault in {"missing", "cut", "one bit"}:
        VersionIndex(path, 2_500, _fail).resolve(versions[0].commit)
        data = bytearray(_sorted_file(path).read_bytes())
        wanted.append(versions[int.from_bytes(data[28 * 1_250 + 20 : 28 * 1_250 + 24], "little") - 1])
        data[28 * 1_250] ^= 1
        _sorted_file(path).write_bytes(bytes(data) if fault == "one bit" else data[: 28 * 100 + 5])
    if fault == "missing":
        _sorted_file(path).unlink()
    index = VersionIndex(path, 2_500, _fail)
    assert [index.resolve(version.commit) for version in wanted] == wanted
    for version in others[::50]:
        with pytest.raises(NotFound):
            index.resolve(version.commit)


def test_versions_after_the_sorted_ones_are_found_and_later_ones_are_not(tmp_path: Path) -> None:
    """A reader with an older manifest does not see the commits that a newer one sorted."""
    path, versions = tmp_path / "i", _many(4_000)
    write_versions(path, versions[:2_000])
    assert VersionIndex(path, 2_000, _fail).resolve(versions[1_999].commit) == versions[1_999]
    size = _sorted_file(path).stat().st_size
    write_versions(path, versions[2_000:3_000])
    index = VersionIndex(path, 3_000, _fail)
    assert [index.resolve(versions[at].commit) for at in (1, 2_000, 2_999)] == [
        versions[at] for at in (1, 2_000, 2_999)
    ]
    assert _sorted_file(path).stat().st_size == size, "sorted again too early"
    write_versions(path, versions[3_000:])
    assert VersionIndex(path, 4_000, _fail).resolve(versions[3_500].commit) == versions[3_500]
    assert _sorted_file(path).stat().st_size == 2 * size
    older = VersionIndex(path, 2_500, _fail)
    assert older.resolve(versions[2_499].commit) == versions[2_499]
    with pytest.raises(NotFound):
        older.resolve(versions[2_500].commit)


def test_damage_that_cannot_be_repaired_is_broken(tmp_path: Path) -> None:
    """Damaged bytes give neither an answer nor NotFound."""
    (tmp_path / "i").write_bytes(b"x" * 1000)
    index = VersionIndex(tmp_path / "i", 3, lambda: None)
    for ask in (lambda: index.get(1), lambda: index.window(0, 3), lambda: index.resolve("a" * 40)):
        with pytest.raises(Broken):
            ask()
