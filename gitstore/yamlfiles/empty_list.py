"""Lists without rules: adding the first rules, and removing the last ones."""

from collections.abc import Sequence

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.yamlfiles.block_list import line_break_of
from gitstore.yamlfiles.dump import INDENT, Layout, dump_item, dump_json, file_fields
from gitstore.yamlfiles.yaml_node import Node, ScalarNode, key_at
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document


def fill_list(document: Document, kind: Kind, node: Node, wanted: Sequence[Record], layout: Layout) -> str:
    """Return the document with rules in a list that is `[]`, null or empty."""
    text, inside = document.text, document.text[node.start + 1 : max(node.end - 1, node.start + 1)]
    rules = ", ".join(dump_json(file_fields(record)) for record in wanted)
    if inside.strip() and not isinstance(node, ScalarNode):
        return text[: node.start + 1] + rules + text[node.start + 1 :]
    if getattr(document.root, "flow", False):
        return f"{text[: node.start].rstrip(' ')} [{rules}]{text[node.end :]}"
    return _fill_block(document, kind, node, wanted, layout)


def begin_list(text: str, kind: Kind, wanted: Sequence[Record], layout: Layout) -> str:
    """Return a document that has only comments, or nothing, with a list of rules below."""
    eol = line_break_of(text)
    above = text + eol if text and not LINE_BREAK.search(text[-1]) else text
    return f"{above}{kind.value}:{eol}" + "".join(dump_item(record, layout, INDENT, eol=eol) for record in wanted)


def dump_empty_list(head: str, key: Node) -> str:
    """Return the text up to the first rule, with `[]` after the key, for a list without rules."""
    colon = head.index(":", key.end) + 1
    return f"{head[:colon]} []{head[colon:]}"


def _fill_block(document: Document, kind: Kind, node: Node, wanted: Sequence[Record], layout: Layout) -> str:
    text, eol = document.text, line_break_of(document.text)
    key = key_at(document.root, f"/{kind.value}")
    line_end = LINE_BREAK.search(text, node.end)
    below = text[line_end.end() :] if line_end else ""
    rest = text[node.end : line_end.start()] if line_end else text[node.end :]
    indent = " " * (document.mark(key.start).column - 1) + INDENT
    rules = "".join(dump_item(record, layout, indent, eol=eol) for record in wanted)
    head = text[: text.index(":", key.end) + 1] + rest.rstrip()
    return head + eol + rules + below
