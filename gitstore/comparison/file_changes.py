"""The files that differ between two states of a project, apart from changes of rules.

These are project.yaml, setting by setting; tests.yaml, test by test; all files that no page names as its content; and rule files in
which no rule differs, but their comments or the order of rules.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import filterfalse, islice

from content.cache import LruCache
from content.changes.diff import ChangeType, change_type
from content.records.vocabulary import Kind
from gitstore.comparison.tests_changes import ExpectationChange, compare_tests, wire_tests
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.snapshot import CompiledFile, File, Snapshot
from gitstore.errors import Invalid
from gitstore.git.file_paths import printable_path
from gitstore.git.repository import TreeEntry
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, BlobId, FileRole, TreeId, role_of
from gitstore.yamlfiles.project_file import load_project

_MOST_COMPARED = 10_000  # pairs of files, some 300 bytes each
_FEW = 64  # files, found without a list of the others
_ROLES = frozenset(ROLE_OF_KIND.values())


class NonRuleDifference(StrEnum):
    """The only difference in a rule file: comments and layout, or the order of rules and the files they are in."""

    TEXT = "text"
    ORDER = "order"


def find_unchanged_rule_files(
    compiler: Compiler, project: str, old: Iterable[File], new: Iterable[File]
) -> dict[str, NonRuleDifference]:
    """Find the differing files, on either side, in which no rule differs; by path, with the actual difference."""
    rule_files = [[file for file in side if role_of(file.path) in _ROLES] for side in (old, new)]
    if not any(rule_files):
        return {}
    try:
        before, after = (compiler.snapshot_files(project, side) for side in rule_files)
    except Invalid:
        return {}
    return dict(found for kind in Kind for found in find_equal_rules(_by_path(kind, before), _by_path(kind, after)))


_Files = Mapping[str, CompiledFile]


def _by_path(kind: Kind, snapshot: Snapshot) -> _Files:
    return {file.path: file for file in snapshot.rule_files[kind]}


def find_equal_rules(old: _Files, new: _Files) -> Iterator[tuple[str, NonRuleDifference]]:
    """Yield the files of one kind in which no rule differs, by path, with the actual difference; all given files differ."""
    ids = {path: (_ids_at(old, path), _ids_at(new, path)) for path in sorted(old.keys() | new.keys())}
    moved = _find_moved(ids)
    places = [
        _places_of(side, {number for path in moved for each in ids[path] for number in each}) for side in (old, new)
    ]
    for path, (before, after) in ids.items():
        if before == after:
            if path not in old or path not in new or _have_equal_rules(old[path], new[path]):
                yield path, NonRuleDifference.TEXT
        elif path in moved and all(_is_found(places, number) for number in {*before, *after}):
            yield path, NonRuleDifference.ORDER


def _ids_at(files: _Files, path: str) -> list[int]:
    return list(files[path].segment.ids) if path in files else []


_Ids = tuple[Sequence[int], Sequence[int]]  # of a file, before and after


def _find_moved(files: Mapping[str, _Ids]) -> set[str]:
    """Return the files with other ids, or in another order, whose records may all be unchanged elsewhere.

    Nearly every other file has rules that were added or removed, and the first one of each tells so.
    """
    moved = {path: ids for path, ids in files.items() if ids[0] != ids[1]}
    gone = {path: set(islice(_only_in(before, after), 1)) for path, (before, after) in moved.items()}
    come = {path: set(islice(_only_in(after, before), 1)) for path, (before, after) in moved.items()}
    lost = _absent(gone.values(), (after for _, after in files.values()))
    added = _absent(come.values(), (before for before, _ in files.values()))
    return {path for path in moved if gone[path].isdisjoint(lost) and come[path].isdisjoint(added)}


def _only_in(one: Sequence[int], other: Sequence[int]) -> Iterator[int]:
    return filterfalse(set(other).__contains__, one)


def _absent(wanted: Iterable[set[int]], files: Iterable[Sequence[int]]) -> set[int]:
    """Return those of the ids that no file has."""
    left = set[int]().union(*wanted)
    for ids in files if left else ():
        left.difference_update(ids)
    return left


_Place = tuple[Segment, int]  # a file, and where in it


# An edit changes one of the files of a draft: the others were compared before.
_equal: LruCache[tuple[BlobId, BlobId], bool] = LruCache(_MOST_COMPARED)


def _have_equal_rules(old: CompiledFile, new: CompiledFile) -> bool:
    return _equal.get((old.blob, new.blob), lambda: _are_equal(old.segment, new.segment))


def _are_equal(old: Segment, new: Segment) -> bool:
    """Tell whether two files of the same ids have equal records; only those with another fingerprint are read."""
    prints = zip(old.whole.fingerprints, new.whole.fingerprints, strict=True)
    differing = (at for at, (before, after) in enumerate(prints) if before != after or old.kind is not new.kind)
    return all(old.record(at) == new.record(at) for at in differing)


def _places_of(files: _Files, ids: Collection[int]) -> dict[int, _Place]:
    """Return where these ids are; of duplicates the last one counts."""
    places = (
        ((file.segment, at, number) for file in files.values() for at, number in enumerate(file.segment.ids))
        if ids
        else ()
    )
    return {number: (segment, at) for segment, at, number in places if number in ids}


def _is_found(places: Sequence[Mapping[int, _Place]], number: int) -> bool:
    """Tell whether a record is unchanged on both sides, in any file."""
    before, after = (side.get(number) for side in places)
    return bool(before and after and _is_same(before, after))


def _is_same(old: _Place, new: _Place) -> bool:
    """Tell whether two records are equal; only those with another fingerprint are read."""
    (before, at), (after, then) = old, new
    prints = before.whole.fingerprints[at], after.whole.fingerprints[then]
    return (prints[0] == prints[1] and before.kind is after.kind) or before.record(at) == after.record(then)


_RULES = {FileRole.REDIRECTS, FileRole.PAGES}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs; `file` is its path in the namespace.

    `settings` are the differing ones of project.yaml, old and new, None if the file does not exist on that side; it is
    empty if a side cannot be read. `tests` are the differing ones of tests.yaml, likewise. `only` is the only difference of
    a rule file.
    """

    file: str
    change: ChangeType
    settings: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    only: NonRuleDifference | None = None
    tests: Sequence[ExpectationChange] = ()

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API's `files`."""
        settings = {name: {"old": old, "new": new} for name, (old, new) in self.settings.items()}
        more: dict[str, object] = {"settings": settings} if settings else {}
        more |= {"only": self.only.value} if self.only else {}
        more |= {"tests": wire_tests(self.tests)} if self.tests else {}
        return {"file": self.file, "change": self.change.value, **more}


