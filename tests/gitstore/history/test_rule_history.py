"""The history of a rule: the log gives the same as a walk through all commits, after any events."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from content.formats.tsv import Row
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import changes_between
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import Busy, Conflicts, Invalid, NotFound, NothingToPublish, StoreError
from gitstore.git.transaction import Transaction
from gitstore.history.history import version_index
from gitstore.layout import RELEASE_REF
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, page, put, redirect, seeded_random, yaml

ALL = slice(0, 1_000_000)
_NAMES = [f"/{name}" for name in "abcdef"]
_PAGES = [f"/page{name}" for name in _NAMES]


def _life(place: Place, identity: str, kind: Kind = Kind.REDIRECTS) -> list[tuple[int, object, object]]:
    found, total = place.store.publishes.rule_history(SPACE, SHOP, kind, identity, ALL)
    assert total == len(found)
    return [(each.publish.number, each.change["change"], each.change["fields"]) for each in found]


def _walked(place: Place, identity: str, kind: Kind = Kind.REDIRECTS) -> list[tuple[int, object, object]]:
    """Return the same by reading every version whole."""
    found: list[tuple[int, object, object]] = []
    with place.store.drafts._access.reading(SPACE) as compiler:
        chain = place.chain(SHOP)
        index = version_index(compiler, SHOP)
        trees = [None, *(index.get(number).tree for number in range(1, len(chain) + 1))]
        for number in range(1, len(trees)):
            sides = (compiler.snapshot(SHOP, tree) if tree else None for tree in trees[number - 1 : number + 1])
            wires = (change.wire() for change in changes_between(*sides)[kind] if change.identity == identity)
            found += [(number, wire["change"], wire["fields"]) for wire in wires]
    return found[::-1]


def test_the_history_of_a_rule_is_newest_first(place: Place) -> None:
    """Entries have the authors, the publisher, and each field before and after."""
    place.publish(put(redirect("/a", "/1")), put(redirect("/b")))
    place.publish(put(redirect("/b", "/2")))
    place.publish(put(redirect("/a", "/2")), publisher=BOB, message="Move it")
    place.publish(Delete(Kind.REDIRECTS, redirect("/a").id))
    place.publish(put(redirect("/a", "/3")))
    found, total = place.store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", ALL)
    assert total == 4
    assert [(each.publish.number, each.change["change"]) for each in found] == [
        *((6, "added"), (5, "removed"), (4, "changed"), (2, "added"))
    ]
    changed = found[2]
    assert changed.change["fields"] == {"target": {"old": "/1", "new": "/2"}}
    assert (changed.publish.message, changed.publish.published_by) == ("Move it", "Bob <bob@shop.example>")
    windows = [
        place.store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", slice(at, at + 3))[0] for at in (0, 3, 6)
    ]
    assert [each for window in windows for each in window] == found


def test_an_unknown_rule_has_an_empty_history(place: Place) -> None:
    """A page is not a redirect."""
    place.publish(put(page("/p")))
    assert place.store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/p", ALL) == ([], 0)
    assert [each[0] for each in _life(place, "/p", Kind.PAGES)] == [2]


def test_histories_continue_over_a_deletion_of_the_project(place: Place) -> None:
    """The removal of the project removes each rule, and a new project of the same name adds it again."""
    place.publish(put(redirect("/a")))
    place.store.projects.delete(SPACE, SHOP, ADA)
    place.begin(SHOP)
    place.publish(put(redirect("/a")))
    assert [each[:2] for each in _life(place, "/a")] == [(5, "added"), (3, "removed"), (2, "added")]


def test_a_large_change_is_shown_field_by_field_too(place: Place) -> None:
    """The log has no details of it; they are read from the files that differ."""
    rules = [redirect(f"/{number}") for number in range(300)]
    place.publish(*map(put, rules))
    place.store.publishes.roll_back(SPACE, SHOP, "1", ADA)
    place.store.publishes.roll_back(SPACE, SHOP, "2", ADA)
    assert _life(place, "/7") == _walked(place, "/7")
    assert [each[:2] for each in _life(place, "/7")] == [(4, "added"), (3, "removed"), (2, "added")]


def test_content_of_a_page_in_a_file_counts(place: Place) -> None:
    """A push that changes only the file that a page names has changed the page."""
    entry = "pages:\n  - {type: BASIC, path: /p, contentType: XML, file: p.xml}\n"
    place.push({"shop/pages.yaml": entry, "shop/p.xml": "<a/>\n"})
    place.push({"shop/p.xml": "<b/>\n"})
    assert _life(place, "/p", Kind.PAGES) == _walked(place, "/p", Kind.PAGES)
    assert _life(place, "/p", Kind.PAGES)[0] == (3, "changed", {"content": {"old": "<a/>\n", "new": "<b/>\n"}})


def test_a_page_that_names_a_file_that_was_there_has_its_content(place: Place) -> None:
    """Guard: the file does not differ, and is still part of the added page."""
    entry = "pages:\n  - {type: BASIC, path: /p, contentType: XML, file: p.xml}\n"
    place.push({"shop/pages.yaml": entry, "shop/p.xml": "<a/>\n"})
    place.push({"shop/pages.yaml": entry + "  - {type: BASIC, path: /q, contentType: XML, file: p.xml}\n"})
    (place.paths.changes / SHOP).unlink(missing_ok=True)
    assert _life(place, "/q", Kind.PAGES) == _walked(place, "/q", Kind.PAGES)
    assert _life(place, "/q", Kind.PAGES)[0][2]["content"] == {"old": None, "new": "<a/>\n"}  # type: ignore[index] # fields


def test_a_publish_that_lost_its_race_is_in_no_history(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: its block has the number of the publish that won."""
    head = place.save(put(redirect("/ours")))
    real = Transaction.move

    def overtaken(opened: Transaction, *arguments: object) -> object:
        monkeypatch.undo()
        place.push({"shop/redirects.yaml": yaml([("/theirs", "/x")])})
        return real(opened, *arguments)  # type: ignore[arg-type] # passed on unchanged

    monkeypatch.setattr(Transaction, "move", overtaken)
    place.publish(head=head)
    assert [each[0] for each in _life(place, "/theirs")] == [2]
    assert [each[0] for each in _life(place, "/ours")] == [3]


