"""Manifests of release commits: the version of each project that a commit serves, the newest or the last valid one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler, hold_compile_lock
from gitstore.compiled.indexes.manifest import (
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
from gitstore.compiled.indexes.served_record import load_served_manifest
from gitstore.compiled.indexes.versions import Version, amend_versions
from gitstore.compiled.segments.file_problems import collision_message
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.errors import Broken, Busy, Invalid, OutOfSpace, is_disk_full
from gitstore.git.modes import LINK_MODE, SUBMODULE_MODE
from gitstore.git.repository import Repository
from gitstore.history.messages import PUBLISHED_BY, load_message
from gitstore.history.name_collisions import find_collisions, find_name_holders
from gitstore.history.numbering import PublishDelta, assign_numbers, open_index, read_index
from gitstore.history.refusals import note_refusals
from gitstore.layout import CommitId, TreeId


class Failure(NamedTuple):
    """The reason why a version cannot be served."""

    code: str
    reason: str


def ensure_manifest(
    compiler: Compiler, commit: CommitId, deltas: Sequence[PublishDelta] = (), *, waits: bool = True
) -> Manifest:
    """Return the manifest of a release commit; build it if it is missing, and compile all releases in it.

    `deltas` have the changes of the commit, one a project, if its writer knows them. A writer that does not wait leaves the other
    projects of a push that are not compiled yet as they were served before, for `complete_manifest` to finish.
    """
    found = load_manifest(compiler.paths.manifests, commit)
    if found:
        return found
    with hold_compile_lock(compiler.paths):
        stored, gaps, rows = assign_numbers(compiler, commit, deltas, waits=waits)
    base = stored if gaps is stored.gaps else replace(stored, gaps=gaps)
    newest = {name: versions[-1] for name, versions in rows.items()}
    for name in find_collisions(compiler.repository, commit, rows.keys()) & base.projects.keys():
        newest[name] = _newest(compiler, name, base)  # in a name collision, each project depends on the other
    own = {delta.project for delta in deltas}
    entries = _build_entries(compiler, commit, base, newest, lambda name: waits or name in own)
    manifest = base.with_projects(commit, entries)
    with compiler.tolerate_full_disk():
        return store_manifest(compiler.paths.manifests, manifest, stored, entries)
    return manifest


def complete_manifest(compiler: Compiler, commit: CommitId) -> Manifest:
    """Return the manifest of a release commit, like `ensure_manifest`, after another attempt at unfinished projects."""
    manifest = ensure_manifest(compiler, commit)
    if not manifest.unfinished:
        return manifest
    base = replace(manifest, projects={name: entry for name, entry in manifest.projects.items() if entry.tree})
    newest = {name: _newest(compiler, name, manifest) for name in manifest.unfinished}
    entries = _build_entries(compiler, commit, base, newest, lambda _: True)
    if all(manifest.projects[name] == entry for name, entry in entries.items()):
        return manifest
    completed = manifest.with_projects(commit, entries)
    with compiler.tolerate_full_disk():
        return store_manifest(compiler.paths.manifests, completed)
    return completed


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
    index = open_index(compiler, name, newest.number, newest.commit, base.gaps.get(name, ()))
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
