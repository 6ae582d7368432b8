"""`waypost rollback`: one step back, or many."""

import click

from cli.publish import print_published
from cli.setup import data_option, json_option, namespace_argument, open_store, operator, project_argument
from cli.status import shown_status


@click.command("rollback")
@namespace_argument
@project_argument
@click.argument("version")
@click.option("--message", "-m", default="", metavar="TEXT", help="Why.")
@json_option
@data_option
def command(namespace: str, project: str, version: str, message: str, *, as_json: bool, data: str | None) -> None:
    """Publish an earlier version again, as a new one.

    Prints the new version of PROJECT. VERSION is a publish number or a SHA, as `waypost log` shows them. The newer versions stay in the history, so a
    rollback can be rolled back.
    """
    store = open_store(data)
    with shown_status(f"Publishing {project}"):
        found = store.roll_back(namespace, project, version, operator(), message)
    print_published(project, found, as_json=as_json)
