"""The restoration of a backup into a new data directory, complete or not at all."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from api.data.parts import KEYS
from api.data.restored_copy import RestoredCopy
from api.db.copying import check_database, digest_tables
from api.db.database import DATABASE_FILE
from cli.console.exits import InvalidUsage
from content.records.names import is_name
from gitstore.care.backup_files import BackupReader
from gitstore.care.namespace_restore import restore_namespace
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import AlreadyExists, Broken
from gitstore.git.atomic_io import sync_directory, translate_os_error
from gitstore.git.push_hook import PushHook

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_STAGED = ".restoring-"
_LAST = (DATABASE_FILE,)  # a service starts only where the database is there
Watch = Callable[[str], None]


def restore_backup(
    reader: BackupReader, data: Path, watch: Watch, hook: PushHook | None = None, *, incomplete: bool = False
) -> list[str]:
    """Restore a backup as a data directory that is missing or empty; return notes on what was left out.

    All is built in a folder beside it, or in it where it is a mount point, and checked before it gets its place.
    """
    if not reader.facts.get("complete") and not incomplete:
        missing = ", ".join(sorted(reader.facts.get("failed", ()))) or "an unknown part"
        raise InvalidUsage(
            f"The backup is not complete: {missing} could not be saved. Use another one, or restore the rest with --incomplete."
        )
    require_empty(data)
    with _staging(data) as staged:
        notes = build_copy(reader, staged, watch, hook)
        watch("Moving the restored data into place")
        _install(staged, data)
    return notes


def require_empty(data: Path) -> None:
    """Raise AlreadyExists unless a data directory is missing or empty."""
    if data.is_symlink() or (data.exists() and (not data.is_dir() or any(_entries(data)))):
        raise AlreadyExists(f"{data} is not empty. Restore into a new or an empty directory, named with --data.")


def build_copy(reader: BackupReader, root: Path, watch: Watch, hook: PushHook | None = None) -> list[str]:
    """Restore all parts below an empty folder, and compare them with what was saved. Raises Broken for a damaged backup.

    Repositories get `hook`.
    """
    try:
        return _build(reader, root, watch, hook)
    except (KeyError, TypeError, AttributeError, ValueError) as ex:
        raise Broken(f"The contents of the backup {reader.path} cannot be read: a field is missing or unknown.") from ex


def _build(reader: BackupReader, root: Path, watch: Watch, hook: PushHook | None) -> list[str]:
    directory = DataDirectory(root)
    directory.create()
    notes = list[str]()
    for facts in reader.facts["namespaces"]:
        watch(f"Restoring {facts['name']}")
        notes += restore_namespace(reader, facts, directory.namespace(facts["name"]), hook)
    for facts in reader.facts["archives"]:
        folder = directory.trash / Path(facts["folder"]).name
        if not is_name(facts["name"]) or folder.parent != directory.trash or folder.name in {"", ".", ".."}:
            raise Broken(f"The backup {reader.path} has an archive with an invalid name. Use another backup.")
        watch(f"Restoring {folder.name}")
        paths = NamespacePaths(facts["name"], folder / f"{facts['name']}.git", folder / "compiled")
        notes += restore_namespace(reader, facts, paths, hook)
        (folder / "compiled" / "namespace").unlink()  # the marker of a namespace that is not archived
    _restore_keys(reader, root)
    _restore_database(reader, root, watch)
    now = time.strftime(_TIME, time.gmtime())
    RestoredCopy(root).pause(
        {"restoredAt": now, "backup": str(reader.path.absolute()), "beganAt": reader.facts["beganAt"]}
    )
    return notes


def _restore_keys(reader: BackupReader, root: Path) -> None:
    (root / KEYS).mkdir(mode=0o700)
    for name in reader.names(f"{KEYS}/"):
        reader.copy(name, root / KEYS / Path(name).name)
    sync_directory(root / KEYS)


def _restore_database(reader: BackupReader, root: Path, watch: Watch) -> None:
    saved: dict[str, Any] = reader.facts["database"]
    if saved["kind"] != "sqlite":
        return
    watch("Restoring the database")
    reader.copy(DATABASE_FILE, root / DATABASE_FILE)
    damage = check_database(root / DATABASE_FILE)
    if damage:
        raise Broken(f"The database in the backup is damaged ({damage[0]}). Use another backup.")
    rows = {name: list(found) for name, found in digest_tables(root / DATABASE_FILE).items()}
    if rows != saved["tables"]:
        other = ", ".join(
            sorted(name for name in rows.keys() | saved["tables"].keys() if rows.get(name) != saved["tables"].get(name))
        )
        raise Broken(f"The restored database has other rows than were saved, in {other}. Use another backup.")


@contextmanager
def _staging(data: Path) -> Iterator[Path]:
    """Create a folder on the file system of the data directory, and remove it at the end."""
    inside = data.is_dir() and os.path.ismount(data)
    parent = data if inside else data.parent
    if not parent.is_dir():
        raise InvalidUsage(f"There is no folder {parent}. Create it, then retry.")
    staged = parent / f"{_STAGED}{secrets.token_hex(4)}"
    try:
        staged.mkdir(mode=0o700)
        yield staged
    except OSError as ex:
        raise translate_os_error(ex) from ex
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _install(staged: Path, data: Path) -> None:
    """Give the restored directory its place by one rename; into a mount point by one for each part, the database last."""
    for folder, _, _ in os.walk(staged):
        sync_directory(Path(folder))
    require_empty(data)
    if staged.parent != data:
        if data.is_dir():
            staged.chmod(data.stat().st_mode & 0o777)
            with suppress(PermissionError):
                os.chown(staged, data.stat().st_uid, data.stat().st_gid)
        staged.rename(data)
        sync_directory(data.parent)
        return
    for part in sorted(staged.iterdir(), key=lambda path: path.name in _LAST):
        part.rename(data / part.name)
    sync_directory(data)


def _entries(data: Path) -> Iterator[Path]:
    """Yield what is in a directory, apart from what a file system or a killed restore leaves there."""
    return (path for path in data.iterdir() if path.name != "lost+found" and not path.name.startswith(_STAGED))
