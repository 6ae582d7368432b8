"""The check of a namespace's compiled files against its repository: the marker, the served record, manifests and releases.

All of them can be built again, but while a repository is damaged, the served state has only them.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from gitstore.care.findings import Finding, RemovedFiles, Severity
from gitstore.compiled.compiler import open_release
from gitstore.compiled.indexes.manifest import PENDING, Manifest, is_intact, list_manifests, load_manifest
from gitstore.compiled.indexes.served_record import read_served, write_served
from gitstore.directory import NamespacePaths
from gitstore.errors import Broken, StoreError
from gitstore.git.atomic_io import sync_directory
from gitstore.git.lock import hold
from gitstore.git.repository import Repository, open_repository
from gitstore.layout import CommitId

_REBUILD = "Run `waypost doctor --fix`: it moves the file away, and the service builds it again from Git."


def check_compiled(paths: NamespacePaths) -> Iterator[Finding]:
    """Yield the findings. A namespace that was never served has no compiled files, which is none."""
    if not paths.repository.is_dir():
        return
    if not paths.marker.exists():
        yield Finding(
            Severity.WARNING,
            "marker_missing",
            str(paths.marker),
            "Without the marker, a repository that is lost later counts as deleted, and agents drop its rules.",
            "Run `waypost doctor --fix`, or read the namespace once.",
            paths.name,
            partial(_fix_marker, paths),
        )
    served = read_served(paths)
    if served is None:
        if paths.served.exists():
            yield _finding(
                paths,
                paths.served,
                "served_damaged",
                "The record of the commit that was served last is damaged: if release is moved back, no one notices.",
                partial(_fix_served, paths),
            )
        return
    yield from _check_manifest(paths, served)


def _check_manifest(paths: NamespacePaths, served: CommitId) -> Iterator[Finding]:
    damaged = [file for file in list_manifests(paths.manifests) if not _is_intact(file)]
    for file in damaged:
        yield _finding(paths, file, "compiled_damaged", "The manifest is damaged.", partial(_move, file))
    manifest = _load(paths, served)
    if manifest is None:
        if any(list_manifests(paths.manifests)) and not damaged:
            yield Finding(
                Severity.WARNING,
                "manifest_missing",
                str(paths.manifests),
                f"The served commit {served[:12]} has no manifest: if the repository is damaged now, nothing can be served.",
                "Read the namespace once: the service builds it again.",
                paths.name,
            )
        return
    with suppress(StoreError, OSError), open_repository(paths.repository) as repository:
        yield from _check_projects(paths, manifest, repository)


def _check_projects(paths: NamespacePaths, manifest: Manifest, repository: Repository) -> Iterator[Finding]:
    for name, entry in manifest.projects.items():
        if entry.failed and entry.fault != PENDING:
            yield Finding(
                Severity.WARNING,
                entry.fault_code,
                f"{name}, publish {entry.newest}",
                f"It is not served as it is on release: {entry.failed}",
                "Push a corrected version. Until then the last good version is served.",
                paths.name,
            )
        if not entry.tree:
            continue
        with suppress(StoreError):
            found = repository.folder(repository.commit(entry.version).tree, name)
            if found != entry.tree:
                yield _finding(
                    paths,
                    next(iter(list_manifests(paths.manifests)), paths.manifests),
                    "compiled_differs",
                    f"The manifest says that version {entry.version[:12]} of {name} is the folder {entry.tree[:12]}, but Git has "
                    f"{found[:12] if found else 'none'}.",
                    partial(_move, paths.manifests),
                )
        files = sorted(paths.releases.glob(f"{entry.tree}.*"))
        if files and open_release(paths, name, entry.tree) is None:
            yield _finding(
                paths,
                files[0],
                "compiled_damaged",
                f"The compiled release of {name} is damaged.",
                partial(_move, files[0]),
            )


def _is_intact(file: Path) -> bool:
    try:
        return is_intact(file)
    except FileNotFoundError:  # removed by a clean-up
        return True
    except OSError:
        return False


def _load(paths: NamespacePaths, commit: CommitId) -> Manifest | None:
    try:
        return load_manifest(paths.manifests, commit)
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _finding(paths: NamespacePaths, file: Path, code: str, meaning: str, fix: "partial[str]") -> Finding:
    return Finding(Severity.WARNING, code, str(file), meaning, _REBUILD, paths.name, fix)


def _move(path: Path, removed: RemovedFiles) -> str:
    return f"Moved {path.name} to {removed.move(path)}." if path.exists() else f"{path.name} is gone."


def _fix_marker(paths: NamespacePaths, _removed: RemovedFiles) -> str:
    with hold(paths.repository):
        paths.write_marker()
    return "Wrote the marker."


def _fix_served(paths: NamespacePaths, removed: RemovedFiles) -> str:
    with open_repository(paths.repository) as repository:
        release = repository.release()
        if load_manifest(paths.manifests, release) is None:
            raise Broken(
                "The release branch was not served since it moved. Read the namespace once, then run this again."
            )
    removed.move(paths.served)
    write_served(paths, release)
    sync_directory(paths.compiled)
    return f"Recorded {release[:12]} as the served commit."
