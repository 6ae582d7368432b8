"""What can be told of a regular expression from its text alone; only what is certain, for sources that RE2 accepts."""

import re
from typing import NamedTuple

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|.", re.DOTALL)
_META = frozenset(".[()|*+?{^$")
_QUANTIFIERS = ("*", "+", "?", "{")
_ANCHORED = re.compile(r"(?:\(\?[a-zA-Z]+\)|\((?:\?[a-zA-Z]*:|\?P?<\w+>)?)*(?:\^|\\A)")
_ANYTHING = frozenset({"", ".*", "(.*)", ".*$", "(.*)$"})


class Head(NamedTuple):
    """An anchored pattern cut in two: the text that every match begins with, and the pattern that is left."""

    literal: str
    rest: str

    @property
    def takes_all(self) -> bool:
        """True where every text that begins with the literal matches (texts have no line breaks)."""
        return self.rest in _ANYTHING

    @property
    def texts(self) -> tuple[str, ...]:
        """All the texts that match, where they are one or two; else none."""
        if self.rest == "$":
            return (self.literal,)
        return (self.literal, f"{self.literal}/") if self.rest == "/?$" else ()


def is_anchored(source: str) -> bool:
    """Tell whether the pattern begins with `^`, also inside a group or after flags."""
    return _ANCHORED.match(source) is not None


def asks_for_question_mark(source: str) -> bool:
    """Tell whether a question mark stands in the pattern as a character to be matched."""
    return not {r"\?", "[?]"}.isdisjoint(_PIECE.findall(source))


def literal_head(source: str) -> Head | None:
    """The head of a pattern that begins with `^`; None where it does not, or has alternatives at its top."""
    pieces = _PIECE.findall(source)
    if pieces[:1] not in (["^"], ["\\A"]) or "\\Q" in pieces or _has_alternatives(pieces):
        return None
    count = 1
    while count < len(pieces) and _literal(pieces[count]):
        count += 1
    if count > 1 and count < len(pieces) and pieces[count] in _QUANTIFIERS:
        count -= 1
    return Head("".join(_literal(piece) for piece in pieces[1:count]), "".join(pieces[count:]))


def _literal(piece: str) -> str:
    """The character that a piece stands for, empty where it is more than a character."""
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
    """Tell whether a capturing group can only catch nothing, or text that begins with a slash.

    A group that opens right at the start (`^(`) catches the beginning of what is compared, which for a path is one.
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
    """The index of the parenthesis that opens the group, -1 where there is none; named groups count as they do."""
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
