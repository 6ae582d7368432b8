"""What somebody may have meant who named what is not there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

from content.nearness import nearest
from gitstore.errors import NotFound, StoreError

if TYPE_CHECKING:
    from gitstore.store import Store

_ASKED = "cli.suggestion.asked"


class _Asked(NamedTuple):
    """A store, and the namespace and project that a command names."""

    store: "Store"
    namespace: str
    project: str


def remember(store: "Store") -> None:
    """Note what the running command asks of a store, in case it is not there."""
    context = click.get_current_context(silent=True)
    if context:
        words = (context.params.get(name) or "" for name in ("namespace", "project"))
        context.meta[_ASKED] = _Asked(store, *words)


def with_suggestion(context: click.Context, ex: NotFound) -> NotFound:
    """The same exception with the nearest name there is; as it is where none is near."""
    asked: _Asked | None = context.meta.get(_ASKED)
    found = _for(asked) if asked else ""
    return NotFound(f"{ex}{found}") if found else ex


def near(word: str, names: Iterable[str]) -> str:
    """A question that names the nearest of the names; empty where none is near, or the word is one of them."""
    found = nearest(word, names)
    return f" Did you mean {found!r}?" if found else ""


def _for(asked: _Asked) -> str:
    try:
        if asked.namespace not in asked.store.namespaces():
            return near(asked.namespace, asked.store.namespaces())
        return near(asked.project, asked.store.served(asked.namespace).projects)
    except (StoreError, OSError):  # the first exception has told what is wrong
        return ""
