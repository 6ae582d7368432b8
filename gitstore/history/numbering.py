"""Publish numbers: from the first-parent history of release to version indexes and manifests.

Every first-parent commit that changed a project's folder is a version of that project, with its next number.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from content.changes.diff import Counts
from content.changes.diff import count as count_changes
from content.records.names import is_name
from content.records.vocabulary import Kind
from gitstore.compiled.budget import find_budget_problems
from gitstore.compiled.change_log import BlockEntries, append_blocks, build_entries, dump_block
from gitstore.compiled.changes import ChangesByKind
from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.manifest import Manifest, ProjectEntry, load_manifest, store_manifest
from gitstore.compiled.versions import Version, VersionIndex, amend_versions, has_commit, write_versions
from gitstore.errors import Invalid, OutOfSpace
from gitstore.git.repository import CommitInfo, Repository
from gitstore.history.messages import PUBLISHED_BY, load_message
from gitstore.history.name_collisions import collision_message, find_collisions, find_name_holder
from gitstore.history.refusals import note_refusals, read_refusals
from gitstore.history.tree_changes import read_tree_changes
from gitstore.layout import CommitId, TreeId

Rows = dict[str, list[Version]]
LogBlocks = dict[str, list[bytes]]
# Commits whose changes are counted while a manifest is built; a longer history is counted on request.
_MAX_COUNTED_COMMITS = 20
_EMPTY_MANIFEST = Manifest(CommitId(""))


class PublishDelta(NamedTuple):
    """The changes of a publish in progress, computed before its numbering."""

    project: str
    trees: tuple[TreeId | None, TreeId | None]
    entries: BlockEntries
    counts: dict[Kind, Counts]


def build_publish_delta(
    project: str, trees: tuple[TreeId | None, TreeId | None], changes: ChangesByKind
) -> PublishDelta:
    """Build the delta from computed changes."""
    return PublishDelta(
        project, trees, build_entries(changes), {kind: count_changes(of_kind) for kind, of_kind in changes.items()}
    )


def ensure_manifest(compiler: Compiler, commit: CommitId, delta: PublishDelta | None = None) -> Manifest:
    """Return the manifest of a release commit; build it if it is missing, and compile all releases in it.

    `delta` has the changes of the commit, if its writer knows them.
    """
    found = load_manifest(compiler.paths.manifests, commit)
    if found:
        return found
    with hold_compile_lock(compiler.paths):
        base, rows = _number(compiler, commit, delta)
    newest = {name: versions[-1] for name, versions in rows.items()}
    for name in find_collisions(base.projects, rows):  # in a name collision, each project depends on the other
        newest[name] = _newest(compiler, name, base.projects[name])
    entries = {
        name: _entry_without_collision(compiler, commit, name, base, version) for name, version in newest.items()
    }
    manifest = base.with_projects(commit, entries)
    with compiler.tolerate_full_disk():
        store_manifest(compiler.paths.manifests, manifest)
    return manifest


def project_trees(repository: Repository, root: TreeId) -> dict[str, TreeId]:
    """Return the projects of a namespace's tree: every folder whose name is valid for a project."""
    entries = repository.entries(root)
    return {entry.name: TreeId(entry.id) for entry in entries if entry.is_folder and is_name(entry.name)}


def read_index(compiler: Compiler, name: str, last: int, commit: CommitId) -> VersionIndex:
    """Return the versions of a project up to publish `last`, which is `commit`; rebuild the index if it disagrees."""
    path = compiler.paths.versions / name
    index = VersionIndex(path, last, lambda: _renumber(compiler, name, commit))
    if last and not has_commit(path, last, commit):
        _renumber(compiler, name, commit)
    return index


def _renumber(compiler: Compiler, name: str, commit: CommitId) -> None:
    """Write a project's index from the history of `commit`."""
    with hold_compile_lock(compiler.paths):
        rows = _number_commits(compiler, _EMPTY_MANIFEST, list(compiler.repository.first_parents(commit))[::-1], {})
        _write(compiler, name, rows[name])


def _write(compiler: Compiler, name: str, versions: list[Version]) -> None:
    """Write versions to a project's index, and mark those that were found invalid before."""
    invalid_versions = read_refusals(compiler.repository.path, name)
    marked = (
        [replace(version, refused=version.commit in invalid_versions) for version in versions]
        if invalid_versions
        else versions
    )
    write_versions(compiler.paths.versions / name, marked)


def _number(compiler: Compiler, commit: CommitId, delta: PublishDelta | None) -> tuple[Manifest, Rows]:
    """Assign numbers to the commits since the newest manifest in the history, and write them to the indexes."""
    base, commits = _find_unnumbered(compiler, commit)
    log_blocks: LogBlocks = {}
    rows = _number_commits(compiler, base, commits, log_blocks, delta)
    if not all(_continues(compiler, base, name) for name in rows):
        base, commits, log_blocks = _EMPTY_MANIFEST, list(compiler.repository.first_parents(commit))[::-1], {}
        rows = _number_commits(compiler, base, commits, log_blocks)
    for name, versions in rows.items():
        with compiler.tolerate_full_disk():
            _write(compiler, name, versions)
    for name, blocks in log_blocks.items():
        with suppress(OutOfSpace, OSError):  # a cache: the history of a rule reads missing blocks from Git
            append_blocks(compiler.paths.changes / name, blocks)
    return base, rows


