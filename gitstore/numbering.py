"""Counting publishes: from the first-parent history of release to version indexes and manifests.

Every first-parent commit that changed a project's folder is a version of that project, and has its next number.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from content.diff import Counts
from content.diff import count as tally
from content.names import is_name
from content.vocabulary import Kind
from gitstore.change_log import Entries, append_blocks, dump_block, entries_of
from gitstore.changes import ChangesByKind
from gitstore.compiler import Compiler, once_at_a_time
from gitstore.errors import Invalid, OutOfSpace
from gitstore.layout import CommitId, TreeId
from gitstore.manifest import Manifest, ProjectEntry, load_manifest, store_manifest
from gitstore.refusals import note_refusals, read_refusals
from gitstore.repository import CommitInfo, Repository
from gitstore.tree_changes import known_changes
from gitstore.twins import alike, elder_of, told
from gitstore.versions import Version, VersionIndex, amend_versions, holds, write_versions

Rows = dict[str, list[Version]]
Logged = dict[str, list[bytes]]
_COUNT_AT_MOST = 20
"""Commits whose changes are looked at while a manifest is made; those of a longer history when somebody asks."""
_NONE_YET = Manifest(CommitId(""))


class Made(NamedTuple):
    """What a publish that is under way changes, for whoever numbers it: it was looked at already."""

    project: str
    trees: tuple[TreeId | None, TreeId | None]
    entries: Entries
    counts: dict[Kind, Counts]


def made_of(project: str, trees: tuple[TreeId | None, TreeId | None], changes: ChangesByKind) -> Made:
    """The same, from changes that are at hand."""
    return Made(project, trees, entries_of(changes), {kind: tally(of_kind) for kind, of_kind in changes.items()})


def ensure_manifest(compiler: Compiler, commit: CommitId, made: Made | None = None) -> Manifest:
    """The manifest of a release commit, made now where it is missing, with every release that it names compiled.

    `made` is what the commit changed, where its maker knows.
    """
    found = load_manifest(compiler.paths.manifests, commit)
    if found:
        return found
    with once_at_a_time(compiler.paths):
        base, rows = _number(compiler, commit, made)
    newest = {name: versions[-1] for name, versions in rows.items()}
    for name in alike(base.projects, rows):  # what a twin may be served depends on the other
        newest[name] = _newest(compiler, name, base.projects[name])
    entries = {name: _serve_alone(compiler, commit, name, base, version) for name, version in newest.items()}
    manifest = base.with_projects(commit, entries)
    with compiler.storing():
        store_manifest(compiler.paths.manifests, manifest)
    return manifest


def project_trees(repository: Repository, root: TreeId) -> dict[str, TreeId]:
    """The projects of a namespace's tree: every folder that has a project's name."""
    entries = repository.entries(root)
    return {entry.name: TreeId(entry.id) for entry in entries if entry.is_folder and is_name(entry.name)}


def read_index(compiler: Compiler, name: str, last: int, commit: CommitId) -> VersionIndex:
    """The versions of a project up to its publish `last`, which is `commit`; made anew where the index says otherwise."""
    path = compiler.paths.versions / name
    index = VersionIndex(path, last, lambda: _renumber(compiler, name, commit))
    if last and not holds(path, last, commit):
        _renumber(compiler, name, commit)
    return index


def _renumber(compiler: Compiler, name: str, commit: CommitId) -> None:
    """Write a project's index from the history that leads to `commit`."""
    with once_at_a_time(compiler.paths):
        rows = _walk(compiler, _NONE_YET, list(compiler.repository.first_parents(commit))[::-1], {})
        _write(compiler, name, rows[name])


def _write(compiler: Compiler, name: str, versions: list[Version]) -> None:
    """Write versions to a project's index, those that were found wrong once marked as such."""
    wrong = read_refusals(compiler.repository.path, name)
    marked = [replace(version, refused=version.commit in wrong) for version in versions] if wrong else versions
    write_versions(compiler.paths.versions / name, marked)


