"""Rewrites a list of rules under one another: which text each rule gets, and what stands between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.record import Record
from content.vocabulary import Kind
from gitstore.block_gaps import blank_lines_above, close_gaps
from gitstore.block_list import BlockList, BlockRule, lines_of, split_block_list
from gitstore.dump import Layout, dump_item
from gitstore.empty_list import say_empty
from gitstore.field_edit import edit_fields
from gitstore.rule_file import list_of, load
from gitstore.rule_pairing import pair_rules
from gitstore.yaml_node import SequenceNode, key_at
from gitstore.yaml_reader import Document


def rewrite_block(
    document: Document,
    kind: Kind,
    found: Sequence[Record],
    wanted: Sequence[Record],
    renamed: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Texts of the document with the wanted rules: the first one that reads back as them is the one to take."""
    node = list_of(document.root, kind)
    assert isinstance(node, SequenceNode), "the caller has seen that there are rules"  # noqa: S101 - for the type checker
    block = split_block_list(document, kind.value, node)
    if not wanted:
        block = replace(block, head=say_empty(block.head, key_at(document.root, f"/{kind.value}")))
    pairs = pair_rules(found, wanted, renamed)
    # The caller reads the whole again, so that looking at each changed rule is needed only where that fails: it takes
    # half of the time where all of them change.
    yield _Rewriting(kind, block, (found, wanted), pairs, is_careful=False).text()
    rewriting = _Rewriting(kind, block, (found, wanted), pairs, is_careful=True)
    yield rewriting.text()
    # A comment that stands deep would be taken into a text that a changed rule ends with: on one line it has no such end.
    yield rewriting.text(one_line=True)
    # Where the file has no line break at its end, a last rule that is a block scalar means something else with one.
    yield rewriting.text(frozenset({len(found) - 1}))
    # The same comment, come below another rule's text because the one between them went.
    yield rewriting.text(dedented=True)


class _Piece(NamedTuple):
    """A rule with what stands above it; `position` is where the rule stood before, None for a new one.

    `is_open` where it would take in blank lines below as its own, `is_kept` where its text is what it was.
    """

    gap: str
    text: str
    position: int | None
    is_open: bool = False
    is_kept: bool = True

    def has_met(self, above: "_Piece") -> bool:
        """Tell whether what stands above came below another text than it had above it before."""
        if self.position is None or above.position == -1:
            return False
        return not above.is_kept or above.position != self.position - 1


class _Rewriting:
    """One list and what it shall hold."""

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

    def text(self, anew: frozenset[int] = frozenset(), *, one_line: bool = False, dedented: bool = False) -> str:
        """The document; rules at the positions `anew` are dumped whole.

        With `one_line` so is every rule that changes or is new, on one line; with `dedented` comments below a rule that
        was not above them before stand no deeper than the dashes, and blank lines there have no spaces.
        """
        texts, last = [self._block.head], _Piece("", "", -1)
        for piece in [*self._pieces(anew, one_line=one_line), _Piece(self._tail, "", len(self._block.rules))]:
            gap = self._dedented(piece.gap) if dedented and piece.has_met(last) else piece.gap
            texts += (gap.removeprefix(blank_lines_above(gap)) if last.is_open else gap, piece.text)
            last = piece
        return "".join(texts)

    def _dedented(self, gap: str) -> str:
        lines, indent = [(line, line.lstrip(" \t")) for line in lines_of(gap)], self._block.indent
        return "".join(
            bare if not bare.strip() else indent + bare if len(line) - len(bare) > len(indent) else line
            for line, bare in lines
        )

    def _pieces(self, anew: frozenset[int], *, one_line: bool) -> Iterator["_Piece"]:
        near = next((each for each in self._pairs if each is not None), 0)
        before: int | None = 0
        for at, (record, position) in enumerate(zip(self._wanted, self._pairs, strict=True)):
            if position is None:
                new = self._new(self._block.rules[near], record, one_line=one_line)
                yield _Piece(self._spacing(near) if at else "", new, None)
            else:
                rule, old = self._block.rules[position], self._found[position]
                whole = position in anew or (one_line and old != record)
                text = self._new(rule, record, one_line=one_line) if whole else self._changed(rule, old, record)
                gap, is_open = self._gap(position, pushed=before is None), rule.is_open and not whole
                yield _Piece(gap, text, position, is_open, is_kept=text == rule.rule.text)
                near = position
            before = position

    def _gap(self, position: int, *, pushed: bool) -> str:
        """What stands above a rule; the first rule, when a new one has pushed it down, is set off as the others are."""
        gap = self._gaps[position]
        is_glued = pushed and position == 0 and not blank_lines_above(gap)
        return (self._spacing(0) if is_glued else "") + gap + self._block.rules[position].comments

    def _spacing(self, near: int) -> str:
        """The blank lines above a rule that comes in below the one at `near`: as many as its neighbours keep.

        They are empty: spaces in them could count as more of a text above.
        """
        rules = self._block.rules
        beside = near + 1 if near + 1 < len(rules) else near
        return self._block.eol * len(lines_of(blank_lines_above(rules[beside].gap))) if beside else ""

    def _new(self, beside: BlockRule, record: Record, *, one_line: bool = False) -> str:
        layout: Layout = "flow" if one_line or beside.rule.node.flow else "block"
        return dump_item(record, layout, self._block.indent, beside.dash, self._block.eol)

    def _changed(self, rule: BlockRule, old: Record, new: Record) -> str:
        if old == new:
            return rule.rule.text
        edited = edit_fields(rule.rule, old, new)
        is_right = edited and (not self._is_careful or self._reads_as(edited, new))
        return edited if edited and is_right else self._new(rule, new)

    def _reads_as(self, text: str, record: Record) -> bool:
        return load(f"{self._kind.value}:\n{text}".encode(), "").records == (record,)
