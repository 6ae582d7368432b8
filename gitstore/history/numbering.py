"""Publish numbers: from the first-parent history of release to version indexes and manifests.

Every first-parent commit that changed a project's folder is a version of that project, with its next number. A commit
that creates or restores a namespace can name the highest numbers that its name reached before: the next ones are above.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from content.changes.diff import Counts
from content.changes.diff import count as count_changes
from content.records.names import is_name
from content.records.vocabulary import Kind
from gitstore.compiled.budget import find_budget_problems
from gitstore.compiled.change_log import BlockEntries, append_blocks, build_entries, dump_block
from gitstore.compiled.changes import ChangesByKind
from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.manifest import (
    COLLISION,
    INVALID,
    NOT_A_FOLDER,
    PENDING,
    UNREADABLE,
    Manifest,
    ProjectEntry,
    load_manifest,
    store_manifest,
)
from gitstore.compiled.number_gaps import Gap, Gaps, add_gap, place_of
from gitstore.compiled.served_record import load_served_manifest
from gitstore.compiled.versions import Version, VersionIndex, amend_versions, has_commit, write_versions
from gitstore.errors import Broken, Busy, Invalid, OutOfSpace, is_disk_full
from gitstore.git.repository import LINK_MODE, SUBMODULE_MODE, CommitInfo, Repository, TreeEntry
from gitstore.history.messages import PUBLISHED_BY, load_highest_numbers, load_message
from gitstore.history.name_collisions import collision_message, find_collisions, find_name_holders
from gitstore.history.refusals import note_refusals, read_refusals
from gitstore.history.tree_changes import read_tree_changes
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


def ensure_manifest(
    compiler: Compiler, commit: CommitId, delta: PublishDelta | None = None, *, waits: bool = True
) -> Manifest:
    """Return the manifest of a release commit; build it if it is missing, and compile all releases in it.

    `delta` has the changes of the commit, if its writer knows them. A writer that does not wait leaves the other
    projects of a push that are not compiled yet as they were served before, for `complete_manifest` to finish.
    """
    found = load_manifest(compiler.paths.manifests, commit)
    if found:
        return found
    with hold_compile_lock(compiler.paths):
        stored, gaps, rows = _number(compiler, commit, delta, waits=waits)
    base = stored if gaps is stored.gaps else replace(stored, gaps=gaps)
    newest = {name: versions[-1] for name, versions in rows.items()}
    for name in find_collisions(compiler.repository, commit, rows.keys()) & base.projects.keys():
        newest[name] = _newest(compiler, name, base)  # in a name collision, each project depends on the other
    entries = _build_entries(
        compiler, commit, base, newest, lambda name: waits or bool(delta and delta.project == name)
    )
    manifest = base.with_projects(commit, entries)
    with compiler.tolerate_full_disk():
        return store_manifest(compiler.paths.manifests, manifest, stored, entries)
    return manifest


def complete_manifest(compiler: Compiler, commit: CommitId) -> Manifest:
    """Return the manifest of a release commit, like `ensure_manifest`, after another attempt at unfinished projects."""
    manifest = ensure_manifest(compiler, commit)
    base = replace(manifest, projects={name: entry for name, entry in manifest.projects.items() if entry.tree})
    newest = {name: _newest(compiler, name, manifest) for name in manifest.unfinished}
    entries = _build_entries(compiler, commit, base, newest, lambda _: True)
    if all(manifest.projects[name] == entry for name, entry in entries.items()):
        return manifest
    completed = manifest.with_projects(commit, entries)
    with compiler.tolerate_full_disk():
        return store_manifest(compiler.paths.manifests, completed)
    return completed


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
    return _read_index(compiler, name, last, commit, manifest.gaps.get(name, ()))


def read_highest_numbers(repository: Repository) -> dict[str, int]:
    """Return the highest number of each project ever published, from Git alone; with numbers of earlier namespaces."""
    commits = list(repository.first_parents(repository.release()))[::-1]
    numbers = _Numbers(_EMPTY_MANIFEST)
    for _ in _number_projects(repository, _EMPTY_MANIFEST, commits, numbers):
        pass
    return numbers.highest()


def _read_index(compiler: Compiler, name: str, last: int, commit: CommitId, gaps: Gaps) -> VersionIndex:
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


def _number(
    compiler: Compiler, commit: CommitId, delta: PublishDelta | None, *, waits: bool
) -> tuple[Manifest, Mapping[str, Gaps], Rows]:
    """Assign numbers to the commits since the newest manifest in the history, and write them to the indexes.

    Return that manifest, the gaps in the numbers as of the newest commit, and the new versions.
    """
    base, commits = _find_unnumbered(compiler, commit)
    numbers, log_blocks = _Numbers(base), LogBlocks()
    rows = _number_commits(compiler, base, commits, numbers, log_blocks, delta, counts_others=waits)
    if not all(_continues(compiler, base, name) for name in rows):
        base, commits, log_blocks = _EMPTY_MANIFEST, list(compiler.repository.first_parents(commit))[::-1], {}
        numbers = _Numbers(base)
        rows = _number_commits(compiler, base, commits, numbers, log_blocks, delta, counts_others=waits)
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
        for name, highest in load_highest_numbers(message).items():
            if highest > self._highest(name):
                gap = Gap(self._newest_of(name), highest)
                self.gaps = {**self.gaps, name: add_gap(self.gaps.get(name, ()), gap)}

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


def _number_commits(
    compiler: Compiler,
    base: Manifest,
    commits: Sequence[CommitInfo],
    numbers: _Numbers,
    log_blocks: LogBlocks,
    delta: PublishDelta | None = None,
    *,
    counts_others: bool = True,
) -> Rows:
    """Return the versions of the commits; if they are few, their changes are counted and added to `log_blocks`."""
    rows: Rows = {}
    for numbered in _number_projects(compiler.repository, base, commits, numbers):
        name, number, info, (old, new) = numbered
        is_counted = len(commits) <= _MAX_COUNTED_COMMITS and (counts_others or bool(delta and delta.project == name))
        known = _find_delta(compiler, name, (old or None, new or None), delta) if is_counted else None
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
    if delta and delta.project == name and delta.trees == trees:
        return delta
    with suppress(Broken, PermissionError):
        return build_publish_delta(name, trees, read_tree_changes(compiler, name, *trees))
    return None


def _newest(compiler: Compiler, name: str, base: Manifest) -> Version:
    return read_index(compiler, base, name).get(base.projects[name].newest)


def _build_entries(
    compiler: Compiler,
    commit: CommitId,
    base: Manifest,
    newest: Mapping[str, Version],
    waits: Callable[[str], bool],
) -> dict[str, ProjectEntry]:
    """Return the entries after the newest publishes; a project with a name collision and an older rival is not served."""
    present = [name for name, version in newest.items() if version.tree]
    holders = find_name_holders(compiler.repository, commit, present)
    return {
        name: _build_entry(compiler, commit, name, base, version, holders.get(name), waits=waits(name))
        for name, version in newest.items()
    }


def _build_entry(
    compiler: Compiler,
    commit: CommitId,
    name: str,
    base: Manifest,
    newest: Version,
    name_holder: str | None,
    *,
    waits: bool,
) -> ProjectEntry:
    """Return the entry of a project after its newest publish."""
    if name_holder:
        return _entry(newest, None, Failure(COLLISION, collision_message(name_holder)), name)
    if newest.tree is None and newest.refused:
        failure = Failure(NOT_A_FOLDER, describe_misplaced(compiler.repository, commit, name))
        return _entry(newest, _last_served(compiler, name, base), failure, name)
    if newest.tree is None:
        return _entry(newest, None, None, name)
    if not waits and compiler.find_compiled(name, newest.tree) is None:
        return _entry(newest, _last_served(compiler, name, base), Failure(PENDING, "it is being compiled."), name)
    return _serve(compiler, name, base, newest)


def _serve(compiler: Compiler, name: str, base: Manifest, newest: Version) -> ProjectEntry:
    """Return the entry after the newest publish; if that one is invalid, the last valid one is still served."""
    failure = _find_failure(compiler, name, newest, base)
    if failure is None:
        return _entry(newest, newest, None, name)
    if failure.code == UNREADABLE:
        return _entry(newest, _last_served(compiler, name, base), failure, name)
    invalid_versions = [newest]
    served = _find_last_valid(compiler, name, base, newest, invalid_versions)
    note_refusals(compiler.repository.path, name, [version.commit for version in invalid_versions])
    with hold_compile_lock(compiler.paths):
        refused = [replace(version, refused=True) for version in invalid_versions]
        amend_versions(compiler.paths.versions / name, refused, base.gaps.get(name, ()))
    return _entry(newest, served, failure, name)


def _budget_failure(compiler: Compiler, name: str, before: ProjectEntry | None, newest: Version) -> str:
    """Return the reason why a pushed version costs too much, compared with the served one; empty if it does not.

    A version that was published by this service, or compiled before, may cost more: limits change.
    """
    tree = newest.tree
    if tree is None or compiler.was_validated(tree) or _is_published_here(compiler, newest):
        return ""
    try:
        served = compiler.snapshot(name, before.tree) if before and before.tree else None
        problems = find_budget_problems(served, compiler.snapshot(name, tree), compiler.limits)
    except Invalid as ex:
        problems = list(ex.problems)
    return problems[0].text() if problems else ""


def _is_published_here(compiler: Compiler, version: Version) -> bool:
    return PUBLISHED_BY in load_message(compiler.repository.commit(version.commit).message).trailers


def _find_last_valid(
    compiler: Compiler, name: str, base: Manifest, newest: Version, invalid_versions: list[Version]
) -> Version | None:
    """Return the newest valid version, not older than the served one of `base`; add others to `invalid_versions`.

    Behind a version that cannot be read, only the version that was served last is right: older rules were replaced.
    """
    index = _read_index(compiler, name, newest.number, newest.commit, base.gaps.get(name, ()))
    oldest = index.place_of(base.projects[name].number) if name in base.projects else 1
    for place in range(index.count - 1, oldest - 1, -1):
        version = index.at(place)
        if version.tree is None and not version.refused:
            break
        failure = _find_failure(compiler, name, version) if version.tree else Failure(NOT_A_FOLDER, "")
        if failure is None:
            return version
        if failure.code == UNREADABLE:
            return _last_served(compiler, name, base)
        if version.tree:
            invalid_versions.append(version)
    return None


def _last_served(compiler: Compiler, name: str, base: Manifest) -> Version | None:
    """Return the version that was served before, as in `base`, or else in the record of the last served state."""
    entry = base.projects.get(name)
    if entry is None:
        recorded = load_served_manifest(compiler.paths)
        entry = recorded.projects.get(name) if recorded else None
    return Version(entry.number, entry.version, entry.tree, entry.time) if entry and entry.tree else None


class Failure(NamedTuple):
    """The reason why a version cannot be served."""

    code: str
    reason: str


def _find_failure(compiler: Compiler, name: str, version: Version, base: Manifest | None = None) -> Failure | None:
    """Return the reason why a version cannot be served; None if it can. A full disk is not of the version.

    With `base`, the version that was served before, its cost is checked too.
    """
    try:
        costs = _budget_failure(compiler, name, base.projects.get(name), version) if base else ""
        if costs:
            return Failure(INVALID, costs)
        compiler.release(name, version.tree or TreeId(""))
    except Invalid as ex:
        return Failure(INVALID, ex.problems[0].text())
    except (OutOfSpace, Busy):
        raise
    except OSError as ex:
        if is_disk_full(ex):
            raise
        return Failure(UNREADABLE, f"a file cannot be read ({ex.strerror}).")
    except Broken as ex:
        return Failure(UNREADABLE, str(ex))
    except Exception as ex:  # noqa: BLE001 - content of one project cannot stop the others
        return Failure(UNREADABLE, f"its content cannot be read ({type(ex).__name__}).")
    return None


def describe_misplaced(repository: Repository, commit: CommitId, name: str) -> str:
    """Describe the entry that is in the place of a project's folder, and the fix."""
    entries = repository.entries(repository.commit(commit).tree)
    mode = next((entry.mode for entry in entries if entry.name == name), 0)
    kinds = {SUBMODULE_MODE: "a submodule", LINK_MODE: "a symbolic link"}
    return (
        f"{name} is {kinds.get(mode, 'a file')}, not a folder. Put the folder back, or remove the entry to remove the "
        "project."
    )


def _entry(newest: Version, served: Version | None, failure: Failure | None, name: str) -> ProjectEntry:
    """Return the entry of a project that serves a version, or (None) nothing: it was removed, or has no valid one."""
    shown = served or newest
    return ProjectEntry(
        shown.number,
        shown.commit,
        served.tree if served else None,
        shown.time,
        newest.number,
        newest.commit,
        deleted=served is None and failure is None,
        failed=f"publish {newest.number} of {name}: {failure.reason}" if failure else "",
        fault=failure.code if failure else "",
    )
