"""Publish numbers: from the first-parent history of release to the version indexes of the projects.

Every first-parent commit that changed a project's folder is a version of that project, with its next number. A commit
that creates or restores a namespace can name the highest numbers that its name reached before: the next ones are above.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from content.changes.diff import Counts
from content.changes.diff import count as count_changes
from content.records.names import is_name
from content.records.vocabulary import Kind
from gitstore.comparison.tree_changes import read_tree_changes
from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.indexes.change_log import BlockEntries, append_blocks, build_entries, dump_block
from gitstore.compiled.indexes.manifest import (
    Manifest,
    load_manifest,
)
from gitstore.compiled.indexes.number_gaps import Gap, Gaps, add_gap, place_of
from gitstore.compiled.indexes.versions import Version, VersionIndex, has_commit, write_versions
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.errors import Broken, OutOfSpace
from gitstore.git.repository import CommitInfo, Repository, TreeEntry
from gitstore.history.messages import load_highest_numbers
from gitstore.history.refusals import read_refusals
from gitstore.layout import CommitId, TreeId

Rows = dict[str, list[Version]]
LogBlocks = dict[str, list[bytes]]
# Commits whose changes are counted while a manifest is built; a longer history is counted on request.
_MAX_COUNTED_COMMITS = 20
_EMPTY_MANIFEST = Manifest(CommitId(""))
_NO_FOLDER = TreeId("")  # a project that was replaced by something else than a folder: wrong, not a removal


class PublishDelta(NamedTuple):
    """The changes of a publish in progress, computed before its numbering."""

    project: str
    trees: tuple[TreeId | None, TreeId | None]
    entries: BlockEntries
    counts: dict[Kind, Counts]


class _NumberedChange(NamedTuple):
    """A change of a project's folder in a commit: its number, and the folder before and after."""

    project: str
    number: int
    commit: CommitInfo
    trees: tuple[TreeId | None, TreeId | None]


def build_publish_delta(
    project: str, trees: tuple[TreeId | None, TreeId | None], changes: ChangesByKind
) -> PublishDelta:
    """Build the delta from computed changes."""
    return PublishDelta(
        project, trees, build_entries(changes), {kind: count_changes(of_kind) for kind, of_kind in changes.items()}
    )


def project_trees(repository: Repository, root: TreeId) -> dict[str, TreeId]:
    """Return the projects of a namespace's tree: every folder whose name is valid for a project."""
    entries = repository.entries(root)
    return {entry.name: TreeId(entry.id) for entry in entries if entry.is_folder and is_name(entry.name)}


def _project_state(
    repository: Repository, root: TreeId | None, name: str, entry: TreeEntry | None, *, was_project: bool
) -> TreeId | None:
    """Return a project's folder from its entry in a tree; `_NO_FOLDER` if something else is in its place.

    A file whose name never was a project is none.
    """
    if entry is None or entry.is_folder:
        return TreeId(entry.id) if entry else None
    # A tree that no Git wrote may have a file and a folder of one name.
    return (repository.folder(root, name) if root else None) or (_NO_FOLDER if was_project else None)


def read_index(compiler: Compiler, manifest: Manifest, name: str) -> VersionIndex:
    """Return the versions of a project up to the newest one in the manifest; rebuild the index if it disagrees."""
    entry = manifest.projects.get(name)
    last, commit = (entry.newest, entry.newest_commit) if entry else (0, CommitId(""))
    return open_index(compiler, name, last, commit, manifest.gaps.get(name, ()))


def read_highest_numbers(repository: Repository) -> dict[str, int]:
    """Return the highest number of each project ever published, from Git alone; with numbers of earlier namespaces."""
    commits = list(repository.first_parents(repository.release()))[::-1]
    numbers = _Numbers(_EMPTY_MANIFEST)
    for _ in _number_projects(repository, _EMPTY_MANIFEST, commits, numbers):
        pass
    return numbers.highest()


