"""The parts shared by the sub-commands of `waypost edit`: option types, and the output of the result."""

from collections.abc import Mapping

import click

from api.http.response import json_views
from cli.console.output import print_json, print_lines, print_notes
from content.changes.diff import Counts
from content.records.vocabulary import STATUS_BY_WORD, Kind, RedirectType
from gitstore.history.messages import count_text
from gitstore.layout import CommitId

STATUS = click.Choice(list(STATUS_BY_WORD))
TYPE = click.Choice([each.value for each in RedirectType])


def print_edit_result(head: CommitId | None, counts: Mapping[Kind, Counts], *, as_json: bool) -> None:
    """Print the draft's new head, and the counts of changes."""
    if as_json:
        print_json({"head": head, "changes": json_views.counts(counts)})
    else:
        print_lines(head or "")
    ended = "" if head else " No changes are left; the draft was removed."
    print_notes(f"{_capital(count_text(counts))}.{ended}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
