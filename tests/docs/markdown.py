"""Markdown that the generator writes: tables, Mermaid pictures and marked parts of a page."""

import re
from collections.abc import Callable, Iterable, Sequence

_PART = re.compile(
    r"^<!-- begin (?P<name>[a-z. -]+): written by `make docs` -->\n.*?^<!-- end (?P=name) -->$",
    re.MULTILINE | re.DOTALL,
)

BAR = "\\|"
"""A bar inside a cell."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    lines = [_row(head), "|---" * len(head) + "|", *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell.replace('|', BAR)} |" if cell else " |" for cell in cells)


def flowchart(nodes: Iterable[str], arrows: Iterable[tuple[str, str]]) -> str:
    """Draw a Mermaid flowchart from the top down; nodes are named by one word each."""
    pairs = list(arrows)
    joined = {name for pair in pairs for name in pair}
    lines = [*(name for name in nodes if name not in joined), *(f"{start} --> {end}" for start, end in pairs)]
    return "\n".join(["```mermaid", "flowchart TD", *(f"    {line}" for line in lines), "```"])


def part_names(text: str) -> list[str]:
    """List the marked parts of a page, in order."""
    return [found["name"] for found in _PART.finditer(text)]


def fill(text: str, write: Callable[[str], str]) -> str:
    """Replace each marked part of a page by what `write` returns for its name."""
    return _PART.sub(lambda found: mark(found["name"], write(found["name"])), text)


def mark(name: str, text: str) -> str:
    """Put the marks of a part around its text."""
    return f"<!-- begin {name}: written by `make docs` -->\n\n{text}\n\n<!-- end {name} -->"
