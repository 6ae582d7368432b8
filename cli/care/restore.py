"""`waypost restore`: a new data directory from a backup."""

from pathlib import Path

import click

from api.data.restored_copy import RESUME
from cli.care.backup_restorer import restore_backup
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.setup import data_option, json_option, read_settings, require_directory
from gitstore.care.backup_files import open_backup


@click.command("restore")
@click.argument("backup", type=click.Path(path_type=Path))
@click.option("--incomplete", is_flag=True, help="Restore what there is of a backup that lacks damaged namespaces.")
@json_option
@data_option
def command(backup: Path, *, incomplete: bool, as_json: bool, data: str | None) -> None:
    """Restore a backup as a new data directory.

    The directory (--data) must be missing or empty. It gets its place when all of it was restored and compared with what
    was saved. Run this as the user of the service.

    The copy sends no webhooks, syncs no upstreams, and reports no silent agents, until `waypost webhooks resume`.
    """
    settings = read_settings(data=data)
    path = settings.data.absolute()
    require_directory(path)
    reader = open_backup(backup)
    with show_status("Restoring") as watch:
        notes = restore_backup(reader, path, watch, settings.push_hook, incomplete=incomplete)
    names = [facts["name"] for facts in reader.facts["namespaces"]]
    if as_json:
        archives = [Path(facts["folder"]).name for facts in reader.facts["archives"]]
        print_json({"data": str(path), "beganAt": reader.facts["beganAt"], "namespaces": names, "archives": archives})
    else:
        print_lines(str(path))
    print_notes(*notes)
    if reader.facts["database"]["kind"] != "sqlite":
        print_notes(
            "The database is on a server, and is not in this backup. Restore it with pg_restore before the first start."
        )
    print_notes(
        f"Restored {count_noun(len(names), 'namespace')} as of {reader.facts['beganAt']}. Webhooks and reports of silent agents are paused "
        f"until: {RESUME}"
    )
