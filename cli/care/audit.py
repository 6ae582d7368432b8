"""`waypost audit`: check the hash chain of the audit trail, and export it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
import orjson

from api.app.audit_keys import load_checkpoint_keys
from api.db.audit_chain import Link
from api.db.audit_check import ChainReport, check_chain
from api.db.audit_checkpoints import Checkpoint
from api.db.audit_export import export_lines
from api.db.timestamps import dump_time
from cli.console.exits import CommandFailed, InvalidUsage, ProblemsFound
from cli.console.next_command import with_data_options
from cli.console.output import print_json, print_lines, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import json_option, read_settings
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

    It shows rows that were changed, removed, added or cut off, and checkpoints that are not the service's own.

    A user with write access to the database can compute the whole chain again. To detect that, give an earlier head.
    """
    seen = [_read_head(text) for text in heads]
    keys = load_checkpoint_keys(read_settings(data=data, database=database))
    with open_existing_services(data, database) as services, services.state.database.snapshot() as connection:
        found = check_chain(connection, keys, seen)
    if as_json:
        print_json(_report(found))
    else:
        print_lines(*found.faults)
        print_notes(*found.notes)
    if found.faults:
        raise ProblemsFound
    if not as_json:
        begin = f"{_begin(found.checkpoints)} " if found.checkpoints else ""
        print_lines(f"The audit trail is intact: {found.rows} rows. {begin}Head: {found.head.number}:{found.head.hash}")


@command.command()
@state_options
def export(*, data: str | None, database: str | None) -> None:
    """Print the audit trail as JSON lines.

    The oldest row is first, after the checkpoints of removed rows; the last line is the head of the chain.
    """
    with open_existing_services(data, database) as services, services.state.database.snapshot() as connection:
        line = before = b"{}"
        for line in export_lines(connection):
            last, before = before, line
            write(line.decode())
    head = orjson.loads(line)["head"]
    if head["number"] and _place(orjson.loads(last)) != (head["number"], head["hash"]):
        raise CommandFailed(
            f"The audit trail does not end with row {head['number']}, which its head names: rows were cut off or changed. "
            "Run `waypost audit verify`."
        )
    check = with_data_options(f"waypost audit verify --head {head['number']}:{head['hash']}")
    print_notes(f"Exported the audit trail. Keep its head elsewhere, and check against it later: {check}")


def _place(line: Mapping[str, Any]) -> tuple[int, str]:
    """Return the number and hash of the last line before the head; of a checkpoint, those of the last row that it replaces."""
    row = line.get("checkpoint", line)
    return row.get("number", row.get("id", 0)), row.get("hash", "")


def _report(found: ChainReport) -> dict[str, Any]:
    return {
        "intact": not found.faults,
        "rows": found.rows,
        "head": found.head._asdict(),
        "faults": list(found.faults),
        "notes": list(found.notes),
        "checkpoints": [each.dump() for each in found.checkpoints],
    }


def _begin(checkpoints: Sequence[Checkpoint]) -> str:
    newest, count = checkpoints[-1], sum(each.count for each in checkpoints)
    signer = f"signed with the key {newest.key}" if newest.signature else "not signed"
    return f"It begins after row {newest.number}: {count} older rows were removed, the last ones at {dump_time(newest.at)}, {signer}."


def _read_head(text: str) -> Link:
    found = _HEAD.fullmatch(text)
    if found is None:
        raise InvalidUsage(
            f"{text!r} is not a head of the audit trail. Give NUMBER:HASH as `waypost audit verify` prints it."
        )
    return Link(int(found[1]), found[2])
