"""The served state of a process: when a look at the ref is enough, and when the repository is read again."""

import time
from typing import Any

import pytest

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import load_manifest
from gitstore.compiled.releases.release import Release
from gitstore.errors import Broken, NotCompiled, NotFound
from gitstore.git import refs
from gitstore.history.live import Live, LiveNamespace
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, put, redirect, yaml

_MILLISECOND = 1_000_000


@pytest.fixture
def live(place: Place) -> Live:
    """Return the served state of a process that has not read it yet."""
    return Live(place.store.directory)


def look_after(place: Place, live: Live, monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    """Read the namespace when the ref's last move is so old; negative: when the move is dated in the future."""
    moved = (place.repo / RELEASE_REF).stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: moved + nanoseconds)
        live.refresh(SPACE)


@pytest.mark.parametrize("nanoseconds", [0, _MILLISECOND, 10 * _MILLISECOND])
def test_ref_that_moved_within_a_tick_of_the_clock_is_looked_at_again(
    place: Place, live: Live, monkeypatch: pytest.MonkeyPatch, nanoseconds: int
) -> None:
    """Guard: a second move within the same tick has the same signature. Trusting it would serve the older rules forever."""
    look_after(place, live, monkeypatch, nanoseconds)
    found = live.last(SPACE)
    assert found
    monkeypatch.setattr(refs, "signature", lambda *_: found.signature)
    with monkeypatch.context() as patch:
        moved = (place.repo / RELEASE_REF).stat().st_mtime_ns
        patch.setattr(time, "time_ns", lambda: moved + nanoseconds)
        assert live.peek(SPACE) is found
    (place.repo / RELEASE_REF).write_text("0" * 40 + "\n")
    assert live.peek(SPACE) is None
    assert live.last(SPACE) is found


