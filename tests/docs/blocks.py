"""Markdown taken apart: fenced blocks, table rows, links and headings, as far as our own documents use them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.service import ROOT

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
_CELL_BAR = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]+)`")


class Block(NamedTuple):
    """A fenced block; `words` are those behind its fence, the language first."""

    words: tuple[str, ...]
    text: str


class Example(NamedTuple):
    """Shell commands that a reader types, and what they print: None where the document does not show it."""

    commands: str
    output: str | None


def documents() -> list[Path]:
    """Every document of the project, those of the sample namespace left out, for they are content."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return [Block(tuple(found["info"].split()), found["text"]) for found in _FENCE.finditer(text)]


def examples(text: str) -> list[Example]:
    """The blocks that are marked `run`, each with the block marked `output` that follows it."""
    found = blocks(text)
    following = [*found[1:], Block((), "")]
    return [
        Example(block.text, after.text if "output" in after.words else None)
        for block, after in zip(found, following, strict=False)  # a document without blocks has one to follow
        if "run" in block.words
    ]


def links(text: str) -> Iterator[str]:
    """The targets of links, those in fenced blocks left out."""
    for found in _LINK.finditer(_FENCE.sub("", text)):
        yield found["target"]


def anchors(text: str) -> set[str]:
    """What a link can name in a document, by the rule that Git hosts make anchors of headings by."""
    headings = re.findall(r"^#+ +(.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def rows(text: str) -> list[list[str]]:
    """The rows of all tables, cell by cell, without the lines below their heads."""
    lines = [line.strip() for line in _FENCE.sub("", text).splitlines()]
    cells = [[cell.strip() for cell in _CELL_BAR.split(line)[1:-1]] for line in lines if line.startswith("|")]
    return [row for row in cells if row and not set(row[0]) <= set(":-")]


def codes(text: str) -> set[str]:
    """Everything that is set as code within the text."""
    return set(_CODE.findall(_FENCE.sub("", text)))


def code(cell: str) -> str:
    """The first thing set as code in a cell, empty where there is none."""
    found = _CODE.search(cell)
    return found[1].replace("\\|", "|") if found else ""
