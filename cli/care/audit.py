"""`waypost audit`: check the hash chain of the audit trail, and export it."""

import re

import click

from api.db.audit_chain import Link
from api.db.audit_check import check_chain
from api.db.audit_export import export_lines
from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.output import print_json, print_lines, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import json_option
from cli.console.streams import write

_HEAD = re.compile("([0-9]{1,9}):([0-9a-f]{64})")


@click.group("audit")
def command() -> None:
    """Check and export the audit trail."""


@command.command()
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="NUMBER:HASH",
    help="A head of the chain that was noted outside, as from an export or the metrics (repeatable).",
)
@json_option
@state_options
def verify(heads: tuple[str, ...], *, as_json: bool, data: str | None, database: str | None) -> None:
    """Check the hash chain of the audit trail.

    It shows rows that were changed, removed, added or cut off.

    A user with write access to the database can compute the whole chain again. To detect that, give an earlier head.
    """
    seen = [_read_head(text) for text in heads]
    with open_existing_services(data, database) as services, services.state.database.reading() as connection:
        found = check_chain(connection, lambda _checkpoint: False, seen)
    if as_json:
        head = {"number": found.head.number, "hash": found.head.hash}
        print_json({"intact": not found.faults, "rows": found.rows, "head": head, "faults": list(found.faults)})
    else:
        print_lines(*found.faults)
    if found.faults:
        raise ProblemsFound
    if not as_json:
        print_lines(f"The audit trail is intact: {found.rows} rows. Head: {found.head.number}:{found.head.hash}")


@command.command()
@state_options
def export(*, data: str | None, database: str | None) -> None:
    """Print the audit trail as JSON lines.

    The oldest row is first; the last line is the head of the chain.
    """
    with open_existing_services(data, database) as services, services.state.database.reading() as connection:
        for line in export_lines(connection):
            write(line.decode())
    print_notes(
        "Exported the audit trail. Keep the last line elsewhere: waypost audit verify --head checks against it."
    )


def _read_head(text: str) -> Link:
    found = _HEAD.fullmatch(text)
    if found is None:
        raise InvalidUsage(
            f"{text!r} is not a head of the audit trail. Give NUMBER:HASH as `waypost audit verify` prints it."
        )
    return Link(int(found[1]), found[2])
