"""Edits of a tests.yaml written by a person: tests that are added leave what is there as it is."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from itertools import takewhile

from content.checks.expectations import Expectation
from gitstore.yamlfiles.block_list import line_break_of
from gitstore.yamlfiles.dump import INDENT, dump_value
from gitstore.yamlfiles.project_file import load_tests
from gitstore.yamlfiles.yaml_reader import YamlRefused, decode

_ITEM = re.compile(r"^( *)- ", re.MULTILINE)


def rewrite_tests(data: bytes, tests: Sequence[Expectation]) -> bytes:
    """Return the file with these tests: more at its end where it has the first ones, else a new one below its first comments."""
    try:
        text = decode(data, "")
    except YamlRefused:
        text = ""
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    wanted = list(map(_meaning, tests))
    return next(
        mark + edited.encode()
        for edited in _candidates(data, text, tests)
        if list(map(_meaning, load_tests(mark + edited.encode(), "")[0])) == wanted
    )


def _candidates(data: bytes, text: str, tests: Sequence[Expectation]) -> Iterator[str]:
    before, problems = load_tests(data, "")
    dashes = _ITEM.findall(text)
    if not problems and dashes and list(map(_meaning, before)) == list(map(_meaning, tests[: len(before)])):
        eol = line_break_of(text)
        yield text + ("" if text.endswith(eol) else eol) + _dump(tests[len(before) :], dashes[-1], eol)
    opening = "".join(takewhile(lambda line: not line.strip() or line.startswith("#"), text.splitlines(keepends=True)))
    body = "tests:\n" + _dump(tests, INDENT, "\n") if tests else "tests: []\n"
    yield opening + body
    yield body


def _dump(tests: Sequence[Expectation], indent: str, eol: str) -> str:
    inner = indent + "  "
    lines = []
    for test in tests:
        lines += [f"{indent}- url: {dump_value(test.url, inner)}", f"{inner}status: {test.status}"]
        lines += [f"{inner}location: {dump_value(test.location, inner)}"] if test.location else []
    return "".join(line + eol for line in lines)


def _meaning(test: Expectation) -> tuple[str, int, str]:
    return test.url, test.status, test.location