def test_one_look_proves_an_older_stamp(place: Place, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: each request would read the ref."""
    look_after(place, live, monkeypatch, 0)
    moved = (place.repo / RELEASE_REF).stat().st_mtime_ns
    monkeypatch.setattr(time, "time_ns", lambda: moved + 100 * _MILLISECOND)
    found = live.peek(SPACE)
    monkeypatch.setattr(refs, "read_ref", None)
    assert found is not None
    assert live.peek(SPACE) is found


def test_readers_of_other_projects_go_on_while_a_release_is_opened(
    place: Place, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the polls of all projects waited for the checksums of one large release."""
    place.begin("other")
    other = live.refresh(SPACE).project("other")
    place.publish(put(redirect("/a")))
    seen: list[tuple[LiveNamespace | None, ...]] = []
    release = Compiler.release

    def note(self: Compiler, project: str, tree: TreeId) -> Release:
        seen.append((live.peek(SPACE), *(live.peek_unchanged(SPACE, name) for name in ("other", "shop"))))
        return release(self, project, tree)

    monkeypatch.setattr(Compiler, "release", note)
    after = live.refresh(SPACE)
    ((whole, unchanged, changed),) = seen
    assert (whole, changed) == (None, None)
    assert unchanged is not None
    assert unchanged.project("other") == other
    assert live.peek_unchanged(SPACE, "other") is None
    assert after.project("other").release is other.release


def test_a_state_that_release_left_meanwhile_is_served_to_no_one(
    place: Place, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: while a release is opened, release may move on, also within a tick of the clock."""
    place.begin("other")
    live.refresh(SPACE)
    place.publish(put(redirect("/a")))
    seen: list[LiveNamespace | None] = []
    release = Compiler.release

    def move(self: Compiler, project: str, tree: TreeId) -> Release:
        found = refs.signature(place.repo, RELEASE_REF)
        (place.repo / RELEASE_REF).write_text("0" * 40 + "\n")
        seen.append(live.peek_unchanged(SPACE, "other"))
        with monkeypatch.context() as patch:
            patch.setattr(refs, "signature", lambda *_: found)
            seen.append(live.peek_unchanged(SPACE, "other"))
        return release(self, project, tree)

    monkeypatch.setattr(Compiler, "release", move)
    live.refresh(SPACE)
    assert seen == [None, None]


@pytest.mark.parametrize("nanoseconds", [100 * _MILLISECOND, 86_400_000 * _MILLISECOND, -_MILLISECOND])
def test_older_ref_is_trusted_until_it_moves(
    place: Place, live: Live, monkeypatch: pytest.MonkeyPatch, nanoseconds: int
) -> None:
    """Guard: otherwise each request reads the repository; also where a clock that was set back dates the move in the future."""
    look_after(place, live, monkeypatch, nanoseconds)
    found = live.peek(SPACE)
    assert found is not None
    assert live.peek(SPACE) is found
    place.publish(put(redirect("/a")))
    assert live.peek(SPACE) is None
    assert live.refresh(SPACE).manifest.commit == place.tip


def test_release_is_kept_while_the_project_stays_the_same(place: Place, live: Live) -> None:
    """Another project's publish maps nothing again; one of its own does."""
    before = live.refresh(SPACE).project("shop")
    place.begin("other")
    same = live.refresh(SPACE).project("shop")
    assert same.release is before.release
    place.publish(put(redirect("/a")))
    after = live.refresh(SPACE).project("shop")
    assert after.release is not before.release
    assert (after.version, after.number) == (place.tip, before.number + 1)


def test_failure_is_remembered_for_a_second_and_the_last_good_state_served(
    place: Place, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a repository that cannot be read is not read again by each request; and it is looked at again soon."""
    good = live.refresh(SPACE)
    (place.repo / RELEASE_REF).write_text("garbage\n")
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began)
    found = live.refresh(SPACE)
    assert (found.manifest, found.projects) == (good.manifest, good.projects)
    assert "damaged" in found.failure
    assert found.failures == [found.failure]
    monkeypatch.setattr(time, "monotonic", lambda: began + 0.9)
    assert live.peek(SPACE) is found
    monkeypatch.setattr(time, "monotonic", lambda: began + 1.1)
    assert live.peek(SPACE) is None


def test_failure_without_a_good_state_is_raised(place: Place, live: Live) -> None:
    place.paths.served.unlink(missing_ok=True)
    (place.repo / RELEASE_REF).write_text("garbage\n")
    with pytest.raises(Broken):
        live.refresh(SPACE)
    assert live.last(SPACE) is None


def test_project_that_a_failed_read_may_hide_is_broken_and_not_absent(place: Place, live: Live) -> None:
    """Guard: an agent that gets 404 may drop its rules."""
    with pytest.raises(NotFound):
        live.refresh(SPACE).project("fresh")
    (place.repo / RELEASE_REF).write_text("garbage\n")
    with pytest.raises(Broken):
        live.refresh(SPACE).project("fresh")


def test_namespace_that_was_deleted_is_forgotten_and_one_that_was_lost_is_broken(place: Place, live: Live) -> None:
    live.refresh(SPACE)
    lost = place.repo.rename(place.root / "elsewhere")
    assert live.refresh(SPACE).failure
    lost.rename(place.repo)
    place.store.namespaces.delete(SPACE)
    with pytest.raises(NotFound):
        live.refresh(SPACE)
    assert live.last(SPACE) is None


def test_state_that_is_not_compiled_is_left_to_others_while_the_last_good_one_is_served(place: Place) -> None:
    """Guard: a request never waits for a compile if there is a last good state."""
    good = place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.defers = True
    assert live.refresh(SPACE).project("shop").version == good.version
    commit = place.push({"shop/redirects.yaml": yaml([("/pushed", "/x")])})
    held = live.refresh(SPACE)
    assert (held.project("shop").version, held.is_unfinished, held.faults) == (good.version, True, [])
    assert load_manifest(place.paths.manifests, CommitId(commit)) is None
    Live(place.store.directory).refresh(SPACE)
    found = live.refresh(SPACE)
    assert (found.project("shop").version, found.is_unfinished) == (commit, False)


def test_state_of_a_deleted_namespace_is_not_served_for_another_of_its_name(place: Place) -> None:
    """Guard: until the new one was compiled, a worker that had not looked in between served the lists of the deleted one."""
    place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.defers = True
    assert live.refresh(SPACE).project(SHOP)
    place.store.namespaces.delete(SPACE)
    place.store.namespaces.create(SPACE, "", ADA)
    with pytest.raises(NotCompiled):
        live.refresh(SPACE)
    assert live.last(SPACE) is None
    assert live.peek_unchanged(SPACE, SHOP) is None
    assert live.refresh(SPACE, compiles=True).projects == {}


def test_last_good_state_is_served_without_its_record(place: Place) -> None:
    """The record is only a cache: the commit of the state is still in the repository."""
    good = place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.defers = True
    live.refresh(SPACE)
    place.push({"shop/redirects.yaml": yaml([("/pushed", "/x")])})
    place.paths.served.unlink()
    held = live.refresh(SPACE)
    assert (held.project(SHOP).version, held.is_unfinished) == (good.version, True)


def test_state_that_was_never_served_is_compiled_only_if_the_caller_waits(place: Place) -> None:
    for file in (*place.paths.manifests.iterdir(), place.paths.served):
        file.unlink()
    live = Live(place.store.directory)
    live.defers = True
    with pytest.raises(NotCompiled):
        live.refresh(SPACE)
    assert live.refresh(SPACE, compiles=True).project("shop").number == 1


def test_publish_does_not_wait_for_other_projects_of_a_push(place: Place) -> None:
    """They are served as before until they are compiled; then they have the number of the push."""
    place.begin("docs")
    before = place.state("docs")
    place.push({"docs/redirects.yaml": yaml([("/d", "/e")])})
    place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.defers = True
    found = live.refresh(SPACE)
    assert (found.project("shop").number, found.is_unfinished, found.faults) == (2, True, [])
    assert (found.project("docs").version, found.project("docs").number) == before
    assert place.fresh().state("docs")[1] == 2
    assert live.refresh(SPACE).project("docs").number == 2


def test_slow_read_takes_no_version_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a thread that had found the last good state put it in the place of the pushed one, which another had served."""
    place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.defers = True
    live.refresh(SPACE)
    commit = place.push({"shop/redirects.yaml": yaml([("/pushed", "/x")])})
    last_good = Live._last_good

    def overtaken(*found: Any) -> LiveNamespace:
        slow = last_good(*found)
        monkeypatch.setattr(Live, "_last_good", last_good)
        Live(place.store.directory).refresh(SPACE)
        assert live.refresh(SPACE).project(SHOP).version == commit
        return slow

    monkeypatch.setattr(Live, "_last_good", overtaken)
    assert live.refresh(SPACE).project(SHOP).version == commit
    served = live.last(SPACE)
    assert served
    assert served.project(SHOP).version == commit
