"""`waypost log`: the publishes of a project."""

import click

from api import wire
from cli.output import print_json, print_rows
from cli.setup import data_option, json_option, namespace_argument, open_store, project_argument
from gitstore.history import Publish
from gitstore.messages import count_text

_SHORT = 12


@click.command("log")
@namespace_argument
@project_argument
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1_000_000), default=20, show_default=True, metavar="COUNT", help="How many."
)
@json_option
@data_option
def command(namespace: str, project: str, limit: int, *, as_json: bool, data: str | None) -> None:
    """List the publishes of a project, newest first."""
    found, _ = open_store(data).history(namespace, project, 0, limit)
    if as_json:
        print_json([wire.publish_record(publish) for publish in found])
    else:
        print_rows(("PUBLISH", "VERSION", "WHEN", "BY", "CHANGES", "MESSAGE"), map(_row, found))


def _row(found: Publish) -> tuple[object, ...]:
    by, message = found.published_by.partition(" <")[0], found.message.partition("\n")[0]
    changes = count_text(found.counts) if found.served else "never served, for it is wrong"
    return found.number, found.version[:_SHORT], wire.moment(found.time), by, changes, message
