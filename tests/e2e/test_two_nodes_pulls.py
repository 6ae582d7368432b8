"""Two nodes with one database whose publishes open pull requests: each node's drafts have branches of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.upstreams.fake_hosts import FakeHost, fake_host
from tests.e2e.git import git, rules
from tests.e2e.nodes import Node, wait_for
from tests.e2e.test_git_hosts import Followed
from tests.e2e.test_two_nodes import SPACE, two_nodes
from tests.e2e.world import Place

pytestmark = pytest.mark.usefixtures("web_server", "postgres_programs")

PLAIN = "waypost/shop/main"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FakeHost]:
    """Run a host whose repository has a project."""
    with fake_host("gitea", tmp_path / "host") as found:
        work = tmp_path / "work"
        git(tmp_path, "clone", "-q", str(found.path), str(work))
        (work / "shop").mkdir()
        (work / "shop" / "project.yaml").write_text("project: {title: Shop}\n", "utf-8")
        (work / "shop" / "redirects.yaml").write_text(rules("/a"), "utf-8")
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "Begin")
        git(work, "push", "-q", "origin", "HEAD:release")
        yield found


def follow(nodes: list[Node], host: FakeHost) -> list[Followed]:
    """Have both nodes follow the host, and wait until they serve the project."""
    found = [Followed(Place(node.world, SPACE, "shop", node.world.root), host) for node in nodes]
    for each in found:
        each.place.root.ask("POST", "/api/namespaces", 201, json={"name": SPACE})
    for each in found:
        each.set(publish="pull-request")
    for each in found:
        each.place.wait_for(host.tip())
    return found


def test_drafts_of_one_name_on_two_nodes_never_replace_each_other(tmp_path: Path, host: FakeHost) -> None:
    with two_nodes(tmp_path, "postgres") as nodes:
        here, there = follow(nodes, host)
        here.place.add("/here")
        there.place.add("/there")
        assert here.publish(message="Here")["branch"] == PLAIN
        ours = host.tip(PLAIN)
        pull = there.publish(message="There")
        assert (pull["number"], pull["branch"].startswith(f"{PLAIN}+")) == (2, True)
        there.place.add("/there/too")
        assert there.publish(message="There again") == pull
        assert host.tip(PLAIN) == ours
        assert [each.title for each in host.pulls] == ["Here", "There again"]
        assert [each.place.get("/draft")["pullRequest"]["number"] for each in (here, there)] == [1, 2]
        tip = host.merge(1)
        here.ask("POST", "/sync", 202)
        there.place.wait_for(tip)
        wait_for(lambda: here.place.get("/draft")["pullRequest"] is None, "the merged pull request to be forgotten")
        assert here.place.get("/draft")["head"] is None
        assert there.place.get("/draft")["pullRequest"] == {**pull, "state": "open"}
        assert there.place.get("/draft")["changes"]["redirects"]["added"] == 2
        there.publish(message="There again")
        tip = host.merge(2)
        there.ask("POST", "/sync", 202)
        here.place.wait_for(tip)
        wait_for(lambda: there.place.get("/draft")["pullRequest"] is None, "the other one to be forgotten")
        assert there.place.get("/draft")["head"] is None
        assert here.place.sources() == there.place.sources() == ["/a", "/here", "/there", "/there/too"]
