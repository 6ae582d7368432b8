"""`waypost edit replace`: search and replace in a draft, tried first or at once."""

from collections.abc import Mapping
from typing import Any

import click

from cli.authoring import author_options
from cli.edit_words import STATUS, TYPE, print_done
from cli.exits import ProblemsFound, WrongUse
from cli.output import count_noun, print_json, print_lines, print_notes
from cli.setup import (
    data_option,
    draft_option,
    json_option,
    namespace_argument,
    open_store,
    project_argument,
)
from cli.status import shown_status
from content.diff import item_kind
from content.replacement import FIELDS, Replacement
from content.vocabulary import STATUS_BY_WORD, Kind
from gitstore.drafts import DraftName
from gitstore.listing import Query
from gitstore.replacement_plan import ReplaceOrder
from gitstore.replacing import Preview
from gitstore.repository import Author

_KINDS = {item_kind(kind): kind for kind in Kind}
_SHOWN = 100


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
    help="Where to look, target if left out; may be given several times.",
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="redirect if left out.")
@click.option("--q", default="", metavar="TEXT", help="Only where this text is in source or path, target or note.")
@click.option("--type", "type_", type=TYPE, default=None, help="Only in redirects of this type.")
@click.option("--status", type=STATUS, metavar="STATUS", help="Only in redirects of this status.")
@click.option("--tag", default="", metavar="TAG", help="Only in what has this tag.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
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

    FIND becomes REPLACEMENT in all of them or none. Exits with 1, and changes nothing, where a rule would be wrong.
    """
    order = _replace_order(DraftName(project, draft), Replacement(find, replacement, options.pop("regex")), options)
    store = open_store(data)
    if dry_run:
        _print_preview(store.preview_replacement(namespace, order, 0, _SHOWN), as_json=as_json)
        return
    with shown_status(f"Replacing in {project}"):
        done = store.replace_all(namespace, order, author)
    if not as_json and not any(map(any, done.counts.values())):
        print_lines(*filter(None, [done.head]))
        print_notes(f"Nothing was found to replace in the draft {draft} of {project}; nothing was changed.")
        return
    print_done(done.head, done.counts, as_json=as_json)


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
