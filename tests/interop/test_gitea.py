"""Waypost beside a real Gitea: webhooks, commit statuses, pull requests and protected branches."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from api.page_links import PageLinks, is_dashboard_built
from tests.e2e.git import rules
from tests.e2e.world import Place, World, open_world
from tests.interop.gitea import OWNER, Gitea, GiteaRepository, running_gitea
from tests.service import WAYPOST, running, wait_until

SECONDS = 60.0
PUBLIC = "https://waypost.example"
LINKS = PageLinks(PUBLIC, is_dashboard_built())


@pytest.fixture(scope="module")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    """Run a Gitea."""
    with running_gitea(tmp_path_factory.mktemp("gitea")) as found:
        yield found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that may reach it."""
    settings = {"WAYPOST_UPSTREAM_NETWORKS": "127.0.0.0/8", "WAYPOST_PUBLIC_URL": PUBLIC}
    with running(WAYPOST, tmp_path_factory.mktemp("here") / "data", settings) as service, open_world(service) as found:
        yield found


class Followed:
    """A namespace that follows a repository of Gitea, with a webhook."""

    def __init__(self, place: Place, repository: GiteaRepository) -> None:
        self.place = place
        self.repository = repository
        self._secret = secrets.token_hex(16)

    def set(self, **fields: Any) -> None:
        """Make the repository the upstream, with a poll that never comes, and wait for the first sync."""
        body = {
            "url": self.repository.url,
            "mode": "source",
            "username": OWNER,
            "password": self.repository.gitea.token,
            "poll": 86400,
            "host": "gitea",
            "hookSecret": self._secret,
            **fields,
        }
        self.ask("PUT", "", 200, json=body)
        self.wait("synced")

    def ask(self, method: str, tail: str, status: int, **request: Any) -> Any:
        """Send a request below the upstream's path."""
        answer = self.place.root.ask(method, f"{self.place.space}/upstream{tail}", status, **request)
        return answer.json() if answer.content else None

    def wait(self, status: str) -> Any:
        """Wait until the upstream has a status, and return it."""
        return wait_until(
            lambda: found if (found := self.ask("GET", "", 200))["status"] == status else None, SECONDS, status
        )

    def add_webhook(self) -> int:
        """Have Gitea tell the service of pushes and pull requests."""
        url = f"{self.place.world.service.url}{self.place.space}/upstream/webhook"
        return self.repository.add_webhook(url, self._secret)

    def status(self, commit: str, part: str) -> tuple[str, str, str]:
        """Wait for the commit status of the service on a commit."""
        context = f"waypost/{self.place.namespace}/{part}"
        return wait_until(
            lambda: self.repository.statuses(commit).get(context), SECONDS, f"the status {part} of {commit}"
        )


@pytest.fixture
def followed(world: World, gitea: Gitea) -> Followed:
    """Return a namespace with a published rule whose upstream is an empty repository."""
    place = world.place()
    place.published("/a")
    return Followed(place, gitea.create_repository())


def test_a_webhook_of_gitea_brings_a_change_in_and_its_commit_gets_a_status(followed: Followed) -> None:
    followed.set()
    followed.add_webhook()
    commit = followed.repository.commit("shop/redirects.yaml", rules("/a", "/gitea"))
    followed.place.wait_for(commit)
    assert followed.place.sources() == ["/a", "/gitea"]
    state, text, link = followed.status(commit, "served")
    number = followed.place.get("/history")["items"][0]["publishNumber"]
    assert (state, text) == ("success", f"Served as version {number} of shop")
    assert link == LINKS.publish(followed.place.namespace, "shop", commit)
    assert followed.repository.gitea.token not in followed.place.world.service.log.read_text("utf-8")


def test_a_faulty_commit_gets_a_failure_once_and_is_not_served(followed: Followed) -> None:
    followed.set()
    followed.add_webhook()
    commit = followed.repository.commit("shop/redirects.yaml", "redirects: [\n")
    state, text, _ = followed.status(commit, "served")
    assert state == "failure"
    assert "shop/redirects.yaml" in text
    assert followed.place.sources() == ["/a"]
    followed.ask("POST", "/sync", 202)
    followed.wait("failing")
    assert followed.repository.count_statuses(commit) == 1


