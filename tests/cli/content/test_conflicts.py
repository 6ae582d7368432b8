"""Conflicts at the command line: shown and resolved field by field."""

from pathlib import Path

import pytest

from tests.cli.terminal import invoke, invoke_ok

AT = ("acme", "shop")


@pytest.fixture
def conflicts(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a draft that changes /a and removes /b, while release later has other values for both."""
    monkeypatch.setenv("WAYPOST_DATA", str(work_folder / "data"))
    invoke_ok("namespace", "create", "acme")
    invoke_ok("project", "create", *AT)
    for source in ("/a", "/b"):
        invoke_ok("edit", "put", *AT, "--source", source, "--target", "/1")
    invoke_ok("publish", *AT)
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/3")
    invoke_ok("edit", "delete", *AT, "/b")
    for source in ("/a", "/b"):
        invoke_ok("edit", "put", *AT, "--source", source, "--target", "/2", "--draft", "other")
    invoke_ok("publish", *AT, "--draft", "other")


pytestmark = pytest.mark.usefixtures("conflicts")

EXPECTED_LINES = [
    "/a: target was changed on both sides",
    "    base: /1",
    "    release: /2",
    "    draft: /3",
    "/b: changed on release, removed in the draft",
    "    target",
    "        base: /1",
    "        release: /2",
]


def test_a_publish_that_conflicts_says_what_each_side_has_and_what_to_do() -> None:
    refused = invoke("publish", *AT)
    assert refused.code == 1
    assert refused.err.splitlines()[: len(EXPECTED_LINES)] == EXPECTED_LINES
    assert "`waypost edit resolve`" in refused.err


def test_a_draft_shows_its_conflicts() -> None:
    shown = invoke("edit", "show", *AT)
    assert shown.code == 1
    assert shown.out.splitlines()[-len(EXPECTED_LINES) :] == EXPECTED_LINES
    assert "2 conflicts to resolve: `waypost edit resolve acme shop --take draft`" in shown.err


def test_the_hint_to_resolve_names_the_given_data_directory(work_folder: Path) -> None:
    shown = invoke("edit", "show", *AT, "--data", work_folder / "data")
    assert f"`waypost edit resolve acme shop --take draft --data {work_folder / 'data'}`" in shown.err


def test_conflicts_are_resolved_one_by_one() -> None:
    first = invoke_ok("edit", "resolve", *AT, "--take", "draft", "--source", "/a", "--field", "target", "--json")
    assert (first.json["settled"], [each["source"] for each in first.json["conflicts"]]) == (1, ["/b"])
    invoke_ok("edit", "resolve", *AT, "--take", "release", "--source", "/b")
    invoke_ok("publish", *AT)
    assert invoke_ok("match", *AT, "/a").out.startswith("301 /3")
    assert invoke_ok("match", *AT, "/b").out.startswith("301 /2")


def test_all_conflicts_are_resolved_at_once() -> None:
    ended = invoke_ok("edit", "resolve", *AT, "--take", "release")
    assert ended.err == "2 conflicts resolved. No changes are left; the draft was removed.\n"


@pytest.mark.parametrize("words", [("--source", "/c"), ("--path", "/a"), ("--field", "note")])
def test_a_missing_conflict_is_not_resolved(words: tuple[str, str]) -> None:
    refused = invoke("edit", "resolve", *AT, "--take", "draft", *words)
    assert (refused.code, "no such conflict" in refused.err) == (2, True)
