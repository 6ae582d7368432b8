"""Namespaces: created completely or not at all, unique without regard to case, and archived rather than erased."""

from multiprocessing import get_context
from pathlib import Path

import pytest

from gitstore.errors import AlreadyExists, BadRequest, NotFound
from gitstore.namespaces import namespaces
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, git, put, redirect


def test_new_namespace_is_a_bare_repository_that_anybody_can_clone(empty: Place) -> None:
    """The repository has a first commit on release, which HEAD names, and git's own maintenance is off."""
    empty.fsck()
    assert (empty.clone() / "README.md").read_text().startswith("# acme")
    assert empty.git("symbolic-ref", "HEAD") == "refs/heads/release"
    assert empty.git("log", "--format=%an %s", "release") == "Ada Lovelace Create the namespace acme"
    assert [empty.git("config", name) for name in ("core.bare", "gc.auto", "receive.autogc")] == ["true", "0", "false"]
    assert (empty.repo / "description").read_text() == "Acme\n"


@pytest.mark.parametrize("name", ["acme", "ACME", "Acme"])
def test_names_are_unique_without_regard_to_case(empty: Place, name: str) -> None:
    """Names can be used on any file system."""
    with pytest.raises(AlreadyExists):
        empty.store.namespaces.create(name, "", ADA)
    assert empty.store.namespaces.names() == ["acme"]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a.b", "é", "a" * 51, "a\n", "-\0"])
def test_an_invalid_name_is_refused(empty: Place, name: str) -> None:
    """No namespace is created."""
    before = sorted(empty.root.rglob("*"))
    with pytest.raises(BadRequest):
        empty.store.namespaces.create(name, "", ADA)
    with pytest.raises(NotFound):
        empty.store.namespaces.read(name)
    assert sorted(empty.root.rglob("*")) == before


def test_of_two_that_create_the_same_name_at_once_one_wins(empty: Place) -> None:
    """Guard: one process at a time creates namespaces; else names that differ in case alone would both be created."""
    context = get_context("fork")
    makers = [context.Process(target=_make, args=(empty.root, name)) for name in ("shop", "Shop", "SHOP", "shOp")]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert sorted(maker.exitcode or 0 for maker in makers) == [0, 7, 7, 7]
    assert len(empty.store.namespaces.names()) == 2


def _make(root: Path, name: str) -> None:
    try:
        Store(root).namespaces.create(name, "", ADA)
    except AlreadyExists:
        raise SystemExit(7) from None


def test_a_half_built_namespace_of_a_crash_is_not_listed_and_is_removed(empty: Place) -> None:
    """The repository is built under a temporary name and renamed into place."""
    left = empty.repo.parent / ".new-0123456789abcdef"
    left.mkdir()
    (left / "config").touch()
    assert empty.store.namespaces.names() == ["acme"]
    empty.store.namespaces.create("other", "", ADA)
    assert not left.exists()


def test_deleted_namespace_is_archived_whole(place: Place) -> None:
    """The repository is not erased; its name is free again, and its compiled files are not served under that name."""
    place.publish(put(redirect("/a")))
    aside = place.store.namespaces.delete(SPACE)
    assert git(aside / "acme.git", "log", "-1", "--format=%s", "release") == "Publish shop: 1 redirect added"
    assert place.store.namespaces.names() == []
    for store in (place.store, place.fresh().store):
        with pytest.raises(NotFound):
            store.releases.project(SPACE, SHOP)
    with pytest.raises(NotFound):
        place.save(put(redirect("/b")))
    place.store.namespaces.create("Acme", "", ADA)
    place.store.namespaces.delete("Acme")
    place.store.namespaces.create(SPACE, "", ADA)
    with pytest.raises(NotFound):
        place.store.releases.project(SPACE, SHOP)
    assert place.begin(SHOP).state()[1] == 3, "numbers continue"


@pytest.mark.parametrize("step", ["witness", "repository"])
def test_deletion_that_is_cut_off_leaves_the_namespace_or_none(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Guard: the marker goes first. Else a kill between the two renames leaves a permanently broken namespace."""
    real = Path.rename

    def cut_off(path: Path, target: Path) -> Path:
        if step == "witness" or path == place.paths.compiled:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", cut_off)
        with pytest.raises(KeyboardInterrupt):
            place.store.namespaces.delete(SPACE)
    if step == "witness":
        assert place.fresh().state()[1] == 1
        assert place.fresh().store.releases.failures() == []
    else:
        assert place.fresh().store.namespaces.names() == []
        with pytest.raises(NotFound):
            place.fresh().store.releases.project(SPACE, SHOP)
        place.store.namespaces.create(SPACE, "", ADA)
        assert place.fresh().store.namespaces.names() == [SPACE]


def test_repository_that_was_put_in_place_by_hand_is_a_namespace(empty: Place) -> None:
    """The repository is a restored backup or a clone; if it is lost again, its last good state is served, with a fault."""
    by_hand = empty.repo.with_name("restored.git")
    git(empty.root, "clone", "--quiet", "--bare", str(empty.repo), str(by_hand))
    assert empty.store.namespaces.names() == ["acme", "restored"]
    assert empty.store.releases.namespace("restored").projects == {}
    by_hand.rename(empty.root / "lost")
    lost = Store(empty.root).releases.namespace("restored")
    assert (lost.projects, len(lost.faults)) == ({}, 1)
    assert empty.store.namespaces.names() == ["acme", "restored"]


def test_description_is_where_git_looks_for_it(empty: Place) -> None:
    """The description changes without a commit."""
    tip = empty.tip
    assert empty.store.namespaces.describe(SPACE, " All of Acme\n").description == "All of Acme"
    assert empty.store.namespaces.read(SPACE).description == "All of Acme"
    assert empty.tip == tip
    assert namespaces.read_namespace(empty.paths).created_at > 0
