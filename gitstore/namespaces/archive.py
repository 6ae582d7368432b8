"""Archived namespaces: archiving one, listing them, and restoring one.

An archived namespace is a folder with its repository and its compiled files. The rename of the repository is the commit
point of both directions; a crash before it changes nothing, one after it leaves records that the next operation on the
name, or the service, puts away.
"""

import re
import secrets
import shutil
import time
from calendar import timegm
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from content.records.names import is_name
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest, load_manifest
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import DataDirectory, NamespacePaths, make_folder
from gitstore.errors import AlreadyExists, NotFound, StoreError
from gitstore.git.after_commit import after_commit, sync_after_commit
from gitstore.git.atomic_io import sync_directory, translate_os_error
from gitstore.git.lock import hold
from gitstore.git.push_hook import PushHook, apply_hook
from gitstore.git.repository import Author, Repository, open_repository
from gitstore.git.transaction import Transaction, update
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import dump_highest_numbers, dump_message
from gitstore.history.numbering import read_highest_numbers
from gitstore.layout import RELEASE_REF
from gitstore.namespaces.description import read_description
from gitstore.namespaces.name_lock import hold_creation, hold_names
from gitstore.namespaces.records import NO_RECORDS, Archived, NamespaceRecords

_COMPILED = "compiled"
_TIME = "%Y%m%dT%H%M%SZ"
_ID = re.compile(r"(?:.*-)?([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{8}")


def check_free_name(directory: DataDirectory, name: str, pointer: str = "") -> None:
    """Raise AlreadyExists, with the field of the request, where a namespace has the name, ignoring case."""
    taken = next((other for other in directory.namespaces() if other.lower() == name.lower()), None)
    if taken:
        raise AlreadyExists(f"The namespace {taken} already exists (names ignore case).", pointer)


def archive_namespace(directory: DataDirectory, paths: NamespacePaths, records: NamespaceRecords = NO_RECORDS) -> Path:
    """Archive a namespace, whole; returns its new folder. Nothing is erased.

    The marker is removed first: a marker alone on disk means a namespace whose repository was lost.
    """
    with hold(paths.repository), hold_names(directory):
        records.note_numbers(paths.name, _read_numbers(paths))
        folder = directory.trash / f"{paths.name}-{time.strftime(_TIME, time.gmtime())}-{secrets.token_hex(4)}"
        make_folder(folder, levels=2)
        sync_directory(directory.trash)
        paths.marker.unlink(missing_ok=True)
        paths.repository.rename(folder / paths.repository.name)
        sync_after_commit(directory.repositories, folder)
        with after_commit("archiving the compiled files"), suppress(FileNotFoundError):
            paths.compiled.rename(folder / _COMPILED)
        records.put_away(paths.name, folder.name)
    return folder


def put_away_records(directory: DataDirectory, name: str, records: NamespaceRecords) -> None:
    """Put away the records of a namespace that was archived by a process that died; nothing where the name is taken."""
    with hold_names(directory):
        if was_archived(directory, name):
            records.put_away(name, find_newest_archive(directory, name))


def was_archived(directory: DataDirectory, name: str) -> bool:
    """Tell whether a namespace is archived and its name is free; False for a namespace whose repository is lost."""
    return name not in directory.namespaces() and find_newest_archive(directory, name) is not None


def find_newest_archive(directory: DataDirectory, name: str) -> str | None:
    """Return the id of the namespace of this exact name that was archived last."""
    found = (path.parent for path in _repositories(directory) if path.stem == name)
    newest = max(found, key=lambda folder: (_archived_at(folder), folder.name), default=None)
    return newest.name if newest else None


def list_archived(directory: DataDirectory, name: str | None = None) -> list[Archived]:
    """Return the archived namespaces, of one name or all; by name, the last archived first."""
    found = [_read_archived(path) for path in _repositories(directory) if name in {None, path.stem}]
    return sorted(found, key=lambda each: (each.name, -each.archived_at, each.id))


def highest_archived_numbers(directory: DataDirectory, name: str) -> dict[str, int]:
    """Return the highest number of each project in the archived namespaces of a name, ignoring case."""
    highest: dict[str, int] = {}
    for path in _repositories(directory):
        if path.stem.lower() == name.lower():
            highest = merge_numbers(highest, _read_numbers(_paths(path)))
    return highest


