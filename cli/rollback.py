"""`waypost rollback`: one step back, or many."""

from collections.abc import Mapping

import click

from api import wire
from cli.authoring import as_option, author_of
from cli.output import print_json, print_lines, print_notes
from cli.publish import print_published
from cli.publishing import publisher_of
from cli.services import opened_services, state_options
from cli.setup import draft_option, json_option, namespace_argument, open_store, project_argument
from cli.status import shown_status
from content.diff import Counts
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.layout import CommitId
from gitstore.messages import count_text


@click.command("rollback")
@namespace_argument
@project_argument
@click.argument("version")
@click.option("--message", "-m", default="", metavar="TEXT", help="Why.")
@click.option("--as-draft", is_flag=True, help="Publish nothing: make a draft of it, to look at and to change first.")
@draft_option
@click.option("--head", default="", metavar="SHA", help="With --as-draft: replace what the draft at this commit holds.")
@json_option
@as_option
@state_options
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    version: str,
    message: str,
    draft: str,
    head: str,
    *,
    as_draft: bool,
    as_json: bool,
    username: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Publish an earlier version again, as a new one.

    Prints the new version of PROJECT. VERSION is a publish number or a SHA, as `waypost log` shows them. The newer versions stay in the history, so a
    rollback can be rolled back. With --as-draft it prints the head of the draft instead.
    """
    store, author = open_store(data), author_of(username, data, database)
    if as_draft:
        commit, counts = store.reopen(namespace, DraftName(project, draft), version, author, message, head)
        _print_draft(draft, commit, counts, as_json=as_json)
        return
    if head:
        raise click.UsageError("--head is for --as-draft: a rollback replaces what is published, not a draft.")
    if username:  # else whoever runs the command, who may; then the database is not needed
        with opened_services(data, database) as services:
            publisher_of(services, username, namespace, project)
    with shown_status(f"Publishing {project}"):
        found = store.roll_back(namespace, project, version, author, message)
    print_published(project, found, as_json=as_json)


def _print_draft(draft: str, head: CommitId, counts: Mapping[Kind, Counts], *, as_json: bool) -> None:
    if as_json:
        print_json({"head": head, "changes": wire.counts(counts)})
    else:
        print_lines(head)
    print_notes(f"The draft {draft} against what is published: {count_text(counts)}.")
