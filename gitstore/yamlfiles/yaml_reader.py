"""The strict YAML reader: every scalar stays text, and every node has its position.

PyYAML's C parser gives events. Anything that does not belong in a rule file (anchors, aliases, merge keys, tags,
duplicate keys, several documents, deep nesting, control characters) is refused with its position before anything is
built. Positions are offsets in characters; `Document.mark` converts them to the lines that an editor shows.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from content.records.problem import Problem
from gitstore.errors import Invalid
from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode

# PyYAML's own loaders recurse without a limit: 60 kB of brackets crash the process in `CSafeLoader` (PyYAML 6.0.3).
# https://github.com/yaml/pyyaml/blob/HEAD/yaml/_yaml.pyx
MAX_DEPTH = 32
MAX_PROBLEMS = 50
_BOM = "\ufeff"

# U+0085 is the only C1 control that YAML allows; U+FFFE and U+FFFF are not characters:
# https://yaml.org/spec/1.2.2/#51-character-set
_REFUSED = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_REFUSED_ASCII = bytes([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
# Line ends of editors. YAML 1.1 also ends lines at U+0085, U+2028 and U+2029: https://yaml.org/spec/1.1/
LINE_BREAK = re.compile("\r\n|\r|\n")

# https://git-scm.com/docs/git-merge#_how_conflicts_are_presented
_CONFLICT_MARKER = re.compile("(?:^|[\r\n])(<{7}(?= )|={7}(?=[\r\n]|$)|>{7}(?= ))")

_HINTS = {
    "mapping values are not allowed in this context": "put a text that holds ': ' in quotes, and check the indentation",
    "found character that cannot start any token": "indent with spaces, not tabs; put a text that begins with @, ` or % in quotes",
    "did not find expected key": "check the indentation and the quotes above",
    "could not find expected ':'": "a field needs a colon and a space after its name",
    "found unexpected end of stream": "a quote or bracket is not closed",
}


class Mark(NamedTuple):
    """A position in a file: line and column from 1, `offset` from 0; columns and offsets are in characters."""

    line: int
    column: int
    offset: int


# Typed as Any: types-PyYAML declares an event's marks as optional, but the parser always sets them.
_Get = Callable[[], Any]
_SEQUENCE_END: Any = SequenceEndEvent
_MAPPING_END: Any = MappingEndEvent


class YamlRefused(Invalid):
    """The file is not YAML in the strict form; `problems` has the reasons and positions."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].message, problems)


class Document:
    """A file's text, without byte order mark, and its root node; the root of an empty file is an empty plain scalar."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.root = _Builder(self).build()

    def mark(self, offset: int) -> Mark:
        """Return the position of an offset, in lines as editors count them: by LF, CRLF or CR."""
        line = bisect_right(self._line_starts, offset)
        return Mark(line, offset - self._line_starts[line - 1] + 1, offset)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in LINE_BREAK.finditer(self.text))]

    def problem(self, code: str, message: str, offset: int) -> Problem:
        """Return a problem at an offset."""
        line, column, _ = self.mark(offset)
        return Problem(code, message, self.file, line, column)


def read(data: bytes, file: str) -> Document:
    """Parse a file's bytes. Raises YamlRefused."""
    return Document(decode(data, file), file)


def decode(data: bytes, file: str) -> str:
    """Decode a file, without byte order mark. Raises YamlRefused if it is not UTF-8 or has control characters."""
    try:
        text = data.decode().removeprefix(_BOM)
    except UnicodeDecodeError as ex:
        message = f"The file must be UTF-8; the byte 0x{data[ex.start]:02X} here is not."
        _refuse("bad_encoding", message, file, data[: ex.start].decode().removeprefix(_BOM))
    if len(data.translate(None, _REFUSED_ASCII)) != len(data) or not text.isascii():
        found = _REFUSED.search(text)
        if found:
            message = f"The character U+{ord(found[0]):04X} is not allowed in a YAML file; remove or escape it."
            _refuse("bad_character", message, file, text[: found.start()])
    return text


def _refuse(code: str, message: str, file: str, before: str) -> NoReturn:
    """Raise YamlRefused for the position after the text `before`."""
    breaks = list(LINE_BREAK.finditer(before))
    line_start = breaks[-1].end() if breaks else 0
    raise YamlRefused([Problem(code, message, file, len(breaks) + 1, len(before) - line_start + 1)])


