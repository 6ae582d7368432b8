"""The texts of others in the audit trail, in notes of pushes and in the words for pushers: short, and without secrets."""

from api.auth.tokens.api_token import find_any
from gitstore.pushes.push_notes import MOST_CHARACTERS, WITHHELD


def shorten(text: str) -> str:
    """Return the beginning of a text, and nothing of one with an API token."""
    return WITHHELD if find_any(text.encode(errors="replace")) is not None else text[:MOST_CHARACTERS]
