"""A rewrite gives a file the wanted records, and touches nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, PageType, RedirectStatus, RedirectType
from gitstore.errors import Invalid
from gitstore.yamlfiles import rewrite as rewrite_module
from gitstore.yamlfiles.dump import Layout
from gitstore.yamlfiles.rewrite import RewriteFailed, rewrite
from gitstore.yamlfiles.rule_file import load
from tests.gitstore.written import WrittenFile, records, wanted_records, written

A = Redirect(RedirectType.BASIC, "/a", "/x", RedirectStatus.MOVED_PERMANENT)
B = Redirect(RedirectType.BASIC, "/b", "/y", RedirectStatus.FOUND)
C = Redirect(RedirectType.REGEX, "^/c$", "/z", RedirectStatus.FOUND, tags=("one", "two"))
D = Redirect(RedirectType.BASIC, "/d", "/w", RedirectStatus.FOUND)
ROBOTS = Page(PageType.BASIC, "/robots.txt", "User-agent: *\n", ContentType.TEXT_PLAIN)

FILE = """\
# yaml-language-server: $schema=/schemas/redirects.schema.json
redirects: # all of them
  # Moved in spring.

  # The old front page.
  - type: BASIC   # exact
    source: /a
    target: '/x'  # was /w
    status: 301

  # Asked for by sales.
  - {type: BASIC, source: /b, target: /y, status: FOUND}
    # until autumn

  # Patterns.

  - type: REGEX
    source: "^/c$"
    target: /z
    status: '302'
    tags:
      - one  # first
      - two
