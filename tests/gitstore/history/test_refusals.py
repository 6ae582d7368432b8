"""Refused pushes stay recorded, also if the compiled files are lost."""

import shutil

import pytest

from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.history.refusals import REFUSALS_FILE, note_refusals, read_refusals
from tests.gitstore.fixtures import SHOP, SPACE, Place, git, put, redirect, yaml

WRONG = "redirects:\n  - {sorce: /x}\n"


def _served(place: Place) -> list[bool]:
    publishes, _ = place.store.publishes.history(SPACE, SHOP, 0, 10)
    return [publish.served for publish in reversed(publishes)]


def test_an_invalid_push_is_still_marked_when_the_index_is_rebuilt(place: Place) -> None:
    """Guard: Git does not record it. Neither the loss of the index nor that of every compiled file may lose it."""
    place.publish(put(redirect("/a")))
    place.push({"shop/redirects.yaml": WRONG})
    assert place.state()[1] == 2
    place.push({"shop/redirects.yaml": yaml([("/b", "/c")])})
    assert _served(place) == [True, True, False, True]
    (place.paths.versions / SHOP).unlink()
    assert _served(place.fresh()) == [True, True, False, True]
    shutil.rmtree(place.paths.compiled)
    assert _served(place.fresh()) == [True, True, False, True]
    found, _ = place.fresh().store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", slice(9))
    assert [(each.publish.number, each.publish.served) for each in found] == [(3, False), (2, True)]


def test_all_invalid_commits_of_one_push_are_marked(place: Place) -> None:
    """The commits below the newest were never served either."""
    clone = place.clone()
    for number in range(3):
        (clone / "shop/redirects.yaml").write_text(WRONG + f"# {number}\n")
        git(clone, "commit", "--quiet", "--all", "--message", f"{number}")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state()[1] == 1
    assert _served(place) == [True, False, False, False]
    (place.paths.versions / SHOP).unlink()
    assert _served(place.fresh()) == [True, False, False, False]


def test_an_invalid_version_of_one_project_does_not_affect_another(place: Place) -> None:
    """A commit is a version of each project that it changes."""
    place.begin("docs")
    commit = place.push({"shop/redirects.yaml": WRONG, "docs/redirects.yaml": yaml([("/a", "/b")])})
    assert place.state("docs")[0] == commit
    assert read_refusals(place.repo, SHOP) == {commit}
    assert read_refusals(place.repo, "docs") == set()


def test_records_have_the_names_of_the_side_of_a_publish_that_can_be_read(place: Place) -> None:
    """That after it is first. A tree with too many levels of folders has no files that could be read."""
    page = "pages:\n  - {type: BASIC, path: /page, contentType: TEXT_PLAIN, file: a.txt}\n"
    place.push({"shop/redirects.yaml": yaml([("/a", "/b")]), "shop/pages.yaml": page, "shop/a.txt": "Text"})
    deep = "/".join(["shop", *["deep"] * 40, "a.txt"])
    place.push({deep: "Text"})
    place.push({deep: None, "shop/redirects.yaml": yaml([("/b", "/c")])})
    names = [(Kind.REDIRECTS, "/a"), (Kind.REDIRECTS, "/b"), (Kind.PAGES, "/page"), (Kind.PAGES, "/none")]
    wanted = [(kind, identity_id(name)) for kind, name in names]
    found = [set(place.fresh().store.publishes.identities(SPACE, SHOP, number, wanted).values()) for number in "234"]
    assert found == [{"/a", "/page"}, {"/a", "/page"}, {"/b", "/page"}]


def test_no_names_are_looked_up_where_none_are_wanted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.publish(put(redirect("/a")))
    monkeypatch.setattr(Compiler, "snapshot", None)
    assert place.store.publishes.identities(SPACE, SHOP, "2", ()) == {}


def test_a_torn_or_strange_line_spoils_no_other(place: Place) -> None:
    """A crash or an editor can leave such a line."""
    first, second = place.tip, place.publish(put(redirect("/a"))).version
    note_refusals(place.repo, SHOP, [first])
    path = place.repo / REFUSALS_FILE
    path.write_bytes(path.read_bytes() + b"\xff\xfe nonsense\n" + second[:20].encode())
    note_refusals(place.repo, SHOP, [second])
    assert read_refusals(place.repo, SHOP) == {first, second}
    before = path.read_bytes()
    note_refusals(place.repo, SHOP, [first, second])
    assert path.read_bytes() == before
