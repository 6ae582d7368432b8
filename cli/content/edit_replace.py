"""`waypost edit replace`: search and replace in a draft, with an optional dry run."""

from collections.abc import Mapping
from typing import Any

import click

from cli.console.authoring import author_options
from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.leaked_tokens import refuse_tokens
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.setup import (
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.content.edit_options import STATUS, TYPE, find_new_problems, print_edit_result
from content.changes.diff import item_kind
from content.changes.replacement import FIELDS, Replacement
from content.records.vocabulary import STATUS_BY_WORD, Kind
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.bulk.replacing import ReplacePreview
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.listing import Query
from gitstore.git.repository import Author

_KINDS = {item_kind(kind): kind for kind in Kind}
_PREVIEW_ITEMS = 100


@click.command("replace")
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
    help="The field to search, by default target (repeatable).",
)
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="By default redirect (repeatable)."
)
@click.option("--q", default="", metavar="TEXT", help="Only rules with this text in source, path, target or note.")
@click.option("--type", "type_", type=TYPE, default=None, help="Only redirects of this type.")
@click.option("--status", type=STATUS, metavar="STATUS", help="Only redirects of this status.")
@click.option("--tag", default="", metavar="TAG", help="Only rules with this tag.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft is at this commit.")
@click.option("--dry-run", is_flag=True, help="Show the changes, and write nothing.")
@draft_option
@json_option
@author_options
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
    author: Author,
    **options: Any,
) -> None:
    """Search and replace in the draft's rules.

    Replaces FIND by REPLACEMENT in all matching rules or none. Exits with 1, and changes nothing, if a rule would be
    invalid.
    """
    request = _replace_request(DraftName(project, draft), Replacement(find, replacement, options.pop("regex")), options)
    store = open_store(data)
    refuse_tokens(data, None, [("REPLACEMENT", replacement.encode(errors="replace"))])
    if dry_run:
        _print_preview(store.drafts.preview_replacement(namespace, request, 0, _PREVIEW_ITEMS), as_json=as_json)
        return
    with show_status(f"Replacing in {project}"):
        result = store.drafts.replace(namespace, request, author)
    if not as_json and not any(map(any, result.counts.values())):
        print_lines(*filter(None, [result.head]))
        print_notes(f"No match in the draft {draft} of {project}; nothing changed.")
        return
    problems = find_new_problems(store, namespace, request.name, result.head, result.counts)
    print_edit_result(result.head, result.counts, problems, as_json=as_json)


def _replace_request(name: DraftName, replacement: Replacement, options: Mapping[str, Any]) -> ReplaceRequest:
    kinds, fields = options["kinds"] or ("redirect",), options["fields"] or ("target",)
    unknown = [field for field in fields if not any(field in FIELDS[kind] for kind in kinds)]
    if unknown:
        raise InvalidUsage(f"A {' or '.join(kinds)} has no field {unknown[0]}; see --kind.")
    where = Query(
        options["q"],
        options["type_"] or "",
        STATUS_BY_WORD[options["status"]].value if options["status"] else "",
        options["tag"],
    )
    of_kinds = tuple(_KINDS[kind] for kind in dict.fromkeys(kinds))
    return ReplaceRequest(name, replacement, frozenset(fields), of_kinds, where, head=options["head"])


def _print_preview(found: ReplacePreview, *, as_json: bool) -> None:
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
        f"{count_noun(total, 'rule')} would change, {found.wrong:,} of them would be invalid. Nothing was written."
    )
    if found.wrong:
        raise ProblemsFound
