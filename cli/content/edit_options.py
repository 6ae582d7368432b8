"""The parts shared by the sub-commands of `waypost edit`: option types, and the output of the result."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import click

from api.http.response import json_views
from cli.console.output import count_noun, print_json, print_lines, print_notes
from content.changes.diff import Counts
from content.records.problem import Problem
from content.records.vocabulary import STATUS_BY_WORD, Kind, RedirectType
from gitstore.comparison.descriptions import count_text
from gitstore.drafts.drafts import DraftName
from gitstore.errors import StoreError
from gitstore.layout import CommitId
from gitstore.store.store import Store

STATUS = click.Choice(list(STATUS_BY_WORD))
_MAX_LINES = 20
TYPE = click.Choice([each.value for each in RedirectType])


def print_edit_result(
    head: CommitId | None, counts: Mapping[Kind, Counts], problems: Sequence[Problem], *, as_json: bool
) -> None:
    """Print the draft's new head, the counts of changes, and the problems that the edit brought."""
    if as_json:
        shown = [problem.wire() for problem in problems]
        print_json({"head": head, "changes": json_views.counts(counts), "problems": shown})
    else:
        print_lines(head or "")
    ended = "" if head else " No changes are left; the draft was removed."
    print_notes(f"{_capital(count_text(counts))}.{ended}", *problem_lines(problems))


def find_new_problems(
    store: Store, namespace: str, name: DraftName, head: CommitId | None, counts: Mapping[Kind, Counts] | None = None
) -> Sequence[Problem]:
    """Return the problems that the last edit of a draft brought and that stop a publish.

    The edit is made: where they cannot be found, there are none to show. `counts` tell whether there was an edit at all.
    """
    if head and (counts is None or any(map(any, counts.values()))):
        with suppress(StoreError, OSError):
            return store.drafts.new_problems(namespace, name, head)
    return ()


def problem_lines(problems: Sequence[Problem]) -> list[str]:
    """Return the lines for the problems that an edit brought; none without problems."""
    if not problems:
        return []
    lines = list(dict.fromkeys(problem.text() for problem in problems))
    more = len(lines) - _MAX_LINES
    rest = [f"… and {count_noun(more, 'more problem')}; `waypost edit show` lists all."] if more > 0 else []
    return ["The draft cannot be published now:", *lines[:_MAX_LINES], *rest]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
