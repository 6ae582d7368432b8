"""`waypost diff`: what leads from one state of a project to another."""

import click

from api import wire
from cli.difference import as_code, as_text, file_lines, markdown_lines, text_lines
from cli.exits import ProblemsFound
from cli.named_draft import must_be_begun
from cli.output import print_json, print_lines, print_notes
from cli.setup import data_option, namespace_argument, open_store, project_argument
from content.diff import count
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind
from gitstore.drafts import DraftName
from gitstore.messages import change_text, count_text
from gitstore.states import BASE, DRAFT


@click.command("diff")
@namespace_argument
@project_argument
@click.argument("old", metavar="[FROM]", default=BASE)
@click.argument("new", metavar="[TO]", default=DRAFT)
@click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft that `draft` means.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="markdown is for a comment on a pull request.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there are differences.")
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
    """Say what leads from one state to another.

    Rule by rule and field by field, and files beside them, such as project.yaml. FROM and TO are published, draft, a
    version (a publish number or SHA), or a branch of the repository; FROM also base, which is where TO left release: what
    the draft or branch changes itself. If left out, FROM is base and TO is draft. Differences alone are no failure: the exit code is 0 unless --exit-code is given.
    """
    store = open_store(data)
    if DRAFT in {old, new}:
        must_be_begun(store, namespace, DraftName(project, draft))
    found, files = store.difference(namespace, project, old, new, draft)
    totals = {kind: count(changes) for kind, changes in found.items()}
    changes = [change for kind in Kind for change in found[kind]]
    title = change_text(totals, files) if files else _capital(count_text(totals))
    if as_json or form == "json":
        shown = {"files": wire.files(files), "changes": wire.changes(found)}
        print_json({"from": old, "to": new, "counts": wire.counts(totals), **shown})
    elif form == "markdown":
        where = f"{as_code(f'{namespace}/{project}')} from {as_code(_name(old, draft))} to {as_code(_name(new, draft))}"
        print_lines(*markdown_lines(changes, f"**{as_text(title)}** in {where}", files))
    else:
        print_lines(*file_lines(files), *text_lines(changes))
        print_notes(f"{title}.")
    if exit_code and (files or _differs(found)):
        raise ProblemsFound


def _name(state: str, draft: str) -> str:
    return f"{state} {draft}" if state == DRAFT and draft != "main" else state


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _differs(found: ChangesByKind) -> bool:
    return any(found.values())
