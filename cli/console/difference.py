"""Differences of rules for people: lines for a terminal, and a Markdown table for a comment on a pull request."""

import re
from collections.abc import Iterator, Sequence

from cli.console.streams import escape_unprintable
from content.changes.diff import Change, ChangeType, item_kind
from gitstore.history.file_changes import FileChange
from gitstore.history.messages import DIFFERENCE_LABELS

_SIGNS = {ChangeType.ADDED: "+", ChangeType.CHANGED: "~", ChangeType.REMOVED: "-"}
_MAX_LENGTH = 200
_MAX_ROWS = 200  # maximum rows of a table: a comment has a maximum length, and longer tables are not read
_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")
_MARKUP_OF_TEXT = re.compile(r"[^A-Za-z0-9 /.,-]")


def text_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a line for each change, then a line for each field that differs."""
    for change in changes:
        yield f"{_SIGNS[change.change]} {item_kind(change.kind)} {_shorten(change.identity)}"
        yield from (f"    {name}: {_format_change(change, *values)}" for name, values in _shown_fields(change).items())


def file_lines(files: Sequence[FileChange]) -> Iterator[str]:
    """Yield a line for each changed file other than rules, then a line for each setting that differs."""
    for each in files:
        yield f"{_SIGNS[each.change]} file {_shorten(each.file)}{DIFFERENCE_LABELS.get(each.only, '')}"
        yield from (
            f"    {name}: {_format_value(old or None)} -> {_format_value(new or None)}"
            for name, (old, new) in each.settings.items()
        )


def markdown_lines(changes: Sequence[Change], title: str, files: Sequence[FileChange] = ()) -> Iterator[str]:
    """Yield a heading line and a table in GitHub's Markdown; text of rules is escaped, so it is shown literally."""
    yield title
    rows = [*map(_file_row, files[:_MAX_ROWS]), *map(_row, changes[:_MAX_ROWS])][:_MAX_ROWS]
    if rows:
        yield from ("", "| | rule | fields |", "|---|---|---|")
        yield from rows
    if len(rows) < len(files) + len(changes):
        yield from ("", f"… and {len(files) + len(changes) - len(rows):,} more.")


def as_text(text: str) -> str:
    """Escape a text for Markdown, so that it is shown literally."""
    return _MARKUP_OF_TEXT.sub(lambda sign: f"&#{ord(sign[0])};", escape_unprintable(text))


def as_code(text: str) -> str:
    """Format a text as code in a table cell, so that it is shown literally."""
    shown = escape_unprintable(text)
    if shown and "`" not in shown and "|" not in shown and shown.strip() == shown:
        return f"`{shown}`"
    # A | ends the cell even between backticks, so such text is written with character references.
    # https://github.github.com/gfm/#tables-extension-
    return f"<code>{_MARKUP.sub(lambda sign: f'&#{ord(sign[0])};', shown)}</code>"


def _file_row(change: FileChange) -> str:
    fields = ", ".join(
        f"{name} {_format_cell(old or None)} → {_format_cell(new or None)}"
        for name, (old, new) in change.settings.items()
    )
    return f"| {change.change} | {as_code(_shorten(change.file))} | {fields}{DIFFERENCE_LABELS.get(change.only, '').strip(' ()')} |"


def _row(change: Change) -> str:
    fields = ", ".join(
        f"{name} {_format_change_cell(change, *values)}" for name, values in _shown_fields(change).items()
    )
    return f"| {change.change} | {as_code(_shorten(change.identity))} | {fields} |"


def _shown_fields(change: Change) -> dict[str, tuple[object, object]]:
    """Return the fields that differ, without the identity; for a removed rule only its target."""
    fields = {name: values for name, values in change.fields.items() if name not in {"source", "path"}}
    if change.change is ChangeType.REMOVED:
        return {name: values for name, values in fields.items() if name == "target"}
    return fields


def _format_change(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_format_value(old)} -> {_format_value(new)}"
    return _format_value(new if change.new else old)


def _format_change_cell(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_format_cell(old)} → {_format_cell(new)}"
    return _format_cell(new if change.new else old)


def _format_cell(value: object) -> str:
    return "none" if value is None else as_code(_format_value(value))


def _format_value(value: object) -> str:
    if value is None:
        return "(none)"
    return _shorten(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
