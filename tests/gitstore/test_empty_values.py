"""A list, tests or settings with nothing after the name: refused where it is new, and possible to fix."""

import pytest

from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import Invalid
from gitstore.namespaces.checkout import read_checkout
from gitstore.yamlfiles.project_file import load_project, load_tests
from gitstore.yamlfiles.rule_file import load
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, page, put, redirect

RULES = f"{SHOP}/redirects.yaml"
NULLS = ["", " ~", " null", "\n  # all gone", " # all gone"]


@pytest.mark.parametrize("value", NULLS)
@pytest.mark.parametrize("kind", Kind)
def test_a_list_without_a_value_has_a_problem_at_its_name(kind: Kind, value: str) -> None:
    read = load(f"# rules\n{kind}:{value}\n".encode(), "file.yaml")
    [found] = read.problems
    assert (found.code, found.file, found.line, found.column, found.pointer) == (
        "empty_value", "file.yaml", 2, 1, f"/{kind}",
    )  # fmt: skip
    assert f"write `{kind}: []`" in found.message
    assert (read.kind, read.records) == (kind, ())


@pytest.mark.parametrize("text", ["redirects: []\n", "pages: []\n", "{redirects: []}\n", "redirects: [\n]\n"])
def test_an_empty_list_is_written_with_brackets(text: str) -> None:
    assert load(text.encode(), "").problems == ()


@pytest.mark.parametrize("text", ["{redirects: }", "{redirects: null}", "--- {pages: ~}"])
def test_flow_mappings_are_no_way_around_it(text: str) -> None:
    assert [problem.code for problem in load(text.encode(), "").problems] == ["empty_value"]


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "---\n...\n", "redirects: {}\n", "redirects: ''\n", "redirects: Null\n", "~\n"]
)
def test_other_files_without_a_list_are_refused(text: str) -> None:
    [found] = load(text.encode(), "").problems
    assert found.line >= 1
    assert found.column >= 1


@pytest.mark.parametrize("tags", ["", " ~", " null"])
def test_tags_without_a_value_are_refused(tags: str) -> None:
    rule = f"redirects:\n  - type: BASIC\n    source: /a\n    target: /b\n    status: FOUND\n    tags:{tags}\n"
    [found] = load(rule.encode(), "").problems
    assert (found.code, found.line) == ("wrong_type", 6)


@pytest.mark.parametrize("value", NULLS)
def test_tests_and_settings_without_a_value_are_refused(value: str) -> None:
    for name, empty, read in (("tests", "[]", load_tests), ("project", "{}", load_project)):
        [found] = read(f"{name}:{value}\n".encode(), "file.yaml")[1]
        assert (found.code, found.line, found.column) == ("empty_value", 1, 1)
        assert f"`{name}: {empty}`" in found.message
        assert read(f"{name}: {empty}\n".encode(), "")[1] == []


def test_a_plain_push_leaves_the_last_good_version_served(place: Place) -> None:
    place.publish(put(redirect("/a", "/b")))
    place.push({RULES: "redirects:\n"})
    assert place.targets() == {"/a": "/b"}
    failed = place.store.releases.project(SPACE, SHOP).entry.failed
    assert f"{RULES}:1:1: error: `redirects:` has nothing after it" in failed
    place.push({RULES: "redirects: []\n"})
    assert place.targets() == {}


def test_a_refused_push_is_not_published_with_the_next_edit_of_another_file(place: Place) -> None:
    """Guard: its problems are in release, but not in what is served."""
    other = f"{SHOP}/redirects/other.yaml"
    rule = "redirects:\n  - {type: BASIC, source: /x, target: /y, status: FOUND}\n"
    place.publish(put(redirect("/a", "/b")))
    place.push({other: rule})
    assert place.targets() == {"/a": "/b", "/x": "/y"}
    place.push({RULES: "redirects:\n"})
    with pytest.raises(Invalid) as caught:
        place.publish(put(redirect("/x", "/z")))
    assert [each.code for each in caught.value.problems] == ["empty_value"]
    assert place.targets() == {"/a": "/b", "/x": "/y"}


def test_a_draft_with_it_is_shown_and_refused_and_an_edit_fixes_it(place: Place) -> None:
    place.publish(put(redirect("/a", "/b")))
    place.push({RULES: "redirects:\n"}, to=f"draft/{SHOP}/main")
    report = place.store.drafts.report(SPACE, MAIN)
    assert [(each.code, each.file, each.line, each.column) for each in report.problems] == [
        ("empty_value", RULES, 1, 1)
    ]
    assert report.counts[Kind.REDIRECTS].removed == 1
    with pytest.raises(Invalid) as caught:
        place.publish()
    assert [each.code for each in caught.value.problems] == ["empty_value"]
    place.publish(put(redirect("/a", "/c")))
    assert place.targets() == {"/a": "/c"}


def test_a_draft_with_it_can_be_emptied_on_purpose(place: Place) -> None:
    place.publish(put(redirect("/a", "/b")))
    place.push({RULES: "# kept\nredirects:\n"}, to=f"draft/{SHOP}/main")
    place.save(put(redirect("/x", "/y")))
    place.publish(Delete(Kind.REDIRECTS, redirect("/x").id))
    assert place.targets() == {}
    assert place.file(RULES) == "# kept\nredirects: []\n"


def test_a_draft_with_it_takes_pages_too(place: Place) -> None:
    place.publish(put(page("/robots.txt")))
    place.push({f"{SHOP}/pages.yaml": "pages: ~\n"}, to=f"draft/{SHOP}/main")
    place.publish(put(page("/robots.txt", "again\n")))
    assert [each["content"] for each in place.items(kind=Kind.PAGES)] == ["again\n"]


def test_validate_reports_it(place: Place) -> None:
    place.publish(put(redirect("/a", "/b")))
    clone = place.clone()
    (clone / RULES).write_text("redirects:\n", encoding="utf-8")
    found = list(read_checkout(clone).check())
    assert [(each.code, each.file, each.line, each.column) for each in found] == [("empty_value", RULES, 1, 1)]
