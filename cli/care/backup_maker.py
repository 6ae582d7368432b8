"""The making of a backup: the database first, then the keys, then each repository.

Every fact in the database about content is of a state that Git had already: events and approvals follow commits. So a
database that is a little older than the repositories is a state that a service continues from: it finds the later
publishes in the history, and records their events. A newer one would name publishes that the history does not have.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from api.data.parts import KEYS
from api.db.copying import check_database, copy_database, digest_tables
from api.db.database import DATABASE_FILE
from cli.version import __version__
from gitstore.care.backup_files import BackupWriter
from gitstore.care.namespace_backup import SavedNamespace, save_namespace
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import Broken, NotFound, StoreError
from gitstore.namespaces.archive import archived_paths, list_archived
from gitstore.namespaces.name_lock import hold_names
from gitstore.namespaces.records import Archived

_MOST_MOVES = 20
_MOVE_SECONDS = 0.05
_TIME = "%Y-%m-%dT%H:%M:%SZ"
Watch = Callable[[str], None]


@dataclass
class MadeBackup:
    """The result: when it began, what it has, and the namespaces that could not be saved, with the reasons."""

    began_at: float
    namespaces: list[SavedNamespace] = field(default_factory=list)
    archives: list[SavedNamespace] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True if every namespace is in it."""
        return not self.failed


@dataclass(frozen=True)
class _Listed:
    """The namespaces and archives at one moment."""

    names: list[str]
    archives: list[Archived]


def make_backup(data: Path, database: Path | None, writer: BackupWriter, watch: Watch) -> MadeBackup:
    """Write all that cannot be rebuilt; a namespace that cannot be read is left out, and reported.

    `database` is None for one on a server. Raises StateBroken for a damaged database, which needs a repair first.
    """
    made = MadeBackup(time.time())
    directory = DataDirectory(data)
    # No namespace is created, archived or restored meanwhile, so that the database's records of names fit the list.
    with hold_names(directory):
        tables = _save_database(database, writer, watch) if database else None
        listed = _Listed(directory.namespaces(), list_archived(directory))
    for key in sorted((data / KEYS).glob("[!.]*.json")):
        with suppress(FileNotFoundError):  # rotated away since it was listed
            writer.copy(f"{KEYS}/{key.name}", key)
    for name, folder, find in _find_all(directory, listed):
        watch(f"Saving {name}")
        try:
            saved = _save(folder, find, writer)
        except StoreError as ex:
            writer.forget(folder)
            made.failed[name] = str(ex)
        else:
            (made.archives if folder.startswith("trash/") else made.namespaces).append(saved)
    writer.finish(_facts(made, tables, database))
    return made


def _save_database(file: Path, writer: BackupWriter, watch: Watch) -> Mapping[str, tuple[int, str]]:
    watch("Saving the database")
    with tempfile.TemporaryDirectory(dir=writer.target.parent, prefix=".waypost-backup-") as folder:
        copy = Path(folder) / DATABASE_FILE
        copy_database(file, copy)
        damage = check_database(copy)
        if damage:
            raise Broken(f"The database is damaged ({damage[0]}); nothing was saved. Run `waypost doctor`.")
        writer.copy(DATABASE_FILE, copy)
        return digest_tables(copy)


def _find_all(directory: DataDirectory, listed: _Listed) -> Iterator[tuple[str, str, Callable[[], NamespacePaths]]]:
    """Yield each namespace: its name for messages, its folder in the backup, and where it is by the time it is saved."""
    for name in listed.names:
        yield name, f"repos/{name}", partial(_find, directory, name, listed)
    for archive in listed.archives:
        yield archive.id, f"trash/{archive.id}", partial(_find_archived, directory, archive, listed)


def _save(folder: str, find: Callable[[], NamespacePaths], writer: BackupWriter) -> SavedNamespace:
    """Save a namespace; again, from its new place, if it was archived or restored meanwhile."""
    for _ in range(_MOST_MOVES):
        paths = None
        try:
            paths = find()
            return save_namespace(paths, folder, writer)
        except (StoreError, FileNotFoundError):
            if paths and paths.repository.is_dir():
                raise
        time.sleep(_MOVE_SECONDS)  # between two names, it is at neither for a moment
    raise NotFound("its repository is missing on disk, but it was not deleted; restore it from an earlier backup.")


def _find(directory: DataDirectory, name: str, listed: _Listed) -> NamespacePaths:
    """Return the place of a namespace, also of one that was archived since it was listed."""
    return _find_moved(directory, name, listed) or directory.namespace(name)


def _find_archived(directory: DataDirectory, archive: Archived, listed: _Listed) -> NamespacePaths:
    """Return the place of an archive, also of one that was restored since it was listed."""
    found = archived_paths(directory, archive.id)
    return found or _find(directory, archive.name, listed)


def _find_moved(directory: DataDirectory, name: str, listed: _Listed) -> NamespacePaths | None:
    """Return the first archive of a name since the list was made: a namespace that has the name by now is another one."""
    known = {each.id for each in listed.archives}
    new = [each.id for each in list_archived(directory, name) if each.id not in known]
    return archived_paths(directory, new[-1]) if new else None


def _facts(made: MadeBackup, tables: Mapping[str, tuple[int, str]] | None, database: Path | None) -> dict[str, object]:
    return {
        "beganAt": time.strftime(_TIME, time.gmtime(made.began_at)),
        "waypost": __version__,
        "complete": made.is_complete,
        "failed": made.failed,
        "database": {"kind": "sqlite", "tables": tables} if database else {"kind": "server"},
        "namespaces": [each.facts() for each in made.namespaces],
        "archives": [each.facts() for each in made.archives],
    }
