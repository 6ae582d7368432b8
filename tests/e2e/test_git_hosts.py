"""Hosts of upstreams, each a fake that answers as its public API documents: commit statuses, pull requests, protection."""

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from tests.api.upstreams.fake_hosts import TOKEN, FakeHost, SentStatus, fake_host
from tests.api.upstreams.host_bodies import SECRET, Sent, github_pull, gitlab_merge_request, recorded
from tests.e2e.git import git, rules
from tests.e2e.world import Place, World, open_world
from tests.gitstore.wire.client.http_host import PASSWORD, answering
from tests.service import WAYPOST, running, wait_until

pytestmark = pytest.mark.usefixtures("web_server")

SECONDS = 30.0
PUBLIC = "https://waypost.example"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that may reach hosts on this machine."""
    settings = {"WAYPOST_UPSTREAM_NETWORKS": "127.0.0.0/8", "WAYPOST_PUBLIC_URL": PUBLIC}
    with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", settings) as service, open_world(service) as world:
        yield world


class Followed:
    """A namespace with a published rule that follows the repository of a host."""

    def __init__(self, place: Place, host: FakeHost) -> None:
        self.place = place
        self.host = host
        self._work = host.folder / "work"

    def set(self, **fields: Any) -> None:
        """Make the host's repository the upstream, and wait for the first sync."""
        self.ask("PUT", "", 200, json=self.host.upstream(**fields))
        self.wait("synced")

    def ask(self, method: str, tail: str, status: int, **request: Any) -> Any:
        """Send a request below the upstream's path."""
        answer = self.place.root.ask(method, f"{self.place.space}/upstream{tail}", status, **request)
        return answer.json() if answer.content else None

    def wait(self, status: str) -> Any:
        """Wait until the upstream has a status, and return it."""
        found: dict[str, Any] = {}

        def probe() -> bool:
            found.update(self.ask("GET", "", 200))
            return bool(found["status"] == status)

        try:
            wait_until(probe, SECONDS, f"status {status}")
        except AssertionError as ex:
            raise AssertionError(f"{ex}: {found}") from ex
        return found

    def commit(self, text: str, branch: str = "release", *, is_told: bool = True) -> str:
        """Commit the file of rules on the host, to release or to a branch from there, and have it synced."""
        if not self._work.exists():
            git(self.host.folder, "clone", "-q", str(self.host.path), str(self._work))
        git(self._work, "fetch", "-q", "origin")
        git(self._work, "checkout", "-q", "--detach", "origin/release")
        (self._work / "shop" / "redirects.yaml").write_text(text, "utf-8")
        git(self._work, "commit", "-qam", "On the host")
        commit = git(self._work, "rev-parse", "HEAD")
        git(self.host.path, "fetch", "-q", str(self._work), f"HEAD:{branch}")
        if is_told:
            self.ask("POST", "/sync", 202)
        return commit

    def hook(self, sent: Sent, status: int) -> Any:
        """Send a webhook of the host."""
        headers = {"content-type": "application/json", **sent.headers}
        path = f"{self.place.space}/upstream/webhook"
        return self.place.world.nobody.ask("POST", path, status, content=sent.body, headers=headers).json()

    @property
    def page(self) -> str:
        """The page of the upstream."""
        return f"{PUBLIC}/dashboard/settings/namespaces?name={self.place.namespace}&upstream=shown"

    def publish(self, **body: Any) -> Any:
        """Publish the draft as a pull request, and return that."""
        answer = self.place.root.ask("POST", f"{self.place.path}/publish", 202, json=body)
        return answer.json()["pullRequest"]

    def statuses(self, commit: str, part: str = "served") -> list[SentStatus]:
        """Return the statuses that the host has got for a commit."""
        context = f"waypost/{self.place.namespace}/{part}"
        return [each for each in self.host.statuses if (each.commit, each.context) == (commit, context)]

    def status(self, commit: str, part: str = "served") -> SentStatus:
        """Wait for the newest status of a commit."""
        return wait_until(lambda: self.statuses(commit, part), SECONDS, f"a status {part} of {commit}")[-1]


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def followed(request: pytest.FixtureRequest, here: World, tmp_path: Path) -> Iterator[Followed]:
    """Return a namespace with a published rule, and an empty repository of each kind of host."""
    with fake_host(request.param, tmp_path / "host") as host:
        place = here.place()
        place.published("/a")
        yield Followed(place, host)


