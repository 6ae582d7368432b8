"""The check of a data directory apart from its repositories: parts, owner, keys, room, left-overs, the last backup."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from api.auth.logins.keyring import find_key_fault
from api.data.identity import FOLDER_FILE, read_identity
from api.data.last_backup import read_last_backup
from api.data.parts import DataParts, MissingData
from api.data.restored_copy import MARKER, RESUME, RestoredCopy
from cli.console.exits import CommandFailed
from cli.console.output import age_text
from cli.console.owner import user_name
from gitstore.care.findings import REMOVED, Finding, RemovedFiles, Severity

_SMALL_SHARE = 0.05
_SMALL_BYTES = 1 << 30
_SMALL_FILES = 10_000
_LEAST_BYTES = 16 << 20
_DAY = 86_400.0
_OLD_BACKUP = 7 * _DAY
_LEFTOVERS = (
    "repos/.new-*",
    ".restoring-*",
    ".*.unfinished-*",
    "*.write-check-*",
    ".write-check-*",
    "tmp_obj_waypost_*",
)


def check_data(parts: DataParts) -> Iterator[Finding]:
    """Yield the findings on a data directory as a whole."""
    yield from _check_parts(parts)
    yield from _check_keys(parts)
    yield from _check_owner(parts.root)
    yield from _check_room(parts)
    yield from _check_leftovers(parts.root)
    yield from _check_copy(parts.root)
    yield from _check_backup(parts.root)


def _check_parts(parts: DataParts) -> Iterator[Finding]:
    for check in (parts.require_all, parts.require_content):
        try:
            check()
        except MissingData as ex:
            yield Finding(
                Severity.ERROR, "data_incomplete", str(parts.root), str(ex), "Mount or restore what is missing."
            )
            return
    known = read_identity(parts.identity)
    for folder in parts.folders:
        if known and folder.is_dir() and not read_identity(folder / FOLDER_FILE):
            yield Finding(
                Severity.NOTE,
                "identity_missing",
                str(folder / FOLDER_FILE),
                "The folder was created or restored while no service ran: a running service does not accept it.",
                "Start the service again; it writes the file.",
            )


def _check_keys(parts: DataParts) -> Iterator[Finding]:
    for path in sorted(parts.keys.glob("[!.]*.json")) if parts.keys.is_dir() else ():
        fault = find_key_fault(path)
        if fault:
            is_open = bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
            yield Finding(
                Severity.ERROR,
                "key_readable" if is_open else "key_damaged",
                str(path),
                f"{fault} The service does not start with it." if not is_open else fault,
                "Run `waypost doctor --fix`: it makes the file readable by its owner only."
                if is_open
                else "Restore the file. `waypost doctor --fix` moves it away: then its users have to log in again.",
                "",
                partial(_close, path, 0o600) if is_open else partial(_move_key, path, parts.keys),
            )
    if parts.database and parts.database.is_file() and stat.S_IMODE(parts.database.stat().st_mode) & 0o077:
        yield Finding(
            Severity.ERROR,
            "database_readable",
            str(parts.database),
            "Other users of this machine can read the database, with password hashes and the secrets of webhooks.",
            "Run `waypost doctor --fix`: it makes the file readable by its owner only.",
            "",
            partial(_close, parts.database, 0o600),
        )


def _check_owner(root: Path) -> Iterator[Finding]:
    """Yield one finding for each part or namespace that has files of another user, or folders that are closed."""
    owner = os.geteuid()
    found: dict[Path, list[Path]] = {}
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        for name in (*folders, *names):
            path = here / name
            with suppress(FileNotFoundError):
                status = path.lstat()
                is_closed = stat.S_ISDIR(status.st_mode) and not os.access(path, os.R_OK | os.W_OK | os.X_OK)
                if status.st_uid != owner or is_closed:
                    found.setdefault(Path(*path.relative_to(root).parts[:2]), []).append(path)
    for part, paths in sorted(found.items()):
        yield Finding(
            Severity.ERROR,
            "cannot_write",
            str(paths[0]),
            f"{len(paths)} files below {part} belong to another user than {user_name(owner)}, or are closed folders: changes fail.",
            f"As root: chown -R {user_name(owner)} {root / part}; chmod -R u+rwX {root / part}",
        )


def _check_room(parts: DataParts) -> Iterator[Finding]:
    seen = set[int]()
    for folder in (parts.root, *parts.folders):
        if not folder.is_dir() or folder.stat().st_dev in seen:
            continue
        seen.add(folder.stat().st_dev)
        found = os.statvfs(folder)
        free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        if free < min(_SMALL_SHARE * total, _SMALL_BYTES):
            yield Finding(
                Severity.ERROR if free < _LEAST_BYTES else Severity.WARNING,
                "disk_full",
                str(folder),
                f"The file system has {free >> 20:,} MB left: without room nothing can be published.",
                f"Free some space. Backups, {REMOVED}/ and trash/ in the data directory can go elsewhere.",
            )
        if found.f_files and found.f_favail < min(_SMALL_SHARE * found.f_files, _SMALL_FILES):
            yield Finding(
                Severity.ERROR if not found.f_favail else Severity.WARNING,
                "few_inodes",
                str(folder),
                f"The file system can take {found.f_favail:,} more files: without inodes nothing can be published.",
                "Remove files, or move the data to a file system with more inodes.",
            )


def _check_leftovers(root: Path) -> Iterator[Finding]:
    for path in sorted(path for pattern in _LEFTOVERS for path in root.glob(pattern)):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _DAY:
                yield Finding(
                    Severity.WARNING,
                    "leftover",
                    str(path),
                    "A process that was killed left this. Nothing reads it; it only takes space.",
                    "Run `waypost doctor --fix`: it moves it away.",
                    "",
                    partial(_move, path),
                )


def _check_copy(root: Path) -> Iterator[Finding]:
    if RestoredCopy(root).is_paused():
        yield Finding(
            Severity.NOTE,
            "restored_copy",
            str(root / MARKER),
            "This is a copy restored from a backup: it sends no webhooks, syncs no upstreams, and reports no silent agents.",
            f"If the copy replaces the original service, run `{RESUME}`.",
        )


def _check_backup(root: Path) -> Iterator[Finding]:
    last = read_last_backup(root)
    if last is None:
        yield Finding(
            Severity.NOTE,
            "no_backup",
            str(root),
            "No backup of this data directory was made by `waypost backup`.",
            "Run `waypost backup` regularly, and keep the result on another machine.",
        )
        return
    is_old = last.age > _OLD_BACKUP
    yield Finding(
        Severity.WARNING if is_old else Severity.NOTE,
        "backup_old" if is_old else "last_backup",
        last.path,
        f"The last good backup is {age_text(last.age)} old{', and was verified' if last.verified else ', and was not verified'}.",
        "Run `waypost backup`." if is_old else "Nothing to do.",
    )


def _close(path: Path, mode: int, _removed: RemovedFiles) -> str:
    path.chmod(mode)
    return f"Set the mode of {path.name} to {mode:o}."


def _move(path: Path, removed: RemovedFiles) -> str:
    return f"Moved {path.name} to {removed.move(path)}."


def _move_key(path: Path, keys: Path, removed: RemovedFiles) -> str:
    if not any(other != path and not find_key_fault(other) for other in keys.glob("[!.]*.json")):
        raise CommandFailed("It is the only key: without it the service does not start.")
    return _move(path, removed)