# The end.
"""
LINES = '{indent}- {"type": "BASIC", "source": "/a", "target": "/x", "status": "MOVED_PERMANENT"}\n'
JSON = """\
{"redirects": [
  {"type": "BASIC", "source": "/a", "target": "/x", "status": "MOVED_PERMANENT"},
  {"type": "BASIC", "source": "/b", "target": "/y", "status": "FOUND"}
]}
"""


def edited(text: str, wanted: Sequence[Record], layout: Layout = "block") -> str:
    return rewrite(text.encode(), "f", wanted, layout).decode()


def lines_changed(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that differ, if none came or went."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(old.strip(), new.strip()) for old, new in pairs if old != new]


@pytest.mark.parametrize("style", ["|", "|-", ">"])
@pytest.mark.parametrize("spaces", range(1, 7))
def test_a_line_of_spaces_below_a_text_stays_when_the_text_is_replaced(style: str, spaces: int) -> None:
    """The line is as deep as the text, and not part of it; a generated file lost it once."""
    below = " " * spaces + "\n\n# Patterns.\n- {type: BASIC, path: /b, contentType: XML, content: x}\n"
    above = f"pages:\n- type: BASIC # exact\n  path: /a\n  contentType: XML\n  content: {style} # ours\n"
    (page, other) = load(f"{above}      one\n{below}".encode(), "f").records
    assert isinstance(page, Page)
    after = edited(f"{above}      one\n{below}", [replace(page, content="  two\nthree\n"), other])
    assert after.endswith(below), "also if the new text cannot be indented as deep as the old one"
    after = edited(f"{above}      one\n{below}", [replace(page, content="two\nthree\n"), other])
    assert after == f"{above.removesuffix(f'{style} # ours{chr(10)}')}|\n      two\n      three\n{below}"


def test_a_comment_far_above_a_removed_rule_stays_in_place() -> None:
    """Only a comment that would become part of a text above it is moved to the left."""
    text = (
        "redirects:\n- {type: BASIC, source: /a, target: /x, status: FOUND}\n\n     # deep\n"
        "- type: BASIC\n  source: /b\n  target: /y\n  status: FOUND\n  note: |2-\n\n     lead\n"
        "- {type: BASIC, source: /c, target: /z, status: FOUND}\n\n       # deeper\n   \n"
        "- {type: BASIC, source: /d, target: /w, status: FOUND}\n"
    )
    held = load(text.encode(), "f").records
    after = edited(text, [*held[:2], held[3]])
    gone = "- {type: BASIC, source: /c, target: /z, status: FOUND}\n"
    assert after == text.replace(gone, "").replace("\n       # deeper\n   \n", "\n# deeper\n\n")


@given(st.data())
def test_what_is_written_reads_back_as_what_was_wanted(data: st.DataObject) -> None:
    file = data.draw(written())
    wanted = data.draw(wanted_records(file))
    assert load(rewrite(file.data, "f", wanted), "f").records == tuple(wanted)


@given(st.data())
def test_rules_that_stay_and_remarks_keep_every_byte(data: st.DataObject) -> None:
    file = data.draw(written(min_size=1))
    wanted = data.draw(wanted_records(file))
    text = rewrite(file.data, "f", wanted).decode()
    for record, written_as in zip(file.records, file.texts, strict=True):
        if record in wanted:
            assert written_as.rstrip("\r\n") in text
    assert all(remark in text for remark in file.remarks)
    assert text.startswith("\ufeff") == file.data.decode().startswith("\ufeff")


@given(written())
def test_a_file_that_holds_what_is_wanted_stays_as_it_is(file: WrittenFile) -> None:
    assert rewrite(file.data, "f", file.records) == file.data


@given(st.data())
def test_a_rule_that_comes_and_goes_leaves_no_trace(data: st.DataObject) -> None:
    file = data.draw(written(min_size=1).filter(lambda file: file.data.endswith(b"\n")))
    known = {record.identity for record in file.records}
    new = data.draw(records(file.kind).filter(lambda record: record.identity not in known))
    at = data.draw(st.integers(1, len(file.records)))
    with_it = rewrite(file.data, "f", [*file.records[:at], new, *file.records[at:]])
    assert rewrite(with_it, "f", file.records) == file.data


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (replace(A, target="/it's"), ("target: '/x'  # was /w", "target: '/it''s'  # was /w")),
        (replace(A, status=RedirectStatus.FOUND), ("status: 301", "status: 302")),
        (replace(A, type=RedirectType.REGEX), ("type: BASIC   # exact", "type: REGEX   # exact")),
        (replace(A, source="/a: b"), ("source: /a", 'source: "/a: b"')),
        (replace(B, target="/q"), ("target: /y", 'target: "/q"')),
        (replace(B, note="why: me"), ("FOUND}", 'FOUND, note: "why: me"}')),
        (replace(C, source="^/c\\d$"), ('"^/c$"', '"^/c\\\\d$"')),
        (replace(C, status=RedirectStatus.PERMANENT_REDIRECT), ("'302'", "'308'")),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_changed_field_touches_its_own_text_only(record: Redirect, expected: tuple[str, str], eol: str) -> None:
    text = FILE.replace("\n", eol)
    # A changed source keeps its place, its comments and its target, which identifies the rule.
    wanted = [record if record.target == old.target or record.source == old.source else old for old in (A, B, C)]
    assert edited(text, wanted) == text.replace(*expected)


def test_a_changed_list_of_tags_keeps_its_layout() -> None:
    wanted = FILE.replace("      - one  # first\n      - two\n", '      - three\n      - "on"\n')
    assert edited(FILE, [A, B, replace(C, tags=("three", "on"))]) == wanted


def test_a_field_comes_behind_the_one_before_it_and_goes_with_its_lines() -> None:
    noted = FILE.replace("    status: 301\n", "    status: 301\n    note: Asked twice.\n")
    assert edited(FILE, [replace(A, note="Asked twice."), B, C]) == noted
    assert edited(noted, [A, B, C]) == FILE
    bare = FILE.replace("    tags:\n      - one  # first\n      - two\n", "")
    assert edited(FILE, [A, B, replace(C, tags=())]) == bare


def test_the_lines_of_a_page_are_replaced_as_lines() -> None:
    text = "pages:\n- type: BASIC\n  content: |\n    User-agent: *\n\n  path: /robots.txt\n  contentType: TEXT_PLAIN\n"
    wanted = text.replace("    User-agent: *\n", "    User-agent: a\n    Disallow: /\n")
    assert edited(text, [replace(ROBOTS, content="User-agent: a\nDisallow: /\n")]) == wanted


def test_a_page_moves_its_content_into_a_file() -> None:
    text = "pages:\n- type: BASIC\n  path: /robots.txt\n  contentType: TEXT_PLAIN\n  content: |\n    User-agent: *\n"
    page = replace(ROBOTS, content_file="robots.txt")
    moved = edited(text, [page])
    assert moved.endswith("  contentType: TEXT_PLAIN\n  file: robots.txt\n")
    assert edited(moved, [ROBOTS]) == text


def test_a_rule_goes_with_its_comments_and_nothing_else() -> None:
    without = FILE.replace(FILE[FILE.index("  # Asked for") : FILE.index("  # Patterns.")], "")
    assert edited(FILE, [A, C]) == without


def test_remarks_stay_when_all_rules_go() -> None:
    assert edited(FILE, []) == (
        "# yaml-language-server: $schema=/schemas/redirects.schema.json\n"
        "redirects: [] # all of them\n  # Moved in spring.\n\n  # Patterns.\n# The end.\n"
    )


def test_a_new_rule_is_written_as_its_neighbours_are() -> None:
    block = "  - type: BASIC\n    source: /d\n    target: /w\n    status: FOUND\n"
    flow = '  - {"type": "BASIC", "source": "/d", "target": "/w", "status": "FOUND"}\n'
    assert edited(FILE, [A, D, B, C]) == FILE.replace("  # Asked for", f"{block}\n  # Asked for")
    assert edited(FILE, [A, B, D, C]) == FILE.replace("until autumn\n", f"until autumn\n\n{flow}")
    assert edited(FILE, [A, B, C, D]) == FILE.replace("# The end.", f"\n{block}# The end.")
    assert edited(FILE, [D, A, B, C]) == FILE.replace("  # Moved", f"{block}\n  # Moved")


@pytest.mark.parametrize("indent", ["", "  ", "     "])
def test_one_rule_a_line_stays_one_rule_a_line(indent: str) -> None:
    line = f'{indent}- {{"type": "BASIC", "source": "/%s", "target": "/x", "status": "FOUND"}}\n'
    rules: list[Record] = [replace(B, source=f"/{name}", target="/x") for name in "abcd"]
    text = f"redirects:\n{line % 'a'}{line % 'b'}{line % 'c'}"
    assert edited(text, rules) == text + line % "d"
    assert edited(text, [rules[0], rules[2]]) == text.replace(line % "b", "")
    assert edited(text, [rules[2], rules[0], rules[1]]) == f"redirects:\n{line % 'c'}{line % 'a'}{line % 'b'}"
    noted = edited(text, [rules[0], replace(B, source="/b", target="/x", note="n"), rules[2]])
    assert lines_changed(text, noted) == [(line.strip() % "b", line.strip()[:-1] % "b" + ', "note": "n"}')]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("redirects: []\n", "redirects:\n{rule}"),
        ("redirects: [ ] # none\n# remark\n", "redirects: # none\n{rule}# remark\n"),
        ("redirects:\n# remark\n", "redirects:\n{rule}# remark\n"),
        ("redirects: null", "redirects:\n{rule}"),
        ("\ufeffredirects: ~\r\n", "\ufeffredirects:\r\n{rule}"),
        ("# remark\n", "# remark\nredirects:\n{rule}"),
        ("", "redirects:\n{rule}"),
    ],
)
def test_the_first_rule_of_an_empty_list(before: str, after: str) -> None:
    eol = "\r\n" if "\r" in before else "\n"
    rule = "  - type: BASIC\n    source: /b\n    target: /y\n    status: FOUND\n".replace("\n", eol)
    wanted = after.format(rule=rule)
    assert edited(before, [B]) == (wanted if before.endswith("\n") or not before else wanted.removesuffix("\n"))


def test_the_first_rules_of_an_empty_list_can_be_in_flow() -> None:
    flow = '  - {"type": "BASIC", "source": "/b", "target": "/y", "status": "FOUND"}\n'
    assert edited("redirects: []\n", [B], "flow") == f"redirects:\n{flow}"


def test_a_list_that_was_emptied_and_filled_again() -> None:
    text = "redirects: # all\n- type: BASIC\n  source: /b\n  target: /y\n  status: FOUND\n"
    assert edited(text, []) == "redirects: [] # all\n"
    assert edited("pages: []\n", []) == "pages: []\n"


def test_a_json_file_stays_json() -> None:
    added = ',\n  {"type": "BASIC", "source": "/d", "target": "/w", "status": "FOUND"}\n]}'
    assert edited(JSON, [A, B, D]) == JSON.replace("\n]}", added)
    assert edited(JSON, [B]) == JSON.replace(JSON.splitlines(keepends=True)[1], "")
    assert edited(JSON, [A, replace(B, target="/q")]) == JSON.replace("/y", "/q")
    assert edited(JSON, []) == '{"redirects": []}\n'
    assert edited('{"redirects": []}\n', [B]).startswith('{"redirects": [{"type": "BASIC", ')


def test_line_breaks_of_other_systems_and_a_missing_one_at_the_end_survive() -> None:
    text = "redirects:\r\n- {type: BASIC, source: /a, target: /x, status: 301} # one\x85# two\u2028# three"
    assert edited(text, [replace(A, target="/new")]) == text.replace("/x", '"/new"')
    longer = edited(text, [A, B])
    assert longer.startswith(text + "\r\n- ")
    assert edited(longer, [A]) == text


def test_a_block_scalar_at_the_end_keeps_its_meaning_when_a_rule_comes_below() -> None:
    text = "pages:\n- type: BASIC\n  path: /a\n  contentType: XML\n  content: |\n    <a/>"
    page = Page(PageType.BASIC, "/a", "<a/>", ContentType.XML)
    assert load(text.encode(), "f").records == (page,)
    assert load(edited(text, [page, ROBOTS]).encode(), "f").records == (page, ROBOTS)


def test_a_text_that_a_comment_has_closed_leaves_the_blank_lines_below_alone() -> None:
    """The text of `|+` includes blank lines, up to the comment; those below the comment do not belong to it."""
    text = "redirects:\n  - type: BASIC\n    source: /a\n    target: /x\n    status: 301\n    note: |+\n      end\n\n   # note\n\n"
    text += "  - {type: BASIC, source: /b, target: /y, status: 302}\n"
    found = load(text.encode(), "f").records
    assert edited(text, [*found, D]).startswith(text)


def test_a_duplicate_source_is_kept_twice_where_that_is_wanted() -> None:
    text = FILE.replace("source: /b", "source: /a")
    twin = replace(B, source="/a")
    assert edited(text, [A, twin, C]) == text
    assert load(edited(text, [A, C]).encode(), "f").records == (A, C)


@pytest.mark.parametrize(
    "text",
    [
        "redirects:\n- type: BASIC\n  source: /b\n",
        "redirects: none\n",
        "rules: []\n",
        "- a\n",
        "redirects: &a []\n",
        "? redirects\n: - {type: BASIC, source: /a, target: /x, status: 301}\n",
    ],
)
def test_a_file_that_would_lose_something_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        edited(text, [B])


def test_incorrect_bytes_are_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite_module, "_candidates", lambda *_: ["redirects: []\n"])
    with pytest.raises(RewriteFailed):
        edited(FILE, [A])
