"""The cost of a regular expression: the size of RE2's program for it, and a lower bound from its text alone.

The unit is an instruction of the program. One takes about half a microsecond to compile, and about 50 bytes in every
process that matches with the pattern.
"""

import re
from dataclasses import dataclass

# Instructions: RE2 reads all ranges of a Unicode class, even where few are left in the program (2.7 ms for sixteen).
UNICODE_CLASS_COST = 300
_DOT = 5  # instructions: any character in UTF-8
_MAX_COPIES = 1000  # RE2 refuses more, also in nested repetitions, before it compiles anything
_TOKEN = re.compile(
    r"""
    \\Q (?P<quoted> .*? ) (?: \\E | \Z )
    | (?P<unicode> \\[pP] (?: \{[^}]*\} | . )? )
    | (?P<empty> \\[AzbB] | \^ | \$ )
    | (?P<escape> \\x\{[0-9A-Fa-f]+\} | \\x[0-9A-Fa-f]{2} | \\[0-7]{1,3} | \\. )
    | (?P<set> \[ \^? \]? (?: \\[pP]\{[^}]*\} | \\. | \[:\^?[a-z]+:\] | [^\]\\] )* \] )
    | (?P<flags> \( \? [a-zA-Z-]* \) )
    | (?P<open> \( (?: \?P?<\w+> | \?[a-zA-Z-]*: )? )
    | (?P<close> \) )
    | (?P<or> \| )
    | (?P<repeat> (?: [*+?] | \{ (?P<least>[0-9]+) (?P<comma>,)? (?P<most>[0-9]*) \} ) \?? )
    | (?P<character> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNICODE_CLASS = re.compile(r"\\[pP]")


@dataclass(slots=True)
class _Branch:
    """A sequence under way: the cost of its parts, the last of them, and the largest of the branches before it."""

    done: int = 0
    last: int = 0
    copies: int = 1  # of the most repeated part of the last one
    largest: int = 0
    most_copies: int = 1
    last_text: str = ""  # of a single character or class

    def add(self, cost: int, copies: int = 1, text: str = "") -> None:
        self.done += self.last
        self.last, self.copies = cost, copies
        self.last_text = text
        self.most_copies = max(self.most_copies, copies)

    def end(self) -> int:
        """End a branch; return the largest, since RE2 may merge what branches have in common."""
        self.largest = max(self.largest, self.done + self.last)
        self.done = self.last = 0
        self.last_text = ""
        return self.largest


def unicode_classes(source: str) -> int:
    r"""Count the Unicode classes (`\pL`, `\p{Greek}`) that a pattern names."""
    if "\\p" not in source and "\\P" not in source:
        return 0
    found = (token for token in _TOKEN.finditer(source) if token["unicode"] or token["set"])
    return sum(1 if token["unicode"] else len(_UNICODE_CLASS.findall(token["set"])) for token in found)


def least_cost(source: str) -> int:
    """Return a cost that a pattern has at least, without compiling it; 0 for the plain patterns that most rules have.

    It counts what counted repetitions multiply. For a source that RE2 refuses, the result means nothing.
    """
    if "{" not in source:
        return unicode_classes(source) * UNICODE_CLASS_COST
    stack = [_Branch()]
    for token in _TOKEN.finditer(source):
        _read(token, stack)
        if stack[-1].most_copies > _MAX_COPIES:
            return 0
    return max(branch.end() for branch in stack) + unicode_classes(source) * UNICODE_CLASS_COST


def _read(token: re.Match[str], stack: list[_Branch]) -> None:
    branch, name = stack[-1], token.lastgroup
    if token["repeat"]:
        _repeat(branch, token)
    elif name == "quoted":
        branch.add(max(len(token["quoted"]) - 1, 0))
        branch.add(1 if token["quoted"] else 0, text=token["quoted"][-1:])
    elif name == "open":
        stack.append(_Branch())
    elif name == "close":
        if len(stack) > 1:
            inner = stack.pop()
            stack[-1].add(inner.end(), inner.most_copies)
    elif name == "or":
        branch.end()
    elif name == "flags":
        branch.add(0)
    else:
        branch.add(0 if name == "empty" else _size(token), text=token[0])


def _size(token: re.Match[str]) -> int:
    text = token[0]
    if text == ".":
        return _DOT
    if token["character"]:
        return len(text.encode(errors="replace"))
    return 1 if text.isascii() else 2


def _repeat(branch: _Branch, token: re.Match[str]) -> None:
    if token["least"] is None:
        return
    least, most = int(token["least"]), int(token["most"] or 0)
    branch.copies *= max(least, most, 1)
    branch.most_copies = max(branch.most_copies, branch.copies)
    # RE2 makes `x*` of `x{0,9}x*`: beside another repetition, only the copies that must occur are certain
    branch.last *= least if branch.last <= _DOT and _is_beside_repetition(branch, token) else max(least, most)


def _is_beside_repetition(branch: _Branch, token: re.Match[str]) -> bool:
    source, end = token.string, token.end()
    before = source[: token.start() - len(branch.last_text)]
    return not branch.last_text or source.startswith(branch.last_text, end) or before.endswith(("*", "+", "?", "}"))
