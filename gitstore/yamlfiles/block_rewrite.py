"""The rewriting of a block list: the text of each rule, and the lines between the rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.yamlfiles.block_list import (
    BlockList,
    BlockRule,
    blank_lines_above,
    close_gaps,
    lines_of,
    split_block_list,
)
from gitstore.yamlfiles.dump import Layout, dump_item
from gitstore.yamlfiles.empty_list import dump_empty_list
from gitstore.yamlfiles.field_edit import edit_fields
from gitstore.yamlfiles.rule_file import list_of, load
from gitstore.yamlfiles.rule_pairing import pair_rules
from gitstore.yamlfiles.yaml_node import SequenceNode, key_at
from gitstore.yamlfiles.yaml_reader import Document


def rewrite_block_list(
    document: Document,
    kind: Kind,
    found: Sequence[Record],
    wanted: Sequence[Record],
    renamed: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield texts of the document with the wanted rules; use the first that reads back as them."""
    node = list_of(document.root, kind)
    assert isinstance(node, SequenceNode), "the caller checks that the list has rules"  # noqa: S101 - for the type checker
    block = split_block_list(document, kind.value, node)
    if not wanted:
        block = replace(block, head=dump_empty_list(block.head, key_at(document.root, f"/{kind.value}")))
    pairs = pair_rules(found, wanted, renamed)
    # The caller reads the whole text back, so each changed rule is checked on its own only if that fails: this halves
    # the time when all rules change.
    yield _BlockListRewriter(kind, block, (found, wanted), pairs, is_careful=False).text()
    rewriter = _BlockListRewriter(kind, block, (found, wanted), pairs, is_careful=True)
    yield rewriter.text()
    # A deep comment below would become part of a text at the end of a changed rule; a rule on one line has no such
    # text.
    yield rewriter.text(one_line=True)
    # A line break added at the end of the file changes the value of a last rule that ends with a block scalar.
    yield rewriter.text(frozenset({len(found) - 1}))
    # The same deep comment, now below another rule's text, since the rule between them was removed.
    yield rewriter.text(dedented=True)


class _Piece(NamedTuple):
    """A rule with the lines above it; `position` is its old position, None for a new rule.

    `is_open` if it would include blank lines below, `is_unchanged` if its text is the old one.
    """

    gap: str
    text: str
    position: int | None
    is_open: bool = False
    is_unchanged: bool = True

    def is_below_new_neighbour(self, above: "_Piece") -> bool:
        """Tell whether the lines above this rule now follow another text than before."""
        if self.position is None or above.position == -1:
            return False
        return not above.is_unchanged or above.position != self.position - 1


class _BlockListRewriter:
    """The rewriting of one list to the wanted rules."""

    def __init__(
        self,
        kind: Kind,
        block: BlockList,
        states: tuple[Sequence[Record], Sequence[Record]],
        pairs: list[int | None],
        *,
        is_careful: bool,
    ) -> None:
        self._kind = kind
        self._is_careful = is_careful
        self._block = block
        self._found, self._wanted = states
        self._pairs = pairs
        self._gaps, self._tail = close_gaps(block, frozenset(each for each in self._pairs if each is not None))

    def text(self, rewritten: frozenset[int] = frozenset(), *, one_line: bool = False, dedented: bool = False) -> str:
        """Return the document; rules at the positions in `rewritten` are dumped whole.

        With `one_line`, every changed or new rule is dumped whole, on one line. With `dedented`, comments below another
        rule than before are no deeper than the dashes, and blank lines there have no spaces.
        """
        texts, last = [self._block.head], _Piece("", "", -1)
        for piece in [*self._pieces(rewritten, one_line=one_line), _Piece(self._tail, "", len(self._block.rules))]:
            gap = self._dedented(piece.gap) if dedented and piece.is_below_new_neighbour(last) else piece.gap
            texts += (gap.removeprefix(blank_lines_above(gap)) if last.is_open else gap, piece.text)
            last = piece
        return "".join(texts)

    def _dedented(self, gap: str) -> str:
        lines, indent = [(line, line.lstrip(" \t")) for line in lines_of(gap)], self._block.indent
        return "".join(
            bare if not bare.strip() else indent + bare if len(line) - len(bare) > len(indent) else line
            for line, bare in lines
        )

    def _pieces(self, rewritten: frozenset[int], *, one_line: bool) -> Iterator["_Piece"]:
        near = next((each for each in self._pairs if each is not None), 0)
        before: int | None = 0
        for at, (record, position) in enumerate(zip(self._wanted, self._pairs, strict=True)):
            if position is None:
                new = self._dump_new(self._block.rules[near], record, one_line=one_line)
                yield _Piece(self._spacing(near) if at else "", new, None)
            else:
                rule, old = self._block.rules[position], self._found[position]
                whole = position in rewritten or (one_line and old != record)
                text = (
                    self._dump_new(rule, record, one_line=one_line) if whole else self._dump_changed(rule, old, record)
                )
                gap, is_open = self._gap(position, pushed=before is None), rule.is_open and not whole
                yield _Piece(gap, text, position, is_open, is_unchanged=text == rule.rule.text)
                near = position
            before = position

    def _gap(self, position: int, *, pushed: bool) -> str:
        """Return the lines above a rule; a first rule that a new one pushed down gets the spacing of the others."""
        gap = self._gaps[position]
        is_glued = pushed and position == 0 and not blank_lines_above(gap)
        return (self._spacing(0) if is_glued else "") + gap + self._block.rules[position].comments

    def _spacing(self, near: int) -> str:
        """Return the blank lines above a rule inserted below the one at `near`: as many as its neighbours have.

        They have no spaces, which could belong to a text above.
        """
        rules = self._block.rules
        beside = near + 1 if near + 1 < len(rules) else near
        return self._block.eol * len(lines_of(blank_lines_above(rules[beside].gap))) if beside else ""

    def _dump_new(self, beside: BlockRule, record: Record, *, one_line: bool = False) -> str:
        layout: Layout = "flow" if one_line or beside.rule.node.flow else "block"
        return dump_item(record, layout, self._block.indent, beside.dash, self._block.eol)

    def _dump_changed(self, rule: BlockRule, old: Record, new: Record) -> str:
        if old == new:
            return rule.rule.text
        edited = edit_fields(rule.rule, old, new)
        is_right = edited and (not self._is_careful or self._reads_as(edited, new))
        return edited if edited and is_right else self._dump_new(rule, new)

    def _reads_as(self, text: str, record: Record) -> bool:
        return load(f"{self._kind.value}:\n{text}".encode(), "").records == (record,)
