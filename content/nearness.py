"""The name that somebody may have meant who gave one that is not there."""

from collections.abc import Iterable
from difflib import get_close_matches

_LOOKED_AT = 60
"""Characters of the word: comparing takes time in the square of the length."""


def nearest(word: str, names: Iterable[str]) -> str:
    """The nearest of the names, without regard to case; empty where none is near, or the word is one of them."""
    by_folded = {name.casefold(): name for name in names}
    found = get_close_matches(word[:_LOOKED_AT].casefold(), by_folded, 1)
    return by_folded[found[0]] if found and by_folded[found[0]] != word else ""
