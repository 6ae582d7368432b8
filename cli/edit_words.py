"""What the sub-commands of `waypost edit` share: the words that options take, and what they say when it is done."""

from collections.abc import Mapping

import click

from api import wire
from cli.output import print_json, print_lines, print_notes
from content.diff import Counts
from content.vocabulary import STATUS_BY_WORD, Kind, RedirectType
from gitstore.layout import CommitId
from gitstore.messages import count_text

STATUS = click.Choice(list(STATUS_BY_WORD))
TYPE = click.Choice([each.value for each in RedirectType])


def print_done(head: CommitId | None, counts: Mapping[Kind, Counts], *, as_json: bool) -> None:
    """Print the draft's new head, and what was changed."""
    if as_json:
        print_json({"head": head, "changes": wire.counts(counts)})
    else:
        print_lines(head or "")
    ended = "" if head else " Nothing is left of the draft."
    print_notes(f"{_capital(count_text(counts))}.{ended}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
