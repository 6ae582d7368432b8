"""`waypost edit`: change the draft of a project, each time as one commit."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from api import wire
from cli.authoring import author_options
from cli.conflict_lines import conflict_lines, settling
from cli.difference import file_lines, text_lines
from cli.edit_replace import replace
from cli.edit_resolve import resolve
from cli.edit_words import STATUS, TYPE, print_done
from cli.exits import ProblemsFound, WrongUse
from cli.named_draft import must_be_begun, no_draft
from cli.output import print_json, print_lines, print_notes
from cli.rule_edits import put_of, puts_from
from cli.setup import (
    confirm,
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
    yes_option,
)
from cli.status import shown_status
from content.diff import count
from content.record import identity_id
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Delete
from gitstore.errors import NotFound
from gitstore.messages import change_text
from gitstore.repository import Author
from gitstore.reverting import RevertOrder
from gitstore.states import BASE, DRAFT
from gitstore.store import Store


@click.group("edit")
def command() -> None:
    """Change the draft of a project.

    Each change is one commit on the draft. Nothing is live before `waypost publish`.
    """


@command.command()
@namespace_argument
@project_argument
@click.option("--source", metavar="SOURCE", help="The redirect, by its source.")
@click.option("--target", metavar="TARGET", help="Where it leads.")
@click.option("--type", "type_", type=TYPE, help="BASIC if left out of a new redirect.")
@click.option("--status", type=STATUS, metavar="STATUS", help="A name or code; 301 if left out of a new redirect.")
@click.option("--note", metavar="TEXT", help="A remark for people.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A label; may be given several times.")
@click.option("--file", metavar="PATH", help="The file of the project to put it in, such as redirects/sale.yaml.")
@click.option(
    "--from",
    "list_",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Put all redirects and pages of a JSON list (- for standard input) instead.",
)
@draft_option
@json_option
@author_options
@data_option
def put(
    namespace: str,
    project: str,
    *,
    list_: Path | None,
    draft: str,
    as_json: bool,
    data: str | None,
    author: Author,
    **options: Any,
) -> None:
    """Add a redirect, or change fields of one.

    Fields that are not given stay. With --from, whole redirects and pages, each replacing what has the same source or path.
    """
    fields = _fields(options)
    if bool(list_) == bool(fields):
        raise WrongUse("Give either --source with the fields to set, or a JSON list by --from.")
    store, name = open_store(data), DraftName(project, draft)
    if not list_ and "source" not in fields:
        raise WrongUse("Say which redirect by --source.")
    edits = puts_from(list_) if list_ else [put_of(store, namespace, name, fields)]
    with shown_status(f"Editing {project}"):
        done = store.edit(namespace, name, edits, author)
    counts = {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}
    print_done(done.head, counts, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--page", "is_page", is_flag=True, help="Pages, by their paths.")
@draft_option
@json_option
@author_options
@data_option
def delete(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    rules: tuple[str, ...],
    *,
    is_page: bool,
    draft: str,
    as_json: bool,
    data: str | None,
    author: Author,
) -> None:
    """Remove redirects or pages, all or none.

    Redirects go by their sources, pages (with --page) by their paths.
    """
    kind = Kind.PAGES if is_page else Kind.REDIRECTS
    store, name = open_store(data), DraftName(project, draft)
    _all_there(store, namespace, name, kind, rules)
    edits = [Delete(kind, _id(rule)) for rule in dict.fromkeys(rules)]
    done = store.edit(namespace, name, edits, author)
    print_done(done.head, {kind: count(done.changes)}, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="RULE...", nargs=-1, required=True)
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
@draft_option
@json_option
@author_options
@data_option
def revert(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    rules: tuple[str, ...],
    *,
    head: str,
    draft: str,
    as_json: bool,
    data: str | None,
    author: Author,
) -> None:
    """Discard some changes of the draft.

    Each RULE that the draft changed is named by its source, its path or its id.
    """
    ids = frozenset(map(_id, rules))
    store, name = open_store(data), DraftName(project, draft)
    try:
        done = store.revert(namespace, RevertOrder(name, ids, author, head))
    except NotFound as ex:
        raise _as_typed(store, namespace, name, rules) or ex from ex
    counts = {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}
    print_done(done.head, counts, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@draft_option
@yes_option
@data_option
def discard(namespace: str, project: str, *, draft: str, yes: bool, data: str | None) -> None:
    """Throw the draft away."""
    store = open_store(data)
    confirm(f"Throw away the draft {draft} of {project}?", yes=yes)
    store.discard(namespace, DraftName(project, draft))
    print_notes(f"The draft {draft} of {project} is gone.")


@command.command()
@namespace_argument
@project_argument
@draft_option
@json_option
@data_option
def show(namespace: str, project: str, *, draft: str, as_json: bool, data: str | None) -> None:
    """Show what the draft changes.

    Below that, what is wrong with it, and the conflicts to settle. Exits with 1 where something stops its publish.
    """
    store = open_store(data)
    must_be_begun(store, namespace, DraftName(project, draft))
    report = store.report(namespace, DraftName(project, draft))
    if as_json:
        print_json(wire.draft(draft, report))
    else:
        found = store.diff(namespace, project, BASE, DRAFT, draft) if report.state.head else {}
        print_lines(*file_lines(report.files), *text_lines([change for kind in Kind for change in found.get(kind, ())]))
        print_lines(*dict.fromkeys(problem.text() for problem in report.problems))
        print_lines(*(line for each in report.conflicts for line in conflict_lines(each)))
    conflicts = f" {settling(len(report.conflicts), namespace, DraftName(project, draft))}" if report.conflicts else ""
    at = f"at {report.state.head}" if report.state.head else "not begun"
    print_notes(f"The draft {draft} is {at}: {change_text(report.counts, report.files)}.{conflicts}")
    if report.conflicts or any(problem.severity == "error" for problem in report.problems):
        raise ProblemsFound


def _all_there(store: Store, namespace: str, name: DraftName, kind: Kind, rules: Sequence[str]) -> None:
    """Name a rule that is not there as it was typed; the store knows only its id."""
    store.project(namespace, name.project)
    for rule in rules:
        try:
            store.item(namespace, name, kind, _id(rule))
        except NotFound as ex:
            noun = kind.removesuffix("s")
            raise NotFound(f"There is no {noun} {rule[:200]!r} in the draft {name.draft}; nothing was deleted.") from ex


def _as_typed(store: Store, namespace: str, name: DraftName, rules: Sequence[str]) -> NotFound | None:
    """What the draft does not change, as it was typed; the store knows only its id. None where something else is missing."""
    if store.report(namespace, name).state.head is None:
        return no_draft(store, namespace, name)
    changed = store.diff(namespace, name.project, BASE, DRAFT, name.draft).values()
    known = {identity_id(change.identity) for changes in changed for change in changes}
    word = next((word for word in rules if _id(word) not in known), None)
    if word is None:
        return None
    return NotFound(
        f"The draft {name.draft} of {name.project} changes nothing at {word[:200]!r}; nothing was reverted."
    )


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    named = {**options, "type": options["type_"], "tags": list(options["tags"]) or None}
    names = ("source", "target", "type", "status", "note", "tags", "file")
    return {name: named[name] for name in names if named[name] is not None}


def _id(rule: str) -> str:
    """The id that a person means by an id, a source or a path."""
    return rule if re.fullmatch(r"[0-9a-f]{16}", rule) else identity_id(rule)


command.add_command(replace)
command.add_command(resolve)
