"""Conflicts at the command line: told field by field, and settled."""

from pathlib import Path

import pytest

from tests.cli.terminal import call, must

AT = ("acme", "shop")


@pytest.fixture
def conflicts(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft that changes /a and removes /b, while release has other values for both since."""
    monkeypatch.setenv("WAYPOST_DATA", str(workplace / "data"))
    must("namespace", "create", "acme")
    must("project", "create", *AT)
    for source in ("/a", "/b"):
        must("edit", "put", *AT, "--source", source, "--target", "/1")
    must("publish", *AT)
    must("edit", "put", *AT, "--source", "/a", "--target", "/3")
    must("edit", "delete", *AT, "/b")
    for source in ("/a", "/b"):
        must("edit", "put", *AT, "--source", source, "--target", "/2", "--draft", "other")
    must("publish", *AT, "--draft", "other")


pytestmark = pytest.mark.usefixtures("conflicts")

TOLD = [
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
    refused = call("publish", *AT)
    assert refused.code == 1
    assert refused.err.splitlines()[: len(TOLD)] == TOLD
    assert "`waypost edit resolve`" in refused.err


def test_a_draft_shows_its_conflicts() -> None:
    shown = call("edit", "show", *AT)
    assert shown.code == 1
    assert shown.out.splitlines()[-len(TOLD) :] == TOLD
    assert "2 conflicts to settle: `waypost edit resolve acme shop --take draft`" in shown.err


def test_how_to_settle_names_the_data_that_was_given(workplace: Path) -> None:
    shown = call("edit", "show", *AT, "--data", workplace / "data")
    assert f"`waypost edit resolve acme shop --take draft --data {workplace / 'data'}`" in shown.err


def test_conflicts_are_settled_one_by_one() -> None:
    first = must("edit", "resolve", *AT, "--take", "draft", "--source", "/a", "--field", "target", "--json")
    assert (first.json["settled"], [each["source"] for each in first.json["conflicts"]]) == (1, ["/b"])
    must("edit", "resolve", *AT, "--take", "release", "--source", "/b")
    must("publish", *AT)
    assert must("match", *AT, "/a").out.startswith("301 /3")
    assert must("match", *AT, "/b").out.startswith("301 /2")


def test_all_conflicts_are_settled_at_once() -> None:
    ended = must("edit", "resolve", *AT, "--take", "release")
    assert ended.err == "2 conflicts settled. Nothing is left of the draft.\n"


@pytest.mark.parametrize("words", [("--source", "/c"), ("--path", "/a"), ("--field", "note")])
def test_a_conflict_that_is_not_there_is_not_settled(words: tuple[str, str]) -> None:
    refused = call("edit", "resolve", *AT, "--take", "draft", *words)
    assert (refused.code, "no such conflict" in refused.err) == (2, True)
