"""`waypost audit`: check the hash chain of the audit trail, and export it."""

import click

from api.db.audit_chain import Link
from cli.console.exits import PROBLEMS_FOUND
from cli.console.output import print_json, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import json_option


@click.group("audit")
def command() -> None:
    """Check and export the audit trail."""
