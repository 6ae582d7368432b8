"""Namespaces: made whole or not at all, unique without regard to case, and set aside rather than erased."""

from multiprocessing import get_context
from pathlib import Path

import pytest

from gitstore import namespaces
from gitstore.errors import AlreadyExists, BadRequest, Broken, NotFound
from gitstore.store import Store
from tests.gitstore.places import ADA, SHOP, SPACE, Place, git, put, redirect


def test_new_namespace_is_a_bare_repository_that_anybody_can_clone(empty: Place) -> None:
    """With a first commit on release, which HEAD names, and no maintenance of git's own."""
    empty.fsck()
    assert (empty.clone() / "README.md").read_text().startswith("# acme")
    assert empty.git("symbolic-ref", "HEAD") == "refs/heads/release"
    assert empty.git("log", "--format=%an %s", "release") == "Ada Lovelace Begin the namespace acme"
    assert [empty.git("config", name) for name in ("core.bare", "gc.auto", "receive.autogc")] == ["true", "0", "false"]
    assert (empty.repo / "description").read_text() == "Acme\n"


@pytest.mark.parametrize("name", ["acme", "ACME", "Acme"])
def test_names_are_unique_without_regard_to_case(empty: Place, name: str) -> None:
    """So that they can stand on any file system."""
    with pytest.raises(AlreadyExists):
        empty.store.create_namespace(name, "", ADA)
    assert empty.store.namespaces() == ["acme"]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a.b", "é", "a" * 51, "a\n", "-\0"])
def test_what_is_no_name_is_refused(empty: Place, name: str) -> None:
    """And nothing is made."""
    before = sorted(empty.root.rglob("*"))
    with pytest.raises(BadRequest):
        empty.store.create_namespace(name, "", ADA)
    with pytest.raises(NotFound):
        empty.store.namespace(name)
    assert sorted(empty.root.rglob("*")) == before


def test_of_two_that_make_the_same_name_at_once_one_wins(empty: Place) -> None:
    """Guard: one process at a time makes namespaces; else names that differ in case alone would both be made."""
    context = get_context("fork")
    makers = [context.Process(target=_make, args=(empty.root, name)) for name in ("shop", "Shop", "SHOP", "shOp")]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert sorted(maker.exitcode or 0 for maker in makers) == [0, 7, 7, 7]
    assert len(empty.store.namespaces()) == 2


def _make(root: Path, name: str) -> None:
    try:
        Store(root).create_namespace(name, "", ADA)
    except AlreadyExists:
        raise SystemExit(7) from None


def test_what_a_crash_left_half_built_is_no_namespace_and_goes(empty: Place) -> None:
    """The repository is built aside and renamed into place."""
    left = empty.repo.parent / ".new-0123456789abcdef"
    left.mkdir()
    (left / "config").touch()
    assert empty.store.namespaces() == ["acme"]
    empty.store.create_namespace("other", "", ADA)
    assert not left.exists()


def test_deleted_namespace_is_moved_aside_whole(place: Place) -> None:
    """Nothing is erased; the name is free again, and what was compiled before is not served under it."""
    place.publish(put(redirect("/a")))
    aside = place.store.delete_namespace(SPACE)
    assert git(aside / "acme.git", "log", "-1", "--format=%s", "release") == "Publish shop: 1 redirect added"
    assert place.store.namespaces() == []
    for store in (place.store, place.fresh().store):
        with pytest.raises(NotFound):
            store.project(SPACE, SHOP)
    with pytest.raises(NotFound):
        place.save(put(redirect("/b")))
    place.store.create_namespace("Acme", "", ADA)
    place.store.delete_namespace("Acme")
    place.store.create_namespace(SPACE, "", ADA)
    with pytest.raises(NotFound):
        place.store.project(SPACE, SHOP)
    assert place.begin(SHOP).state()[1] == 1


@pytest.mark.parametrize("step", ["witness", "repository"])
def test_deletion_that_is_cut_off_leaves_the_namespace_or_none(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Guard: the witness goes first. Else a kill between the two renames leaves a namespace that is broken for ever."""
    real = Path.rename

    def cut_off(path: Path, target: Path) -> Path:
        if step == "witness" or path == place.paths.compiled:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", cut_off)
        with pytest.raises(KeyboardInterrupt):
            place.store.delete_namespace(SPACE)
    if step == "witness":
        assert place.fresh().state()[1] == 1
        assert place.fresh().store.failures() == []
    else:
        assert place.fresh().store.namespaces() == []
        with pytest.raises(NotFound):
            place.fresh().store.project(SPACE, SHOP)
        place.store.create_namespace(SPACE, "", ADA)
        assert place.fresh().store.namespaces() == [SPACE]


def test_repository_that_was_put_in_place_by_hand_is_a_namespace(empty: Place) -> None:
    """A restored backup or a clone; and when it is lost again, that is told as damage, not as absence."""
    by_hand = empty.repo.with_name("restored.git")
    git(empty.root, "clone", "--quiet", "--bare", str(empty.repo), str(by_hand))
    assert empty.store.namespaces() == ["acme", "restored"]
    assert empty.store.served("restored").projects == {}
    by_hand.rename(empty.root / "lost")
    with pytest.raises(Broken):
        Store(empty.root).served("restored")
    assert empty.store.namespaces() == ["acme", "restored"]


def test_description_is_where_git_looks_for_it(empty: Place) -> None:
    """And changes without a commit."""
    tip = empty.tip
    assert empty.store.describe_namespace(SPACE, " All of Acme\n").description == "All of Acme"
    assert empty.store.namespace(SPACE).description == "All of Acme"
    assert empty.tip == tip
    assert namespaces.read_namespace(empty.paths).created_at > 0
