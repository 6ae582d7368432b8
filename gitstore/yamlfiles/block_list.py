"""A block list of rules, split so that each rule can be kept, changed, moved or removed."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, takewhile

from gitstore.errors import Invalid
from gitstore.yamlfiles.field_edit import BLANKS, RuleText
from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode, key_at, last_leaf
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document

_DASH = re.compile("- *")
# Indentation and chomping indicators: https://yaml.org/spec/1.2.2/#811-block-scalar-headers
_INDENT_INDICATOR = re.compile("[|>][+-]?[0-9]")
_KEEP_INDICATOR = re.compile(r"[|>][0-9]?\+")


@dataclass(frozen=True, slots=True)
class BlockRule:
    """A rule with the lines above it: `gap` is blank lines and separate comments, `comments` are the rule's own.

    `dash` reaches from the dash to the first field, such as `- `. `is_open` is true if the rule ends with a text that
    would include blank lines below it (`|+`).
    """

    gap: str
    comments: str
    rule: RuleText
    dash: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class BlockList:
    """The text before the rules, the rules, and the text after them; `indent` comes before each dash."""

    head: str
    rules: tuple[BlockRule, ...]
    tail: str
    indent: str
    eol: str


def split_block_list(document: Document, key: str, sequence: SequenceNode) -> BlockList:
    """Split a document at the rules of its list; a missing line break at its end is added."""
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
    """Return the line break of a file: that of its first line."""
    found = LINE_BREAK.search(text)
    return found[0] if found else "\n"


def lines_of(text: str) -> list[str]:
    """Split a text that ends with a line break into lines, each with its own."""
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
        """Tell whether a line is a comment indented by more than so many characters."""
        line = self.text(number, number + 1)
        bare = line.lstrip(" \t")
        return bare.startswith("#") and len(line) - len(bare) > deeper_than

    def is_blank(self, number: int, width: int) -> bool:
        """Tell whether a line has only spaces, and at most `width` of them."""
        line = self.text(number, number + 1).rstrip("\n\r\x85\u2028\u2029")
        return len(line) <= width and not line.strip(" ")


def _span(lines: _Lines, node: MappingNode, column: int) -> tuple[int, int]:
    """Return the lines of a rule: from its dash to its last character, and the deeper comments below."""
    start = lines.number(node.start)
    while not _has_dash(lines, start, column):
        start -= 1
        if start < 0:
            raise _unsupported_layout()
    leaf = last_leaf(node)
    end = lines.number(max(leaf.end - 1, leaf.start))
    if isinstance(leaf, ScalarNode) and leaf.style in {"|", ">"} and not _has_keep_indicator(lines, leaf):
        width = _width(lines, leaf, column)
        while lines.is_blank(end, width) and end > lines.number(leaf.start):
            end -= 1
    end += 1
    while end < lines.count and lines.is_comment(end, column):
        end += 1
    return start, end


def _width(lines: _Lines, leaf: ScalarNode, column: int) -> int:
    """Return how many spaces a line below a block scalar may have without belonging to its text.

    That is the indentation of its first line. With an explicit indentation indicator the first line may be deeper; then
    it is the minimum for a field behind the dash.
    """
    first = lines.number(leaf.start)
    if _INDENT_INDICATOR.match(lines.text(first, first + 1), lines.column(leaf.start)):
        return column + 2
    body = (lines.text(number, number + 1) for number in range(first + 1, lines.number(leaf.end - 1) + 1))
    return next((_indentation(line) for line in body if line.strip(BLANKS)), column + 2)


def _has_dash(lines: _Lines, number: int, column: int) -> bool:
    line = lines.text(number, number + 1)
    return line[:column].strip(" ") == "" and line[column : column + 1] == "-"


def _has_keep_indicator(lines: _Lines, leaf: Node) -> bool:
    line = lines.number(leaf.start)
    return _KEEP_INDICATOR.match(lines.text(line, line + 1), lines.column(leaf.start)) is not None


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
    """Tell whether a rule ends with a text that includes blank lines below; a comment between them would end it."""
    return _has_keep_indicator(lines, leaf) and lines.number(max(leaf.end - 1, leaf.start)) == span[1] - 1


def _split_lead(lead: str, column: int) -> tuple[str, str]:
    """Split the lines above a rule in two; comments directly above it, no deeper than its dash, are its own."""
    lines = lines_of(lead)
    if any(line.strip(BLANKS)[:1] not in {"", "#"} for line in lines):
        raise _unsupported_layout()
    own = len(lines)
    while own and lines[own - 1].lstrip(" \t").startswith("#") and _indentation(lines[own - 1]) <= column:
        own -= 1
    return "".join(lines[:own]), "".join(lines[own:])


def _unsupported_layout() -> Invalid:
    return Invalid("This file's layout cannot be edited here. Write its rules one below another.", ())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def close_gaps(block: BlockList, kept: frozenset[int]) -> tuple[list[str], str]:
    """Return the gap above each rule, and the text below the last, when only the rules at `kept` stay.

    Of two runs of blank lines that meet, the longer one stays; at the edges of the list, the outer one.
    """
    count, first = len(block.rules), min(kept, default=len(block.rules))
    found, gap = list[str](), _Gap(block.rules[0].gap if block.rules else "")
    for position, below in enumerate([*(rule.gap for rule in block.rules[1:]), block.tail]):
        found.append(gap.text if position in kept else "")
        if position in kept:
            gap = _Gap(below)
        else:
            gap.join(below, _lower if position + 1 == count else _upper if position < first else _longer)
    return found, gap.text


def blank_lines_above(gap: str) -> str:
    """Return the blank lines at the start of a gap."""
    return "".join(takewhile(_is_blank, lines_of(gap)))


class _Gap:
    """The lines between two rules, joined with those below when a rule between them goes: each line is read once."""

    def __init__(self, text: str) -> None:
        self._parts, self._blank_below = list[str](), ""
        self._add(text)

    @property
    def text(self) -> str:
        """The lines."""
        return "".join([*self._parts, self._blank_below])

    def join(self, below: str, choose: Callable[[str, str], str]) -> None:
        """Add the lines below, with nothing left between them; `choose` takes one of the runs of blank lines that meet."""
        lower = blank_lines_above(below)
        met = choose(self._blank_below, lower)
        if lower == below:
            self._blank_below = met
        else:
            self._parts.append(met)
            self._add(below.removeprefix(lower))

    def _add(self, text: str) -> None:
        lines = lines_of(text)
        count = len(lines) - sum(1 for _ in takewhile(_is_blank, reversed(lines)))
        self._parts.append("".join(lines[:count]))
        self._blank_below = "".join(lines[count:])


def _upper(upper: str, lower: str) -> str:  # noqa: ARG001 - one of three choices with the same parameters
    return upper


def _lower(upper: str, lower: str) -> str:  # noqa: ARG001 - one of three choices with the same parameters
    return lower


def _longer(upper: str, lower: str) -> str:
    return max(upper, lower, key=len)


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")
