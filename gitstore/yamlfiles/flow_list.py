"""A flow list of rules, in brackets as in a JSON file, split at its commas."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.yamlfiles.dump import dump_json, file_fields
from gitstore.yamlfiles.field_edit import RuleText, edit_fields
from gitstore.yamlfiles.rule_file import list_of, load
from gitstore.yamlfiles.rule_pairing import pair_rules
from gitstore.yamlfiles.yaml_node import MappingNode, SequenceNode
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document

_COMMA = re.compile("#[^\n\r\x85\u2028\u2029]*|,")


@dataclass(frozen=True, slots=True)
class FlowRule:
    """A rule with the text between the comma before it and the rule (`lead`), and up to the next comma (`trail`)."""

    lead: str
    rule: RuleText
    trail: str


@dataclass(frozen=True, slots=True)
class FlowList:
    """The text up to the opening bracket, the rules, the text after the last one, and all from the closing bracket."""

    head: str
    rules: tuple[FlowRule, ...]
    tail: str
    close: str


def split_flow_list(document: Document, sequence: SequenceNode) -> FlowList:
    """Split a document at the rules of its list."""
    text, begin = document.text, sequence.start + 1
    nodes = [item for item in sequence.items if isinstance(item, MappingNode)]
    commas = [_comma(text, one.end, other.start) for one, other in pairwise(nodes)]
    last = nodes[-1].end if nodes else begin
    starts, ends = [begin, *(comma + 1 for comma in commas)], [*commas, last]
    rules = _rules(text, nodes, starts, ends)
    return FlowList(text[:begin], tuple(rules), text[last:], text[sequence.end - 1 :])


def _rules(text: str, nodes: list[MappingNode], starts: list[int], ends: list[int]) -> Iterator[FlowRule]:
    for node, start, end in zip(nodes, starts, ends, strict=False):
        rule = RuleText(text[node.start : node.end], node.start, node, "\n")
        yield FlowRule(text[start : node.start], rule, text[node.end : end])


def _comma(text: str, start: int, end: int) -> int:
    """Return the offset of the comma between two rules, skipping comments."""
    return next(found.start() for found in _COMMA.finditer(text, start, end) if found[0] == ",")


def rewrite_flow_list(
    document: Document,
    kind: Kind,
    found: Sequence[Record],
    wanted: Sequence[Record],
    renamed: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the document with the wanted rules between its brackets."""
    node = list_of(document.root, kind)
    assert isinstance(node, SequenceNode), "the caller checks that the list has rules"  # noqa: S101 - for the type checker
    flow_list = split_flow_list(document, node)
    pairs = pair_rules(found, wanted, renamed)
    pieces = [
        _lead(flow_list, at, position) + _text(flow_list, kind, found, record, position)
        for at, (record, position) in enumerate(zip(wanted, pairs, strict=True))
    ]
    yield flow_list.head + (",".join(pieces) + flow_list.tail if pieces else flow_list.close)


def _lead(flow_list: FlowList, at: int, position: int | None) -> str:
    """Return the text before a rule: comments stay with their rule, blanks with their position."""
    first = flow_list.rules[0].lead
    own = first if position is None else flow_list.rules[position].lead
    if position is not None and (own.strip() or (position > 0) == (at > 0)):
        return own
    if at == 0 and not first.strip():
        return first
    if len(flow_list.rules) > 1 and not flow_list.rules[1].lead.strip():
        return flow_list.rules[1].lead
    return first if LINE_BREAK.search(first) and not first.strip() else " "


def _text(flow_list: FlowList, kind: Kind, found: Sequence[Record], record: Record, position: int | None) -> str:
    if position is None:
        return dump_json(file_fields(record))
    rule = flow_list.rules[position]
    return _dump_changed(rule, kind, found[position], record) + rule.trail


def _dump_changed(rule: FlowRule, kind: Kind, old: Record, new: Record) -> str:
    if old == new:
        return rule.rule.text
    edited = edit_fields(rule.rule, old, new)
    reads = edited and load(f"{kind.value}: [\n{edited}\n]".encode(), "").records == (new,)
    return edited if edited and reads else dump_json(file_fields(new))
