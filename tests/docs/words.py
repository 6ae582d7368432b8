"""Prose of the project, and its violations of the word list in `docs/reference/words.md`.

`python -m tests.docs.words [FOLDER_OR_FILE …]` lists them, a line each: file, line, word and the text around it.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.docs.blocks import rows
from tests.docs.reference import PACKAGES
from tests.service import ROOT

FOLDERS = (
    *(*PACKAGES, "bench", "tests", "docs", "waypost", "dashboard/src", "dashboard/test"),
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "dashboard/README.md", "dashboard/build.mjs"),
)
_WORDS_PAGE = ROOT / "docs" / "reference" / "words.md"
_CLAUSES = (
    "What|Whatever|Whoever|Who|Whom|Whose|Where|Whether|How|Which|Those|That which|All that|Everything that|One that|"
    "Whichever|The one that|The ones that|Those who"
)
_CLAUSE = re.compile(rf"(?:{_CLAUSES})\b")
_CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<[^>]*>|\{[^}]*\}")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Comments, strings, and the text between the tags of JSX.
_IN_SCRIPT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(?<=[>}])[^<>{}=;()\[\]`"]+(?=[<{])""",
    re.DOTALL,
)
_SCRIPTS = {".ts", ".tsx", ".mjs", ".css"}
_GENERATED = "schema.d.ts"
_QUOTED_IN_TESTS = ("tests", "bench")


class Text(NamedTuple):
    """A piece of prose: its file, first line (from 1) and words; `is_docstring` of a module, class or function."""

    path: Path
    line: int
    words: str
    is_docstring: bool = False


class Violation(NamedTuple):
    """A word that the list refuses, with the text around it."""

    path: str
    line: int
    word: str
    around: str


def find_violations(names: Iterable[str] = FOLDERS) -> Iterator[Violation]:
    """Yield the violations in files and folders, which are named by their paths in the project."""
    for path in sorted({file for name in names for file in _files(ROOT / name)} - {_WORDS_PAGE}):
        for text in read_prose(path):
            yield from check_text(text)


def check_text(text: Text) -> Iterator[Violation]:
    """Yield the violations in a piece of prose."""
    plain = _CODE.sub(lambda code: " " * len(code[0]), text.words)
    path = str(text.path.relative_to(ROOT))
    if text.is_docstring and (clause := _CLAUSE.match(plain)):
        yield Violation(path, text.line, f"{clause[0]} …", plain[:60])
    for found in _refused_words().finditer(plain):
        line = text.line + plain.count("\n", 0, found.start())
        around = " ".join(text.words[max(found.start() - 30, 0) : found.end() + 30].split())
        yield Violation(path, line, found[0], around)


def read_prose(path: Path) -> Iterator[Text]:
    """Yield the prose of a file: all of a document; docstrings, comments and messages of code; descriptions of a schema."""
    if path.suffix == ".py":
        yield from _read_module(path)
    elif path.suffix == ".json":
        yield from (Text(path, 1, words) for words in _descriptions(json.loads(path.read_text("utf-8"))))
    elif path.suffix in _SCRIPTS:
        yield from _read_script(path)
    else:
        blank = _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), path.read_text("utf-8"))
        yield Text(path, 1, blank)


def _read_module(path: Path) -> Iterator[Text]:
    source = path.read_text("utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in ast.walk(tree := ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            first = node.body[0]
            docstrings.add(first.lineno)
            yield Text(path, first.lineno, ast.get_docstring(node, clean=False) or "", is_docstring=True)
    is_test = path.relative_to(ROOT).parts[0] in _QUOTED_IN_TESTS
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if is_text and node.lineno not in docstrings and not is_test:  # type: ignore[attr-defined] # a constant has a line
            yield Text(path, node.lineno, node.value)  # type: ignore[attr-defined] # as above
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], token.string)


def _read_script(path: Path) -> Iterator[Text]:
    source = path.read_text("utf-8")
    for found in _IN_SCRIPT.finditer(source):
        if " " in found[0] or found[0][0] not in "\"'`":
            words = found[0][1:-1] if found[0].startswith("`") else found[0]  # a template is no code of a document
            yield Text(path, source.count("\n", 0, found.start()) + 1, words)


def _descriptions(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for key, text in value.items() if key in {"description", "title"} and isinstance(text, str))
        for inner in value.values():
            yield from _descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _descriptions(inner)


@cache
def _refused_words() -> re.Pattern[str]:
    cells = [row[0] for row in rows(_WORDS_PAGE.read_text("utf-8").partition("\n## ")[0]) if row[0] != "not"]
    words = sorted((re.escape(word.strip()) for cell in cells for word in cell.split(",")), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for suffix in ("*.py", "*.md", "*.json", "*.yaml", *(f"*{each}" for each in _SCRIPTS)):
        yield from (file for file in path.rglob(suffix) if file.is_file() and file.name != _GENERATED)


if __name__ == "__main__":
    found = list(
        find_violations([str((Path.cwd() / name).resolve().relative_to(ROOT)) for name in sys.argv[1:]] or FOLDERS)
    )
    for each in found:
        sys.stdout.write(f"{each.path}:{each.line}: {each.word!r} in: {each.around}\n")
    sys.stdout.write(f"{len(found)} violations of {_WORDS_PAGE.relative_to(ROOT)}\n")
    sys.exit(1 if found else 0)
