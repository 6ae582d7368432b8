"""A rule file gives its records with their lines, and every problem at its line and column."""

import pytest
from hypothesis import given

from content.formats.tsv import read_rows
from content.records.problem import Severity
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.layout import RULES_PER_FILE
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.rule_file import load
from tests.gitstore.written import WrittenFile, written
from tests.redirect_lists import LISTS, read_list

TWO_RULES = """\
# Redirects of the shop
redirects:
  - type: BASIC
    source: /old
    target: /new
    status: 301

  - {"type": "REGEX", "source": "^/a", "target": "/b", "status": "FOUND", "note": "n", "tags": ["x"]}
"""


def places(data: str, kind: Kind | None = None) -> list[tuple[str, str, int, int]]:
    return [(each.code, each.pointer, each.line, each.column) for each in load(data.encode(), "f", kind).problems]


def test_records_come_with_their_lines() -> None:
    loaded = load(TWO_RULES.encode(), "shop/redirects.yaml")
    assert loaded.kind is Kind.REDIRECTS
    assert loaded.records == (
        Redirect(RedirectType.BASIC, "/old", "/new", RedirectStatus.MOVED_PERMANENT),
        Redirect(RedirectType.REGEX, "^/a", "/b", RedirectStatus.FOUND, "n", ("x",)),
    )
    assert (loaded.lines, loaded.problems) == ((3, 8), ())


def test_a_page_that_names_a_file_has_no_content_here() -> None:
    data = b"pages:\n- {type: BASIC, path: /robots.txt, contentType: TEXT_PLAIN, file: robots.txt}\n"
    page = Page(PageType.BASIC, "/robots.txt", "", ContentType.TEXT_PLAIN, content_file="robots.txt")
    assert load(data, "f").records == (page,)


@given(written())
def test_every_style_is_read(file: WrittenFile) -> None:
    loaded = load(file.data, "f")
    assert (loaded.kind, loaded.records) == (file.kind, file.records)
    lines = file.data.decode().replace("\r\n", "\n").split("\n")
    assert all(lines[line - 1].strip(" -") for line in loaded.lines)


@pytest.mark.parametrize("list_of_none", ["[]", "[ ]", "[] # nothing yet"])
def test_an_empty_list_is_valid(list_of_none: str) -> None:
    loaded = load(f"pages: {list_of_none}\n".encode(), "f")
    assert (loaded.kind, loaded.records, loaded.problems) == (Kind.PAGES, (), ())


def test_a_rule_of_invalid_shape_is_reported_and_the_others_are_read() -> None:
    data = TWO_RULES + "  - type: BASIC\n    source: /c\n    taget: /d\n    status: 301\n"
    loaded = load(data.encode(), "f")
    assert len(loaded.records) == 2
    assert places(data) == [
        ("missing_field", "/redirects/2/target", 9, 5),
        ("unknown_field", "/redirects/2/taget", 11, 5),
    ]


def test_a_problem_of_a_record_is_reported_at_its_field() -> None:
    assert places("redirects:\n- type: REGEX\n  source: '^(a'\n  target: /b\n  status: 301\n") == [
        ("bad_regex", "/redirects/0/source", 3, 11)
    ]


def test_the_other_fields_of_a_rule_with_an_invalid_one_are_checked_too() -> None:
    assert places("redirects:\n- type: BASIC\n  source: old\n  target: new\n  status: 304\n") == [
        ("missing_slash", "/redirects/0/source", 3, 11),
        ("bad_target", "/redirects/0/target", 4, 11),
        ("not_allowed", "/redirects/0/status", 5, 11),
    ]
    assert places("pages:\n- type: BASIC\n  path: robots.txt\n  contentType: text/plain\n  content: ''\n") == [
        ("missing_slash", "/pages/0/path", 3, 9),
        ("not_allowed", "/pages/0/contentType", 4, 16),
    ]


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("{type: REGX, source: old, target: new, status: 301}", ["not_allowed"]),
        ("{type: BASIC, source: [], target: new, status: 301}", ["wrong_type"]),
        ("{type: BASIC, target: /new, status: 304}", ["missing_field", "not_allowed"]),
        ("{type: BASIC, source: old}", ["missing_field", "missing_field", "missing_slash"]),
        ("[]", ["wrong_type"]),
    ],
)
def test_fields_are_not_checked_without_a_valid_type_and_source(rule: str, codes: list[str]) -> None:
    loaded = load(f"redirects:\n- {rule}\n".encode(), "f")
    assert sorted(problem.code for problem in loaded.problems) == codes
    assert loaded.records == ()


