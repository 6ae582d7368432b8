"""Differences of rules as a Markdown table, for a comment on a pull request."""

import re
from collections.abc import Iterator, Sequence

from content.changes.diff import Change, ChangeType
from content.records.printable import escape_unprintable
from gitstore.history.change_lines import format_value, shorten, shown_fields
from gitstore.history.file_changes import FileChange
from gitstore.history.messages import DIFFERENCE_LABELS

_MAX_ROWS = 200  # maximum rows of a table: a comment has a maximum length, and longer tables are not read
_MARKUP = re.compile(r"[^A-Za-z0-9 /.]")
_MARKUP_OF_TEXT = re.compile(r"[^A-Za-z0-9 /.,-]")


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
    return f"| {change.change} | {as_code(shorten(change.file))} | {fields}{DIFFERENCE_LABELS.get(change.only, '').strip(' ()')} |"


def _row(change: Change) -> str:
    fields = ", ".join(
        f"{name} {_format_change_cell(change, *values)}" for name, values in shown_fields(change).items()
    )
    return f"| {change.change} | {as_code(shorten(change.identity))} | {fields} |"


def _format_change_cell(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_format_cell(old)} → {_format_cell(new)}"
    return _format_cell(new if change.new else old)


def _format_cell(value: object) -> str:
    return "none" if value is None else as_code(format_value(value))
