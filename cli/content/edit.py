"""`waypost edit`: change the draft of a project, a commit for each call."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import orjson

from api.db.audit import AuditEvent
from api.http.response import json_views
from cli.console.audit_notes import open_and_note_done
from cli.console.authoring import author_options
from cli.console.conflict_lines import conflict_lines, resolution_hint
from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.leaked_tokens import refuse_tokens
from cli.console.named_draft import draft_not_found, require_draft
from cli.console.never_answer import never_answer_notes
from cli.console.output import print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import open_services_of, state_options
from cli.console.setup import (
    confirm,
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
    yes_option,
)
from cli.content.edit_options import STATUS, TYPE, find_new_problems, print_edit_result
from cli.content.edit_replace import replace
from cli.content.edit_resolve import resolve
from cli.content.rule_edits import build_put, read_puts
from content.changes.diff import count
from content.records.problem_codes import count_never_answering
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.comparison.change_lines import file_lines, text_lines
from gitstore.comparison.descriptions import change_text
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.drafts.reverting import RevertRequest
from gitstore.drafts.revisions import BASE, DRAFT
from gitstore.errors import NotFound
from gitstore.git.repository import Author
from gitstore.store.store import Store


@click.group("edit")
def command() -> None:
    """Change the draft of a project.

    Each call is one commit on the draft. Nothing is live before `waypost publish`.
    """


@command.command()
@namespace_argument
@project_argument
@click.option("--source", metavar="SOURCE", help="The source of the redirect.")
@click.option("--target", metavar="TARGET", help="Its new target.")
@click.option("--type", "type_", type=TYPE, help="BASIC by default for a new redirect.")
@click.option("--status", type=STATUS, metavar="STATUS", help="A name or code; 301 by default for a new redirect.")
@click.option("--note", metavar="TEXT", help="A note for people.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A label (repeatable).")
@click.option("--file", metavar="PATH", help="The file of the project to put it in, such as redirects/sale.yaml.")
@click.option(
    "--from",
    "list_",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Put all redirects and pages of a JSON list instead (- for standard input).",
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

    Fields that are not given stay unchanged. With --from, put whole redirects and pages; each replaces the one with the
    same source or path.
    """
    fields = _given_fields(options)
    if bool(list_) == bool(fields):
        raise InvalidUsage("Give either --source with the fields to set, or a JSON list by --from.")
    store, name = open_store(data), DraftName(project, draft)
    if not list_ and "source" not in fields:
        raise InvalidUsage("No redirect is named; add --source.")
    edits = read_puts(list_) if list_ else [build_put(store, namespace, name, fields)]
    refuse_tokens(data, None, [(str(list_ or "options"), orjson.dumps([edit.record.fields() for edit in edits]))])
    with show_status(f"Editing {project}"):
        result = store.drafts.edit(namespace, name, edits, author)
    counts = {kind: count(change for change in result.changes if change.kind is kind) for kind in Kind}
    problems = find_new_problems(store, namespace, name, result.head, counts)
    print_edit_result(result.head, counts, problems, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--page", "is_page", is_flag=True, help="Remove pages, by their paths.")
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

    Name redirects by their sources, pages (with --page) by their paths.
    """
    kind = Kind.PAGES if is_page else Kind.REDIRECTS
    store, name = open_store(data), DraftName(project, draft)
    _require_rules(store, namespace, name, kind, rules)
    edits = [Delete(kind, _to_id(rule)) for rule in dict.fromkeys(rules)]
    result = store.drafts.edit(namespace, name, edits, author)
    counts = {kind: count(result.changes)}
    problems = find_new_problems(store, namespace, name, result.head, counts)
    print_edit_result(result.head, counts, problems, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="RULE...", nargs=-1, required=True)
@click.option("--head", default="", metavar="SHA", help="Only if the draft is at this commit.")
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

    Each RULE is the source, path or id of a rule that the draft changes.
    """
    ids = frozenset(map(_to_id, rules))
    store, name = open_store(data), DraftName(project, draft)
    try:
        result = store.drafts.revert(namespace, RevertRequest(name, ids, author, head))
    except NotFound as ex:
        raise _unchanged_rule_error(store, namespace, name, rules) or ex from ex
    counts = {kind: count(change for change in result.changes if change.kind is kind) for kind in Kind}
    problems = find_new_problems(store, namespace, name, result.head, counts)
    print_edit_result(result.head, counts, problems, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@draft_option
@yes_option
@state_options
def discard(namespace: str, project: str, *, draft: str, yes: bool, data: str | None, database: str | None) -> None:
    """Discard the draft with all its changes."""
    store = open_store(data)
    confirm(f"Discard the draft {draft} of {project}?", yes=yes)
    head = store.drafts.discard(namespace, DraftName(project, draft))
    opening, removed = partial(open_services_of, data, database), {"draft": draft, "head": head}
    open_and_note_done(opening, AuditEvent.DRAFT_DISCARDED, namespace, "", project, removed=removed)
    print_notes(f"Discarded the draft {draft} of {project}.")


@command.command()
@namespace_argument
@project_argument
@draft_option
@json_option
@data_option
def show(namespace: str, project: str, *, draft: str, as_json: bool, data: str | None) -> None:
    """Show the changes of the draft.

    Shows its problems and conflicts too. Exits with 1 if one of them stops a publish.
    """
    store = open_store(data)
    require_draft(store, namespace, DraftName(project, draft))
    report = store.drafts.report(namespace, DraftName(project, draft))
    if as_json:
        print_json(json_views.draft(draft, report))
    else:
        found = store.revisions.diff(namespace, project, BASE, DRAFT, draft) if report.state.head else {}
        print_lines(*file_lines(report.files), *text_lines([change for kind in Kind for change in found.get(kind, ())]))
        print_lines(*dict.fromkeys(problem.text() for problem in report.problems))
        print_lines(*(line for each in report.conflicts for line in conflict_lines(each)))
    conflicts = (
        f" {resolution_hint(len(report.conflicts), namespace, DraftName(project, draft))}" if report.conflicts else ""
    )
    at = f"at {report.state.head}" if report.state.head else "not created yet"
    print_notes(f"The draft {draft} is {at}: {change_text(report.counts, report.files)}.{conflicts}")
    number = count_never_answering(report.problems)
    print_notes(*never_answer_notes(store, namespace, project, number, draft if report.state.head else ""))
    if report.conflicts or any(problem.severity == "error" for problem in report.problems):
        raise ProblemsFound


def _require_rules(store: Store, namespace: str, name: DraftName, kind: Kind, rules: Sequence[str]) -> None:
    """Raise NotFound for an unknown rule, with its name as it was typed, since the store knows only its id."""
    store.releases.project(namespace, name.project)
    for rule in rules:
        try:
            store.drafts.record(namespace, name, kind, _to_id(rule))
        except NotFound as ex:
            noun = kind.removesuffix("s")
            raise NotFound(f"The draft {name.draft} has no {noun} {rule[:200]!r}; nothing was deleted.") from ex


def _unchanged_rule_error(store: Store, namespace: str, name: DraftName, rules: Sequence[str]) -> NotFound | None:
    """Return the error for a rule that the draft does not change, as it was typed; None if another thing is missing."""
    if store.drafts.report(namespace, name).state.head is None:
        return draft_not_found(store, namespace, name)
    changed = store.revisions.diff(namespace, name.project, BASE, DRAFT, name.draft).values()
    known = {identity_id(change.identity) for changes in changed for change in changes}
    word = next((word for word in rules if _to_id(word) not in known), None)
    if word is None:
        return None
    return NotFound(f"The draft {name.draft} of {name.project} has no change of {word[:200]!r}; nothing was reverted.")


def _given_fields(options: dict[str, Any]) -> dict[str, Any]:
    named = {**options, "type": options["type_"], "tags": list(options["tags"]) or None}
    names = ("source", "target", "type", "status", "note", "tags", "file")
    return {name: named[name] for name in names if named[name] is not None}


def _to_id(rule: str) -> str:
    """Return the id of a rule that is given by id, source or path."""
    return rule if re.fullmatch(r"[0-9a-f]{16}", rule) else identity_id(rule)


command.add_command(replace)
command.add_command(resolve)