only_gitea = pytest.mark.parametrize("followed", ["gitea"], indirect=True)


def test_each_tip_that_arrives_gets_a_status_once(followed: Followed) -> None:
    followed.set()
    served = followed.commit(rules("/a", "/host"))
    found = followed.status(served)
    assert (found.state, found.text) == ("success", "Served as version 3 of shop")
    assert found.target == f"{PUBLIC}/dashboard/project/{followed.place.namespace}/shop/history?version={served}"
    faulty = followed.commit("redirects: [\n")
    found = followed.status(faulty)
    assert (found.state, found.target) == ("failure", followed.page)
    assert "shop/redirects.yaml" in found.text
    followed.ask("POST", "/sync", 202)
    followed.wait("failing")
    fixed = followed.commit(rules("/a"))
    assert followed.status(fixed).state == "success"
    assert (len(followed.statuses(served)), len(followed.statuses(faulty))) == (1, 1)
    log = followed.place.world.service.log.read_text("utf-8")
    assert TOKEN not in log
    assert PASSWORD not in log


@only_gitea
def test_a_status_is_sent_again_after_a_failure_and_never_stops_a_sync(followed: Followed) -> None:
    followed.host.broken = 502
    followed.set()
    commit = followed.commit(rules("/a", "/host"))
    followed.place.wait_for(commit)
    fault = wait_until(lambda: followed.ask("GET", "", 200)["hostFault"], SECONDS, "the fault of the host")
    assert "502" in fault
    assert followed.wait("synced")["fault"] is None
    followed.host.broken = 0
    assert followed.status(commit).state == "success"
    wait_until(lambda: followed.ask("GET", "", 200)["hostFault"] is None, SECONDS, "the fault to end")


@only_gitea
def test_a_host_that_hangs_holds_up_no_other(followed: Followed, tmp_path: Path) -> None:
    asked, ended = threading.Event(), threading.Event()

    def hang(_connection: socket) -> None:
        asked.set()
        ended.wait(SECONDS)

    with answering(hang) as url, fake_host("gitea", tmp_path / "second") as host:
        other = followed.place.world.place()
        other.published("/a")
        hanging = Followed(other, host)
        followed.set()
        hanging.set(hostUrl=url.removesuffix("/repo.git"))
        assert asked.wait(SECONDS)
        begun = time.monotonic()
        followed.status(followed.commit(rules("/a", "/host")))
        assert time.monotonic() - begun < 12, "less than the time that the other is waited for"
        ended.set()


@only_gitea
def test_a_refused_token_is_told_and_a_new_one_is_used_at_once(followed: Followed) -> None:
    followed.set(hostToken="another-token")
    fault = wait_until(lambda: followed.ask("GET", "", 200)["hostFault"], SECONDS, "the fault of the host")
    assert "token" in fault
    assert "another-token" not in json.dumps([fault, followed.place.world.service.log.read_text("utf-8")])
    followed.set()
    assert followed.status(followed.host.tip()).state == "success"


