"""`waypost publish`: merge a draft into release."""

import re
from collections.abc import Sequence

import click

from api import wire
from cli.authoring import as_option, author_of
from cli.exits import WrongUse
from cli.output import print_json, print_lines, print_notes
from cli.publishing import publish_draft, publisher_of
from cli.services import opened_services, state_options
from cli.setup import (
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.status import shown_status
from content.record import identity_id
from gitstore.advance import Published
from gitstore.approval import says_why
from gitstore.drafts import DraftName
from gitstore.errors import NotFound, UnknownChange
from gitstore.messages import count_text
from gitstore.publishing import PublishOrder


@click.command("publish")
@namespace_argument
@project_argument
@click.option("--message", "-m", default="", metavar="TEXT", help="Why; if left out, what changed.")
@click.option("--head", default="", metavar="SHA", help="Publish only if the draft stands at this commit.")
@click.option(
    "--override", default=None, metavar="REASON", help="Publish without the approval that the project asks for."
)
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Only the change of this rule; may be given several times."
)
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE", help="Only of the redirect with this source; so too."
)
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only of the page with this path; so too.")
@draft_option
@json_option
@as_option
@state_options
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    message: str,
    head: str,
    override: str | None,
    draft: str,
    *,
    ids: tuple[str, ...],
    sources: tuple[str, ...],
    paths: tuple[str, ...],
    as_json: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Publish a draft: agents have it at their next poll.

    Prints the new version of PROJECT. With --id, --source or --path only these changes are published, all or none, and the
    rest stays in the draft.

    Exits with 1, and publishes nothing, where there is nothing to publish, something is wrong with the draft, or it
    conflicts with what was published meanwhile, or where the project wants an approval and nobody has given one.
    """
    if override is not None and not says_why(override):
        raise WrongUse("--override says why: its REASON needs a letter or a digit. Nothing was published.")
    name, chosen = DraftName(project, draft), _chosen(ids, (*sources, *paths))
    author = author_of(username, data, database)
    order = PublishOrder(name, author, head, message, override or "", frozenset(chosen))
    store = open_store(data)
    with opened_services(data, database) as services, shown_status(f"Publishing {project}"):
        publisher = publisher_of(services, username, namespace, project)
        try:
            found = publish_draft(services, store, namespace, order, publisher)
        except UnknownChange as ex:
            message = f"The draft {draft} of {project} changes nothing at {chosen[ex.id]!r}; nothing was published."
            raise NotFound(message) from ex
    print_published(project, found, as_json=as_json)


def _chosen(ids: Sequence[str], identities: Sequence[str]) -> dict[str, str]:
    """What is to be published, by id, as it was typed."""
    wrong = next((word for word in ids if not re.fullmatch(r"[0-9a-f]{16}", word)), None)
    if wrong is not None:
        raise WrongUse(f"{wrong[:60]!r} is no id: those are 16 hex digits. A rule goes by --source, a page by --path.")
    return {**{word: word for word in ids}, **{identity_id(word): word for word in identities}}


def print_published(project: str, found: Published, *, as_json: bool) -> None:
    """Say what a publish became."""
    if as_json:
        print_json(wire.published(found))
    else:
        print_lines(found.version)
    beside = "" if any(map(any, found.counts.values())) else "; comments, settings or other files did"
    print_notes(f"Publish {found.number} of {project}: {count_text(found.counts)}{beside}.")
