"""`waypost publish`: merge a draft into release."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from api.http.response import json_views
from cli.console.authoring import as_option, author_of
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.never_answer import never_answer_notes
from cli.console.output import print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import open_existing_services, state_options
from cli.console.setup import (
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.release.publishing import publish_draft, publisher_of
from content.records.record import identity_id
from gitstore.comparison.descriptions import published_text
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound, UnknownChange
from gitstore.publish.advance import PublishResult
from gitstore.publish.approval import read_reason
from gitstore.publish.publishing import PublishRequest

if TYPE_CHECKING:
    from api.upstreams.pull_publishes import PulledPublish


@click.command("publish")
@namespace_argument
@project_argument
@click.option("--message", "-m", default="", metavar="TEXT", help="The reason; by default a summary of the changes.")
@click.option("--head", default="", metavar="SHA", help="Publish only if the draft is at this commit.")
@click.option(
    "--override", default=None, metavar="REASON", help="Publish without the approval that the project requires."
)
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only the change of this rule (repeatable).")
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE", help="Only the redirect with this source (repeatable)."
)
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only the page with this path (repeatable).")
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
    """Publish a draft; agents get it at their next poll.

    Prints the new version of PROJECT, or the address of the pull request where the upstream takes those. With --id, --source or --path only these changes are published, all or none, and
    the others stay in the draft.

    Exits with 1, and publishes nothing, if the draft has no changes, is invalid, conflicts with release, or lacks the
    approval that the project requires.
    """
    reason = read_reason(override or "")
    if override is not None and not reason:
        raise InvalidUsage("The REASON of --override has no letter or digit; nothing was published. Give the reason.")
    refuse_words(data, database, message=message, override=override)
    name, chosen = DraftName(project, draft), _chosen(ids, sources, paths)
    author = author_of(username, data, database)
    request = PublishRequest(name, author, head, message, reason, frozenset(chosen))
    store = open_store(data)
    with open_existing_services(data, database) as services, show_status(f"Publishing {project}"):
        publisher = publisher_of(services, username, namespace, project)
        try:
            found = publish_draft(services, store, namespace, request, publisher)
        except UnknownChange as ex:
            message = f"The draft {draft} of {project} has no change of {chosen[ex.id]!r}; nothing was published."
            raise NotFound(message) from ex
    if not isinstance(found, PublishResult):
        print_pulled(found, as_json=as_json)
        return
    print_published(project, found, never_answer_notes(store, namespace, project, found.never_answer), as_json=as_json)


def print_pulled(found: "PulledPublish", *, as_json: bool) -> None:
    """Print the pull request that a publish became."""
    if as_json:
        print_json(found.wire())
    else:
        print_lines(found.url)
    print_notes(
        f"Pull request {found.number} has the branch {found.branch}. It is live once it is merged on the host; until then the "
        "draft stays."
    )


def _chosen(ids: Sequence[str], sources: Sequence[str], paths: Sequence[str]) -> dict[str, str]:
    """Return the selected changes by the names that a call takes, each as it was typed."""
    wrong = next((word for word in ids if not re.fullmatch(r"[0-9a-f]{16}", word)), None)
    if wrong is not None:
        raise InvalidUsage(
            f"{wrong[:60]!r} is not an id (16 hex digits). Name a redirect by --source, a page by --path."
        )
    kinds = {"redirect": sources, "page": paths}
    named = {f"{kind}:{identity_id(word)}": word for kind, words in kinds.items() for word in words}
    return {**{word: word for word in ids}, **named}


def print_published(project: str, found: PublishResult, notes: Sequence[str] = (), *, as_json: bool) -> None:
    """Print the result of a publish, and notes after it."""
    if as_json:
        print_json(json_views.published(found))
    else:
        print_lines(found.version)
    print_notes(published_text(project, found.number, found.counts), *notes)
