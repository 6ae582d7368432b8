"""Rewrites a list of rules in brackets."""

from collections.abc import Iterator, Mapping, Sequence

from content.record import Record
from content.vocabulary import Kind
from gitstore.bracket_list import BracketList, BracketRule, split_bracket_list
from gitstore.dump import dump_json, file_fields
from gitstore.field_edit import edit_fields
from gitstore.rule_file import list_of, load
from gitstore.rule_pairing import pair_rules
from gitstore.yaml_node import SequenceNode
from gitstore.yaml_reader import LINE_BREAK, Document


def rewrite_brackets(
    document: Document,
    kind: Kind,
    found: Sequence[Record],
    wanted: Sequence[Record],
    renamed: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The document with the wanted rules between its brackets."""
    node = list_of(document.root, kind)
    assert isinstance(node, SequenceNode), "the caller has seen that there are rules"  # noqa: S101 - for the type checker
    brackets = split_bracket_list(document, node)
    pairs = pair_rules(found, wanted, renamed)
    pieces = [
        _lead(brackets, at, position) + _text(brackets, kind, found, record, position)
        for at, (record, position) in enumerate(zip(wanted, pairs, strict=True))
    ]
    yield brackets.head + (",".join(pieces) + brackets.tail if pieces else brackets.close)


def _lead(brackets: BracketList, at: int, position: int | None) -> str:
    """Comments stay with their rule; blanks are those of the place."""
    first = brackets.rules[0].lead
    own = first if position is None else brackets.rules[position].lead
    if position is not None and (own.strip() or (position > 0) == (at > 0)):
        return own
    if at == 0 and not first.strip():
        return first
    if len(brackets.rules) > 1 and not brackets.rules[1].lead.strip():
        return brackets.rules[1].lead
    return first if LINE_BREAK.search(first) and not first.strip() else " "


def _text(brackets: BracketList, kind: Kind, found: Sequence[Record], record: Record, position: int | None) -> str:
    if position is None:
        return dump_json(file_fields(record))
    rule = brackets.rules[position]
    return _changed(rule, kind, found[position], record) + rule.trail


def _changed(rule: BracketRule, kind: Kind, old: Record, new: Record) -> str:
    if old == new:
        return rule.rule.text
    edited = edit_fields(rule.rule, old, new)
    reads = edited and load(f"{kind.value}: [\n{edited}\n]".encode(), "").records == (new,)
    return edited if edited and reads else dump_json(file_fields(new))