def file_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> list[FileChange]:
    """List the files that differ between two trees apart from rules, in path order; None is a missing project.

    If the project is added or removed, so are all its rules: then no rule file is listed.
    """
    trees = (old, new)
    sides = _differing(compiler, old, new) if old != new else [{}, {}]
    changed = [path for path in sorted(sides[0].keys() | sides[1].keys()) if sides[0].get(path) != sides[1].get(path)]
    files = ([_file(path, side[path]) for path in changed if path in side] for side in sides)
    only = find_unchanged_rule_files(compiler, project, *files) if all(trees) else {}
    return [
        _change(compiler, project, path, [side.get(path) for side in sides], only.get(path))
        for path in changed
        if path in only or (role_of(path) not in _RULES and not _is_content(compiler, project, trees, sides, path))
    ]


def _file(path: str, entry: TreeEntry) -> File:
    return File(path, entry.mode, BlobId(entry.id))


def _differing(compiler: Compiler, old: TreeId | None, new: TreeId | None) -> list[dict[str, TreeEntry]]:
    """Return the files on each side that differ; where not only contents do, all files."""
    changed = compiler.repository.changed_files(old, new, _FEW) if old and new else None
    if changed is None:
        return [_files(compiler, tree) for tree in (old, new)]
    return [{printable_path(path): pair[at] for path, pair in changed.items()} for at in range(2)]


def _files(compiler: Compiler, tree: TreeId | None) -> dict[str, TreeEntry]:
    """Return the files of a tree; none if it cannot be listed, and then it cannot be published either."""
    try:
        return {printable_path(path): entry for path, entry in compiler.repository.files(tree)} if tree else {}
    except Invalid:
        return {}


def _is_content(
    compiler: Compiler,
    project: str,
    trees: Sequence[TreeId | None],
    sides: Sequence[Mapping[str, TreeEntry]],
    path: str,
) -> bool:
    """Tell whether a page names the file on each side that has it: then the page's own change shows it."""
    if role_of(path) is not FileRole.CONTENT:
        return False
    there = [tree for tree, side in zip(trees, sides, strict=True) if tree and path in side]
    return all(path in compiler.snapshot(project, tree).bodies for tree in there)


def _change(
    compiler: Compiler, project: str, path: str, entries: Sequence[TreeEntry | None], only: NonRuleDifference | None
) -> FileChange:
    old, new = entries
    change = change_type(old, new)
    if path not in {PROJECT_FILE, TESTS_FILE}:
        return FileChange(f"{project}/{path}", change, only=only)
    old_data, new_data = (compiler.repository.blob(BlobId(each.id)) if each else None for each in entries)
    return describe_file(f"{project}/{path}", change, old_data, new_data)


def describe_file(file: str, change: ChangeType, old: bytes | None, new: bytes | None) -> FileChange:
    """Describe a change of project.yaml or tests.yaml by both contents, None for no file."""
    if file.rpartition("/")[2] == PROJECT_FILE:
        return FileChange(file, change, dict(compare_settings(old, new)))
    return FileChange(file, change, tests=compare_tests(old, new))


def compare_settings(old: bytes | None, new: bytes | None) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    """Yield the settings that differ between two contents of project.yaml, None for no file; none if one is unreadable."""
    before, after = (_read(data) if data is not None else {} for data in (old, new))
    if before is None or after is None:
        return
    for name in before | after:
        if before.get(name) != after.get(name):
            yield name, (before.get(name), after.get(name))


def _read(data: bytes) -> dict[str, str] | None:
    """Read the settings in a file; None if it cannot be read."""
    settings, problems = load_project(data, PROJECT_FILE)
    return None if problems else asdict(settings)
