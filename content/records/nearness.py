"""Suggestions for misspelled names."""

from collections.abc import Iterable

_MAX_CHARACTERS = 60  # of the word: comparing takes time in the square of the length


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the most similar name, ignoring case; empty where none is similar, or the word is one of the names."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a misspelled name needs it

    by_folded = {name.casefold(): name for name in names}
    found = get_close_matches(word[:_MAX_CHARACTERS].casefold(), by_folded, 1)
    return by_folded[found[0]] if found and by_folded[found[0]] != word else ""
