"""The check of the database: its file, its tables, and its references to content."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from api.db.copying import check_database, read_revision, rebuild_indexes
from api.db.database import Database, default_url
from api.db.errors import StateBroken
from api.db.references import find_orphans, list_publishes
from api.db.schema import NEWEST_REVISION, database_revision
from gitstore.care.findings import Finding, RemovedFiles, Severity
from gitstore.directory import DataDirectory
from gitstore.errors import StoreError
from gitstore.git.repository import open_repository
from gitstore.layout import CommitId

_RESTORE = "Restore the database from a backup. The content is in Git, and is not affected."
_INDEX_DAMAGE = ("missing from index", "wrong # of entries in index", "non-unique entry in index")


def check_state(root: Path, url: str, file: Path | None) -> Iterator[Finding]:
    """Yield the findings on a database: `file` is that of an embedded one, None for one on a server."""
    if file is not None:
        if not file.is_file():
            return  # reported as a missing part
        damage = check_database(file)
        if damage:
            yield _name_damage(file, damage)
            if not all(map(_is_of_index, damage)):
                return
    with closing(Database(url or default_url(root))) as database:
        try:
            yield from _check_tables(database, file, DataDirectory(root))
        except StoreError as ex:
            yield Finding(
                Severity.ERROR,
                "database_unreadable",
                _place(file),
                str(ex),
                "Make the database available, then run this again.",
            )


def _name_damage(file: Path, damage: list[str]) -> Finding:
    is_index = all(map(_is_of_index, damage))
    more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
    return Finding(
        Severity.ERROR,
        "database_damaged",
        str(file),
        f"SQLite finds damage: {damage[0]}{more}.",
        "Stop the service, then run `waypost doctor --fix`: only indexes are damaged, and are built again."
        if is_index
        else _RESTORE,
        "",
        partial(_rebuild, file) if is_index else None,
    )


def _check_tables(database: Database, file: Path | None, directory: DataDirectory) -> Iterator[Finding]:
    with database.reading() as connection:
        revision = read_revision(file) if file else database_revision(connection)
        if revision != NEWEST_REVISION:
            is_newer = revision is not None and revision > NEWEST_REVISION
            yield Finding(
                Severity.ERROR if is_newer or revision is None else Severity.WARNING,
                "database_revision",
                _place(file),
                f"The tables are at revision {revision or 'none'}; this program works with {NEWEST_REVISION}.",
                "Run the version of Waypost that has served it last, or a later one."
                if is_newer
                else "Start the service: it migrates the tables.",
            )
            return
        names = directory.namespaces()
        orphans, publishes = find_orphans(connection, names), list_publishes(connection)
    for orphan in orphans:
        yield Finding(
            Severity.WARNING,
            "unknown_namespace",
            f"table {orphan.table}",
            f"{orphan.rows} rows name the namespace {orphan.namespace}, which does not exist.",
            "If the namespace was deleted, the service puts them away within seconds. Otherwise restore its repository.",
            orphan.namespace,
        )
    known = set(names)
    for publish in publishes:
        if publish.namespace in known and publish.commit and not _has(directory, publish.namespace, publish.commit):
            yield Finding(
                Severity.WARNING,
                "unknown_publish",
                f"{publish.project}, publish {publish.number}",
                f"The database has announced commit {publish.commit[:12]}, but the repository does not have it: the repository "
                "is older than the database.",
                "Restore both from one backup, or push the missing publishes from a clone.",
                publish.namespace,
            )


def _has(directory: DataDirectory, namespace: str, commit: str) -> bool:
    try:
        with open_repository(directory.namespace(namespace).repository) as repository:
            return repository.has(CommitId(commit))
    except (StoreError, OSError):  # reported with the repository
        return True


def _rebuild(file: Path, removed: RemovedFiles) -> str:
    copy = removed.copy(file)
    rebuild_indexes(file)
    damage = check_database(file)
    if damage:
        raise StateBroken(f"The indexes were built again, but SQLite still finds damage: {damage[0]}.")
    return f"Built the indexes of the database again; a copy from before is {copy}."


def _is_of_index(damage: str) -> bool:
    return any(words in damage for words in _INDEX_DAMAGE)


def _place(file: Path | None) -> str:
    return str(file) if file else "the database on the server"
