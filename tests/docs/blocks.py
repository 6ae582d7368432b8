"""A parser of Markdown: fenced blocks, table rows, links and headings, as far as our own documents use them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.service import ROOT

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
_CELL_BAR = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]+)`")
_FILE = "file:"


class Block(NamedTuple):
    """A fenced block; `words` are those after its fence, the language first."""

    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        """The name under which a reader saves the block (`file:NAME`); empty if it is not to be saved."""
        return next((word.removeprefix(_FILE) for word in self.words if word.startswith(_FILE)), "")

    @property
    def commands(self) -> str:
        """The commands that a reader types for the block; empty if the document does not ask for any."""
        if self.file:
            return f"cat > {self.file} <<'END_OF_FILE'\n{self.text}END_OF_FILE\n"
        return self.text if "run" in self.words else ""


class Example(NamedTuple):
    """Shell commands for a reader to type, and their output: None if the document does not show it."""

    commands: str
    output: str | None


def documents() -> list[Path]:
    """Return every document of the project, except for the sample namespace, which is content."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    return [Block(tuple(found["info"].split()), found["text"]) for found in _FENCE.finditer(text)]


def examples(text: str) -> list[Example]:
    """Return the blocks that are marked `run` or `file:NAME`, each with the block marked `output` that follows it."""
    found = blocks(text)
    following = [*found[1:], Block((), "")]
    return [
        Example(block.commands, after.text if "output" in after.words else None)
        for block, after in zip(found, following, strict=False)  # without blocks `following` is the longer one
        if block.commands
    ]


def links(text: str) -> Iterator[str]:
    """Return the targets of links outside fenced blocks."""
    for found in _LINK.finditer(_FENCE.sub("", text)):
        yield found["target"]


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, by the rule of Git hosts."""
    headings = re.findall(r"^#+ +(.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def rows(text: str) -> list[list[str]]:
    """Return the rows of all tables, cell by cell, without the lines below their heads."""
    lines = [line.strip() for line in _FENCE.sub("", text).splitlines()]
    cells = [[cell.strip() for cell in _CELL_BAR.split(line)[1:-1]] for line in lines if line.startswith("|")]
    return [row for row in cells if row and not set(row[0]) <= set(":-")]


def codes(text: str) -> set[str]:
    """Return all code spans of the text."""
    return set(_CODE.findall(_FENCE.sub("", text)))


def code(cell: str) -> str:
    """Return the first code span of a cell, empty without one."""
    found = _CODE.search(cell)
    return found[1].replace("\\|", "|") if found else ""
