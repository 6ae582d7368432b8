"""The reader accepts plain YAML as text, with the place of every node, and refuses the rest with its place."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from content.records.problem import Problem
from gitstore.yamlfiles.yaml_node import ScalarNode, SequenceNode, key_at, node_at, plain
from gitstore.yamlfiles.yaml_reader import MAX_DEPTH, MAX_PROBLEMS, Document, YamlRefused, decode, read
from tests.gitstore.written import WrittenFile, written


def problems_of(data: bytes) -> tuple[Problem, ...]:
    with pytest.raises(YamlRefused) as caught:
        read(data, "f.yaml")
    assert all(problem.file == "f.yaml" for problem in caught.value.problems)
    return caught.value.problems


def refusal(data: bytes) -> tuple[str, int, int]:
    (problem,) = problems_of(data)
    return problem.code, problem.line, problem.column


@pytest.mark.parametrize(
    ("data", "line", "marker"),
    [
        (b"redirects:\n<<<<<<< HEAD\n  - a: 1\n=======\n  - a: 2\n>>>>>>> release\n", 2, "<<<<<<<"),
        (b"redirects:\r\n  - a: 1\r\n=======\r\n  - a: 2\r\n", 3, "======="),
        (b"redirects:\n  - a: 2\n>>>>>>> release\n", 3, ">>>>>>>"),
    ],
)
def test_a_conflict_marker_is_named(data: bytes, line: int, marker: str) -> None:
    [problem] = problems_of(data)
    assert (problem.code, problem.line, problem.column) == ("bad_syntax", line, 1)
    assert problem.message == f'A conflict marker of Git ("{marker}"): resolve the conflict.'


def test_what_looks_like_a_conflict_marker_may_be_text() -> None:
    """A file that can be read has no conflict; another fault keeps its own words."""
    assert plain(read(b"a: |\n  x\n  =======\n# ======= \n", "f").root) == {"a": "x\n=======\n"}
    assert "conflict" not in problems_of(b"a: |\n  =======\nb: 'x\n")[0].message


@pytest.mark.parametrize(
    "text", ["off", "yes", "1_000", "12:30", "0x1F", "010", ".nan", "null", "~", "2024-13-45", "=", "1e3", "-0"]
)
def test_scalars_are_text(text: str) -> None:
    assert plain(read(f"a: {text}\n".encode(), "f").root) == {"a": text}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: &x 1\n", ("anchor", 1, 4)),
        (b"a: 1\nb: *x\n", ("alias", 2, 4)),
        (b"a: 1\n<<: {b: 2}\n", ("merge_key", 2, 1)),
        (b"a: !!str 1\n", ("tag", 1, 4)),
        (b"a: ! 1\n", ("tag", 1, 4)),
        (b"a: !!binary aGk=\n", ("tag", 1, 4)),
        (b"%TAG ! tag:x,2000:\n---\na: 1\n", ("tag", 1, 1)),
        (b"a: 1\nb: 2\n'a': 3\n", ("duplicate_key", 3, 1)),
        (b"- {a: 1, a: 2}\n", ("duplicate_key", 1, 10)),
        (b"a: 1\n---\nb: 2\n", ("several_documents", 2, 1)),
        (b"? [a]\n: 1\n", ("bad_key", 1, 3)),
        (b"a: 1\nb: \xff\n", ("bad_encoding", 2, 4)),
        (b"a: \xc3\xa9\xed\xa0\x80\n", ("bad_encoding", 1, 5)),
        ("a: 1\n".encode("utf-16"), ("bad_encoding", 1, 1)),
        (b"a: 1\r\nb: x\x00\n", ("bad_character", 2, 5)),
        (b"a: \x1b[0m\n", ("bad_character", 1, 4)),
        ("a: é\x9f\n".encode(), ("bad_character", 1, 5)),
        ("a: \ufffe\n".encode(), ("bad_character", 1, 4)),
        (b"a:\n\t- b\n", ("bad_syntax", 2, 1)),
        (b"a: b: c\n", ("bad_syntax", 1, 5)),
        (b"a: 'b\n", ("bad_syntax", 2, 1)),
        (b"a: [b\n", ("bad_syntax", 2, 1)),
        (b'a: "\\ud800"\n', ("bad_syntax", 1, 7)),
    ],
)
def test_what_has_no_business_in_a_rule_file_is_refused_at_its_place(
    data: bytes, expected: tuple[str, int, int]
) -> None:
    assert refusal(data) == expected


def test_a_quoted_merge_sign_is_a_name_like_any_other() -> None:
    assert plain(read(b"'<<': 1\n", "f").root) == {"<<": "1"}


def test_all_problems_are_reported_at_once() -> None:
    found = problems_of(b"a: &x 1\na: !!int 2\nb: *x\n")
    assert [(problem.code, problem.line) for problem in found] == [
        ("anchor", 1), ("tag", 2), ("duplicate_key", 2), ("alias", 3),
    ]  # fmt: skip


def test_problems_are_bounded_in_number_and_length() -> None:
    found = problems_of(b"".join(b"- &%b x\n" % (b"a" * 999) for _ in range(1000)))
    assert len(found) == MAX_PROBLEMS
    assert max(len(problem.message) for problem in found) < 200


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b"{a: ", b"}"), (b"- ", b""), (b"? ", b"")])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 30_000])
def test_deep_nesting_is_refused(opening: bytes, closing: bytes, depth: int) -> None:
    code, line, _ = refusal(opening * depth + b"x" + closing * depth)
    assert (code, line) == ("too_deep", 1)


def test_a_million_brackets_are_refused_where_they_get_too_deep() -> None:
    assert refusal(b"[" * 1_000_000) == ("too_deep", 1, MAX_DEPTH + 1)


def test_nesting_up_to_the_limit_is_fine() -> None:
    read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "f")


@pytest.mark.parametrize("data", [b"", b"\n", b"# only a remark", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_empty_text(data: bytes) -> None:
    assert read(data, "f").root == ScalarNode("", "", 0, 0)


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_lines_and_columns_are_those_of_an_editor(eol: str) -> None:
    """Columns count characters, not bytes; U+0085, U+2028 and a byte order mark do not move a line or a column."""
    lines = ["\ufeffa: é # x\u2028# y\x85# z", "'日本': b", "", "c: d"]
    document = read(eol.join(lines).encode(), "f")
    places = {name: document.mark(key_at(document.root, f"/{name}").start)[:2] for name in ("a", "日本", "c")}
    assert places == {"a": (1, 1), "日本": (2, 1), "c": (4, 1)}
    assert document.mark(node_at(document.root, "/日本").start)[:2] == (2, 7)


def test_a_pointer_finds_its_node_or_the_nearest_above() -> None:
    document = read(b"rules:\n- a/b: 1\n  'c~': 2\n", "f")
    found = {
        at: document.mark(node_at(document.root, at).start)[:2]
        for at in ("/rules/0/a~1b", "/rules/0/c~0", "/rules/0/x", "/rules/7", "")
    }
    assert found == {
        "/rules/0/a~1b": (2, 8),
        "/rules/0/c~0": (3, 9),
        "/rules/0/x": (2, 3),
        "/rules/7": (2, 1),
        "": (1, 1),
    }


@given(written())
def test_scalars_are_what_a_full_yaml_reader_gives_as_text(file: WrittenFile) -> None:
    """PyYAML's own reader of text-only YAML is the oracle; it is used on trusted input only."""
    expected: Any = yaml.load(file.data.decode().removeprefix("\ufeff"), yaml.CBaseLoader)  # noqa: S506 - builds text, lists and dicts only
    assert plain(read(file.data, "f").root) == expected


@given(written())
def test_nodes_have_the_place_of_their_text(file: WrittenFile) -> None:
    document = Document(decode(file.data, "f"), "f")
    stack = [document.root]
    while stack:
        node = stack.pop()
        if isinstance(node, ScalarNode):
            quoted = document.text[node.start : node.end]
            assert quoted == node.text if not node.style else quoted.startswith(node.style)
        else:
            stack += node.items if isinstance(node, SequenceNode) else [value for _, value in node.entries.values()]


@given(st.binary(max_size=60) | st.text("[]{}:,-?&*!|>'\"#%@` \n\tab<=~", max_size=60).map(str.encode))
def test_no_bytes_get_past_the_two_answers(data: bytes) -> None:
    """The result is a node or a refusal with a place; nothing else is raised."""
    refused: Sequence[Problem] = ()
    try:
        read(data, "f")
    except YamlRefused as ex:
        refused = ex.problems
    assert all(problem.line > 0 and problem.column > 0 for problem in refused)
