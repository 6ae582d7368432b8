"""`waypost webhooks`: the pause of a restored copy."""

import click

from api.data.restored_copy import RESUME, RestoredCopy
from api.db.events.deliveries import count_pending, discard_pending
from cli.console.output import print_json, print_lines, print_notes
from cli.console.services import open_existing_services, state_options
from cli.console.setup import confirm, json_option, read_settings, yes_option


@click.group("webhooks")
def command() -> None:
    """Show and end the pause of webhooks in a restored copy."""


@command.command()
@json_option
@state_options
def status(*, as_json: bool, data: str | None, database: str | None) -> None:
    """Show whether webhooks are paused, and how many deliveries wait."""
    with open_existing_services(data, database) as services, services.state.database.reading() as connection:
        pending = count_pending(connection)
        copy = RestoredCopy(read_settings(data=data).data)
        is_paused, facts = copy.is_paused(), copy.read()
    if as_json:
        print_json({"paused": is_paused, "pending": pending, **({"restored": facts} if is_paused else {})})
    else:
        print_lines(f"{'paused' if is_paused else 'active'}, {pending} deliveries pending")
    if is_paused:
        print_notes(
            f"This data directory was restored from {facts.get('backup', 'a backup')}. To end the pause: {RESUME}"
        )


@command.command()
@click.option(
    "--discard", is_flag=True, help="Mark the pending deliveries as failed: the original service has sent them."
)
@yes_option
@state_options
def resume(*, discard: bool, yes: bool, data: str | None, database: str | None) -> None:
    """End the pause of webhooks in a restored copy.

    The copy replaces the original service from now on. Webhooks are sent within a second, without a restart, and silent agents are reported again. Receivers get pending
    deliveries under the ids of the original, so those that it has sent since the backup can be recognized.
    """
    with open_existing_services(data, database) as services:
        copy = RestoredCopy(read_settings(data=data).data)
        if not copy.is_paused():
            print_notes("Webhooks are not paused; nothing changed.")
            return
        with services.state.database.reading() as connection:
            pending = count_pending(connection)
        confirm(f"Send webhooks from this copy ({pending} deliveries are pending)?", yes=yes)
        if discard:
            with services.state.database.writing() as connection:
                discard_pending(connection, services.clock())
        copy.resume()
    print_notes(
        "Webhooks are sent, and silent agents are reported." + (f" Discarded {pending} deliveries." if discard else "")
    )
