"""`waypost diff`: the differences between two states of a project."""

import click

from api.http.response import json_views
from cli.console.difference import as_code, as_text, markdown_lines
from cli.console.exits import ProblemsFound
from cli.console.named_draft import require_draft
from cli.console.output import print_json, print_lines, print_notes
from cli.console.setup import data_option, namespace_argument, open_store, project_argument
from content.changes.diff import count
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.revisions import BASE, DRAFT
from gitstore.history.change_lines import file_lines, text_lines
from gitstore.history.messages import change_text, count_text


@click.command("diff")
@namespace_argument
@project_argument
@click.argument("old", metavar="[FROM]", default=BASE)
@click.argument("new", metavar="[TO]", default=DRAFT)
@click.option(
    "--draft", default="main", show_default=True, metavar="NAME", help="The draft that the word `draft` refers to."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Use markdown for a comment on a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there are differences.")
@data_option
def command(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    old: str,
    new: str,
    *,
    draft: str,
    form: str,
    as_json: bool,
    exit_code: bool,
    data: str | None,
) -> None:
    """Show the differences between two states.

    Rule by rule and field by field, and other files such as project.yaml. FROM and TO are published, draft, a version
    (a publish number or SHA), proposal/ID, or a branch. FROM may also be base, the commit at which TO left
    release: then only the changes of the draft or branch itself are shown. By default FROM is base and TO is draft.
    The exit code is 0 also if there are differences, unless --exit-code is given.
    """
    store = open_store(data)
    if DRAFT in {old, new}:
        require_draft(store, namespace, DraftName(project, draft))
    found, files = store.revisions.difference(namespace, project, old, new, draft)
    totals = {kind: count(changes) for kind, changes in found.items()}
    changes = [change for kind in Kind for change in found[kind]]
    title = change_text(totals, files) if files else _capital(count_text(totals))
    if as_json or form == "json":
        shown = {"files": json_views.files(files), "changes": json_views.changes(found)}
        print_json({"from": old, "to": new, "counts": json_views.counts(totals), **shown})
    elif form == "markdown":
        where = f"{as_code(f'{namespace}/{project}')} from {as_code(_state_name(old, draft))} to {as_code(_state_name(new, draft))}"
        print_lines(*markdown_lines(changes, f"**{as_text(title)}** in {where}", files))
    else:
        print_lines(*file_lines(files), *text_lines(changes))
        print_notes(f"{title}.")
    if exit_code and (files or _differs(found)):
        raise ProblemsFound


def _state_name(state: str, draft: str) -> str:
    return f"{state} {draft}" if state == DRAFT and draft != "main" else state


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _differs(found: ChangesByKind) -> bool:
    return any(found.values())
