"""The canonical layout: the same data and comments for any layout, written once and for all."""

import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.records.vocabulary import Kind
from gitstore.yamlfiles.canonical_layout import format_file
from gitstore.yamlfiles.comments import find_comments
from gitstore.yamlfiles.dump import LAYOUTS, Layout, new_file
from gitstore.yamlfiles.rule_file import load
from gitstore.yamlfiles.yaml_node import plain
from gitstore.yamlfiles.yaml_reader import YamlRefused, read
from tests.gitstore.written import record_lists
from tests.service import ROOT

RAGGED = b"""\xef\xbb\xbf---\r
# top\r
\r
\r
redirects:   # the list\r
\r
- source: '/a'   # src\r
  # about type\r
  type: "BASIC"\r
\r
  target: /b\r
  status: 301\r
    # deep\r
# next\r
- { type: BASIC, source: /x, # inner\r
    target: "/y", status: FOUND }   # t\r
\r
\r
- type: BASIC\r
  source: /z\r
  tags:\r
    - a\r
    - 'yes'\r
  note: | # hdr\r
      two\r
      lines\r
  target: "/q"\r
  status: FOUND\r
# tail"""

CANONICAL = b"""\
# top

redirects:  # the list
  # about type
  - type: BASIC
    source: /a  # src
    target: /b
    status: 301

    # deep
  # next
  # inner
  - {"type": "BASIC", "source": "/x", "target": "/y", "status": "FOUND"}  # t

  - type: BASIC
    source: /z
    target: /q
    status: FOUND
    # hdr
    note: |
      two
      lines
    tags: [a, "yes"]
# tail
""".replace(b"301\n\n", b"301\n")


def test_a_ragged_file_gets_the_layout_and_keeps_its_comments() -> None:
    assert format_file(RAGGED, "a.yaml").decode() == CANONICAL.decode()
    assert load(RAGGED, "").records == load(CANONICAL, "").records


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("redirects: []", "redirects: []\n"),
        ("redirects: [{type: BASIC, source: /a, target: /b, status: FOUND}]", '  - {"type": "BASIC"'),
        (
            "project: {title: 'My shop', policy: {lint: strict}}",
            "project:\n  title: My shop\n  policy:\n    lint: strict\n",
        ),
        ("project: {}", "project: {}\n"),
        ("tests:\n- {status: 404, url: /x}", 'tests:\n  - {"url": "/x", "status": 404}\n'),
        (
            'pages:\n- path: /a\n  content: "a\\nb\\n"\n  type: BASIC',
            "pages:\n  - type: BASIC\n    path: /a\n    content: |\n      a\n      b\n",
        ),
        ("tests:\n- url: /x\n\n\n\n- url: /y", "tests:\n  - url: /x\n\n  - url: /y\n"),
    ],
)
def test_each_kind_of_file_has_a_layout(written: str, wanted: str) -> None:
    found = format_file(written.encode(), "").decode()
    assert wanted in found
    assert format_file(found.encode(), "").decode() == found


@pytest.mark.parametrize("text", ["a: 1\n", "- x\n", "", "# only a comment\n", "repos:\n- repo:   local\n"])
def test_a_file_of_another_kind_is_left_alone(text: str) -> None:
    assert format_file(text.encode(), "") == text.encode()


def test_a_file_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(YamlRefused):
        format_file(b"redirects: [\n", "")


@given(st.sampled_from(Kind), st.sampled_from(LAYOUTS), st.data())
def test_what_an_edit_writes_is_in_the_layout(kind: Kind, layout: Layout, data: st.DataObject) -> None:
    written = new_file(kind, data.draw(record_lists(kind)), layout)
    assert format_file(written, "") == written


def test_the_sample_is_in_the_layout() -> None:
    files = [path for path in (ROOT / "sample-repo").rglob("*.yaml") if ".github" not in path.parts]
    assert len(files) > 10
    assert [path for path in files if format_file(path.read_bytes(), "") != path.read_bytes()] == []


_COMMENTS = st.sampled_from(["", "", "", "# one", "# two: {a}", "#three", "# 'four"])
_SCALARS = st.sampled_from(
    [
        "/a",
        "'/a'",
        '"/a b"',
        "FOUND",
        "301",
        "'yes'",
        "é",
        '"#x"',
        "a#b",
        "''",
        "|\n{}  a\n{}  # b\n",
        ">-\n{}  a\n\n{}  b\n",
    ]
)
_NAMES = ("type", "source", "target", "status", "note")


@st.composite
def files(draw: st.DrawFn) -> str:
    """Draw a file of rules with any layout, comments and blank lines."""
    lines: list[str] = []

    def between(indent: int) -> None:
        for _ in range(draw(st.integers(0, 2))):
            comment = draw(_COMMENTS)
            lines.append(" " * (indent + draw(st.integers(0, 3))) + comment if comment else "")

    def trail() -> str:
        comment = draw(_COMMENTS)
        return f" {comment}" if comment else ""

    between(0)
    lines.append(f"redirects:{trail()}")
    dash = draw(st.sampled_from([0, 2, 4]))
    for _ in range(draw(st.integers(1, 4))):
        between(dash)
        names = draw(st.permutations(_NAMES))[: draw(st.integers(1, 5))]
        if draw(st.booleans()):
            lines.append(f"{' ' * dash}- {{{', '.join(f'{name}: /x' for name in names)}}}{trail()}")
            continue
        for at, name in enumerate(names):
            value = draw(_SCALARS).replace("{}", " " * (dash + 2))
            lead = " " * dash + ("- " if not at else "  ")
            lines.append(f"{lead}{name}: {value.removesuffix(chr(10))}{'' if chr(10) in value else trail()}")
            between(dash + 2)
    between(0)
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def _comments(data: bytes) -> Counter[str]:
    return Counter(each.text for each in find_comments(read(data, "")))


@given(files())
def test_any_layout_keeps_data_and_comments_and_is_written_once(text: str) -> None:
    data = text.encode()
    try:
        before = plain(read(data, "").root)
    except YamlRefused:
        return
    formatted = format_file(data, "")
    assert plain(read(formatted, "").root) == before
    assert _comments(formatted) == _comments(data)
    assert format_file(formatted, "") == formatted
    assert formatted.startswith((b"redirects:", b"#"))
    assert not any(line != line.rstrip() for line in formatted.decode().splitlines())


def test_a_folder_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(RAGGED)
    assert [each.source for each in load(format_file(path.read_bytes(), ""), "").records] == ["/a", "/x", "/z"]  # type: ignore[union-attr]  # redirects


def test_the_time_grows_with_the_comments_of_a_file_and_not_with_their_square() -> None:
    """Eight times the comments take about eight times the time; 64 times before."""
    text = "  # one\n  - type: BASIC # two\n    source: /{0}\n    target: /b{0}\n    status: FOUND\n"
    few, many = (("redirects:\n" + "".join(map(text.format, range(count)))).encode() for count in (250, 2_000))
    assert _seconds(many) < 25 * _seconds(few)


def _seconds(data: bytes) -> float:
    """Return the least processor time of three."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        format_file(data, "rules.yaml")
        found.append(time.process_time() - begun)
    return min(found)
