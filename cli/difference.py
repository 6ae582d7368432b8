"""Changes of rules as people read them: lines for a terminal, and a table for a comment on a pull request."""

import re
from collections.abc import Iterator, Sequence

from cli.streams import printable
from content.diff import Change, ChangeType, item_kind

_SIGNS = {ChangeType.ADDED: "+", ChangeType.CHANGED: "~", ChangeType.REMOVED: "-"}
_LONGEST = 200
_ROWS = 200
"""Rows of a table at most: what a comment can hold, and what anybody reads."""
_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")


def text_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Each change with the fields that differ below it."""
    for change in changes:
        yield f"{_SIGNS[change.change]} {item_kind(change.kind)} {_short(change.identity)}"
        yield from (f"    {name}: {_pair(change, *values)}" for name, values in _shown(change).items())


def markdown_lines(changes: Sequence[Change], title: str) -> Iterator[str]:
    """A heading line and a table of GitHub's Markdown; what rules hold is escaped, so that it shows as it is."""
    yield title
    if changes:
        yield from ("", "| | rule | fields |", "|---|---|---|")
        yield from map(_row, changes[:_ROWS])
    if len(changes) > _ROWS:
        yield from ("", f"… and {len(changes) - _ROWS:,} more.")


def as_code(text: str) -> str:
    """The text as code in a cell of a table, whatever signs it holds."""
    shown = printable(text)
    if shown and "`" not in shown and "|" not in shown and shown.strip() == shown:
        return f"`{shown}`"
    # in a cell no fence of backticks holds a vertical bar everywhere; character references do
    return f"<code>{_MARKUP.sub(lambda sign: f'&#{ord(sign[0])};', shown)}</code>"


def _row(change: Change) -> str:
    fields = ", ".join(f"{name} {_cells(change, *values)}" for name, values in _shown(change).items())
    return f"| {change.change} | {as_code(_short(change.identity))} | {fields} |"


def _shown(change: Change) -> dict[str, tuple[object, object]]:
    """The fields that differ, but for the one that the rule is known by; of a rule that goes only where it led."""
    fields = {name: values for name, values in change.fields.items() if name not in {"source", "path"}}
    if change.change is ChangeType.REMOVED:
        return {name: values for name, values in fields.items() if name == "target"}
    return fields


def _pair(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_value(old)} -> {_value(new)}"
    return _value(new if change.new else old)


def _cells(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_cell(old)} → {_cell(new)}"
    return _cell(new if change.new else old)


def _cell(value: object) -> str:
    return "none" if value is None else as_code(_value(value))


def _value(value: object) -> str:
    if value is None:
        return "(none)"
    return _short(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