def test_warnings_are_reported_too_and_keep_the_record() -> None:
    loaded = load(TWO_RULES.replace("^/a", "/a").encode(), "f")
    assert [problem.severity for problem in loaded.problems] == [Severity.WARNING]
    assert len(loaded.records) == 2


@pytest.mark.parametrize("indent", ["", "  ", "    "])
def test_both_paths_report_the_same_problems_at_the_same_places(indent: str) -> None:
    rules = "".join(
        f'{indent}- {{"type": "{kind}", "source": "{source}", "target": "{target}", "status": "FOUND"{more}}}\n'
        for kind, source, target, more in [
            ("BASIC", "/a", "/b", ""),
            ("BASIC", "a", "/é b", ""),
            ("REGX", "^/c", "/d", ""),
            ("REGEX", "c", "/$1", ', "path": "/x"'),
            ("BASIC", "/é\\\\", "b", ', "tags": [""]'),
        ]
    )
    fast = f"redirects:\n# remark\n{rules}"
    strict = f"redirects:\n# remark\n{rules}# é\u2028\n"
    assert len(places(fast)) == 8
    assert places(fast) == places(strict)
    assert load(fast.encode(), "f").records == load(strict.encode(), "f").records


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", [("unknown_kind", "", 1, 1)]),
        ("# nothing\n", [("unknown_kind", "", 1, 1)]),
        ("rules: []\n", [("unknown_kind", "", 1, 1)]),
        ("- a\n", [("unknown_kind", "", 1, 1)]),
        ("redirects: []\npages: []\n", [("unknown_field", "/pages", 2, 1)]),
        ("redirects: {}\n", [("wrong_type", "/redirects", 1, 12)]),
        ("redirects: none\n", [("wrong_type", "/redirects", 1, 12)]),
        ("redirects:\n- /a\n", [("wrong_type", "/redirects/0", 2, 3)]),
        ("a: &x b\n", [("anchor", "", 1, 4)]),
    ],
)
def test_a_file_without_a_list_of_rules_is_a_problem_not_an_exception(
    data: str, expected: list[tuple[str, str, int, int]]
) -> None:
    assert places(data) == expected


def test_a_file_can_be_held_to_one_kind() -> None:
    assert places("pages: []\n", Kind.REDIRECTS) == [
        ("missing_field", "/redirects", 1, 1),
        ("unknown_field", "/pages", 1, 1),
    ]
    assert places("redirects: []\n", Kind.REDIRECTS) == []


def test_a_file_full_of_invalid_rules_is_checked_quickly_and_reported_in_part() -> None:
    loaded = load(b"redirects:\n" + b"- {type: BASIC, source: /a}\n" * 10_000, "f")
    assert loaded.records == ()
    assert 0 < len(loaded.problems) <= 50


@pytest.mark.parametrize("layout", ["block", "flow"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_read_back_in_both_layouts(layout: str, name: str) -> None:
    records: list[Record] = [row.fields for row in read_rows(read_list(name)) if row.fields]
    for start in range(0, len(records), RULES_PER_FILE):
        held = records[start : start + RULES_PER_FILE]
        loaded = load(new_file(Kind.REDIRECTS, held, "flow" if layout == "flow" else "block"), name)
        assert loaded.records == tuple(held)
