"""What commands print: rows for people, JSON for scripts, and one sentence of what was done."""

import json
from collections.abc import Iterable, Sequence

from cli.streams import printable, write


def print_json(value: object) -> None:
    """One JSON value, indented, as it is."""
    write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_lines(*lines: str) -> None:
    """Lines on standard output: what was asked for."""
    if lines:
        write("".join(f"{printable(line)}\n" for line in lines))


def print_notes(*lines: str) -> None:
    """Lines on standard error: what was done, and what is wrong, beside what was asked for."""
    if lines:
        write("".join(f"{printable(line)}\n" for line in lines), err=True)


def print_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table in columns, as wide as what is in it; nothing but the head where there are no rows."""
    lines = [tuple(head), *(tuple(printable(str(cell)) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    print_lines(
        *("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    )


def count_noun(count: int, noun: str) -> str:
    """Such as `1 error` or `3,000 errors`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
