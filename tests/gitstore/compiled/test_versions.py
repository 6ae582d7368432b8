"""The index of versions, compared with a plain list."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.versions import Version, VersionIndex, has_commit, write_versions
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


def test_damage_that_cannot_be_repaired_is_broken(tmp_path: Path) -> None:
    """Damaged bytes give neither an answer nor NotFound."""
    (tmp_path / "i").write_bytes(b"x" * 1000)
    index = VersionIndex(tmp_path / "i", 3, lambda: None)
    for ask in (lambda: index.get(1), lambda: index.window(0, 3), lambda: index.resolve("a" * 40)):
        with pytest.raises(Broken):
            ask()
