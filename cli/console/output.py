"""The output of commands: tables for people, JSON for scripts, and notes about the result."""

import json
import os
import re
from collections.abc import Iterable, Sequence

from cli.console.streams import write
from content.records.printable import escape_unprintable

# What a runner of GitHub, Gitea or Forgejo takes for a command: `::` at the start of a line, `##[` anywhere in it.
# https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs (TryParseV2, TryParse)
_COMMAND_START = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
_OLD_COMMAND = "##["


def print_json(value: object) -> None:
    """Print a JSON value, indented, without escapes of non-ASCII characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    write(text.replace(_OLD_COMMAND, r"#\u0023[") + "\n")


def print_lines(*lines: str) -> None:
    """Print lines of the result on standard output."""
    if lines:
        write(hide_commands("".join(f"{escape_unprintable(line)}\n" for line in lines)))


def print_commands(*lines: str) -> None:
    """Print workflow commands, whose data is escaped."""
    if lines:
        write("".join(f"{escape_unprintable(line)}\n" for line in lines))


def hide_commands(text: str) -> str:
    """Return text of which a runner of GitHub, Gitea or Forgejo takes no line for a command; outside their jobs, as it is."""
    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    return _COMMAND_START.sub(r"\1\\x3a", text).replace(_OLD_COMMAND, r"#\x23[")


def print_notes(*lines: str) -> None:
    """Print notes and errors on standard error."""
    if lines:
        write(hide_commands("".join(f"{escape_unprintable(line)}\n" for line in lines)), err=True)


def print_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with columns as wide as their cells; without rows, the head only."""
    lines = [tuple(head), *(tuple(escape_unprintable(str(cell)) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    print_lines(
        *("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    )


_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def age_text(seconds: float) -> str:
    """Format an age in its largest whole unit, such as `26 seconds` or `3 days`."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    return count_noun(int(seconds // size), unit)


def count_noun(count: int, noun: str) -> str:
    """Format a count with its noun, such as `1 error` or `3,000 errors`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
