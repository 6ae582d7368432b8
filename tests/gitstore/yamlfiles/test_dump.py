"""Written files read back as the same records, in both layouts and for every text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml import SafeLoader
from yaml.nodes import ScalarNode

from content.records.record import Page, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.yamlfiles.dump import Layout, dump_block, dump_flow, dump_scalar, new_file
from gitstore.yamlfiles.rule_file import load
from tests.gitstore.written import ODD_TEXTS, any_text, record_lists

LAYOUTS: list[Layout] = ["block", "flow"]
RULE = Redirect(RedirectType.REGEX, r"^/old/(\d+)$", "https://shop.example/$1", RedirectStatus.FOUND)
ROBOTS = Page(PageType.BASIC, "/robots.txt", "User-agent: *\nDisallow: /cart\n", ContentType.TEXT_PLAIN)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("layout", LAYOUTS)
@given(data=st.data())
def test_a_new_file_reads_back_as_its_records(kind: Kind, layout: Layout, data: st.DataObject) -> None:
    records = data.draw(record_lists(kind))
    read_back = load(new_file(kind, records, layout), "f")
    assert (read_back.kind, read_back.records) == (kind, tuple(records))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_every_odd_text_survives_in_every_field(text: str, layout: Layout) -> None:
    redirect = Redirect(RedirectType.REGEX, text, text, RedirectStatus.FOUND, note=text)
    page = Page(PageType.BASIC, text, text, ContentType.XML, note=text)
    for kind, record in ((Kind.REDIRECTS, redirect), (Kind.PAGES, page)):
        assert load(new_file(kind, [record], layout), "f").records == (record,)


@given(any_text)
def test_a_plain_scalar_is_text_also_for_readers_that_know_numbers_and_dates(text: str) -> None:
    if dump_scalar(text) == text:
        resolved = SafeLoader("").resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call] # untyped in the stubs
        assert resolved == "tag:yaml.org,2002:str"


@pytest.mark.parametrize(
    "text", ["off", "Yes", "NULL", "true", "y", "12", "1_000", "12:30", "", " a", "a: b", "/a:", "# a"]
)
def test_what_another_reader_could_take_otherwise_is_quoted(text: str) -> None:
    assert dump_scalar(text) == json.dumps(text)


@pytest.mark.parametrize(
    "text",
    [
        "/old",
        "/a?b=c#d",
        r"^/old/(\d+)$",
        "https://shop.example/new",
        "shop.example/old",
        "MOVED_PERMANENT",
        "Moved in spring 2024.",
    ],
)
def test_what_cannot_be_mistaken_stays_plain(text: str) -> None:
    assert dump_scalar(text) == text


def test_a_block_is_what_people_write() -> None:
    assert dump_block(RULE) == (
        "  - type: REGEX\n    source: ^/old/(\\d+)$\n    target: https://shop.example/$1\n    status: FOUND\n"
    )


def test_the_lines_of_a_page_are_unchanged_and_last() -> None:
    assert dump_block(ROBOTS, indent="") == (
        "- type: BASIC\n  path: /robots.txt\n  contentType: TEXT_PLAIN\n  content: |\n    User-agent: *\n    Disallow: /cart\n"
    )


def test_a_page_that_names_a_file_is_written_without_its_content() -> None:
    page = Page(PageType.BASIC, "/robots.txt", "from the file", ContentType.TEXT_PLAIN, content_file="robots.txt")
    assert "file: robots.txt\n" in dump_block(page)
    assert "from the file" not in dump_block(page) + dump_flow(page)


def test_flow_is_one_line_of_json_whatever_the_fields_hold() -> None:
    note = "two\nlines \x85\u2028 \x7f é"
    line = dump_flow(Redirect(RULE.type, RULE.source, RULE.target, RULE.status, note, ("a, b",)), indent="")
    assert len(line.splitlines()) == 1
    assert json.loads(line.removeprefix("- "))["note"] == note


@pytest.mark.parametrize("kind", Kind)
def test_a_file_without_rules_says_so(kind: Kind) -> None:
    assert new_file(kind, ()) == f"{kind}: []\n".encode()
