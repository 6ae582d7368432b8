"""Edits of single fields of one rule in its own text; its comments, quotes and other fields stay unchanged."""

from collections.abc import Mapping
from typing import NamedTuple

from content.records.record import Record
from content.records.vocabulary import RedirectStatus
from gitstore.yamlfiles.dump import dump_json, dump_scalar, dump_tag, dump_value, file_fields, fits_literal, quote
from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode, last_leaf
from gitstore.yamlfiles.yaml_reader import LINE_BREAK

BLANKS = " \t\n\r\x85\u2028\u2029"


class RuleText(NamedTuple):
    """A rule as written: its text, the offset of that text in the document, its node, and the file's line break."""

    text: str
    start: int
    node: MappingNode
    eol: str


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def edit_fields(rule: RuleText, old: Record, new: Record) -> str | None:
    """Return the rule's text with the differing fields changed; None if a field cannot be changed on its own.

    The caller reads the result back: in odd layouts YAML may read the text differently.
    """
    return edit_values(rule, file_fields(old), file_fields(new))


def edit_values(rule: RuleText, before: Mapping[str, object], after: Mapping[str, object]) -> str | None:
    """Edit any mapping, like `edit_fields`: `after` has all fields in our own order, texts and lists of texts."""
    edits = []
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            edit = _edit(rule, name, after)
            if edit is None:
                return None
            edits.append(edit)
    text = rule.text
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start - rule.start] + edit.text + text[edit.end - rule.start :]
    return text


def _edit(rule: RuleText, name: str, after: Mapping[str, object]) -> _Edit | None:
    entry = rule.node.entries.get(name)
    if name not in after:
        return _removal(rule, name) if entry else _Edit(rule.start, rule.start, "")
    if entry is None:
        return _addition(rule, name, after)
    return _replacement(rule, entry[1], after[name])


def _replacement(rule: RuleText, node: Node, value: object) -> _Edit | None:
    end = _value_end(rule, node)
    if rule.node.flow:
        return _Edit(node.start, end, _json(value))
    if isinstance(node, SequenceNode) and not node.flow and isinstance(value, list):
        return _Edit(
            node.start, end, (rule.eol + " " * _column(rule, node.start)).join(f"- {dump_tag(tag)}" for tag in value)
        )
    text = _dump_in_old_style(rule, node, value)
    rest_of_line = rule.text[end - rule.start : _line_end(rule, end) - rule.start]
    if LINE_BREAK.search(text) and rest_of_line.strip(BLANKS):
        return None
    gap = "" if rule.text[node.start - rule.start - 1] in " \t" else " "
    return _Edit(node.start, end, gap + text)


def _dump_in_old_style(rule: RuleText, node: Node, value: object) -> str:
    """Return the new value in the style of the old one: quotes stay quotes, and a status in digits stays in digits."""
    if not isinstance(node, ScalarNode) or not isinstance(value, str):
        return dump_value(value, _indent(rule), rule.eol)
    if node.text.isdecimal() and value in RedirectStatus.__members__:
        return f"{node.style}{RedirectStatus(value).code}{node.style}"
    if node.style == "'" and fits_literal(value) and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    if node.style in {"'", '"'} and "\n" not in value:
        return quote(value)
    return _dump_at_old_indent(rule, node, value) if "\n" in value else dump_scalar(value)


def _dump_at_old_indent(rule: RuleText, node: ScalarNode, value: str) -> str:
    """Return a text of several lines, as deep as the old one, so that lines of spaces below stay outside it."""
    body = rule.text[node.start - rule.start : node.end - rule.start].splitlines()[1:]
    first = next((line for line in body if line.strip(BLANKS)), "") if node.style in {"|", ">"} else ""
    deep = dump_value(value, " " * (len(first) - len(first.lstrip(" ")) - 2), rule.eol)
    is_plain = bool(first) and deep.partition(rule.eol)[0] in {"|", "|-"}
    return deep if is_plain else dump_value(value, _indent(rule), rule.eol)


def _addition(rule: RuleText, name: str, after: Mapping[str, object]) -> _Edit | None:
    """Add a new field behind the one before it in our own order."""
    order = list(after)
    above = [each for each in order[: order.index(name)] if each in rule.node.entries]
    if not above:
        return None
    key, value = rule.node.entries[above[-1]]
    end = _value_end(rule, value)
    if rule.node.flow:
        spelled = dump_json({name: after[name]})[1:-1]
        return _Edit(end, end, ", " + (spelled if key.style else spelled.replace(f'"{name}"', name, 1)))
    at = _line_end(rule, end)
    return _Edit(at, at, f"{_indent(rule)}{name}: {dump_value(after[name], _indent(rule), rule.eol)}{rule.eol}")


def _removal(rule: RuleText, name: str) -> _Edit | None:
    names = list(rule.node.entries)
    at = names.index(name)
    if at == 0:
        return None
    key, value = rule.node.entries[name]
    end = _value_end(rule, value)
    if rule.node.flow:
        return _Edit(_value_end(rule, rule.node.entries[names[at - 1]][1]), end, "")
    return _Edit(key.start - _column(rule, key.start), _line_end(rule, end), "")


def _json(value: object) -> str:
    return dump_json({"": value})[len('{"": ') : -1]


def _value_end(rule: RuleText, node: Node) -> int:
    """Return the offset behind a value's last character, without the blank lines after a block scalar."""
    end = last_leaf(node).end
    return node.start + len(rule.text[node.start - rule.start : end - rule.start].rstrip(BLANKS))


def _indent(rule: RuleText) -> str:
    return " " * _column(rule, rule.node.start)


def _column(rule: RuleText, offset: int) -> int:
    breaks = list(LINE_BREAK.finditer(rule.text, 0, offset - rule.start))
    return offset - rule.start - (breaks[-1].end() if breaks else 0)


def _line_end(rule: RuleText, offset: int) -> int:
    """Return the offset of the next line."""
    found = LINE_BREAK.search(rule.text, offset - rule.start)
    return rule.start + (found.end() if found else len(rule.text))
