"""`waypost edit resolve`: resolve the conflicts of a draft, all or those of one rule."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli.console.authoring import author_options
from cli.console.conflict_lines import conflict_lines, resolution_hint
from cli.console.exits import InvalidUsage
from cli.console.named_draft import require_draft
from cli.console.next_command import next_command
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.setup import data_option, draft_option, json_option, namespace_argument, open_store, project_argument
from cli.content.edit_options import find_new_problems, problem_lines
from content.records.problem import Problem
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.git.repository import Author
from gitstore.merge.choices import Choice
from gitstore.merge.resolving import ResolveRequest, ResolveResult


@click.command("resolve")
@namespace_argument
@project_argument
@click.option("--take", type=click.Choice(["draft", "release"]), required=True, help="The side to take the value from.")
@click.option("--source", metavar="SOURCE", help="Only the conflicts of the redirect with this source.")
@click.option("--path", metavar="PATH", help="Only the conflicts of the page with this path.")
@click.option("--field", metavar="FIELD", help="Only the conflict on this field.")
@click.option("--head", default="", metavar="SHA", help="Only if the draft is at this commit.")
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
    """Resolve the draft's conflicts with release.

    Resolves all of them, or those that the options select. After the last one, release is merged into the draft.
    `waypost edit show` lists the conflicts.
    """
    if source is not None and path is not None:
        raise InvalidUsage("Give --source or --path, not both.")
    store, name = open_store(data), DraftName(project, draft)
    require_draft(store, namespace, name)
    report = store.drafts.report(namespace, name)
    named = {key: value for key, value in (("source", source), ("path", path), ("field", field)) if value is not None}
    chosen = [each for each in report.conflicts if all(each.get(key) == value for key, value in named.items())]
    if not chosen:
        lists = next_command("edit show", namespace, name)
        raise NotFound(f"The draft {draft} of {project} has no such conflict; {lists} lists them.")
    expected = head or report.state.head or "", report.state.release
    request = ResolveRequest(name, [_choice(each, take) for each in chosen], author, *expected)
    result = store.drafts.resolve(namespace, request)
    problems = find_new_problems(store, namespace, name, None if result.conflicts else result.head)
    _print(result, problems, as_json=as_json, place=(namespace, name))


def _choice(conflict: Mapping[str, Any], take: str) -> Choice:
    return Choice(conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"], take)


def _print(result: ResolveResult, problems: Sequence[Problem], place: tuple[str, DraftName], *, as_json: bool) -> None:
    if as_json:
        shown = [problem.wire() for problem in problems]
        print_json(
            {"head": result.head, "settled": result.settled, "conflicts": list(result.conflicts), "problems": shown}
        )
    else:
        print_lines(result.head or "")
    print_notes(*(line for each in result.conflicts for line in conflict_lines(each)))
    left = f" {resolution_hint(len(result.conflicts), *place)}" if result.conflicts else ""
    ended = "" if result.head else " No changes are left; the draft was removed."
    print_notes(f"{count_noun(result.settled, 'conflict')} resolved.{left}{ended}", *problem_lines(problems))
