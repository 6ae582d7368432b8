"""The comments of a document, and the lines between its parts."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode
from gitstore.yamlfiles.yaml_reader import Document

# A comment begins at the start of a line, or after a blank, or after a byte order mark: https://yaml.org/spec/1.2.2/#66-comments
_COMMENT = re.compile(r"(?:(?<=[ \t\n\ufeff])|\A)#[^\n]*")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*([ \t]+#[^\n]*)?")


class Comment(NamedTuple):
    """A comment with its offset and column, from 0; `text` is from the `#` on, without blanks at its end."""

    offset: int
    column: int
    text: str


class CommentIndex:
    """Comments in the order of their offsets; a look-up costs no more in a file with many."""

    def __init__(self, comments: Sequence[Comment]) -> None:
        self._comments = comments
        self._offsets = [each.offset for each in comments]

    def between(self, start: int, end: int) -> Sequence[Comment]:
        """Return the comments that begin at `start` or later, and before `end`."""
        return self._comments[bisect_left(self._offsets, start) : bisect_left(self._offsets, end)]


def find_comments(document: Document, start: int = 0, end: int | None = None) -> list[Comment]:
    """Return the comments of a part of a document whose line breaks are all LF."""
    stop = len(document.text) if end is None else end
    found = []
    for first, last in _gaps(document, start, stop):
        found += [
            _comment(document.text, each.start(), each[0]) for each in _COMMENT.finditer(document.text, first, last)
        ]
    return found


def _comment(text: str, offset: int, comment: str) -> Comment:
    return Comment(offset, offset - text.rfind("\n", 0, offset) - 1, comment.rstrip())


def _gaps(document: Document, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are outside every scalar; the header of a block scalar is outside."""
    at = start
    for scalar in _scalars(document.root):
        if scalar.end <= start or scalar.start >= stop:
            continue
        yield at, min(scalar.start, stop)
        at = max(scalar.end, at)
        if scalar.style in {"|", ">"}:
            header = _BLOCK_HEADER.match(document.text, scalar.start)
            if header and header[1]:
                yield header.start(1), header.end(1)
    yield at, stop


def _scalars(node: Node) -> Iterator[ScalarNode]:
    """Yield the scalars in the order of the text; an empty one has no text, and is left out."""
    if isinstance(node, ScalarNode):
        if node.end > node.start:
            yield node
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _scalars(item)
    elif isinstance(node, MappingNode):
        for key, value in node.entries.values():
            yield key
            yield from _scalars(value)
