"""Laws of the bytes of a folder: an entry is found and replaced, and two folders are compared, as if all were decoded."""

from hypothesis import given
from hypothesis import strategies as st

from gitstore.git.raw_tree import compare, find_entries, replace_entry

Entries = dict[bytes, tuple[bytes, bytes]]
FOLDER = b"40000"

# Ids of bytes that look like names, modes and separators, so that bytes of an id look like entries.
IDS = st.lists(st.sampled_from(b"4 0a\0b1"), min_size=20, max_size=20).map(bytes)
NAMES = st.text("abB40 ", min_size=1, max_size=3).map(str.encode)
FOLDERS = st.dictionaries(NAMES, st.tuples(st.sampled_from([FOLDER, b"100644"]), IDS), max_size=8)


def dump(entries: Entries) -> bytes:
    """Return the bytes of a folder, in Git's order."""
    in_order = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1][0] == FOLDER else b""))
    return b"".join(b"%b %b\0%b" % (mode, name, id_) for name, (mode, id_) in in_order)


@given(FOLDERS, NAMES)
def test_entries_are_found_by_name_in_any_case_or_the_same(entries: Entries, name: bytes) -> None:
    found = {entry.name: (entry.mode, entry.id) for entry in find_entries(dump(entries), name)}
    assert found == {each: entries[each] for each in entries if each == name}
    found = {entry.name: (entry.mode, entry.id) for entry in find_entries(dump(entries), name, ignores_case=True)}
    assert found == {each: entries[each] for each in entries if each.lower() == name.lower()}


@given(FOLDERS, NAMES, IDS, st.sampled_from([FOLDER, b"100644"]))
def test_only_an_entry_of_the_mode_is_replaced_or_removed(
    entries: Entries, name: bytes, new: bytes, mode: bytes
) -> None:
    data = dump(entries)
    if entries.get(name, (b"",))[0] == mode:
        assert replace_entry(data, mode, name, new) == dump({**entries, name: (mode, new)})
        assert replace_entry(data, mode, name, None) == dump({each: entries[each] for each in entries if each != name})
    else:
        assert replace_entry(data, mode, name, new) is None


@given(old=FOLDERS, other=FOLDERS, is_near=st.booleans())
def test_a_comparison_has_every_entry_that_differs(old: Entries, other: Entries, *, is_near: bool) -> None:
    new = {**old, **dict(list(other.items())[:2])} if is_near else other
    before, after = ({entry.name: (entry.mode, entry.id) for entry in found} for found in compare(dump(old), dump(new)))
    differing = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == differing
    assert {name: (before.get(name), after.get(name)) for name in differing} == {
        name: (old.get(name), new.get(name)) for name in differing
    }


def test_a_comparison_reads_only_the_entries_around_the_change() -> None:
    old = {b"p%05d" % number: (FOLDER, b"%020d" % number) for number in range(2_000)}
    found = compare(dump(old), dump({**old, b"p01000": (FOLDER, b"x" * 20)}))
    assert [[entry.name for entry in side] for side in found] == [[b"p01000"], [b"p01000"]]
