"""Pushes to a namespace with a source: over HTTP they go to the upstream first; by path, release is held back."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.git import Clone, check_repository, git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until

PATIENCE = 60.0


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with upstreams at paths of this machine."""
    settings = {"WAYPOST_UPSTREAM_FOLDERS": "/"}
    with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", settings) as service, open_world(service) as world:
        yield world


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """Return an empty repository."""
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", "up.git")
    return tmp_path / "up.git"


@pytest.fixture
def place(here: World, upstream: Path) -> Place:
    """Return a project whose source it is."""
    found = here.place()
    body = {"url": str(upstream), "mode": "source", "branch": "main", "poll": 3600}
    found.root.ask("PUT", f"{found.space}/upstream", 200, json=body)
    sync(found)
    return found


def sync(place: Place) -> None:
    """Sync, and wait until it is done."""
    path = f"{place.space}/upstream"
    place.root.ask("POST", f"{path}/sync", 202)
    wait_until(lambda: place.root.get(path)["status"] == "synced", PATIENCE, "the sync")


def push_by_path(place: Place, folder: Path, target: str) -> "subprocess.CompletedProcess[str]":
    """Commit a rule, and push it by path."""
    if not folder.exists():
        Clone.of(place.repository, folder)
    clone = Clone(folder)
    clone.write("shop/redirects.yaml", rules("/path"))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "By path")
    return subprocess.run(
        ["git", "push", "origin", f"HEAD:refs/heads/{target}"], cwd=folder, capture_output=True, text=True, check=False
    )


def tip_of(upstream: Path) -> str:
    """Return the commit of the upstream's branch."""
    return git(upstream, "rev-parse", "main")


def test_release_is_held_back_by_path_with_the_place_to_push_to(place: Place, upstream: Path, tmp_path: Path) -> None:
    before = tip_of(upstream)
    found = push_by_path(place, tmp_path / "clone", "release")
    assert found.returncode != 0
    assert "remote: Release follows an upstream here" in found.stderr
    assert f"git push {upstream} HEAD:main" in found.stderr
    assert tip_of(upstream) == before == git(place.repository, "rev-parse", "release")
    git(tmp_path / "clone", "push", "-q", str(upstream), "HEAD:main")
    sync(place)
    place.wait_for(tip_of(upstream))
    assert place.sources() == ["/path"]


def test_drafts_and_proposals_may_be_pushed_by_path(place: Place, upstream: Path, tmp_path: Path) -> None:
    before = tip_of(upstream)
    for target in ("draft/shop/mine", "an-idea"):
        found = push_by_path(place, tmp_path / "clone", target)
        assert found.returncode == 0, found.stderr
    assert place.get("/draft?draft=mine")["changes"]["redirects"]["added"] == 1
    assert tip_of(upstream) == before == git(place.repository, "rev-parse", "release")


def test_a_mirror_or_no_upstream_holds_nothing_back(place: Place, upstream: Path, tmp_path: Path) -> None:
    body = {"url": str(upstream), "mode": "mirror", "branch": "main"}
    place.root.ask("PUT", f"{place.space}/upstream", 200, json=body)
    assert push_by_path(place, tmp_path / "clone", "release").returncode == 0
    place.root.ask("DELETE", f"{place.space}/upstream", 204)
    assert push_by_path(place, tmp_path / "clone", "release").returncode == 0


def test_a_push_over_http_goes_to_the_upstream_first(place: Place, upstream: Path, tmp_path: Path) -> None:
    pusher = Pusher.of(place, tmp_path / "http")
    commit = pusher.commit("shop/redirects.yaml", rules("/http"))
    found = pusher.push("origin", "HEAD:release")
    assert found.returncode == 0, found.stderr
    assert tip_of(upstream) == commit == git(place.repository, "rev-parse", "release")
    git(tmp_path, "clone", "-q", "-b", "main", str(upstream), "work")
    Clone(tmp_path / "work").write("shop/redirects.yaml", rules("/host"))
    Clone(tmp_path / "work").commit()
    git(tmp_path / "work", "push", "-q", "origin", "HEAD:main")
    pusher.commit("shop/pages.yaml", "pages: []\n")
    lost = pusher.push("origin", "HEAD:release")
    assert lost.returncode != 0
    # Until the next sync, which may come at any time, it is the upstream that says so.
    reasons = (
        "upstream's branch main has moved",
        "another push moved it first",
        "Release has moved since it was fetched",
    )
    assert any(reason in lost.stderr for reason in reasons), lost.stderr
    sync(place)
    git(pusher.folder, "pull", "-q", "--rebase", "origin", "release")
    again = pusher.push("origin", "HEAD:release")
    assert again.returncode == 0, again.stderr
    upstream.rename(upstream.with_suffix(".away"))
    pusher.commit("shop/redirects.yaml", rules("/away"))
    away = pusher.push("origin", "HEAD:release")
    assert away.returncode != 0
    assert "no Git repository at the path of the upstream" in away.stderr
    check_repository(place.repository)
    assert place.sources() == ["/host"]
