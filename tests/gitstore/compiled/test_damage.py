"""A repository damaged on disk is reported as broken, not as absent, while the last good state is still served."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.compiled.indexes.manifest import UNREADABLE
from gitstore.compiled.releases.release_file import release_path
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.listing import Query, Span
from gitstore.errors import Broken, NotFound, StoreError
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect, yaml
from tests.service import wait_until


def _write(path: Path, text: str) -> None:
    path.write_text(text)


BREAKS: dict[str, Callable[[Path], None]] = {
    "garbage in the ref": lambda repo: _write(repo / "refs/heads/release", "garbage"),
    "an empty ref": lambda repo: _write(repo / "refs/heads/release", ""),
    "a ref to nothing": lambda repo: _write(repo / "refs/heads/release", "1" * 40),
    "no ref": lambda repo: (repo / "refs/heads/release").unlink(),
    "no objects": lambda repo: shutil.rmtree(repo / "objects"),
    "no repository": shutil.rmtree,
    "damaged packed-refs": lambda repo: _write((repo / "refs/heads/release").rename(repo / "packed-refs"), "x"),
}


@pytest.fixture
def served(place: Place) -> Place:
    """Return a project that this process serves, with a second namespace next to it."""
    place.publish(put(redirect("/a")))
    assert place.targets() == {"/a": "/new"}
    place.store.namespaces.create("other", "", ADA)
    return place


@pytest.mark.parametrize("what", BREAKS)
def test_last_good_state_is_served_on_and_the_failure_is_reported(served: Place, what: str) -> None:
    """Guard: damage is Broken and not NotFound. The other namespace is not affected."""
    BREAKS[what](served.repo)
    assert served.targets() == {"/a": "/new"}
    assert served.state()[1] == 2
    failures = served.store.releases.failures()
    assert len(failures) == 1
    assert failures[0].startswith("acme: ")
    assert served.store.namespaces.names() == ["acme", "other"]
    assert served.store.namespaces.read("other").name == "other"


@pytest.mark.parametrize("what", BREAKS)
def test_writing_and_history_are_broken_and_never_absent(served: Place, what: str) -> None:
    """An unreadable repository gives neither a 404 nor an empty list."""
    BREAKS[what](served.repo)
    store = Store(served.root)
    with pytest.raises(Broken):
        served.save(put(redirect("/b")))
    with suppress(Broken):
        assert served.store.publishes.history(SPACE, SHOP, 0, 10)[1] == 2
    with pytest.raises(Broken):
        store.drafts.records(SPACE, MAIN, Kind.REDIRECTS, Query(), Span(0, 10))


@pytest.mark.parametrize("what", BREAKS)
def test_process_that_never_saw_it_serves_the_last_good_state_from_compiled_files(served: Place, what: str) -> None:
    """Guard: a restart cannot take a namespace offline; only a missing project is not found."""
    BREAKS[what](served.repo)
    fresh = served.fresh()
    assert fresh.targets() == {"/a": "/new"}
    assert fresh.state()[1] == 2
    (fault,) = fresh.store.releases.faults(SPACE).faults
    assert fault.code == UNREADABLE
    with pytest.raises(NotFound):
        Store(served.root).releases.project("other", SHOP)


@pytest.mark.parametrize("what", BREAKS)
def test_process_without_compiled_files_says_broken(served: Place, what: str) -> None:
    """Guard: without a last good state, damage is neither a missing project nor an empty list."""
    BREAKS[what](served.repo)
    for folder in ("releases", "manifests", "parts", "kept", "served"):
        path = served.paths.compiled / folder
        path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
    with pytest.raises(Broken):
        served.fresh().store.releases.project(SPACE, SHOP)


def test_missing_object_of_a_push_leaves_the_other_projects_alone(served: Place) -> None:
    """The project keeps its last good version, in every process and after a repair; others move on and publish."""
    served.begin("docs")
    good = served.state()
    served.push({"shop/redirects.yaml": yaml([("/lost", "/x")]), "docs/redirects.yaml": yaml([("/d", "/e")])})
    blob = served.git("rev-parse", "release:shop/redirects.yaml")
    lost = served.repo / "objects" / blob[:2] / blob[2:]
    away = lost.rename(served.root / "lost")
    for seen in (served, served.fresh()):
        assert (seen.targets(), seen.state()) == ({"/a": "/new"}, good)
        assert seen.targets("docs") == {"/d": "/e"}
    served.store.projects.change(SPACE, "docs", {"title": "Docs"}, ADA)
    fresh = served.fresh()
    assert fresh.state("docs")[1] == 3
    assert fresh.state() == good
    (fault,) = fresh.store.releases.faults(SPACE).faults
    assert (fault.code, fault.project, fault.newest) == (UNREADABLE, SHOP, 3)
    assert blob in fault.reason
    assert fault.served is not None
    assert fault.served.version == good[0]
    away.rename(lost)
    assert served.fresh().targets() == {"/lost": "/x"}
    assert served.fresh().state()[1] == 3
    wait_until(lambda: served.targets() == {"/lost": "/x"}, 60, "the repair to be seen")
    assert served.store.releases.failures() == []


def test_missing_tree_and_missing_compiled_file_make_one_project_unavailable(served: Place) -> None:
    """Guard: 503 for that project alone, never 404 or an empty list."""
    served.begin("docs")
    tree = served.store.releases.project(SPACE, SHOP).entry.tree
    assert tree
    (served.repo / "objects" / tree[:2] / tree[2:]).unlink()
    release_path(served.paths.releases, tree).unlink()
    fresh = served.fresh()
    assert fresh.state("docs")[1] == 1
    with pytest.raises(Broken):
        fresh.store.releases.project(SPACE, SHOP)
    assert [fault.project for fault in fresh.store.releases.faults(SPACE).faults] == [SHOP]
    found = fresh.store.releases.faults(SPACE)
    assert (found.served, found.expected) == (1, 2)


def test_compiled_state_is_served_without_objects(served: Place) -> None:
    """A new process serves the compiled state, which is all that an agent needs, and reports the problem."""
    shutil.rmtree(served.repo / "objects")
    (served.repo / "objects").mkdir()
    assert served.fresh().targets() == {"/a": "/new"}
    assert len(served.fresh().store.releases.failures()) == 1


def test_repaired_repository_is_served_again_within_a_second(served: Place, tmp_path: Path) -> None:
    """A repaired repository needs no restart."""
    shutil.move(served.repo, tmp_path / "aside.git")
    assert served.targets() == {"/a": "/new"}
    shutil.move(tmp_path / "aside.git", served.repo)
    served.publish(put(redirect("/b")))
    assert set(served.targets()) == {"/a", "/b"}
    assert served.store.releases.failures() == []


def test_missing_blob_of_one_project_leaves_the_others_alone(served: Place) -> None:
    """Compiled state is served; an operation that needs the blob is Broken."""
    served.begin("docs")
    blob = served.git("rev-parse", "release:shop/redirects.yaml")
    (served.repo / "objects" / blob[:2] / blob[2:]).unlink()
    shutil.rmtree(served.paths.segments)
    fresh = served.fresh()
    assert fresh.state("docs")[1] == 1
    assert fresh.targets() == {"/a": "/new"}
    with pytest.raises(Broken):
        fresh.save(put(redirect("/b")))
    fresh.store.projects.change(SPACE, "docs", {"title": "Docs"}, ADA)
    assert fresh.state("docs")[1] == 2


def test_every_failure_is_a_store_error(served: Place) -> None:
    """Any bytes in the ref raise a StoreError."""
    for text in ("ref: refs/heads/release\n", "ref: refs/heads/none\n", "\0" * 41, "é" * 40, "1" * 39):
        (served.repo / "refs/heads/release").write_text(text)
        with pytest.raises(StoreError):
            served.save(put(redirect("/b")))
        assert served.targets() == {"/a": "/new"}


@pytest.mark.parametrize("version", ["99", "nonsense"])
def test_a_repository_of_another_format_is_reported_and_left_alone(place: Place, version: str) -> None:
    """The compiled state is still served; any operation that needs the repository fails as damage until it is fixed."""
    place.publish(put(redirect("/a")))
    assert place.targets() == {"/a": "/new"}
    config = (place.repo / "config").read_text()
    place.git("config", "core.repositoryformatversion", version)
    assert place.targets() == {"/a": "/new"}
    for work in (lambda: place.save(put(redirect("/b"))), lambda: place.store.publishes.history(SPACE, SHOP, 0, 1)):
        with pytest.raises(Broken):
            work()
    assert place.store.releases.failures() != []
    (place.repo / "config").write_text(config)
    place.save(put(redirect("/b")))
    wait_until(
        lambda: not place.store.releases.failures(), 60, "the failure to be forgotten, which is looked at once a second"
    )


@pytest.mark.parametrize("text", ["", "garbage", "1" * 40, "ref: refs/heads/none\n", "{blob}", "{orphan}"])
def test_a_damaged_draft_is_reported_and_can_be_discarded(served: Place, text: str) -> None:
    """A damaged draft hides neither its project nor other drafts; the project can still be changed and removed."""
    tree = served.git("rev-parse", "release^{tree}")
    orphan = served.git("-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "Alone", tree)
    held = text.format(blob=served.git("rev-parse", "release:shop/redirects.yaml"), orphan=orphan)
    served.save(put(redirect("/fine")))
    _write(served.repo / "refs/heads/draft/shop/gone", held)
    gone = DraftName(SHOP, "gone")
    assert served.store.drafts.names(SPACE, SHOP) == ["gone", "main"]
    with pytest.raises(Broken, match="discard the draft gone"):
        served.store.drafts.report(SPACE, gone)
    served.store.projects.change(SPACE, SHOP, {"title": "Today"}, ADA)
    served.store.drafts.discard(SPACE, gone)
    assert served.store.drafts.names(SPACE, SHOP) == ["main"]
    served.publish()
    assert served.targets() == {"/a": "/new", "/fine": "/new"}
    (served.repo / "refs/heads/draft/shop").mkdir(parents=True, exist_ok=True)
    _write(served.repo / "refs/heads/draft/shop/again", held)
    served.store.projects.delete(SPACE, SHOP, ADA)
    assert served.git("for-each-ref", "refs/heads/draft") == ""
