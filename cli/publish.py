"""`waypost publish`: merge a draft into release."""

import click

from api import wire
from cli.authoring import as_option, author_of
from cli.output import print_json, print_lines, print_notes
from cli.publishing import publish_draft
from cli.services import opened_services, state_options
from cli.setup import (
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.status import shown_status
from gitstore.advance import Published
from gitstore.drafts import DraftName
from gitstore.messages import count_text
from gitstore.publishing import PublishOrder


@click.command("publish")
@namespace_argument
@project_argument
@click.option("--message", "-m", default="", metavar="TEXT", help="Why; if left out, what changed.")
@click.option("--head", default="", metavar="SHA", help="Publish only if the draft stands at this commit.")
@click.option(
    "--override", default="", metavar="REASON", help="Publish without the approval that the project asks for."
)
@draft_option
@json_option
@as_option
@state_options
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    message: str,
    head: str,
    override: str,
    draft: str,
    *,
    as_json: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Publish a draft: agents have it at their next poll.

    Prints the new version of PROJECT.

    Exits with 1, and publishes nothing, where there is nothing to publish, something is wrong with the draft, or it
    conflicts with what was published meanwhile, or where the project wants an approval and nobody has given one.
    """
    order = PublishOrder(DraftName(project, draft), author_of(username, data, database), head, message, override)
    store = open_store(data)
    with opened_services(data, database) as services, shown_status(f"Publishing {project}"):
        found = publish_draft(services, store, namespace, order)
    print_published(project, found, as_json=as_json)


def print_published(project: str, found: Published, *, as_json: bool) -> None:
    """Say what a publish became."""
    if as_json:
        print_json(wire.published(found))
    else:
        print_lines(found.version)
    print_notes(f"Publish {found.number} of {project}: {count_text(found.counts)}.")
