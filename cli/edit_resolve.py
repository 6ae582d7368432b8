"""`waypost edit resolve`: settle the conflicts of a draft, all or those of one rule."""

from collections.abc import Mapping
from typing import Any

import click

from cli.authoring import author_options
from cli.conflict_lines import conflict_lines, settling
from cli.exits import WrongUse
from cli.named_draft import must_be_begun
from cli.next_command import next_command
from cli.output import count_noun, print_json, print_lines, print_notes
from cli.setup import data_option, draft_option, json_option, namespace_argument, open_store, project_argument
from gitstore.choices import Choice
from gitstore.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.repository import Author
from gitstore.resolving import Resolved, ResolveOrder


@click.command("resolve")
@namespace_argument
@project_argument
@click.option("--take", type=click.Choice(["draft", "release"]), required=True, help="Whose value holds.")
@click.option("--source", metavar="SOURCE", help="Only the conflicts of the redirect with this source.")
@click.option("--path", metavar="PATH", help="Only the conflicts of the page with this path.")
@click.option("--field", metavar="FIELD", help="Only the conflict on this field.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft stands at this commit.")
@draft_option
@json_option
@author_options
@data_option
def resolve(  # noqa: PLR0913 - one parameter an option
    namespace: str,
    project: str,
    *,
    take: str,
    source: str | None,
    path: str | None,
    field: str | None,
    head: str,
    draft: str,
    as_json: bool,
    data: str | None,
    author: Author,
) -> None:
    """Settle the draft's conflicts with what was published meanwhile.

    All of them are settled, or those that the options name. The last one settled takes what was published into the draft.
    `waypost edit show` lists the conflicts.
    """
    if source is not None and path is not None:
        raise WrongUse("Give --source or --path, not both.")
    store, name = open_store(data), DraftName(project, draft)
    must_be_begun(store, namespace, name)
    report = store.report(namespace, name)
    named = {key: value for key, value in (("source", source), ("path", path), ("field", field)) if value is not None}
    chosen = [each for each in report.conflicts if all(each.get(key) == value for key, value in named.items())]
    if not chosen:
        lists = next_command("edit show", namespace, name)
        raise NotFound(f"There is no such conflict in the draft {draft} of {project}; {lists} lists them.")
    order = ResolveOrder(name, [_choice(each, take) for each in chosen], author, head or report.state.head or "")
    _print(store.resolve(namespace, order), as_json=as_json, place=(namespace, name))


def _choice(conflict: Mapping[str, Any], take: str) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], take)


def _print(done: Resolved, place: tuple[str, DraftName], *, as_json: bool) -> None:
    if as_json:
        print_json({"head": done.head, "settled": done.settled, "conflicts": list(done.conflicts)})
    else:
        print_lines(done.head or "")
    print_notes(*(line for each in done.conflicts for line in conflict_lines(each)))
    left = f" {settling(len(done.conflicts), *place)}" if done.conflicts else ""
    ended = "" if done.head else " Nothing is left of the draft."
    print_notes(f"{count_noun(done.settled, 'conflict')} settled.{left}{ended}")