def test_a_publish_opens_a_pull_request_that_is_live_once_it_is_merged(followed: Followed) -> None:
    followed.set(publish="pull-request")
    followed.add_webhook()
    place, repository = followed.place, followed.repository
    before = repository.tip()
    place.add("/by-pull-request")
    made = place.root.ask("POST", f"{place.path}/publish", 202, json={"message": "Add one\n\nFor the shop."}).json()
    pull = made["pullRequest"]
    found = repository.ask("GET", f"/pulls/{pull['number']}", 200)
    assert (found["title"], found["state"], found["html_url"]) == ("Add one", "open", pull["url"])
    assert "1 redirect added" in found["body"]
    assert (found["head"]["ref"], found["base"]["ref"]) == (pull["branch"], "release")
    assert repository.tip() == before
    assert place.sources() == ["/a"]
    assert place.get("/draft")["pullRequest"] == {**pull, "state": "open"}
    assert followed.status(found["head"]["sha"], "proposal")[:2] == ("success", "Checked: 1 redirect added")
    place.add("/and-another")
    again = place.root.ask("POST", f"{place.path}/publish", 202, json={}).json()
    assert again == made
    changed = repository.ask("GET", f"/pulls/{pull['number']}", 200)
    assert changed["head"]["sha"] != found["head"]["sha"]
    assert "2 redirects added" in changed["body"]
    repository.merge(pull["number"])
    wait_until(lambda: len(place.sources()) == 3, SECONDS, "the merge to be served")
    wait_until(lambda: place.get("/draft")["head"] is None, SECONDS, "the draft to end")
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert followed.status(repository.tip(), "served")[0] == "success"


@pytest.mark.parametrize("way", ["squash", "rebase-merge"])
def test_a_pull_request_that_is_merged_in_another_way_ends_the_draft_too(followed: Followed, way: str) -> None:
    followed.set(publish="pull-request")
    followed.add_webhook()
    place, repository = followed.place, followed.repository
    place.add("/b")
    pull = place.root.ask("POST", f"{place.path}/publish", 202, json={}).json()["pullRequest"]
    repository.merge(pull["number"], way)
    wait_until(lambda: len(place.sources()) == 2, SECONDS, "the merge to be served")
    wait_until(lambda: place.get("/draft")["pullRequest"] is None, SECONDS, "the pull request to be forgotten")
    assert place.get("/draft")["head"] is None


def test_a_closed_pull_request_leaves_the_draft_and_the_next_publish_opens_another(followed: Followed) -> None:
    followed.set(publish="pull-request")
    followed.add_webhook()
    place, repository = followed.place, followed.repository
    place.add("/b")
    pull = place.root.ask("POST", f"{place.path}/publish", 202, json={}).json()["pullRequest"]
    repository.ask("PATCH", f"/pulls/{pull['number']}", 201, {"state": "closed"})
    wait_until(
        lambda: place.get("/draft")["pullRequest"]["state"] == "closed", SECONDS, "the pull request to be closed"
    )
    assert place.get("/draft")["changes"]["redirects"]["added"] == 1
    other = place.root.ask("POST", f"{place.path}/publish", 202, json={}).json()["pullRequest"]
    assert other["number"] != pull["number"]


def test_a_push_to_a_protected_branch_is_refused_with_the_setting_that_helps(followed: Followed) -> None:
    followed.set()
    protection = {"rule_name": "release", "enable_push": False, "block_admin_merge_override": True}
    followed.repository.ask("POST", "/branch_protections", 201, protection)
    place = followed.place
    place.add("/b")
    error = place.refused("POST", "/publish", 503, "upstream_refused")
    assert "publish: pull-request" in str(error)
    assert followed.repository.gitea.token not in str(error)
    followed.set(publish="pull-request")
    pull = place.root.ask("POST", f"{place.path}/publish", 202, json={}).json()["pullRequest"]
    assert followed.repository.ask("GET", f"/pulls/{pull['number']}", 200)["state"] == "open"


def test_a_branch_of_a_person_gets_a_status_with_its_problems_and_impact(followed: Followed) -> None:
    followed.set()
    followed.add_webhook()
    repository, place = followed.repository, followed.place
    repository.wait_for("release")
    good = repository.commit("shop/redirects.yaml", rules("/a", "/b"), new_branch="good")
    bad = repository.commit("shop/redirects.yaml", "redirects: [\n", new_branch="bad")
    body = {"title": "Add one", "body": "", "head": "good", "base": "release"}
    number = repository.ask("POST", "/pulls", 201, body)["number"]
    state, text, link = followed.status(good, "proposal")
    assert (state, text) == ("success", "No problems; shop: 1 redirect added")
    [proposal] = [each for each in place.root.get(f"{place.space}/proposals")["items"] if each["head"] == good]
    assert link == LINKS.proposal(place.namespace, proposal["id"])
    state, text, _ = followed.status(bad, "proposal")
    assert (state, text.startswith("1 problem; ")) == ("failure", True)
    assert place.sources() == ["/a"]
    repository.merge(number)
    wait_until(lambda: place.sources() == ["/a", "/b"], SECONDS, "the merge to be served")