def _find_unnumbered(compiler: Compiler, commit: CommitId) -> tuple[Manifest, list[CommitInfo]]:
    """Return the newest manifest among the first parents, and the commits since, oldest first."""
    commits: list[CommitInfo] = []
    for info in compiler.repository.first_parents(commit):
        known = load_manifest(compiler.paths.manifests, info.id)
        if known:
            return known, commits[::-1]
        commits.append(info)
    return _EMPTY_MANIFEST, commits[::-1]


def _continues(compiler: Compiler, base: Manifest, name: str) -> bool:
    """Tell whether a project's index reaches the end of the manifest."""
    entry = base.projects.get(name)
    return has_commit(compiler.paths.versions / name, entry.newest, entry.newest_commit) if entry else True


def _number_commits(
    compiler: Compiler,
    base: Manifest,
    commits: Sequence[CommitInfo],
    log_blocks: LogBlocks,
    delta: PublishDelta | None = None,
) -> Rows:
    """Return the versions of the commits; if they are few, their changes are counted and added to `log_blocks`."""
    repository = compiler.repository
    before = project_trees(repository, repository.commit(base.commit).tree) if base.commit else {}
    numbers = {name: count(entry.newest + 1) for name, entry in base.projects.items()}
    rows: Rows = {}
    for info in commits:
        after = project_trees(repository, info.tree)
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name), after.get(name)
            if old != new:
                number = next(numbers.setdefault(name, count(1)))
                known = _find_delta(compiler, name, (old, new), delta) if len(commits) <= _MAX_COUNTED_COMMITS else None
                if known:
                    log_blocks.setdefault(name, []).append(dump_block(number, info.id, known.entries))
                counts = known.counts if known else None
                rows.setdefault(name, []).append(Version(number, info.id, new, info.time, counts))
        before = after
    return rows


def _find_delta(
    compiler: Compiler, name: str, trees: tuple[TreeId | None, TreeId | None], delta: PublishDelta | None
) -> PublishDelta:
    """Return the changes of a commit in a project: from its writer, or from its trees."""
    if delta and delta.project == name and delta.trees == trees:
        return delta
    return build_publish_delta(name, trees, read_tree_changes(compiler, name, *trees))


def _newest(compiler: Compiler, name: str, entry: ProjectEntry) -> Version:
    return read_index(compiler, name, entry.newest, entry.newest_commit).get(entry.newest)


def _entry_without_collision(
    compiler: Compiler, commit: CommitId, name: str, base: Manifest, newest: Version
) -> ProjectEntry:
    """Return the entry after the newest publish; a project with a name collision and an older rival is not served."""
    name_holder = find_name_holder(compiler.repository, commit, name) if newest.tree else ""
    if name_holder:
        return _entry(
            newest,
            newest,
            servable=False,
            failed=f"publish {newest.number} of {name}: {collision_message(name_holder)}",
        )
    return _serve(compiler, name, base.projects.get(name), newest)


def _serve(compiler: Compiler, name: str, before: ProjectEntry | None, newest: Version) -> ProjectEntry:
    """Return the entry after the newest publish; if that one is invalid, the last valid one is still served."""
    if newest.tree is None:
        return _entry(newest, newest, deleted=True)
    failed = _budget_failure(compiler, name, before, newest) or _failure(compiler, name, newest)
    if not failed:
        return _entry(newest, newest)
    invalid_versions = [newest]
    served = _find_last_valid(compiler, name, before, newest, invalid_versions)
    note_refusals(compiler.repository.path, name, [version.commit for version in invalid_versions])
    with hold_compile_lock(compiler.paths):
        amend_versions(compiler.paths.versions / name, [replace(version, refused=True) for version in invalid_versions])
    return _entry(served or newest, newest, servable=served is not None, failed=failed)


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
    return f"publish {newest.number} of {name}: {problems[0].text()}" if problems else ""


def _is_published_here(compiler: Compiler, version: Version) -> bool:
    return PUBLISHED_BY in load_message(compiler.repository.commit(version.commit).message).trailers


def _find_last_valid(
    compiler: Compiler, name: str, before: ProjectEntry | None, newest: Version, invalid_versions: list[Version]
) -> Version | None:
    """Return the newest valid version, not older than the served one of `before`; add others to `invalid_versions`."""
    for number in range(newest.number - 1, before.number - 1 if before else 0, -1):
        version = read_index(compiler, name, newest.number, newest.commit).get(number)
        if version.tree is None:
            break
        if not _failure(compiler, name, version):
            return version
        invalid_versions.append(version)
    return None


def _failure(compiler: Compiler, name: str, version: Version) -> str:
    """Return the reason why a version cannot be served; empty if it can."""
    try:
        compiler.release(name, version.tree or TreeId(""))
    except Invalid as ex:
        return f"publish {version.number} of {name}: {ex.problems[0].text()}"
    return ""


def _entry(
    served: Version, newest: Version, *, deleted: bool = False, servable: bool = True, failed: str = ""
) -> ProjectEntry:
    tree = served.tree if servable else None
    return ProjectEntry(
        served.number, served.commit, tree, served.time, newest.number, newest.commit, deleted=deleted, failed=failed
    )
