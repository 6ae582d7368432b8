"""The command that comes next, to be copied from a sentence: on the same draft and the same data as the one that runs."""

import shlex

import click

from content.names import DEFAULT_DRAFT
from gitstore.drafts import DraftName

_PLACES = ("data", "database")


def next_command(words: str, namespace: str, name: DraftName, options: str = "") -> str:
    """`waypost WORDS NAMESPACE PROJECT OPTIONS` in backticks, with `--draft` where it is not `main`, and places as given."""
    place = shlex.join((namespace, name.project))
    draft = "" if name.draft == DEFAULT_DRAFT else f"--draft {shlex.quote(name.draft)}"
    return same_place(" ".join(filter(None, ("waypost", words, place, options, draft))))


def same_place(command: str) -> str:
    """The command in backticks, with `--data` and `--database` as they were given to the one that runs."""
    context = click.get_current_context(silent=True)
    given = {name: context.params.get(name) for name in _PLACES} if context else {}
    words = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    return f"`{' '.join((command, *map(shlex.quote, words)))}`"
