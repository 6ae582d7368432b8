"""A list of rules in brackets, as in a file that is JSON, cut at its commas."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gitstore.field_edit import RuleText
from gitstore.yaml_node import MappingNode, SequenceNode
from gitstore.yaml_reader import Document

_COMMA = re.compile("#[^\n\r\x85\u2028\u2029]*|,")


@dataclass(frozen=True, slots=True)
class BracketRule:
    """A rule with what stands between the comma before it and it (`lead`), and between it and the next comma."""

    lead: str
    rule: RuleText
    trail: str


@dataclass(frozen=True, slots=True)
class BracketList:
    """The text up to the opening bracket, the rules, the text behind the last one, and that from the closing bracket."""

    head: str
    rules: tuple[BracketRule, ...]
    tail: str
    close: str


def split_bracket_list(document: Document, sequence: SequenceNode) -> BracketList:
    """Cut a document at the rules of its list."""
    text, begin = document.text, sequence.start + 1
    nodes = [item for item in sequence.items if isinstance(item, MappingNode)]
    commas = [_comma(text, one.end, other.start) for one, other in pairwise(nodes)]
    last = nodes[-1].end if nodes else begin
    starts, ends = [begin, *(comma + 1 for comma in commas)], [*commas, last]
    rules = _rules(text, nodes, starts, ends)
    return BracketList(text[:begin], tuple(rules), text[last:], text[sequence.end - 1 :])


def _rules(text: str, nodes: list[MappingNode], starts: list[int], ends: list[int]) -> Iterator[BracketRule]:
    for node, start, end in zip(nodes, starts, ends, strict=False):
        rule = RuleText(text[node.start : node.end], node.start, node, "\n")
        yield BracketRule(text[start : node.start], rule, text[node.end : end])


def _comma(text: str, start: int, end: int) -> int:
    """The offset of the comma between two rules, not of one in a comment."""
    return next(found.start() for found in _COMMA.finditer(text, start, end) if found[0] == ",")