def open_index(compiler: Compiler, name: str, last: int, commit: CommitId, gaps: Gaps) -> VersionIndex:
    """Open a project's index up to a version; rebuild it if it disagrees."""
    path = compiler.paths.versions / name
    index = VersionIndex(path, last, lambda: _renumber(compiler, name, commit), gaps)
    if last and not has_commit(path, last, commit, gaps):
        _renumber(compiler, name, commit)
    return index


def _renumber(compiler: Compiler, name: str, commit: CommitId) -> None:
    """Write a project's index from the history of `commit`."""
    with hold_compile_lock(compiler.paths):
        commits = list(compiler.repository.first_parents(commit))[::-1]
        numbers = _Numbers(_EMPTY_MANIFEST)
        rows = _number_commits(compiler, _EMPTY_MANIFEST, commits, numbers, {})
        _write(compiler, name, rows[name], numbers.gaps.get(name, ()))


def _write(compiler: Compiler, name: str, versions: list[Version], gaps: Gaps) -> None:
    """Write versions to a project's index, and mark those that were found invalid before."""
    invalid_versions = read_refusals(compiler.repository.path, name)
    marked = (
        [replace(version, refused=version.refused or version.commit in invalid_versions) for version in versions]
        if invalid_versions
        else versions
    )
    write_versions(compiler.paths.versions / name, marked, gaps)


def assign_numbers(
    compiler: Compiler, commit: CommitId, deltas: Sequence[PublishDelta], *, waits: bool
) -> tuple[Manifest, Mapping[str, Gaps], Rows]:
    """Assign numbers to the commits since the newest manifest in the history, and write them to the indexes.

    Return that manifest, the gaps in the numbers as of the newest commit, and the new versions.
    """
    base, commits = _find_unnumbered(compiler, commit)
    numbers, log_blocks = _Numbers(base), LogBlocks()
    rows = _number_commits(compiler, base, commits, numbers, log_blocks, deltas, counts_others=waits)
    if not all(_continues(compiler, base, name) for name in rows):
        base, commits, log_blocks = _EMPTY_MANIFEST, list(compiler.repository.first_parents(commit))[::-1], {}
        numbers = _Numbers(base)
        rows = _number_commits(compiler, base, commits, numbers, log_blocks, deltas, counts_others=waits)
    for name, versions in rows.items():
        with compiler.tolerate_full_disk():
            _write(compiler, name, versions, numbers.gaps.get(name, ()))
    for name, blocks in log_blocks.items():
        with suppress(OutOfSpace, OSError):  # a cache: the history of a rule reads missing blocks from Git
            append_blocks(compiler.paths.changes / name, blocks)
    return base, numbers.gaps, rows


def _find_unnumbered(compiler: Compiler, commit: CommitId) -> tuple[Manifest, list[CommitInfo]]:
    """Return the newest manifest among the first parents, and the commits since, oldest first."""
    commits: list[CommitInfo] = []
    broken = set[CommitId]()
    for info in compiler.repository.first_parents(commit):
        known = load_manifest(compiler.paths.manifests, info.id, broken)
        if known:
            return known, commits[::-1]
        commits.append(info)
    return _EMPTY_MANIFEST, commits[::-1]


def _continues(compiler: Compiler, base: Manifest, name: str) -> bool:
    """Tell whether a project's index reaches the end of the manifest."""
    entry = base.projects.get(name)
    if entry is None:
        return True
    gaps = base.gaps.get(name, ())
    return has_commit(compiler.paths.versions / name, entry.newest, entry.newest_commit, gaps)


