"""Facts about a regular expression from its text alone; only certain ones, for sources that RE2 accepts."""

import re
from typing import NamedTuple

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|.", re.DOTALL)
_META = frozenset(".[()|*+?{^$")
_QUANTIFIERS = ("*", "+", "?", "{")
_ANCHORED = re.compile(r"(?:\(\?[a-zA-Z]+\)|\((?:\?[a-zA-Z]*:|\?P?<\w+>)?)*(?:\^|\\A)")
_ANYTHING = frozenset({"", ".*", "(.*)", ".*$", "(.*)$"})


class LiteralPrefix(NamedTuple):
    """An anchored pattern in two parts: the literal text at the start of every match, and the rest of the pattern."""

    literal: str
    rest: str

    @property
    def matches_any_suffix(self) -> bool:
        """True where every text that begins with the literal matches (texts have no line breaks)."""
        return self.rest in _ANYTHING

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that match, where they are one or two; otherwise empty."""
        if self.rest == "$":
            return (self.literal,)
        return (self.literal, f"{self.literal}/") if self.rest == "/?$" else ()


def is_anchored(source: str) -> bool:
    """Return whether the pattern begins with `^`, also inside a group or after flags."""
    return _ANCHORED.match(source) is not None


def matches_question_mark(source: str) -> bool:
    """Return whether the pattern contains a literal question mark."""
    return not {r"\?", "[?]"}.isdisjoint(_PIECE.findall(source))


def literal_prefix(source: str) -> LiteralPrefix | None:
    """Return the head of a pattern that begins with `^`; None without `^`, or with alternatives at the top level."""
    pieces = _PIECE.findall(source)
    if pieces[:1] not in (["^"], ["\\A"]) or "\\Q" in pieces or _has_alternatives(pieces):
        return None
    count = 1
    while count < len(pieces) and _literal(pieces[count]):
        count += 1
    if count > 1 and count < len(pieces) and pieces[count] in _QUANTIFIERS:
        count -= 1
    return LiteralPrefix("".join(_literal(piece) for piece in pieces[1:count]), "".join(pieces[count:]))


def _literal(piece: str) -> str:
    """Return the character that a piece matches, empty for any other piece."""
    if len(piece) == 1:
        return "" if piece in _META else piece
    return piece[1] if piece[0] == "\\" and piece[1].isascii() and not piece[1].isalnum() else ""


def _has_alternatives(pieces: list[str]) -> bool:
    depth = 0
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            return True
    return False


def group_begins_with_slash(source: str, number: int) -> bool:
    """Return whether a capturing group can only capture nothing, or text that begins with a slash.

    A group at the very start (`^(`) captures the beginning of the compared text, which for a path is a slash.
    """
    pieces = _PIECE.findall(source)
    opening = _opening(pieces, number)
    if opening < 0 or "\\Q" in pieces:
        return False
    body = _body(pieces, opening)
    if _has_alternatives(body) or body[:1] not in (["/"], ["\\/"]):
        return False
    return body[1:2] == [] or body[1] not in ("*", "?", "{")


def _opening(pieces: list[str], number: int) -> int:
    """Return the index of the parenthesis that opens the group, -1 for none; named groups are numbered too."""
    found = 0
    for index, piece in enumerate(pieces):
        if piece == "(" and (pieces[index + 1 : index + 2] != ["?"] or _is_named(pieces, index)):
            found += 1
            if found == number:
                return index
    return -1


def _is_named(pieces: list[str], index: int) -> bool:
    after = "".join(pieces[index + 1 : index + 4])
    return after.startswith(("?P<", "?<"))


def _body(pieces: list[str], opening: int) -> list[str]:
    depth = 0
    for index in range(opening, len(pieces)):
        depth += (pieces[index] == "(") - (pieces[index] == ")")
        if depth == 0:
            return pieces[opening + 1 : index]
    return []