def _number(compiler: Compiler, commit: CommitId, made: Made | None) -> tuple[Manifest, Rows]:
    """Number what came since the newest manifest on the way back, and write it to the indexes."""
    base, commits = _unknown(compiler, commit)
    logged: Logged = {}
    rows = _walk(compiler, base, commits, logged, made)
    if not all(_continues(compiler, base, name) for name in rows):
        base, commits, logged = _NONE_YET, list(compiler.repository.first_parents(commit))[::-1], {}
        rows = _walk(compiler, base, commits, logged)
    for name, versions in rows.items():
        with compiler.storing():
            _write(compiler, name, versions)
    for name, blocks in logged.items():
        with suppress(OutOfSpace, OSError):  # whoever asks for the life of a rule finds out, and reads it from Git
            append_blocks(compiler.paths.changes / name, blocks)
    return base, rows


def _unknown(compiler: Compiler, commit: CommitId) -> tuple[Manifest, list[CommitInfo]]:
    """The newest manifest on the first-parent way back, and the commits since, oldest first."""
    commits: list[CommitInfo] = []
    for info in compiler.repository.first_parents(commit):
        known = load_manifest(compiler.paths.manifests, info.id)
        if known:
            return known, commits[::-1]
        commits.append(info)
    return _NONE_YET, commits[::-1]


def _continues(compiler: Compiler, base: Manifest, name: str) -> bool:
    """Tell whether a project's index is there up to where the manifest left off."""
    entry = base.projects.get(name)
    return holds(compiler.paths.versions / name, entry.newest, entry.newest_commit) if entry else True


def _walk(
    compiler: Compiler, base: Manifest, commits: Sequence[CommitInfo], logged: Logged, made: Made | None = None
) -> Rows:
    """The versions that the commits make; while they are few, their changes are counted, and `logged` takes them."""
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
                known = _look(compiler, name, (old, new), made) if len(commits) <= _COUNT_AT_MOST else None
                if known:
                    logged.setdefault(name, []).append(dump_block(number, info.id, known.entries))
                counts = known.counts if known else None
                rows.setdefault(name, []).append(Version(number, info.id, new, info.time, counts))
        before = after
    return rows


def _look(compiler: Compiler, name: str, trees: tuple[TreeId | None, TreeId | None], made: Made | None) -> Made:
    """What a commit changed in a project: known to its maker, or seen in its trees."""
    if made and made.project == name and made.trees == trees:
        return made
    return made_of(name, trees, known_changes(compiler, name, *trees))


def _newest(compiler: Compiler, name: str, entry: ProjectEntry) -> Version:
    return read_index(compiler, name, entry.newest, entry.newest_commit).get(entry.newest)


def _serve_alone(compiler: Compiler, commit: CommitId, name: str, base: Manifest, newest: Version) -> ProjectEntry:
    """The entry after the newest publish; nothing is served of a project that has an elder twin."""
    elder = elder_of(compiler.repository, commit, name) if newest.tree else ""
    if elder:
        return _entry(newest, newest, servable=False, failed=f"publish {newest.number} of {name}: {told(elder)}")
    return _serve(compiler, name, base.projects.get(name), newest)


def _serve(compiler: Compiler, name: str, before: ProjectEntry | None, newest: Version) -> ProjectEntry:
    """The entry after the newest publish; where that one is wrong, the last one that is right goes on being served."""
    if newest.tree is None:
        return _entry(newest, newest, deleted=True)
    failed = _failure(compiler, name, newest)
    if not failed:
        return _entry(newest, newest)
    wrong = [newest]
    served = _last_right(compiler, name, before, newest, wrong)
    note_refusals(compiler.repository.path, name, [version.commit for version in wrong])
    with once_at_a_time(compiler.paths):
        amend_versions(compiler.paths.versions / name, [replace(version, refused=True) for version in wrong])
    return _entry(served or newest, newest, servable=served is not None, failed=failed)


def _last_right(
    compiler: Compiler, name: str, before: ProjectEntry | None, newest: Version, wrong: list[Version]
) -> Version | None:
    """The newest version that is right, no older than what was served `before`; `wrong` takes those on the way."""
    for number in range(newest.number - 1, before.number - 1 if before else 0, -1):
        version = read_index(compiler, name, newest.number, newest.commit).get(number)
        if version.tree is None:
            break
        if not _failure(compiler, name, version):
            return version
        wrong.append(version)
    return None


def _failure(compiler: Compiler, name: str, version: Version) -> str:
    """Why a version cannot be served; empty where it can."""
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
