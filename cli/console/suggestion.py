"""Suggestions for misspelled names."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

from content.records.nearness import nearest
from gitstore.errors import NotFound, StoreError

if TYPE_CHECKING:
    from gitstore.store.store import Store

_LOOKUP_KEY = "cli.console.suggestion.asked"


class _Lookup(NamedTuple):
    """A store, and the namespace and project that a command names."""

    store: "Store"
    namespace: str
    project: str


def remember_lookup(store: "Store") -> None:
    """Record the store and names of the running command, for a suggestion if a name is unknown."""
    context = click.get_current_context(silent=True)
    if context:
        words = (context.params.get(name) or "" for name in ("namespace", "project"))
        context.meta[_LOOKUP_KEY] = _Lookup(store, *words)


def with_suggestion(context: click.Context, ex: NotFound) -> NotFound:
    """Return the exception with the nearest existing name; unchanged if none is near."""
    lookup: _Lookup | None = context.meta.get(_LOOKUP_KEY)
    found = _suggestion_for(lookup) if lookup else ""
    return NotFound(f"{ex}{found}") if found else ex


def suggest(word: str, names: Iterable[str]) -> str:
    """Return a question with the nearest of the names; empty if none is near, or if the word is one of them."""
    found = nearest(word, names)
    return f" Did you mean {found!r}?" if found else ""


def _suggestion_for(lookup: _Lookup) -> str:
    try:
        if lookup.namespace not in lookup.store.namespaces.names():
            return suggest(lookup.namespace, lookup.store.namespaces.names())
        return suggest(lookup.project, lookup.store.releases.namespace(lookup.namespace).projects)
    except (StoreError, OSError):  # the first exception is reported anyway
        return ""
