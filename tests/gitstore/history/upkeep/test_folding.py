"""Releases in two files: what a publish writes, what damage costs, and new bases in the background."""

from collections.abc import Callable
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.releases.release_changes import SMALL
from gitstore.compiled.releases.release_file import read_base_name, release_path
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import Broken
from gitstore.history.upkeep.folding import is_folding_due
from gitstore.history.upkeep.gc import KEPT_RELEASES, MOST_PUT_OFF
from gitstore.history.upkeep.repository_upkeep import keep_up, needs_upkeep
from gitstore.layout import TreeId
from gitstore.yamlfiles.dump import new_file
from tests.gitstore.fixtures import SHOP, SPACE, Place, git, put, redirect

IN_FILE = 100


def grow(place: Place, rules: int) -> Place:
    """Push so many rules in files of a hundred, and compile them."""
    clone = place.clone()
    for first in range(0, rules, IN_FILE):
        path = clone / SHOP / "redirects" / f"{first:06}.yaml"
        path.parent.mkdir(exist_ok=True)
        records = [redirect(f"/old/{number}") for number in range(first, first + IN_FILE)]
        path.write_bytes(new_file(Kind.REDIRECTS, records, "block"))
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "Many rules")
    git(clone, "push", "--quiet", "origin", "release")
    place.store.releases.refresh(SPACE, compiles=True)
    return place


def served(place: Place) -> TreeId:
    """Return the tree that is served."""
    tree = place.fresh().store.releases.project(SPACE, SHOP).entry.tree
    assert tree
    return tree


def file_of(place: Place) -> Path:
    """Return the file of the served release."""
    return release_path(place.paths.releases, served(place))


def base_of(place: Place) -> str | None:
    """Return the name of the base of the served release."""
    return read_base_name(file_of(place))


def change(place: Place, first: int, count: int, target: str) -> dict[str, str]:
    """Publish other targets of some rules; return them."""
    changed = {f"/old/{number}": target for number in range(first, first + count)}
    place.publish(*(put(redirect(source, target)) for source, target in changed.items()))
    return changed


@pytest.fixture
def grown(place: Place) -> Place:
    """Return a place with 1,000 rules."""
    return grow(place, 1_000)


@pytest.mark.parametrize("rules", [1_000, 10_000])
def test_a_publish_of_one_rule_writes_no_other_rules(place: Place, rules: int) -> None:
    """The release has the rule and a list of pieces and changed files, whatever else the project has."""
    grow(place, rules)
    whole = file_of(place)
    sizes = []
    for number in (5, 505, 905):
        change(place, number, 1, f"/new/{number}")
        assert base_of(place) == whole.name
        sizes.append(file_of(place).stat().st_size)
    assert max(sizes) < 4_000 < SMALL < whole.stat().st_size
    items = place.fresh().items()
    assert len(items) == rules
    assert {each["source"] for each in items if each["target"] != "/new"} == {"/old/5", "/old/505", "/old/905"}


def test_rules_that_come_and_go_are_served_at_their_places(grown: Place) -> None:
    sources = [each["source"] for each in grown.items()]
    grown.publish(put(redirect("/added")), Delete(Kind.REDIRECTS, redirect("/old/110").id))
    assert base_of(grown)
    assert {each["source"] for each in grown.fresh().items()} == {*sources, "/added"} - {"/old/110"}
    release = grown.fresh().store.releases.project(SPACE, SHOP).release
    assert release.redirects_at("/old/110") == []
    for source in ("/added", "/old/109", "/old/111", "/old/199", "/old/999"):
        (at,) = release.redirects_at(source)
        found = release.redirect(at)
        assert found.record.source == source
        assert f"source: {source}" in "".join(grown.file(found.file).splitlines()[found.line - 1 : found.line + 1])


def _unlink(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_unlink, _cut, _flip])
@pytest.mark.parametrize("which", ["base", "changes"])
def test_a_damaged_file_is_made_again(grown: Place, damage: Callable[[Path], None], which: str) -> None:
    changed = change(grown, 3, 2, "/other")
    base = base_of(grown)
    assert base
    damage(file_of(grown) if which == "changes" else grown.paths.releases / base)
    found = grown.fresh()
    assert {source: target for source, target in found.targets().items() if target == "/other"} == changed
    assert found.store.releases.failures() == []
    assert base_of(grown) is None, "what was lost is compiled as a whole"
    changed |= change(found, 700, 1, "/other")
    assert {source for source, target in grown.fresh().targets().items() if target == "/other"} == changed.keys()


