"""A list of rules in a file, one under another with dashes, cut so that each rule can be kept, changed, moved or left out."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from gitstore.errors import Invalid
from gitstore.field_edit import BLANKS, RuleText
from gitstore.yaml_node import MappingNode, Node, ScalarNode, SequenceNode, key_at, last_leaf
from gitstore.yaml_reader import LINE_BREAK, Document

_DASH = re.compile("- *")
_SAYS_INDENT = re.compile("[|>][+-]?[0-9]")
_KEEPS_BREAKS = re.compile(r"[|>][0-9]?\+")


@dataclass(frozen=True, slots=True)
class BlockRule:
    """A rule with what stands above it: `gap` are blank lines and comments for themselves, `comments` are the rule's."""

    gap: str
    comments: str
    rule: RuleText
    dash: str
    """From the dash to the first field, such as `- `."""
    is_open: bool
    """True where it ends with a text that would take in blank lines below as its own (`|+`)."""


@dataclass(frozen=True, slots=True)
class BlockList:
    """The text before the rules, the rules, and the text after them; `indent` stands before each dash."""

    head: str
    rules: tuple[BlockRule, ...]
    tail: str
    indent: str
    eol: str


def split_block_list(document: Document, key: str, sequence: SequenceNode) -> BlockList:
    """Cut a document at the rules of its list; a line break is put at its end where there is none."""
    eol = line_break_of(document.text)
    lines = _Lines(document.text if LINE_BREAK.search(document.text[-1:]) else document.text + eol)
    column = lines.column(sequence.start)
    nodes = [item for item in sequence.items if isinstance(item, MappingNode)]
    spans = [_span(lines, node, column) for node in nodes]
    edges = [lines.number(key_at(document.root, f"/{key}").end) + 1, *(edge for span in spans for edge in span)]
    leads = [lines.text(start, end) for start, end in zip(edges[::2], edges[1::2], strict=False)]
    rules = [_rule(lines, node, span, lead, eol) for node, span, lead in zip(nodes, spans, leads, strict=True)]
    tail = lines.text(edges[-1], lines.count)
    return BlockList(lines.text(0, edges[0]), tuple(rules), tail, " " * column, eol)


def line_break_of(text: str) -> str:
    """The line break that a file uses: that of its first line."""
    found = LINE_BREAK.search(text)
    return found[0] if found else "\n"


def lines_of(text: str) -> list[str]:
    """The lines of a text that ends with a line break, each with its own."""
    ends = [found.end() for found in LINE_BREAK.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends])]


class _Lines:
    """A text by its lines, from 0; the text ends with a line break."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]
        self.count = len(self._starts) - 1

    def number(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def start(self, number: int) -> int:
        return self._starts[number]

    def text(self, start: int, end: int) -> str:
        return self._text[self._starts[start] : self._starts[end]]

    def column(self, offset: int) -> int:
        return offset - self._starts[self.number(offset)]

    def is_comment(self, number: int, deeper_than: int) -> bool:
        """True for a comment that is indented by more than so many characters."""
        line = self.text(number, number + 1)
        bare = line.lstrip(" \t")
        return bare.startswith("#") and len(line) - len(bare) > deeper_than

    def is_blank(self, number: int, width: int) -> bool:
        """True for a line of at most so many spaces."""
        line = self.text(number, number + 1).rstrip("\n\r\x85\u2028\u2029")
        return len(line) <= width and not line.strip(" ")


def _span(lines: _Lines, node: MappingNode, column: int) -> tuple[int, int]:
    """The lines of a rule: from that of its dash to that of its last character, and comments below that are deeper."""
    start = lines.number(node.start)
    while not _has_dash(lines, start, column):
        start -= 1
        if start < 0:
            raise _too_unusual()
    leaf = last_leaf(node)
    end = lines.number(max(leaf.end - 1, leaf.start))
    if isinstance(leaf, ScalarNode) and leaf.style in {"|", ">"} and not _keeps_breaks(lines, leaf):
        width = _width(lines, leaf, column)
        while lines.is_blank(end, width) and end > lines.number(leaf.start):
            end -= 1
    end += 1
    while end < lines.count and lines.is_comment(end, column):
        end += 1
    return start, end


def _width(lines: _Lines, leaf: ScalarNode, column: int) -> int:
    """How many spaces a line below a block scalar may have and be none of its text: those that its first line begins with.

    Where it says itself how deep it stands it may begin deeper, so then those that its field has at least, behind the dash.
    """
    first = lines.number(leaf.start)
    if _SAYS_INDENT.match(lines.text(first, first + 1), lines.column(leaf.start)):
        return column + 2
    body = (lines.text(number, number + 1) for number in range(first + 1, lines.number(leaf.end - 1) + 1))
    return next((_indentation(line) for line in body if line.strip(BLANKS)), column + 2)


def _has_dash(lines: _Lines, number: int, column: int) -> bool:
    line = lines.text(number, number + 1)
    return line[:column].strip(" ") == "" and line[column : column + 1] == "-"


def _keeps_breaks(lines: _Lines, leaf: Node) -> bool:
    line = lines.number(leaf.start)
    return _KEEPS_BREAKS.match(lines.text(line, line + 1), lines.column(leaf.start)) is not None


def _rule(lines: _Lines, node: MappingNode, span: tuple[int, int], lead: str, eol: str) -> BlockRule:
    text, start = lines.text(*span), lines.start(span[0])
    dash = text[: max(node.start - start, 0)].lstrip(" ")
    column = len(text) - len(text.lstrip(" "))
    return BlockRule(
        *_split_lead(lead, column),
        RuleText(text, start, node, eol),
        dash if _DASH.fullmatch(dash) else "- ",
        _is_open(lines, last_leaf(node), span),
    )


def _is_open(lines: _Lines, leaf: Node, span: tuple[int, int]) -> bool:
    """Tell whether a rule ends with a text that takes in blank lines below; a comment between them would close it."""
    return _keeps_breaks(lines, leaf) and lines.number(max(leaf.end - 1, leaf.start)) == span[1] - 1


def _split_lead(lead: str, column: int) -> tuple[str, str]:
    """What stands above a rule, in two: the comments directly above it, not deeper than its dash, are its own."""
    lines = lines_of(lead)
    if any(line.strip(BLANKS)[:1] not in {"", "#"} for line in lines):
        raise _too_unusual()
    own = len(lines)
    while own and lines[own - 1].lstrip(" \t").startswith("#") and _indentation(lines[own - 1]) <= column:
        own -= 1
    return "".join(lines[:own]), "".join(lines[own:])


def _too_unusual() -> Invalid:
    return Invalid("This file's layout is too unusual to be edited here: write its rules one under another.", ())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