class _Numbers:
    """The next publish number of each project."""

    def __init__(self, base: Manifest) -> None:
        self._base = base.projects
        self._newest = dict[str, int]()  # of the projects that took a number since
        self.gaps: Mapping[str, Gaps] = base.gaps  # the same object as long as nothing is skipped

    def highest(self) -> dict[str, int]:
        """Return the highest number of each project, also of those with earlier namespaces only."""
        return {name: self._highest(name) for name in self._base.keys() | self._newest.keys() | self.gaps.keys()}

    def skip(self, message: str) -> None:
        """Skip the numbers up to those that a commit names."""
        skipped = {
            name: add_gap(self.gaps.get(name, ()), Gap(self._newest_of(name), highest))
            for name, highest in load_highest_numbers(message).items()
            if highest > self._highest(name)
        }
        if skipped:
            self.gaps = {**self.gaps, **skipped}

    def take(self, name: str) -> int:
        """Return the number of a project's next version."""
        self._newest[name] = self._highest(name) + 1
        return self._newest[name]

    def _highest(self, name: str) -> int:
        gaps = self.gaps.get(name, ())
        return max(self._newest_of(name), gaps[-1].until if gaps else 0)

    def _newest_of(self, name: str) -> int:
        entry = self._base.get(name)
        return self._newest.get(name, entry.newest if entry else 0)


def may_skip(info: CommitInfo, before: TreeId | None) -> bool:
    """Tell whether a commit, with the tree of its first parent, may name numbers: it begins a history, or changes nothing.

    The service writes such commits alone. A squashed merge on a Git host may have copied their messages.
    """
    return not info.parents or (len(info.parents) == 1 and info.tree == before)


def _number_commits(
    compiler: Compiler,
    base: Manifest,
    commits: Sequence[CommitInfo],
    numbers: _Numbers,
    log_blocks: LogBlocks,
    deltas: Sequence[PublishDelta] = (),
    *,
    counts_others: bool = True,
) -> Rows:
    """Return the versions of the commits; if they are few, their changes are counted and added to `log_blocks`."""
    rows: Rows = {}
    own = {delta.project: delta for delta in deltas}
    for numbered in _number_projects(compiler.repository, base, commits, numbers):
        name, number, info, (old, new) = numbered
        is_counted = len(commits) <= _MAX_COUNTED_COMMITS and (counts_others or name in own)
        known = _find_delta(compiler, name, (old or None, new or None), own.get(name)) if is_counted else None
        if known:
            place = place_of(number, numbers.gaps.get(name, ()))
            log_blocks.setdefault(name, []).append(dump_block(place, info.id, known.entries))
        counts = known.counts if known else None
        refused = new == _NO_FOLDER
        rows.setdefault(name, []).append(Version(number, info.id, new or None, info.time, counts, refused))
    return rows


def _number_projects(
    repository: Repository, base: Manifest, commits: Sequence[CommitInfo], numbers: _Numbers
) -> Iterator[_NumberedChange]:
    """Yield each change of a project's folder in the commits after `base`, with its number."""
    exists = dict[str, bool]()  # of the projects that changed since `base`
    root = repository.commit(base.commit).tree if base.commit else None
    for info in commits:
        if may_skip(info, root):
            numbers.skip(info.message)
        differing = repository.differing_entries(root, info.tree)
        for name in sorted(filter(is_name, differing)):
            known = base.projects.get(name)
            existed = exists.get(name, known is not None and not known.deleted)
            old, new = differing[name]
            before = _project_state(repository, root, name, old, was_project=existed)
            after = _project_state(repository, info.tree, name, new, was_project=before is not None)
            exists[name] = after is not None
            if before != after:
                yield _NumberedChange(name, numbers.take(name), info, (before, after))
        root = info.tree


def _find_delta(
    compiler: Compiler, name: str, trees: tuple[TreeId | None, TreeId | None], delta: PublishDelta | None
) -> PublishDelta | None:
    """Return the changes of a commit in a project: from its writer, or from its trees; None if one is damaged."""
    if delta and delta.trees == trees:
        return delta
    with suppress(Broken, PermissionError):
        return build_publish_delta(name, trees, read_tree_changes(compiler, name, *trees))
    return None
