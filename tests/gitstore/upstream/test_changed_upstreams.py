"""An upstream that is changed, suspended or removed while it is synced: that sync moves nothing any more, here or there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitstore.upstream.upstream_settings import UpstreamMode
from gitstore.upstream.upstream_state import UpstreamState
from tests.gitstore.fixtures import SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.cutting_proxy import CuttingProxy, cutting
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, sync_well
from tests.gitstore.wire.client.http_host import PASSWORD, USER, hosting

RULES = "shop/redirects.yaml"
FILES = {"shop/project.yaml": "project: {}\n", RULES: yaml([("/a", "/first")])}


@dataclass
class Bench:
    """An upstream behind a proxy, which can be changed when a sync waits for its answer."""

    bed: UpstreamBed
    proxy: CuttingProxy

    def follow(self, place: Place, mode: UpstreamMode = SOURCE, name: str = "up.git", **fields: Any) -> None:
        """Make a repository the upstream of a namespace."""
        url = f"http://127.0.0.1:{self.proxy.port}/{name}"
        self.bed.follow(place, mode, url, username=USER, password=PASSWORD, **fields)

    def sync_while(self, place: Place, action: Callable[[], None]) -> UpstreamState | None:
        """Sync, and do something before the upstream's first answer arrives."""
        self.proxy.interrupt(action)
        try:
            return place.store.upstreams.sync(SPACE)
        finally:
            assert self.proxy.disarm()

    def commit(self, files: Mapping[str, str]) -> str:
        """Commit files on the upstream, which may be empty."""
        work = self.bed.folder / "work"
        if not work.exists():
            git(self.bed.folder, "clone", "--quiet", str(self.bed.path), str(work))
            git(work, "checkout", "--quiet", "-B", "release")
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, "utf-8")
        git(work, "add", "--all")
        git(work, "commit", "--quiet", "--message", "On the host")
        self.bed.push()
        return git(work, "rev-parse", "HEAD")


@pytest.fixture
def bench(tmp_path: Path, web_server: None) -> Iterator[Bench]:
    """Return an upstream without a branch."""
    del web_server
    bed = UpstreamBed.create(tmp_path / "bed")
    git(bed.path, "config", "http.receivepack", "true")
    with hosting(bed.folder) as host, cutting(int(host.url.rpartition(":")[2])) as proxy:
        yield Bench(bed, proxy)


def end(place: Place) -> None:
    """Remove the upstream."""
    place.store.upstreams.configure(SPACE, None)


def suspend(place: Place) -> None:
    """Suspend the upstream."""
    settings = place.store.upstreams.settings(SPACE)
    assert settings
    place.store.upstreams.configure(SPACE, replace(settings, is_suspended=True))


def test_the_history_of_a_wrong_repository_is_not_taken_once_it_is_corrected(bench: Bench) -> None:
    right = bench.commit(FILES)
    git(bench.bed.folder, "clone", "--quiet", "--bare", str(bench.bed.path), "right.git")
    bench.commit({RULES: yaml([("/a", "/wrong")])})
    place = create_place(bench.bed.folder / "node")
    before = place.tip
    bench.follow(place)
    assert bench.sync_while(place, lambda: bench.follow(place, name="right.git")) is None
    assert place.tip == before
    assert place.store.upstreams.state(SPACE) == UpstreamState()
    assert sync_well(place).tip == place.tip == right


def test_the_folder_that_was_set_meanwhile_is_served(bench: Bench) -> None:
    bench.commit({f"a/{name}": text for name, text in FILES.items()})
    bench.commit({"b/shop/project.yaml": "project: {}\n", f"b/{RULES}": yaml([("/b", "/right")])})
    place = create_place(bench.bed.folder / "node")
    bench.follow(place, path="a")
    assert bench.sync_while(place, lambda: bench.follow(place, path="b")) is None
    assert len(list(place.repo.glob("waypost-folder*.git*"))) == 0
    sync_well(place)
    assert place.targets() == {"/b": "/right"}


@pytest.mark.parametrize("stop", [end, suspend])
def test_release_does_not_move_once_a_source_is_gone(bench: Bench, stop: Callable[[Place], None]) -> None:
    bench.commit(FILES)
    place = create_place(bench.bed.folder / "node")
    bench.follow(place)
    sync_well(place)
    before, state = place.tip, place.store.upstreams.state(SPACE)
    newer = bench.commit({RULES: yaml([("/a", "/newer")])})
    assert bench.sync_while(place, lambda: stop(place)) is None
    assert (place.tip, place.targets()) == (before, {"/a": "/first"})
    assert place.store.upstreams.state(SPACE) == (UpstreamState() if stop is end else state)
    assert place.store.upstreams.sync(SPACE) is None, "nor does another sync move it"
    assert place.tip == before
    bench.follow(place)
    assert sync_well(place).tip == place.tip == newer


@pytest.mark.parametrize("stop", [end, suspend])
def test_a_mirror_pushes_nothing_once_it_is_gone(bench: Bench, stop: Callable[[Place], None]) -> None:
    place = create_place(bench.bed.folder / "node").begin(SHOP)
    bench.follow(place, MIRROR, drafts="push")
    sync_well(place)
    before = bench.bed.tip
    place.publish(put(redirect("/a")))
    place.save(put(redirect("/b")))
    assert bench.sync_while(place, lambda: stop(place)) is None
    assert bench.bed.tip == before
    assert not git(bench.bed.path, "for-each-ref", "refs/heads/draft")


def test_branches_are_not_followed_once_that_is_switched_off(bench: Bench) -> None:
    bench.commit(FILES)
    place = create_place(bench.bed.folder / "node")
    bench.follow(place, proposals="branches")
    sync_well(place)
    git(bench.bed.folder / "work", "checkout", "--quiet", "-b", "side")
    git(bench.bed.folder / "work", "commit", "--quiet", "--allow-empty", "--message", "Beside it")
    git(bench.bed.folder / "work", "push", "--quiet", "origin", "side")
    assert bench.sync_while(place, lambda: bench.follow(place, proposals="none")) is None
    assert not place.git("for-each-ref", "refs/heads/upstream")
    assert not place.store.upstreams.followed(SPACE).branches