def test_two_commits_pushed_while_a_publish_loses_are_both_numbered_correctly(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the loser writes its own commit under the first one's number, and the index has to discard it."""
    head = place.save(put(redirect("/ours")))
    real = Transaction.write_commit

    def overtaken(opened: Transaction, *arguments: object) -> object:
        commit = real(opened, *arguments)  # type: ignore[arg-type] # passed on unchanged
        monkeypatch.undo()
        for number in range(2):
            place.push({"shop/redirects.yaml": yaml([("/theirs", f"/{number}")])})
        assert place.fresh().state()[1] == 3
        return commit

    monkeypatch.setattr(Transaction, "write_commit", overtaken)
    assert place.publish(head=head).number == 4
    publishes, _ = place.fresh().store.publishes.history(SPACE, SHOP, 0, 10)
    assert [publish.version for publish in reversed(publishes)] == place.chain(SHOP)
    assert [each[0] for each in _life(place.fresh(), "/theirs")] == [3, 2]


def test_an_accepted_rewind_is_a_publish_that_removes_the_rules_of_later_ones(place: Place) -> None:
    place.publish(put(redirect("/a")))
    before = place.tip
    place.publish(put(redirect("/b")))
    place.publish(put(redirect("/c")))
    place.git("update-ref", RELEASE_REF, before)
    place.store.namespaces.accept_rewind(SPACE, ADA)
    place.publish(put(redirect("/d")))
    assert [[each[0] for each in _life(place, name)] for name in _NAMES[:4]] == [[2], [5, 3], [5, 4], [6]]
    publishes, _ = place.store.publishes.history(SPACE, SHOP, 0, 10)
    assert [publish.version for publish in reversed(publishes)] == place.chain(SHOP)


def test_a_long_history_is_read_in_several_tries(place: Place) -> None:
    """A query that runs out of time reports the number of publishes left, and the progress is saved."""
    for number in range(5):
        place.publish(put(redirect("/a", f"/{number}")))
    expected = _life(place, "/a")
    (place.paths.changes / SHOP).unlink()
    for left in range(5, 0, -1):
        with pytest.raises(Busy, match=f"{left} of 6 publishes are left"):
            place.store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", ALL, timeout=0)
    assert [
        each.publish.number for each in place.store.publishes.rule_history(SPACE, SHOP, Kind.REDIRECTS, "/a", ALL, 0)[0]
    ] == [*range(6, 1, -1)]
    assert _life(place, "/a") == expected


def test_a_log_that_cannot_be_written_stops_no_publish(place: Place) -> None:
    """A query reports the missing entries; once the log can be written, it is complete."""
    path = place.paths.changes / SHOP
    path.unlink()
    path.mkdir()
    place.publish(put(redirect("/a")))
    with pytest.raises(StoreError, match="cannot be written"):
        _life(place, "/a")
    path.rmdir()
    assert [each[:2] for each in _life(place, "/a")] == [(2, "added")]


def test_another_projects_log_is_not_this_ones(place: Place) -> None:
    """The same rule in two projects has two histories."""
    place.begin("docs")
    place.publish(put(redirect("/a")), draft=DraftName("docs", "main"))
    assert _life(place, "/a") == []
    assert place.store.publishes.rule_history(SPACE, "docs", Kind.REDIRECTS, "/a", ALL)[1] == 1


@pytest.mark.parametrize("_round", range(3))
def test_the_log_equals_a_walk_through_any_history(place: Place, _round: int) -> None:
    """The history has random edits, imports, rollbacks, pushes, deletions, crashes and losses of the cache."""
    chance = seeded_random()
    for _ in range(18):
        chance.choice(_STEPS)(place, chance)
    if place.store.releases.namespace(SPACE).manifest.projects[SHOP].deleted:
        place.begin(SHOP)
    asked = [*((Kind.REDIRECTS, name) for name in _NAMES), *((Kind.PAGES, name) for name in _PAGES)]
    assert any(_life(place, name, kind) for kind, name in asked)
    for kind, name in asked:
        assert _life(place, name, kind) == _walked(place, name, kind), f"{kind} {name}"


def _there(place: Place) -> bool:
    return not place.store.releases.namespace(SPACE).manifest.projects[SHOP].deleted


def _edit(place: Place, chance: random.Random) -> None:
    if not _there(place):
        place.begin(SHOP)
        return
    wanted = chance.sample(_NAMES, 3)
    edits = [put(redirect(name, f"/{chance.randrange(5)}", note=chance.choice(["", "why"]))) for name in wanted]
    place.save(*edits, put(page(chance.choice(_PAGES), chance.choice("xyz"))))
    _publish(place)


def _remove(place: Place, chance: random.Random) -> None:
    name = chance.choice(_NAMES)
    if _there(place) and name in place.targets():
        with suppress(NotFound):  # agents still get the rule, but an invalid push has removed it
            place.save(Delete(Kind.REDIRECTS, redirect(name).id))
        _publish(place)


def _import(place: Place, chance: random.Random) -> None:
    if _there(place):
        rows = [Row(at, redirect(f"/{name}", f"/{chance.randrange(9)}"), ()) for at, name in enumerate(range(150), 1)]
        rows += [Row(200 + at, redirect(name, "/imported"), ()) for at, name in enumerate(_NAMES)]
        place.store.drafts.import_rows(SPACE, MAIN, rows, ImportOptions(overwrite=True), ADA)
        _publish(place)


def _back(place: Place, chance: random.Random) -> None:
    if _there(place):
        number = chance.randrange(1, place.state()[1] + 1)
        if place.store.publishes.version(SPACE, SHOP, str(number)).tree:
            _quietly(lambda: place.store.publishes.roll_back(SPACE, SHOP, str(number), ADA))


def _push(place: Place, chance: random.Random) -> None:
    wanted = [(name, f"/{chance.randrange(9)}") for name in chance.sample(_NAMES, 2)]
    path = chance.choice(["redirects.yaml", "redirects/00001.yaml"])
    if _there(place):
        place.push({f"shop/{path}": yaml(wanted) + f"# {chance.random()}\n"})
        place.state()


def _delete(place: Place, chance: random.Random) -> None:
    if _there(place) and chance.random() < 0.4:
        place.store.projects.delete(SPACE, SHOP, ADA)


def _crash(place: Place, chance: random.Random) -> None:
    path = place.paths.changes / SHOP
    data = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    if data:
        path.write_bytes(data[: chance.randrange(len(data) + 1)] + chance.choice([b"", b"WPC2"]))


def _forget(place: Place, chance: random.Random) -> None:
    folder: Path = chance.choice([place.paths.versions, place.paths.manifests, place.paths.changes])
    for path in folder.glob("*"):
        path.unlink()


def _ask(place: Place, chance: random.Random) -> None:
    if _there(place):
        _life(place.fresh(), chance.choice(_NAMES))


def _publish(place: Place) -> None:
    """Publish the draft; discard it if a push has made that impossible."""
    _quietly(place.publish)
    if place.store.drafts.names(SPACE, SHOP):
        place.store.drafts.discard(SPACE, MAIN)


def _quietly(work: Callable[[], object]) -> None:
    """Do the work, unless the state is published already or a push prevents it."""
    with suppress(NothingToPublish, Invalid, Conflicts):
        work()


_STEPS = (_edit, _edit, _edit, _remove, _import, _back, _push, _delete, _crash, _forget, _ask)
