"""The suggested next command in a message, ready to copy: on the same draft and data as the running one."""

import shlex
from typing import TYPE_CHECKING

import click

from content.records.names import DEFAULT_DRAFT

if TYPE_CHECKING:  # the import takes half of the time of a start, and commands without drafts do not need it
    from gitstore.drafts.drafts import DraftName

_DATA_OPTIONS = ("data", "database")


def next_command(words: str, namespace: str, name: "DraftName", options: str = "") -> str:
    """Format `waypost WORDS NAMESPACE PROJECT OPTIONS` in backticks, with `--draft` unless it is `main`."""
    place = shlex.join((namespace, name.project))
    draft = "" if name.draft == DEFAULT_DRAFT else f"--draft {shlex.quote(name.draft)}"
    return with_data_options(" ".join(filter(None, ("waypost", words, place, options, draft))))


def with_data_options(command: str) -> str:
    """Format the command in backticks, with the `--data` and `--database` of the running one."""
    context = click.get_current_context(silent=True)
    given = {name: context.params.get(name) for name in _DATA_OPTIONS} if context else {}
    words = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    return f"`{' '.join((command, *map(shlex.quote, words)))}`"
