"""Rewrites a list of rules under one another: which text each rule gets, and what stands between them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from content.record import Record
from content.vocabulary import Kind
from gitstore.block_gaps import blank_lines_above, close_gaps
from gitstore.block_list import BlockList, BlockRule, split_block_list
from gitstore.dump import Layout, dump_item
from gitstore.empty_list import say_empty
from gitstore.field_edit import edit_fields
from gitstore.rule_file import list_of, load
from gitstore.rule_pairing import pair_rules
from gitstore.yaml_node import SequenceNode, key_at
from gitstore.yaml_reader import Document


def rewrite_block(document: Document, kind: Kind, found: Sequence[Record], wanted: Sequence[Record]) -> Iterator[str]:
    """Texts of the document with the wanted rules: the first one that reads back as them is the one to take."""
    node = list_of(document.root, kind)
    assert isinstance(node, SequenceNode), "the caller has seen that there are rules"  # noqa: S101 - for the type checker
    block = split_block_list(document, kind.value, node)
    if not wanted:
        block = replace(block, head=say_empty(block.head, key_at(document.root, f"/{kind.value}")))
    # The caller reads the whole again, so that looking at each changed rule is needed only where that fails: it takes
    # half of the time where all of them change.
    yield _Rewriting(kind, block, found, wanted, is_careful=False).text(frozenset())
    rewriting = _Rewriting(kind, block, found, wanted, is_careful=True)
    yield rewriting.text(frozenset())
    # Where the file has no line break at its end, a last rule that is a block scalar means something else with one.
    yield rewriting.text(frozenset({len(found) - 1}))


class _Rewriting:
    """One list and what it shall hold."""

    def __init__(
        self, kind: Kind, block: BlockList, found: Sequence[Record], wanted: Sequence[Record], *, is_careful: bool
    ) -> None:
        self._kind = kind
        self._is_careful = is_careful
        self._block = block
        self._found = found
        self._wanted = wanted
        self._pairs = pair_rules(found, wanted)
        self._gaps, self._tail = close_gaps(block, frozenset(each for each in self._pairs if each is not None))

    def text(self, anew: frozenset[int]) -> str:
        """The document; rules at the positions `anew` are dumped whole."""
        return self._block.head + "".join(self._pieces(anew)) + self._tail

    def _pieces(self, anew: frozenset[int]) -> Iterator[str]:
        near = next((each for each in self._pairs if each is not None), 0)
        before: int | None = 0
        for at, (record, position) in enumerate(zip(self._wanted, self._pairs, strict=True)):
            if position is None:
                yield (self._spacing(near) if at else "") + self._new(self._block.rules[near], record)
            else:
                yield self._gap(position, pushed=before is None)
                yield self._changed(self._block.rules[position], self._found[position], record, whole=position in anew)
                near = position
            before = position

    def _gap(self, position: int, *, pushed: bool) -> str:
        """What stands above a rule; the first rule, when a new one has pushed it down, is set off as the others are."""
        gap = self._gaps[position]
        is_glued = pushed and position == 0 and not blank_lines_above(gap)
        return (self._spacing(0) if is_glued else "") + gap + self._block.rules[position].comments

    def _spacing(self, near: int) -> str:
        """The blank lines above a rule that comes in below the one at `near`: as many as its neighbours keep."""
        rules = self._block.rules
        beside = near + 1 if near + 1 < len(rules) else near
        return blank_lines_above(rules[beside].gap) if beside else ""

    def _new(self, beside: BlockRule, record: Record) -> str:
        layout: Layout = "flow" if beside.rule.node.flow else "block"
        return dump_item(record, layout, self._block.indent, beside.dash, self._block.eol)

    def _changed(self, rule: BlockRule, old: Record, new: Record, *, whole: bool) -> str:
        if whole:
            return self._new(rule, new)
        if old == new:
            return rule.rule.text
        edited = edit_fields(rule.rule, old, new)
        is_right = edited and (not self._is_careful or self._reads_as(edited, new))
        return edited if edited and is_right else self._new(rule, new)

    def _reads_as(self, text: str, record: Record) -> bool:
        return load(f"{self._kind.value}:\n{text}".encode(), "").records == (record,)