class _Builder:
    """A builder of one document's nodes by recursive descent, never deeper than MAX_DEPTH."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._problems: list[Problem] = []

    def build(self) -> Node:
        try:
            root = self._document_node(CParser(self._document.text).get_event)
        except YAMLError as ex:
            self._report(*(_conflict_problem(self._document.text) or _syntax_problem(ex)))
            raise YamlRefused(self._problems) from ex
        except (ValueError, OverflowError) as ex:
            self._report("bad_syntax", "The file cannot be read as YAML.", 0)
            raise YamlRefused(self._problems) from ex
        if self._problems:
            raise YamlRefused(self._problems)
        return root

    def _document_node(self, get: _Get) -> Node:
        get()
        event = get()
        if event.__class__ is StreamEndEvent:
            return ScalarNode("", "", 0, 0)
        if event.tags:
            self._report("tag", "Tags cannot be declared here; remove the %TAG line.", event.start_mark.index)
        root = self._node(get, get(), 1)
        get()
        event = get()
        if event.__class__ is not StreamEndEvent:
            self._report("several_documents", "A file holds one document; remove this `---`.", event.start_mark.index)
        return root

    def _node(self, get: _Get, event: Any, depth: int) -> Node:
        kind, start = event.__class__, event.start_mark.index
        if kind is AliasEvent:
            self._report("alias", f"The alias *{event.anchor[:50]} is not allowed; write the value out.", start)
            return ScalarNode("", "", start, start)
        if event.tag is not None or event.anchor is not None:
            self._check_properties(event)
        if kind is ScalarEvent:
            return ScalarNode(event.value, event.style, start, event.end_mark.index)
        if depth > MAX_DEPTH:
            self._report("too_deep", f"The nesting is deeper than {MAX_DEPTH} levels; flatten it.", start)
            raise YamlRefused(self._problems)
        if kind is SequenceStartEvent:
            return self._sequence(get, event, depth)
        assert kind is MappingStartEvent, "the parser gives only these events here"  # noqa: S101 - a guard for later changes
        return self._mapping(get, event, depth)

    def _sequence(self, get: _Get, begin: Any, depth: int) -> SequenceNode:
        items: list[Node] = []
        event = get()
        while event.__class__ is not _SEQUENCE_END:
            items.append(self._node(get, event, depth + 1))
            event = get()
        return SequenceNode(items, bool(begin.flow_style), begin.start_mark.index, event.end_mark.index)

    def _mapping(self, get: _Get, begin: Any, depth: int) -> MappingNode:
        entries: dict[str, tuple[ScalarNode, Node]] = {}
        event = get()
        while event.__class__ is not _MAPPING_END:
            key = self._node(get, event, depth + 1)
            value = self._node(get, get(), depth + 1)
            if not isinstance(key, ScalarNode):
                self._report("bad_key", "A field's name must be a plain text.", key.start)
            elif key.text in entries or (key.text == "<<" and not key.style):
                self._check_key(key, entries)
            else:
                entries[key.text] = (key, value)
            event = get()
        return MappingNode(entries, bool(begin.flow_style), begin.start_mark.index, event.end_mark.index)

    def _check_properties(self, event: Any) -> None:
        start = event.start_mark.index
        if event.anchor is not None:
            self._report("anchor", f"The anchor &{event.anchor[:50]} is not allowed; remove it.", start)
        if event.tag is not None:
            self._report("tag", f"The tag {event.tag[:50]} is not allowed; remove it.", start)

    def _check_key(self, key: ScalarNode, entries: dict[str, tuple[ScalarNode, Node]]) -> None:
        if key.text not in entries:
            self._report("merge_key", "Merge keys (<<) are not allowed; write the fields out.", key.start)
            return
        first = self._document.mark(entries[key.text][0].start)
        self._report(
            "duplicate_key", f"Duplicate field '{key.text[:50]}', first in line {first.line}; remove one.", key.start
        )

    def _report(self, code: str, message: str, offset: int) -> None:
        self._problems.append(self._document.problem(code, message, offset))
        if len(self._problems) >= MAX_PROBLEMS:
            raise YamlRefused(self._problems)


def _conflict_problem(text: str) -> tuple[str, str, int] | None:
    """Return code, message and offset of the first conflict marker in a text that cannot be parsed; None without one."""
    found = _CONFLICT_MARKER.search(text)
    if found is None:
        return None
    return "bad_syntax", f'A conflict marker of Git ("{found[1]}"): resolve the conflict.', found.start(1)


def _syntax_problem(ex: YAMLError) -> tuple[str, str, int]:
    """Return code, message and offset of a syntax error."""
    mark, what = getattr(ex, "problem_mark", None), getattr(ex, "problem", None) or str(ex)
    context = getattr(ex, "context", None)
    sentence = f"{what} {context}" if context else what
    hint = _HINTS.get(what)
    return "bad_syntax", f"{sentence}{': ' + hint if hint else ''}.", mark.index if mark else 0
