"""Changes of rules as people read them: lines for a terminal, and a table for a comment on a pull request."""

import re
from collections.abc import Iterator, Sequence

from cli.streams import printable
from content.diff import Change, ChangeType, item_kind
from gitstore.file_changes import FileChange
from gitstore.messages import ONLY

_SIGNS = {ChangeType.ADDED: "+", ChangeType.CHANGED: "~", ChangeType.REMOVED: "-"}
_LONGEST = 200
_ROWS = 200
"""Rows of a table at most: what a comment can hold, and what anybody reads."""
_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")
_MARKUP_OF_TEXT = re.compile(r"[^A-Za-z0-9 /.,-]")


def text_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Each change with the fields that differ below it."""
    for change in changes:
        yield f"{_SIGNS[change.change]} {item_kind(change.kind)} {_short(change.identity)}"
        yield from (f"    {name}: {_pair(change, *values)}" for name, values in _shown(change).items())


def file_lines(files: Sequence[FileChange]) -> Iterator[str]:
    """Each file that differs beside the rules, with the settings that differ below it."""
    for each in files:
        yield f"{_SIGNS[each.change]} file {_short(each.file)}{ONLY.get(each.only, '')}"
        yield from (
            f"    {name}: {_value(old or None)} -> {_value(new or None)}" for name, (old, new) in each.settings.items()
        )


def markdown_lines(changes: Sequence[Change], title: str, files: Sequence[FileChange] = ()) -> Iterator[str]:
    """A heading line and a table of GitHub's Markdown; what rules hold is escaped, so that it shows as it is."""
    yield title
    rows = [*map(_file_row, files[:_ROWS]), *map(_row, changes[:_ROWS])][:_ROWS]
    if rows:
        yield from ("", "| | rule | fields |", "|---|---|---|")
        yield from rows
    if len(rows) < len(files) + len(changes):
        yield from ("", f"… and {len(files) + len(changes) - len(rows):,} more.")


def as_text(text: str) -> str:
    """The text as it is in Markdown, whatever signs it holds."""
    return _MARKUP_OF_TEXT.sub(lambda sign: f"&#{ord(sign[0])};", printable(text))


def as_code(text: str) -> str:
    """The text as code in a cell of a table, whatever signs it holds."""
    shown = printable(text)
    if shown and "`" not in shown and "|" not in shown and shown.strip() == shown:
        return f"`{shown}`"
    # in a cell no fence of backticks holds a vertical bar everywhere; character references do
    return f"<code>{_MARKUP.sub(lambda sign: f'&#{ord(sign[0])};', shown)}</code>"


def _file_row(change: FileChange) -> str:
    fields = ", ".join(
        f"{name} {_cell(old or None)} → {_cell(new or None)}" for name, (old, new) in change.settings.items()
    )
    return f"| {change.change} | {as_code(_short(change.file))} | {fields}{ONLY.get(change.only, '').strip(' ()')} |"


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