def test_the_base_stays_as_long_as_a_release_needs_it(grown: Place) -> None:
    change(grown, 0, 1, "/0")
    base = base_of(grown)
    assert base
    for number in range(1, 2 * (KEPT_RELEASES + MOST_PUT_OFF)):
        change(grown, number, 1, f"/{number}")
        assert (grown.paths.releases / base).exists()
    assert base_of(grown) == base
    assert len(list(grown.paths.releases.iterdir())) <= KEPT_RELEASES + MOST_PUT_OFF + 2
    change(grown, 0, 300, "/many")
    assert base_of(grown) is None, "so many changes are written as a whole"
    assert (grown.paths.releases / base).exists(), "walks over the versions before go on"
    for number in range(KEPT_RELEASES + MOST_PUT_OFF + 1):
        change(grown, number, 1, f"/again/{number}")
    assert not (grown.paths.releases / base).exists()


def test_a_release_of_an_earlier_program_is_read_and_is_a_base(grown: Place) -> None:
    path = file_of(grown)
    earlier = path.rename(path.with_suffix(".4"))
    found = grown.fresh()
    assert len(found.items()) == 1_000
    assert not path.exists(), "it was not compiled again"
    change(found, 7, 1, "/other")
    assert base_of(grown) == earlier.name
    assert grown.fresh().targets()["/old/7"] == "/other"


def test_many_changes_get_a_new_base_in_the_background(place: Place) -> None:
    """The release stays the same, and the next publish writes little again."""
    grow(place, 6_000)
    assert not needs_upkeep(place.paths)
    change(place, 0, 450, "/" + "x" * 60)
    large = file_of(place).stat().st_size
    assert large > SMALL
    assert base_of(place)
    assert needs_upkeep(place.paths)
    expected = place.fresh().items()
    keep_up(place.paths)
    assert not is_folding_due(place.paths)
    assert base_of(place) is None
    assert place.fresh().items() == expected
    whole = file_of(place)
    change(place.fresh(), 5_000, 1, "/later")
    assert base_of(place) == whole.name
    assert file_of(place).stat().st_size < SMALL // 8


def test_a_publish_during_a_fold_gets_the_new_base(grown: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release that was published meanwhile is written again, as changes since the new base."""
    change(grown, 0, 1, "/first")
    mark, old, fold = grown.paths.unfolded / SHOP, base_of(grown), Compiler.fold
    mark.parent.mkdir()
    mark.touch()

    def fold_beside_a_publish(compiler: Compiler, project: str, tree: TreeId) -> None:
        change(grown, 500, 1, "/second")
        fold(compiler, project, tree)

    monkeypatch.setattr(Compiler, "fold", fold_beside_a_publish)
    keep_up(grown.paths)
    assert base_of(grown) not in {None, old}
    found = grown.fresh().targets()
    assert (found["/old/0"], found["/old/500"]) == ("/first", "/second")
    assert not mark.exists()


def test_a_project_that_cannot_be_folded_stops_no_other(grown: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    grown.begin("aaa")
    grown.publish(put(redirect("/aaa")), draft=DraftName("aaa", "main"))
    change(grown, 0, 1, "/first")
    fold = Compiler.fold
    grown.paths.unfolded.mkdir()
    for name in ("aaa", SHOP):
        (grown.paths.unfolded / name).touch()

    def fail_for_one(compiler: Compiler, project: str, tree: TreeId) -> None:
        if project == "aaa":
            raise Broken("One project is damaged.")
        fold(compiler, project, tree)

    monkeypatch.setattr(Compiler, "fold", fail_for_one)
    with pytest.raises(Broken):
        keep_up(grown.paths)
    assert base_of(grown) is None
    assert [mark.name for mark in grown.paths.unfolded.iterdir()] == ["aaa"]


def test_a_window_is_as_many_slices_as_it_has_pieces(grown: Place) -> None:
    """Changed rules, and the ranges between them, are slices; a window without changes is one."""
    release = grown.store.releases.project(SPACE, SHOP).release
    assert [len(release.listings[Kind.REDIRECTS].window(0, limit)[0]) for limit in (1, 1_000)] == [1, 1]
    for number in (150, 450, 750):
        change(grown, number, 1, "/other")
    listing = grown.fresh().store.releases.project(SPACE, SHOP).release.listings[Kind.REDIRECTS]
    windows = [(0, 1_000), (0, 150), (150, 1), (149, 3), (451, 299), (999, 1)]
    assert [len(listing.window(*window)[0]) for window in windows] == [7, 1, 1, 3, 1, 1]
    assert [listing.window(*window)[1] for window in windows] == [limit for _, limit in windows]


def test_the_base_of_a_project_stays_while_another_one_is_published(grown: Place) -> None:
    change(grown, 0, 1, "/0")
    base = base_of(grown)
    assert base
    grown.begin("docs")
    for number in range(KEPT_RELEASES + MOST_PUT_OFF + 2):
        grown.publish(put(redirect(f"/{number}")), draft=DraftName("docs", "main"))
    assert base_of(grown) == base
    assert (grown.paths.releases / base).exists()
