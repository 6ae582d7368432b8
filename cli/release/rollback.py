"""`waypost rollback`: publish an earlier version again."""

from collections.abc import Mapping
from functools import partial

import click

from api.db.audit import AuditEvent
from api.http.response import json_views
from cli.console.audit_notes import open_and_note_done
from cli.console.authoring import as_option, author_of
from cli.console.leaked_tokens import refuse_words
from cli.console.never_answer import never_answer_notes
from cli.console.output import print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import open_existing_services, open_services_of, state_options
from cli.console.setup import draft_option, json_option, namespace_argument, open_store, project_argument
from cli.release.publish import print_published
from cli.release.publishing import publisher_of
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.drafts.drafts import DraftName
from gitstore.layout import CommitId


@click.command("rollback")
@namespace_argument
@project_argument
@click.argument("version")
@click.option("--message", "-m", default="", metavar="TEXT", help="The reason.")
@click.option("--as-draft", is_flag=True, help="Publish nothing; make a draft of the version, to check and change.")
@draft_option
@click.option("--head", default="", metavar="SHA", help="With --as-draft: replace the draft that is at this commit.")
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

    Prints the new version of PROJECT. VERSION is a publish number or a SHA, as `waypost log` shows them. The newer
    versions stay in the history, so a rollback can be rolled back. With --as-draft it prints the head of the draft
    instead.
    """
    refuse_words(data, database, message=message)
    store, author = open_store(data), author_of(username, data, database)
    if as_draft:
        commit, counts = store.drafts.reopen(namespace, DraftName(project, draft), version, author, message, head)
        _print_draft(draft, commit, counts, as_json=as_json)
        return
    if head:
        raise click.UsageError("--head needs --as-draft: a rollback does not change a draft.")
    actor = None
    if username:  # without it the operator publishes, who has every grant; then the database is not needed
        with open_existing_services(data, database) as services:
            actor = publisher_of(services, username, namespace, project).actor()
    with show_status(f"Publishing {project}"):
        found = store.publishes.roll_back(namespace, project, version, author, message)
    opening, event = partial(open_services_of, data, database), AuditEvent.ROLLBACK_REQUESTED
    open_and_note_done(opening, event, namespace, found.version, project, actor=actor)
    print_published(project, found, never_answer_notes(store, namespace, project, found.never_answer), as_json=as_json)


def _print_draft(draft: str, head: CommitId, counts: Mapping[Kind, Counts], *, as_json: bool) -> None:
    if as_json:
        print_json({"head": head, "changes": json_views.counts(counts)})
    else:
        print_lines(head)
    print_notes(f"The draft {draft} compared to the published version: {count_text(counts)}.")