def merge_numbers(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the higher number of each project."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in one.keys() | other.keys()}


def restore_namespace(
    directory: DataDirectory,
    name: str,
    archive: str | None,
    author: Author,
    records: NamespaceRecords = NO_RECORDS,
    hook: PushHook | None = None,
    signing_key: Path | None = None,
) -> Archived:
    """Restore an archived namespace under its name: the one with an id, or the last one; return it.

    Raises NotFound where there is none, AlreadyExists where a namespace has the name by now. Where the name reached
    higher publish numbers since, a commit on release carries them. Its repository gets the hook of the service.
    """
    with hold_creation(directory):
        check_free_name(directory, name)
        repository = _find(directory, name, archive)
        archived = _read_archived(repository)
        try:
            with update(repository, signing_key=signing_key) as transaction:
                manifest = _continue_numbers(directory, transaction, _paths(repository), author, records)
                apply_hook(repository, hook)
                with hold_names(directory):
                    check_free_name(directory, name)
                    records.bring_back(archived, manifest, is_last=archived.id == find_newest_archive(directory, name))
                    _move_back(directory, repository, directory.namespace(name))
        except OSError as ex:
            raise translate_os_error(ex) from ex
    return archived._replace(projects=len([entry for entry in manifest.projects.values() if entry.tree]))


def _continue_numbers(
    directory: DataDirectory, transaction: Transaction, paths: NamespacePaths, author: Author, records: NamespaceRecords
) -> Manifest:
    """Commit the numbers that the name reached since, if any are higher; return the manifest that will be served."""
    compiler = Compiler(paths, transaction, SegmentStore(paths.segments, paths.archive))
    release = transaction.release()
    manifest = ensure_manifest(compiler, release)
    own = manifest.highest_numbers()
    known = merge_numbers(highest_archived_numbers(directory, paths.name), records.highest_numbers(paths.name))
    higher = {project: number for project, number in known.items() if number > own.get(project, 0)}
    if not higher:
        return manifest
    text = f"Restore the namespace {paths.name}\n\nPublish numbers continue after those of a later one of this name."
    message = dump_message(text, dump_highest_numbers(higher))
    commit = transaction.write_commit(transaction.commit(release).tree, (release,), author, message)
    manifest = ensure_manifest(compiler, commit)
    transaction.move(RELEASE_REF, release, commit)
    return manifest


def _move_back(directory: DataDirectory, repository: Path, paths: NamespacePaths) -> None:
    folder = repository.parent
    if (folder / _COMPILED).is_dir():  # a cache, already moved if an earlier restore was killed
        shutil.rmtree(paths.compiled, ignore_errors=True)
        with after_commit("restoring the compiled files"):
            (folder / _COMPILED).rename(paths.compiled)
    repository.rename(paths.repository)
    sync_after_commit(directory.repositories, folder)
    with after_commit("marking the restored namespace"):
        paths.write_marker()
        folder.rmdir()


def _find(directory: DataDirectory, name: str, archive: str | None) -> Path:
    wanted = archive or find_newest_archive(directory, name)
    found = [path for path in _repositories(directory) if path.stem == name and path.parent.name == wanted]
    if not found:
        which = f"{archive[:100]!r} of the namespace {name[:60]!r}" if archive else f"of the namespace {name[:60]!r}"
        raise NotFound(f"There is no archive {which}.")
    return found[0]


def archived_paths(directory: DataDirectory, archive: str) -> NamespacePaths | None:
    """Return the paths of an archived namespace; None if the archive is gone, as it was restored or removed."""
    found = (path for path in _repositories(directory) if path.parent.name == archive)
    return next(map(_paths, found), None)


def _repositories(directory: DataDirectory) -> Iterator[Path]:
    """Yield the repositories of archived namespaces; a folder without one is left by a crash."""
    return (path for path in sorted(directory.trash.glob("*/*.git")) if is_name(path.stem))


def _read_archived(repository: Path) -> Archived:
    folder = repository.parent
    projects, description, created = None, "", int(folder.stat().st_mtime)
    with suppress(StoreError, OSError), open_repository(repository) as opened:
        created = int((repository / "config").stat().st_mtime)
        description = read_description(repository)
        manifest = _load_manifest(opened, _paths(repository))
        projects = len([entry for entry in manifest.projects.values() if not entry.deleted]) if manifest else None
    return Archived(folder.name, repository.stem, description, created, _archived_at(folder), projects)


def _archived_at(folder: Path) -> int:
    found = _ID.fullmatch(folder.name)
    with suppress(ValueError):  # digits that are no time: a folder that a person has named
        return timegm(time.strptime(found[1], _TIME)) if found else int(folder.stat().st_mtime)
    return int(folder.stat().st_mtime)


def _read_numbers(paths: NamespacePaths) -> dict[str, int]:
    """Return the highest numbers of a namespace; empty if its repository cannot be read."""
    with suppress(StoreError, OSError), open_repository(paths.repository) as repository:
        manifest = _load_manifest(repository, paths)
        return manifest.highest_numbers() if manifest else read_highest_numbers(repository)
    return {}


def _load_manifest(repository: Repository, paths: NamespacePaths) -> Manifest | None:
    return load_manifest(paths.manifests, repository.release())


def _paths(repository: Path) -> NamespacePaths:
    return NamespacePaths(repository.stem, repository, repository.parent / _COMPILED)
