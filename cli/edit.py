"""`waypost edit`: change the draft of a project, each time as one commit."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from api import wire
from cli.difference import text_lines
from cli.exits import ProblemsFound, WrongUse
from cli.output import count_noun, print_json, print_lines, print_notes
from cli.rule_edits import put_of, puts_from
from cli.setup import (
    confirm,
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    operator,
    project_argument,
    yes_option,
)
from cli.status import shown_status
from content.diff import Counts, count, item_kind
from content.record import identity_id
from content.replacement import FIELDS, Replacement
from content.vocabulary import STATUS_BY_WORD, Kind, RedirectType
from gitstore.drafts import DraftName
from gitstore.edits import Delete
from gitstore.layout import CommitId
from gitstore.listing import Query
from gitstore.messages import count_text
from gitstore.replacing import Preview, ReplaceOrder
from gitstore.reverting import RevertOrder
from gitstore.store import DRAFT, PUBLISHED

_KINDS = {item_kind(kind): kind for kind in Kind}
_STATUS = click.Choice(list(STATUS_BY_WORD))
_TYPE = click.Choice([each.value for each in RedirectType])
_SHOWN = 100


@click.group("edit")
def command() -> None:
    """Change the draft of a project: put, delete, replace, revert, discard, show.

    Each change is one commit on the draft. Nothing is live before `waypost publish`.
    """


@command.command()
@namespace_argument
@project_argument
@click.option("--source", metavar="SOURCE", help="The redirect, by its source.")
@click.option("--target", metavar="TARGET", help="Where it leads.")
@click.option("--type", "type_", type=_TYPE, help="BASIC if left out of a new redirect.")
@click.option("--status", type=_STATUS, metavar="STATUS", help="A name or code; 301 if left out of a new redirect.")
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
@data_option
def put(
    namespace: str, project: str, *, list_: Path | None, draft: str, as_json: bool, data: str | None, **options: Any
) -> None:
    """Add a redirect, or change the fields of one that are given; the others stay.

    With --from, whole redirects and pages, each replacing what has the same source or path.
    """
    fields = _fields(options)
    if bool(list_) == bool(fields):
        raise WrongUse("Give either --source with the fields to set, or a JSON list by --from.")
    store, name = open_store(data), DraftName(project, draft)
    if not list_ and "source" not in fields:
        raise WrongUse("Say which redirect by --source.")
    edits = puts_from(list_) if list_ else [put_of(store, namespace, name, fields)]
    with shown_status(f"Editing {project}"):
        done = store.edit(namespace, name, edits, operator())
    counts = {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}
    _print_done(done.head, counts, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--page", "is_page", is_flag=True, help="Pages, by their paths.")
@draft_option
@json_option
@data_option
def delete(
    namespace: str,
    project: str,
    rules: tuple[str, ...],
    *,
    is_page: bool,
    draft: str,
    as_json: bool,
    data: str | None,
) -> None:
    """Remove redirects by their sources, or pages by their paths; all of them or none."""
    kind = Kind.PAGES if is_page else Kind.REDIRECTS
    edits = [Delete(kind, _id(rule)) for rule in dict.fromkeys(rules)]
    done = open_store(data).edit(namespace, DraftName(project, draft), edits, operator())
    _print_done(done.head, {kind: count(done.changes)}, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("find")
@click.argument("replacement", metavar="REPLACEMENT")
@click.option("--regex", is_flag=True, help="FIND is a regular expression; $1 to $9 in REPLACEMENT are its groups.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    type=click.Choice(sorted({field for known in FIELDS.values() for field in known})),
    help="Where to look, target if left out; may be given several times.",
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="redirect if left out.")
@click.option("--q", default="", metavar="TEXT", help="Only where this text is in source or path, target or note.")
@click.option("--type", "type_", type=_TYPE, default=None, help="Only in redirects of this type.")
@click.option("--status", type=_STATUS, metavar="STATUS", help="Only in redirects of this status.")
@click.option("--tag", default="", metavar="TAG", help="Only in what has this tag.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@draft_option
@json_option
@data_option
def replace(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    find: str,
    replacement: str,
    *,
    dry_run: bool,
    draft: str,
    as_json: bool,
    data: str | None,
    **options: Any,
) -> None:
    """Replace FIND by REPLACEMENT in the fields of the draft's rules, in all of them or none.

    Exits with 1, and changes nothing, where a rule would be wrong.
    """
    order = _replace_order(DraftName(project, draft), Replacement(find, replacement, options.pop("regex")), options)
    store = open_store(data)
    if dry_run:
        _print_preview(store.preview_replacement(namespace, order, 0, _SHOWN), as_json=as_json)
        return
    with shown_status(f"Replacing in {project}"):
        done = store.replace_all(namespace, order, operator())
    _print_done(done.head, done.counts, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@click.argument("rules", metavar="RULE...", nargs=-1, required=True)
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
@draft_option
@json_option
@data_option
def revert(
    namespace: str, project: str, rules: tuple[str, ...], *, head: str, draft: str, as_json: bool, data: str | None
) -> None:
    """Discard the draft's changes of some rules; each RULE is a source, a path or an id."""
    ids = frozenset(map(_id, rules))
    done = open_store(data).revert(namespace, RevertOrder(DraftName(project, draft), ids, operator(), head))
    counts = {kind: count(change for change in done.changes if change.kind is kind) for kind in Kind}
    _print_done(done.head, counts, as_json=as_json)


