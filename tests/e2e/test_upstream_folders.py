"""A folder of an upstream, its branches as proposals, and drafts on it: by the running service, C git and the host's webhooks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from tests.api.upstreams.host_bodies import github
from tests.e2e.caller import Caller
from tests.e2e.git import git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.test_upstreams import SECONDS, Upstream
from tests.e2e.world import World, open_world
from tests.service import WAYPOST, running, wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which upstreams may be."""
    return tmp_path_factory.mktemp("hosted")


@pytest.fixture(scope="module")
def here(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that may reach upstreams on this machine."""
    settings = {"WAYPOST_UPSTREAM_FOLDERS": str(folder)}
    with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", settings) as service, open_world(service) as world:
        yield world


@pytest.fixture
def upstream(here: World, folder: Path) -> Upstream:
    """Return the upstream of a namespace with a published rule."""
    place = here.place()
    place.published("/a")
    return Upstream(place, folder)


def side_branch(upstream: Upstream, name: str, text: str) -> str:
    """Push a commit on release to another branch with C git; return it."""
    work = upstream.path.parent / f"{upstream.place.namespace}-side"
    git(upstream.path.parent, "clone", "-q", str(upstream.path), str(work))
    (work / "shop/redirects.yaml").write_text(text, "utf-8")
    git(work, "commit", "-qam", "On the side")
    git(work, "push", "-q", "origin", f"HEAD:refs/heads/{name}")
    return git(work, "rev-parse", "HEAD")


def test_a_branch_of_the_host_is_previewed_and_merged_to_the_host(upstream: Upstream, tmp_path: Path) -> None:
    upstream.set("source")
    commit = side_branch(upstream, "fix/home", rules("/a", "/host"))
    assert upstream.hook(github("refs/heads/fix/home"), 202) == {"action": "sync"}
    found: list[Any] = []

    def is_there() -> bool:
        found[:] = upstream.place.root.get(f"{upstream.place.space}/proposals")["items"]
        return bool(found)

    wait_until(is_there, SECONDS, "the branch to be a proposal")
    (shown,) = found
    assert shown["upstream"] == {"branch": "fix/home", "pullRequest": None, "commit": commit}
    assert (shown["state"], shown["projects"][0]["changes"]["redirects"]["added"]) == ("open", 1)
    (branch,) = upstream.ask("GET", "", 200)["branches"]
    assert (branch["proposal"], branch["commit"], branch["fault"]) == (shown["id"], commit, None)
    exported = upstream.place.ask("GET", f"/export?at=proposal/{shown['id']}", 200)
    assert b"/host" in exported.content
    path = f"{upstream.place.space}/proposal/{shown['id']}"
    upstream.place.root.refused("DELETE", path, 403, "forbidden")
    pusher = Pusher.of(upstream.place, tmp_path / "clone")
    for words in ("HEAD:upstream/branch/fix/home", "HEAD:refs/heads/upstream/pull/7", ":upstream/branch/fix/home"):
        assert "only a sync moves" in pusher.refused("--force", "origin", words)
    merged = upstream.place.root.ask("POST", f"{path}/merge", 200, json={}).json()
    assert upstream.tip == merged["version"]
    assert upstream.place.sources() == ["/a", "/host"]


def test_a_folder_is_followed_and_published_to(here: World, folder: Path) -> None:
    place = here.place()
    upstream = Upstream(place, folder)
    upstream.set("source", path="web/redirects/")
    assert upstream.ask("GET", "", 200)["path"] == "web/redirects"
    published = place.published("/a")
    assert git(upstream.path, "rev-parse", "release:web/redirects") == git(
        place.repository, "rev-parse", f"{published['version']}^{{tree}}"
    )
    commit = upstream.commit("web/redirects/shop/redirects.yaml", rules("/a", "/host"))
    upstream.ask("POST", "/sync", 202)
    wait_until(lambda: place.sources() == ["/a", "/host"], SECONDS, "the commit to be served")
    assert place.get("/version") != commit
    shown = upstream.wait("synced")
    assert shown["tip"] == shown["release"]
    assert shown["difference"] is None


def test_what_differs_is_shown_with_commits_and_rules(upstream: Upstream) -> None:
    upstream.set("source")
    upstream.commit("shop/redirects.yaml", rules("/a", "/b", "/c"))
    tip = upstream.commit("README.exe", "not allowed")
    upstream.ask("POST", "/sync", 202)
    shown = upstream.wait("failing")
    assert shown["difference"]["ahead"] == {"commits": [], "projects": [], "otherFiles": False}
    behind = shown["difference"]["behind"]
    assert behind["commits"][0]["commit"] == tip
    assert len(behind["commits"]) == 2
    assert behind["projects"][0]["changes"]["redirects"]["added"] == 2
    assert behind["otherFiles"]
    assert shown["fault"]["problems"]
    side_branch(upstream, "fix/home", rules("/a", "/host"))
    upstream.ask("POST", "/sync", 202)
    wait_until(lambda: upstream.ask("GET", "", 200)["branches"], SECONDS, "the branch")
    reader = upstream.place.world.holder(("namespace", "read"), namespace=upstream.place.namespace)
    withheld = reader.get(f"{upstream.place.space}/upstream")
    assert withheld["branches"] == []
    assert [each.partition(":")[0] for each in withheld["fault"]["problems"]] == ["Problems withheld"]
    hidden = reader.get(f"{upstream.place.space}/upstream")["difference"]["behind"]
    assert (hidden["projects"], hidden["otherFiles"]) == ([], False)
    assert {each["message"] for each in hidden["commits"]} == {""}


def test_an_edit_is_on_the_upstream_without_a_poll(upstream: Upstream) -> None:
    upstream.set("mirror", drafts="push")
    upstream.place.add("/draft")
    ref = f"refs/heads/draft/{upstream.place.project}/main"
    head = git(upstream.place.repository, "rev-parse", ref)

    def is_pushed() -> bool:
        shown = upstream.ask("GET", "", 200)
        return shown["drafts"] == "push" and [each["commit"] for each in shown["draftBranches"]] == [head]

    wait_until(is_pushed, SECONDS, "the draft to be pushed")
    assert git(upstream.path, "rev-parse", ref) == head
    world, namespace = upstream.place.world, upstream.place.namespace
    some = [Grant(namespace, "*", "namespace", "read"), Grant(namespace, "other", "project", "read")]
    path = f"{upstream.place.space}/upstream"
    assert Caller(world.http, world.token(some)).get(path)["draftBranches"] == []
    some.append(Grant(namespace, upstream.place.project, "project", "read"))
    assert len(Caller(world.http, world.token(some)).get(path)["draftBranches"]) == 1
    upstream.place.publish()
    wait_until(lambda: not git(upstream.path, "for-each-ref", ref), SECONDS, "the draft to be removed")


def test_who_pushed_a_branch_of_the_host_cannot_approve_it_under_another_name(
    upstream: Upstream, tmp_path: Path
) -> None:
    place = upstream.place
    place.ask("PATCH", "", 200, json={"review": "required"})
    upstream.set("source")
    commit = side_branch(upstream, "fix/home", rules("/a", "/host"))
    upstream.ask("POST", "/sync", 202)
    found: list[Any] = []

    def has_proposals(count: int) -> bool:
        found[:] = place.root.get(f"{place.space}/proposals")["items"]
        return len(found) == count

    wait_until(lambda: has_proposals(1), SECONDS, "the branch to be a proposal")
    person = place.world.person("publisher")
    followed = f"{place.space}/proposal/{found[0]['id']}"
    approval = {"action": "approve", "head": commit}
    error = person.refused("POST", f"{followed}/review", 403, "unknown_pusher", json=approval)
    assert "trustedAuthors" in error["message"]
    pusher = Pusher.of(place, tmp_path / "clone")
    pusher.pushed("origin", "origin/upstream/branch/fix/home:refs/heads/mine")
    wait_until(lambda: has_proposals(2), SECONDS, "another proposal")
    for each in found:
        path = f"{place.space}/proposal/{each['id']}"
        person.refused("POST", f"{path}/review", 403, "unknown_pusher", json=approval)
        error = person.refused("POST", f"{path}/merge", 403, "approval_required", json={})
        assert "trustedAuthors" in error["message"]
    shown = upstream.ask("PUT", "", 200, json={"url": str(upstream.path), "mode": "source", "trustedAuthors": True})
    assert shown["trustedAuthors"]
    person.ask("POST", f"{followed}/review", 200, json=approval)
    merged = person.ask("POST", f"{followed}/merge", 200, json={}).json()
    assert upstream.tip == merged["version"]
