"""The fast path for flow lines gives the same as the strict reader, or leaves the file to it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.records.vocabulary import Kind
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.flow_lines import read_flow_lines
from gitstore.yamlfiles.yaml_node import SequenceNode, node_at, plain
from gitstore.yamlfiles.yaml_reader import Document, YamlRefused, decode
from tests.gitstore.written import record_lists

RULE = '  - {"type": "BASIC", "source": "/a", "target": "/b", "status": "FOUND"}\n'
PIECES = (
    " ", "\t", "\n", "\r\n", "\r", "\x85", "\u2028", "\ufeff", "#", " # a", "\n# a\n", "\n\n", "\n   \n", "\n \t\n", "-", "- ", "{", "}", "[", "]",
    ",", ":", '"', '\\"', "\\", "\\/", "\\u0085", "\\ud83d\\ude00", "&a ", "*a", "!a ", "1", "null", "true", '"a": "b", ', '"type": "BASIC", ',
    '["a"]', "redirects:\n", "pages:\n", "---\n", "...\n", "%YAML 1.1\n", "'a'", "|\n", "? ", "é", "\x7f",
)  # fmt: skip


@st.composite
def nearly_flow(draw: st.DrawFn) -> str:
    """Draw a file of flow lines, with pieces inserted, removed or replaced."""
    kind = draw(st.sampled_from(Kind))
    text = new_file(kind, draw(record_lists(kind, min_size=1)), "flow").decode()
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.sampled_from([start, start, start + 1, start + 2]))
        text = text[:start] + draw(st.sampled_from(("", *PIECES))) + text[end:]
    return text


@given(nearly_flow())
@example(f"redirects:\n{RULE}# a\n\n    # b\n{RULE}")
@example(f"redirects:\n{RULE}   - {RULE.strip()}\n")
@example(f"redirects:\n{RULE}{RULE[1:]}")
@example(f"redirects:\n{RULE[2:]} {RULE[2:]}")
@example(f"redirects:\n{RULE}{RULE}a")
@example(f"redirects:\n{RULE}a{RULE}")
@example(f"redirects:\n{RULE}\n{RULE}")
@example(f"redirects:\n{RULE.replace('/b', 'a  - {b')}{RULE}")
@example(f"redirects: \n{RULE}")
def test_the_fast_path_gives_what_the_strict_reader_gives(text: str) -> None:
    try:
        text = decode(text.encode(), "f")
    except YamlRefused:
        return
    flow = read_flow_lines(text)
    if flow is None:
        return
    document = Document(text, "f")
    rules = node_at(document.root, f"/{flow.kind.value}")
    nodes = rules.items if isinstance(rules, SequenceNode) else []
    marks = [document.mark(node.start) for node in nodes]
    assert plain(document.root) == {flow.kind.value: flow.items or ""}
    assert [(mark.line, mark.column) for mark in marks] == [(line, flow.column) for line in flow.lines]


@pytest.mark.parametrize("kind", Kind)
@given(data=st.data())
def test_what_we_write_in_flow_takes_the_fast_path(kind: Kind, data: st.DataObject) -> None:
    records = data.draw(record_lists(kind, min_size=1))
    flow = read_flow_lines(new_file(kind, records, "flow").decode())
    assert flow is not None
    assert len(flow.items) == len(records)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (", ", ","),
        ("FOUND", "FOU\\u004eD"),
        ("/a", "\u2028"),
        ("/a", "\\/a"),
        ("}", "}  # why"),
        ("type", "kind"),
        ('"FOUND"', "302"),
        ('"source"', '"type"'),
        ("redirects:\n", "redirects:\r\n"),
        ("redirects:\n", "---\nredirects:\n"),
        ("redirects:\n", "rules:\n"),
        ("redirects:\n", ""),
        (RULE, f"{RULE}pages:\n{RULE}"),
        (f"redirects:\n{RULE}", ""),
        (f":\n{RULE}", ": []\n"),
    ],
)
def test_anything_else_is_left_to_the_strict_reader(ours: str, theirs: str) -> None:
    text = f"redirects:\n{RULE}"
    assert read_flow_lines(text) is not None
    assert read_flow_lines(text.replace(ours, theirs)) is None