@command.command()
@namespace_argument
@project_argument
@draft_option
@yes_option
@data_option
def discard(namespace: str, project: str, *, draft: str, yes: bool, data: str | None) -> None:
    """Throw the draft away with all of its changes."""
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
    """Show what the draft changes, what is wrong with it, and what conflicts.

    Exits with 1 where something stops its publish.
    """
    store = open_store(data)
    report = store.report(namespace, DraftName(project, draft))
    if as_json:
        print_json(wire.draft(draft, report))
    else:
        found = store.diff(namespace, project, PUBLISHED, DRAFT, draft) if report.state.head else {}
        print_lines(*text_lines([change for kind in Kind for change in found.get(kind, ())]))
        print_lines(*dict.fromkeys(problem.text() for problem in report.problems))
    conflicts = f" {count_noun(len(report.conflicts), 'conflict')} to settle." if report.conflicts else ""
    at = f"at {report.state.head}" if report.state.head else "not begun"
    print_notes(f"The draft {draft} is {at}: {count_text(report.counts)}.{conflicts}")
    if report.conflicts or any(problem.severity == "error" for problem in report.problems):
        raise ProblemsFound


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    named = {**options, "type": options["type_"], "tags": list(options["tags"]) or None}
    names = ("source", "target", "type", "status", "note", "tags", "file")
    return {name: named[name] for name in names if named[name] is not None}


def _replace_order(name: DraftName, replacement: Replacement, options: Mapping[str, Any]) -> ReplaceOrder:
    kinds, fields = options["kinds"] or ("redirect",), options["fields"] or ("target",)
    strange = [field for field in fields if not any(field in FIELDS[kind] for kind in kinds)]
    if strange:
        raise WrongUse(f"A {' or '.join(kinds)} has no field {strange[0]}; see --kind.")
    where = Query(
        options["q"],
        options["type_"] or "",
        STATUS_BY_WORD[options["status"]].value if options["status"] else "",
        options["tag"],
    )
    of_kinds = tuple(_KINDS[kind] for kind in dict.fromkeys(kinds))
    return ReplaceOrder(name, replacement, frozenset(fields), of_kinds, where, head=options["head"])


def _id(rule: str) -> str:
    """The id that a person means by an id, a source or a path."""
    return rule if re.fullmatch(r"[0-9a-f]{16}", rule) else identity_id(rule)


def _print_done(head: CommitId | None, counts: Mapping[Kind, Counts], *, as_json: bool) -> None:
    if as_json:
        print_json({"head": head, "changes": wire.counts(counts)})
    else:
        print_lines(head or "")
    ended = "" if head else " Nothing is left of the draft."
    print_notes(f"{_capital(count_text(counts))}.{ended}")


def _print_preview(found: Preview, *, as_json: bool) -> None:
    total = sum(found.counts.values())
    if as_json:
        items = [each.wire() for each in found.items]
        print_json({"items": items, "total": total, "wrong": found.wrong, "head": found.head})
    else:
        for each in found.items:
            print_lines(f"~ {item_kind(each.kind)} {each.placed.record.identity}")
            print_lines(*(f"    {name}: {old} -> {new}" for name, (old, new) in each.fields.items()))
            print_lines(*(f"    {problem.text()}" for problem in each.problems))
    print_notes(
        f"{count_noun(total, 'rule')} would change, {found.wrong:,} of them would be wrong. Nothing was written."
    )
    if found.wrong:
        raise ProblemsFound


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
