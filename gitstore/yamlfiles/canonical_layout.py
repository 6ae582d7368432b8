"""The canonical layout of a file: rules, pages, tests or settings, with every comment where it was.

A rule in a block keeps its block, a rule in braces becomes one line of JSON. Fields get their usual order, and texts the
quotes that they need.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from content.records.vocabulary import Kind
from gitstore.yamlfiles.comments import CommentIndex, find_comments
from gitstore.yamlfiles.dump import INDENT, dump_json, dump_scalar, dump_value
from gitstore.yamlfiles.flow_lines import read_flow_lines
from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode, plain
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document, decode

_ORDER = (
    "url",
    "type",
    "source",
    "path",
    "target",
    "status",
    "location",
    "contentType",
    "note",
    "tags",
    "content",
    "file",
)
_RANK = {name: rank for rank, name in enumerate(_ORDER)}
_RULES = frozenset(kind.value for kind in Kind)
_ROOTS = _RULES | {"tests", "project"}


def is_own_file(document: Document) -> bool:
    """Tell whether a document is a file of ours, by the key of its mapping."""
    return isinstance(document.root, MappingNode) and not _ROOTS.isdisjoint(document.root.entries)


def format_file(data: bytes, file: str) -> bytes:
    """Return the file in its canonical layout, with the same data and comments.

    Raises YamlRefused for a file that cannot be read. A file of another kind or shape is returned unchanged.
    """
    text = LINE_BREAK.sub("\n", decode(data, file))
    if not data.startswith(BOM_UTF8) and text.encode() == data and _is_canonical(text):
        return data
    document = Document(text, file)
    if not is_own_file(document):
        return data
    try:
        formatted = _Layout(document).text()
        again = Document(formatted, file)
    except _OtherShape:
        return data
    return formatted.encode() if _is_same(document, again) else data


def _is_canonical(text: str) -> bool:
    """Tell whether a file is in canonical flow without a comment or a blank line: the fast path of imports."""
    flow = read_flow_lines(text)
    return flow is not None and len(flow.items) == text.count("\n") - 1 and flow.column == len("  - {")


def _is_same(before: Document, after: Document) -> bool:
    counts = [Counter(each.text for each in find_comments(document)) for document in (before, after)]
    return plain(before.root) == plain(after.root) and counts[0] == counts[1]


class _OtherShape(Exception):
    """The document has a part that no file of ours has."""


@dataclass(slots=True)
class _Unit:
    """A part that is printed on lines of its own: a field, a rule in braces, or the name of a list.

    `item` is the number of its rule in the file, -1 outside rules; `dash` is the column of the rule's dash in the text.
    """

    start: int
    end: int
    text: str
    indent: str
    item: int = -1
    dash: int = 0
    rank: int = 0
    above: list[str] = field(default_factory=list)
    trail: str = ""
    below: list[str] = field(default_factory=list)


class _Layout:
    """The layout of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._source = document.text
        assert isinstance(document.root, MappingNode), "the caller checks the root"  # noqa: S101 - for the type checker
        self._items = 0
        self._units = list(self._fields(document.root, "", -1, 0))
        self._tail: list[str] = []
        self._attach()

    def _fields(self, node: MappingNode, indent: str, item: int, dash: int) -> Iterator[_Unit]:
        for name, (key, value) in sorted(node.entries.items(), key=lambda entry: entry[1][0].start):
            rank = _RANK.get(name, len(_RANK)) if item >= 0 else 0
            head = _Unit(key.start, self._after_colon(key), f"{dump_scalar(name)}:", indent, item, dash, rank)
            if isinstance(value, SequenceNode) and any(isinstance(each, MappingNode) for each in value.items):
                if item >= 0:
                    raise _OtherShape
                yield head
                yield from self._rules(name, value)
            elif isinstance(value, MappingNode) and value.entries:
                if item >= 0:
                    raise _OtherShape
                yield head
                yield from self._fields(value, indent + INDENT, item, dash)
            else:
                shown = self._value(value, indent)
                head.end = max(self._content_end(value), head.end)
                head.text += f" {shown}" if shown else ""
                yield head

    def _rules(self, name: str, node: SequenceNode) -> Iterator[_Unit]:
        for each in node.items:
            if not isinstance(each, MappingNode) or not each.entries:
                raise _OtherShape
            number, self._items = self._items, self._items + 1
            dash = self._dash_column(each)
            if each.flow:
                text = self._flow(each, keeps_numbers=name not in _RULES)
                yield _Unit(each.start, each.end, text, INDENT * 2, number, dash)
            else:
                yield from self._fields(each, INDENT * 2, number, dash)

    def _flow(self, node: MappingNode, *, keeps_numbers: bool) -> str:
        fields = {}
        for name in sorted(node.entries, key=lambda each: _RANK.get(each, len(_RANK))):
            value = node.entries[name][1]
            fields[name] = _text_or_texts(value)
        text = dump_json(fields)
        if keeps_numbers:
            for name, (_, value) in node.entries.items():
                if isinstance(value, ScalarNode) and not value.style and value.text.isdecimal():
                    text = text.replace(f'"{name}": "{value.text}"', f'"{name}": {value.text}')
        return text

    def _value(self, node: Node, indent: str) -> str:
        if isinstance(node, ScalarNode):
            written = self._source[node.start : node.end]
            return written if not node.style and "\n" not in written else dump_value(node.text, indent)
        if isinstance(node, MappingNode):
            return "{}"
        return dump_value(_text_or_texts(node), indent)

    def _after_colon(self, key: ScalarNode) -> int:
        found = self._source.find(":", key.end)
        return found + 1 if found >= 0 else key.end

    def _content_end(self, node: Node) -> int:
        """Return the end of a value; a block is ended by its last part, a text by its last character."""
        while not isinstance(node, ScalarNode) and not node.flow:
            if isinstance(node, MappingNode):
                raise _OtherShape
            node = node.items[-1]
        if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
            return node.start + len(self._source[node.start : node.end].rstrip())
        return node.end

    def _dash_column(self, node: MappingNode) -> int:
        end = node.start
        while end and self._source[end - 1] in " \t\n":
            end -= 1
        return end - self._source.rfind("\n", 0, end) - 2 if self._source[end - 1 : end] == "-" else 0

    def _attach(self) -> None:
        """Give each comment and blank line to the part beside it."""
        comments = CommentIndex(find_comments(self._document))
        after = [*self._units[1:], None]
        for unit in self._units:
            unit.above = [each.text for each in comments.between(unit.start, unit.end)]
        lead = self._between(0, self._units[0].start, comments)[1]
        self._units[0].above[:0] = _collapse([text for _, text in lead])
        for unit, below in zip(self._units, after, strict=True):
            end = below.start if below else len(self._source)
            trail, lines = self._between(unit.end, end, comments)
            if trail and "\n" not in unit.text:
                unit.trail = f"  {trail}"
            elif trail:
                unit.above.append(trail)
            own = self._own_below(unit, below, lines)
            unit.below = [text for _, text in lines[:own]]
            rest = lines[own:]
            if below:
                below.above[:0] = _collapse([text for _, text in rest])
            else:
                self._tail = [
                    f"{INDENT if column > 0 and unit.item >= 0 else ''}{text}" if text else "" for column, text in rest
                ]

    def _own_below(self, unit: _Unit, below: _Unit | None, lines: Sequence[tuple[int, str]]) -> int:
        """Count the comments directly below a rule that are deeper than its dash: they are the rule's own."""
        if unit.item < 0 or (below and below.item == unit.item):
            return 0
        count = 0
        while count < len(lines) and lines[count][1] and lines[count][0] > unit.dash:
            count += 1
        return count

    def _between(self, start: int, end: int, comments: CommentIndex) -> tuple[str, list[tuple[int, str]]]:
        """Return the comment on the rest of the line, and the lines below with the column of each; blank ones are empty."""
        trail, lines = "", list[tuple[int, str]]()
        at, position, found = start, 0, comments.between(start, end)
        if start and (first := self._source.find("\n", start, end)) >= 0:
            if found and found[0].offset < first:
                trail, position = found[0].text, 1
            at = first + 1
        elif start:
            trail = found[0].text if found else ""
            return trail, []
        for line in self._source[at:end].split("\n")[:-1]:
            here = position < len(found) and found[position].offset < at + len(line)
            if here:
                lines.append((found[position].column, found[position].text))
                position += 1
            elif not line.strip():
                lines.append((0, ""))
            at += len(line) + 1
        lines += [(each.column, each.text) for each in found[position:]]
        return trail, lines

    def text(self) -> str:
        """Return the document in its layout."""
        lines = [line for group in self._groups() for line in self._print(group)]
        lines += self._tail
        return "".join(f"{line}\n" for line in _trimmed(_collapse(lines)))

    def _groups(self) -> Iterator[list[_Unit]]:
        """Yield the parts of each rule together, and every other part by itself."""
        group: list[_Unit] = []
        for unit in self._units:
            if group and (unit.item < 0 or unit.item != group[0].item):
                yield group
                group = []
            group.append(unit)
        yield group

    def _print(self, group: Sequence[_Unit]) -> Iterator[str]:
        first = group[0]
        ordered = sorted(group, key=lambda unit: unit.rank)
        is_rule = first.item >= 0
        indent = INDENT if is_rule else first.indent
        above = first.above if ordered[0] is first else [*first.above, *ordered[0].above]
        yield from _trimmed_above(above, indent, is_first=first.item == 0)
        for unit in ordered:
            if unit is not first and unit is not ordered[0]:
                yield from (f"{unit.indent}{line}" for line in unit.above if line)
            lead = f"{INDENT}- " if is_rule and unit is ordered[0] else unit.indent
            yield f"{lead}{unit.text}{unit.trail}"
        yield from (f"{first.indent}{line}" for unit in ordered for line in unit.below)


def _text_or_texts(node: Node) -> object:
    found = plain(node)
    if isinstance(found, str) or (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        return found
    raise _OtherShape


def _trimmed_above(lines: Sequence[str], indent: str, *, is_first: bool) -> Iterator[str]:
    """Yield the lines above a part, without blank ones above the first rule of a list."""
    shown = list(lines)
    while is_first and shown and not shown[0]:
        shown.pop(0)
    yield from (f"{indent}{line}" if line else "" for line in shown)


def _collapse(lines: Sequence[str]) -> list[str]:
    """Leave one of several blank lines."""
    return [line for at, line in enumerate(lines) if line or not at or lines[at - 1]]


def _trimmed(lines: list[str]) -> list[str]:
    """Remove the blank lines at both ends."""
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines
