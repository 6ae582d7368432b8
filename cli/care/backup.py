"""`waypost backup`: all that cannot be rebuilt, in a folder or an archive, while the service runs."""

import tempfile
from pathlib import Path

import click

from api.data.last_backup import LastBackup, write_last_backup
from api.data.parts import DataParts
from api.settings import environment_name
from cli.care.backup_maker import MadeBackup, make_backup
from cli.care.backup_restorer import build_copy
from cli.console.exits import ProblemsFound
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import enter_data, state_options
from cli.console.setup import json_option, read_settings
from gitstore.care.backup_files import open_backup, open_new_backup

_SERVER_NOTE = (
    "The database is on a server, and is not in this backup. Save it first, so that it is not newer than the repositories: "
    f"pg_dump --format=custom --file=waypost.dump DATABASE, with the URL of {environment_name('database')}."
)


@click.command("backup")
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--verify", is_flag=True, help="Restore the backup into a folder beside it, compare, and remove that copy."
)
@json_option
@state_options
def command(target: Path, *, verify: bool, as_json: bool, data: str | None, database: str | None) -> None:
    """Save repositories, archives, database and keys.

    The service may be running. TARGET is a new folder, or a new archive if its name ends with .tar. It gets its name when it is complete and on disk.
    Repositories are Git bundles. All that was published before the call is in it. Protect it like the data itself.

    Exits with 1 if a namespace is damaged: the others are saved, and the backup is marked as incomplete.
    """
    settings = read_settings(data=data, database=database)
    parts = enter_data(settings)
    parts.require_all()
    with open_new_backup(target) as writer, show_status("Saving") as watch:
        made = make_backup(parts.root, parts.database, writer, watch)
    if verify:
        _verify(target.absolute())
    if made.is_complete:
        write_last_backup(parts.root, LastBackup(made.began_at, str(target.absolute()), verify))
    _print(target, made, parts, verified=verify, as_json=as_json)
    if not made.is_complete:
        raise ProblemsFound


def _verify(target: Path) -> None:
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.verify-") as folder,
        show_status("Verifying") as watch,
    ):
        build_copy(open_backup(target), Path(folder), watch)


def _print(target: Path, made: MadeBackup, parts: DataParts, *, verified: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "backup": str(target.absolute()),
                "complete": made.is_complete,
                "verified": verified,
                "namespaces": [each.name for each in made.namespaces],
                "archives": [Path(each.folder).name for each in made.archives],
                "failed": made.failed,
                "database": parts.database is not None,
            }
        )
    else:
        print_lines(str(target.absolute()))
    print_notes(*(f"{name} was not saved: {reason}" for name, reason in made.failed.items()))
    if parts.database is None:
        print_notes(_SERVER_NOTE)
    count = sum(each.objects.number for each in (*made.namespaces, *made.archives))
    word = "Saved and verified" if verified else "Saved"
    spaces, archives = count_noun(len(made.namespaces), "namespace"), count_noun(len(made.archives), "archive")
    print_notes(f"{word} {spaces} and {archives}, with {count_noun(count, 'object')}.")