def test_a_publish_opens_a_pull_request_and_its_merge_is_served(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    before = host.tip()
    place.add("/b")
    pull = followed.publish(message="Add one\n\nFor the shop.")
    branch = "waypost/shop/main"
    assert (pull["number"], pull["branch"]) == (1, branch)
    assert (host.pulls[0].title, host.pulls[0].head, host.pulls[0].base) == ("Add one", branch, "release")
    assert "For the shop." in host.pulls[0].body
    assert "1 redirect added" in host.pulls[0].body
    assert "### Redirects and pages: 1 redirect added" in host.pulls[0].body
    assert "`/b`" in host.pulls[0].body or "<code>/b</code>" in host.pulls[0].body
    assert (host.tip(), place.sources()) == (before, ["/a"])
    assert git(host.path, "rev-parse", f"{branch}^1") == before
    assert place.get("/draft")["pullRequest"] == {**pull, "state": "open"}
    found = followed.status(host.tip(branch), "proposal")
    address = f"{PUBLIC}/dashboard/project/{place.namespace}/shop/draft?draft=main"
    assert (found.text, found.target) == ("Checked: 1 redirect added", address)
    assert f"[The draft in Waypost]({address})" in host.pulls[0].body
    first = host.tip(branch)
    assert followed.publish(message="Add one\n\nFor the shop.") == pull
    assert host.tip(branch) == first
    place.add("/c")
    assert followed.publish(message="Add two") == pull
    assert host.tip(branch) != first
    assert [each.title for each in host.pulls] == ["Add two"]
    message = "Add three\n\n/approve\n```\n/merge\nFixes #12 @acme/all"
    assert followed.publish(message=message) == pull
    assert not re.search("^(/|```|Fixes)", host.pulls[0].body, re.MULTILINE), "GitLab would do what the message says"
    assert "Fixes #12 @acme/all" in host.pulls[0].body
    tip = host.merge(1)
    followed.ask("POST", "/sync", 202)
    place.wait_for(tip)
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert place.get("/draft")["head"] is None
    assert place.sources() == ["/a", "/b", "/c"]


@only_gitea
def test_a_squashed_pull_request_of_some_changes_leaves_the_rest_in_the_draft(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    chosen = place.add("/b")["id"]
    place.add("/c")
    followed.publish(ids=[chosen])
    assert "1 redirect added" in host.pulls[0].body
    host.merge(1, squash=True)
    followed.ask("POST", "/sync", 202)
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert place.sources() == ["/a", "/b"]
    shown = place.get("/draft")
    assert (shown["changes"]["redirects"]["added"], shown["conflicts"]) == (1, [])


@only_gitea
def test_a_squashed_pull_request_of_all_changes_ends_the_draft(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    place.add("/b")
    followed.publish()
    host.merge(1, squash=True)
    followed.ask("POST", "/sync", 202)
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert (place.sources(), place.get("/draft")["head"]) == (["/a", "/b"], None)


@only_gitea
def test_a_closed_pull_request_leaves_the_draft_and_another_is_opened(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    place.add("/b")
    followed.publish()
    host.pulls[0].state = "closed"
    followed.ask("POST", "/sync", 202)
    wait_until(
        lambda: place.get("/draft")["pullRequest"]["state"] == "closed", SECONDS, "the pull request to be closed"
    )
    assert place.get("/draft")["changes"]["redirects"]["added"] == 1
    assert followed.publish()["number"] == 2


def test_a_pull_request_that_the_host_has_already_is_taken_over(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    place.add("/b")
    host.broken = 503
    error = place.refused("POST", "/publish", 503, "upstream_unavailable")
    assert "is pushed" in error["message"]
    assert place.get("/draft")["pullRequest"] is None
    host.broken = 0
    branch = "waypost/shop/main"
    body = {"head": branch, "base": "release", "title": "By hand", "body": ""}
    assert host.open(body)[0] == 201  # as a person does on the host
    assert followed.publish(message="From here")["number"] == 1
    assert [each.title for each in host.pulls] == ["From here"]


def test_a_pull_request_that_was_deleted_on_the_host_is_opened_again(followed: Followed) -> None:
    followed.set(publish="pull-request")
    followed.place.add("/b")
    followed.publish(message="One")
    followed.host.pulls.clear()
    followed.place.add("/c")
    assert followed.publish(message="Two")["number"] == 1
    assert [each.title for each in followed.host.pulls] == ["Two"]


@only_gitea
def test_another_repository_keeps_its_own_pull_requests_and_gets_no_statuses_of_the_first(
    followed: Followed, tmp_path: Path
) -> None:
    followed.set(publish="pull-request")
    place, first = followed.place, followed.host
    place.add("/b")
    followed.publish(message="From here")
    good, first.broken = first.tip(), 502
    faulty = followed.commit("redirects: [\n")
    wait_until(lambda: followed.ask("GET", "", 200)["hostFault"], SECONDS, "a status that is not sent")
    with fake_host("gitea", tmp_path / "second") as host:
        git(host.path, "fetch", "-q", str(first.path), f"{good}:refs/heads/release", f"{faulty}:refs/heads/old")
        theirs = {"head": "old", "base": "release", "title": "Of another team", "body": "Theirs"}
        assert host.open(theirs)[0] == 201
        followed.host = host
        followed.set(publish="pull-request")
        assert place.get("/draft")["pullRequest"] is None
        assert followed.publish(message="From here")["number"] == 2
        assert (host.pulls[0].title, host.pulls[0].body) == ("Of another team", "Theirs")
        assert followed.status(host.tip()).state == "success"
        assert followed.status(host.tip("waypost/shop/main"), "proposal").state == "success"
        assert not followed.statuses(faulty)


@only_gitea
def test_another_branch_gets_a_pull_request_of_its_own(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    place.add("/b")
    followed.publish()
    git(host.path, "branch", "main", "release")
    followed.set(publish="pull-request", branch="main")
    assert place.get("/draft")["pullRequest"] is None
    assert followed.publish()["number"] == 2
    assert [each.base for each in host.pulls] == ["release", "main"]


@only_gitea
def test_commits_of_others_on_the_branch_are_not_overwritten(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place, host = followed.place, followed.host
    place.add("/b")
    followed.publish()
    work = host.folder / "other"
    git(host.folder, "clone", "-q", "-b", "waypost/shop/main", str(host.path), str(work))
    git(work, "commit", "-q", "--allow-empty", "-m", "Of somebody else")
    git(host.path, "fetch", "-q", str(work), "HEAD:waypost/shop/main")
    theirs = host.tip("waypost/shop/main")
    place.add("/c")
    error = place.refused("POST", "/publish", 503, "upstream_refused")
    assert "not from here" in error["message"]
    assert host.tip("waypost/shop/main") == theirs


@only_gitea
def test_a_pull_request_passes_the_same_checks_as_a_publish(followed: Followed) -> None:
    followed.set(publish="pull-request")
    place = followed.place
    place.refused("POST", "/publish", 409, "nothing_to_publish")
    place.root.ask("PATCH", place.path, 200, json={"review": "required"})
    place.add("/b")
    place.refused("POST", "/publish", 403, "approval_required")
    assert not followed.host.pulls
    assert not followed.host.tip("waypost/shop/main")
    reason = {"override": "The reviewers are away."}
    assert followed.publish(**reason)["number"] == 1
    entries = place.root.get("/api/audit", namespace=place.namespace, limit=100)["items"]
    assert "approval_overridden" in {entry["event"] for entry in entries}


MESSAGES = (
    "remote: error: GH006: Protected branch update failed for refs/heads/release.",
    "GitLab: You are not allowed to push code to protected branches on this project.",
    "Gitea: Not allowed to push to protected branch release",
)


@only_gitea
@pytest.mark.parametrize("message", MESSAGES)
def test_a_protected_branch_is_named_with_the_setting_that_helps(followed: Followed, message: str) -> None:
    followed.set()
    followed.host.protect(message)
    followed.place.add("/b")
    error = followed.place.refused("POST", "/publish", 503, "upstream_refused")
    assert "publish: pull-request" in error["message"]
    assert followed.place.sources() == ["/a"]
    followed.set(publish="pull-request")
    assert followed.publish()["number"] == 1


@only_gitea
def test_a_rollback_of_a_protected_branch_says_what_to_do(followed: Followed) -> None:
    followed.place.published("/b")
    followed.set(publish="pull-request")
    followed.host.protect("protected")
    error = followed.place.refused("POST", "/rollback", 503, "upstream_refused", json={"version": 2})
    assert "reopen the version as a draft" in error["message"]


INVALID: tuple[tuple[dict[str, Any], str], ...] = (
    ({"host": "none", "publish": "pull-request"}, "/host"),
    ({"mode": "mirror", "publish": "pull-request"}, "/publish"),
    ({"hostToken": None, "password": None, "publish": "pull-request"}, "/hostToken"),
    ({"hostUrl": "ssh://git@host/"}, "/hostUrl"),
    ({"hostUrl": "http://user:pass@host/"}, "/hostUrl"),
    ({"host": "bitbucket"}, "/host"),
    ({"publish": "merge"}, "/publish"),
)


@only_gitea
@pytest.mark.parametrize(("fields", "pointer"), INVALID)
def test_a_host_that_cannot_be_is_refused(followed: Followed, fields: dict[str, Any], pointer: str) -> None:
    body = followed.host.upstream(**fields)
    error = followed.ask("PUT", "", 422, json=body)
    assert pointer in {each["pointer"] for each in error["problems"]}


@only_gitea
def test_the_host_is_shown_without_its_token(followed: Followed) -> None:
    followed.set()
    shown = followed.ask("GET", "", 200)
    assert (shown["host"], shown["hasHostToken"], shown["publish"]) == ("gitea", True, "push")
    assert TOKEN not in json.dumps(shown)


PULLS = {
    "gitea": lambda: recorded("gitea-pull-request-closed"),
    "github": lambda: github_pull("closed"),
    "gitlab": lambda: gitlab_merge_request("merge"),
}


@only_gitea
def test_what_a_real_gitea_sent_is_taken_as_it_is(followed: Followed) -> None:
    followed.set(hookSecret=SECRET, proposals="none")
    commit = followed.commit(rules("/a", "/host"), is_told=False)
    sent = recorded("gitea-push")
    assert followed.hook(sent._replace(body=sent.body + b" "), 401)["error"] == "invalid_signature"
    assert followed.hook(recorded("gitea-push-other"), 202) == {"action": "ignored"}
    assert followed.hook(sent, 202) == {"action": "sync"}
    followed.place.wait_for(commit)
    assert followed.hook(sent, 409)["error"] == "webhook_replayed"


@only_gitea
@pytest.mark.parametrize("host", sorted(PULLS))
def test_a_webhook_of_a_pull_request_has_it_looked_at_at_once(followed: Followed, host: str) -> None:
    followed.set(hookSecret=SECRET, publish="pull-request")
    place = followed.place
    place.add("/b")
    followed.publish()
    followed.host.pulls[0].state = "closed"
    assert followed.hook(PULLS[host](), 202) == {"action": "sync"}
    wait_until(
        lambda: place.get("/draft")["pullRequest"]["state"] == "closed", SECONDS, "the pull request to be closed"
    )


@only_gitea
def test_each_branch_that_is_a_proposal_gets_a_status_with_its_problems_and_impact(followed: Followed) -> None:
    followed.set()
    served = followed.commit(rules("/a", "/host"))
    followed.place.wait_for(served)
    good = followed.commit(rules("/a", "/host", "/b", "/c"), "feature/good")
    bad = followed.commit("redirects: [\n", "feature/bad")
    found = followed.status(good, "proposal")
    assert (found.state, found.text) == ("success", "No problems; shop: 2 redirects added")
    [proposal] = [
        each for each in followed.place.root.get(f"{followed.place.space}/proposals")["items"] if each["head"] == good
    ]
    assert found.target == f"{PUBLIC}/dashboard/proposal/{followed.place.namespace}/{proposal['id']}"
    alone = git(followed.host.path, "commit-tree", "-m", "Alone", f"{served}^{{tree}}")
    git(followed.host.path, "update-ref", "refs/heads/feature/alone", alone)
    followed.ask("POST", "/sync", 202)
    refused = followed.status(alone, "proposal")
    assert (refused.state, refused.target) == ("failure", followed.page), "it has no proposal to link to"
    found = followed.status(bad, "proposal")
    assert found.state == "failure"
    assert found.text.startswith("1 problem; ")
    assert "shop/redirects.yaml" in found.text
    assert not followed.statuses(good)


@only_gitea
def test_a_folder_of_a_repository_has_statuses_and_pull_requests_on_its_own_commits(followed: Followed) -> None:
    host, space = followed.host, followed.place.world.namespace()
    work = host.folder / "whole"
    git(host.folder, "clone", "-q", str(host.path), str(work))
    (work / "redirects" / "shop").mkdir(parents=True)
    (work / "README").write_text("Whole\n", "utf-8")
    (work / "redirects" / "shop" / "project.yaml").write_text("project: {title: Shop}\n", "utf-8")
    (work / "redirects" / "shop" / "redirects.yaml").write_text(rules("/a"), "utf-8")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Begin")
    git(work, "push", "-q", "origin", "HEAD:release")
    place = Place(followed.place.world, space, "shop", followed.place.root)
    folder = Followed(place, host)
    folder.set(path="redirects", publish="pull-request")
    first = host.tip()
    assert folder.status(first).text == "Served as version 1 of shop"
    place.add("/b")
    folder.publish()
    branch = "waypost/shop/main"
    assert git(host.path, "rev-parse", f"{branch}^") == first
    assert git(host.path, "ls-tree", "--name-only", branch).split() == ["README", "redirects"]
    assert folder.status(host.tip(branch), "proposal").state == "success"
    pushed = host.tip(branch)
    folder.publish()
    assert host.tip(branch) == pushed
    place.add("/c")
    folder.publish()
    tip = host.merge(1)
    folder.ask("POST", "/sync", 202)
    assert folder.status(tip).text == "Served as version 2 of shop"
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert (place.sources(), place.get("/draft")["head"]) == (["/a", "/b", "/c"], None)
