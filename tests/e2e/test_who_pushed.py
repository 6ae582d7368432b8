"""The pusher of a commit cannot have it published by their own approval, whatever its author field and its branches say."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from tests.e2e.caller import Caller
from tests.e2e.git import git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.world import Place, World

UNAPPROVED = "requires a review"
GRANTS = [
    Grant("*", "*", *words)
    for words in (("project", "read"), ("redirect", "write"), ("project", "publish"), ("project", "review"))
]


class Person(Pusher):
    """A clone of a person who may publish and review; all commits name the same author, who is none of them."""

    @property
    def caller(self) -> Caller:
        """The person at the API."""
        return Caller(self.place.world.http, self.token)

    def change(self, *sources: str, onto: str = "origin/release") -> str:
        """Commit rules on top of a commit."""
        git(self.folder, "fetch", "-q", "origin")
        git(self.folder, "checkout", "-q", "--detach", onto)
        return self.commit("shop/redirects.yaml", rules(*sources))

    def say(self, branch: str, action: str, head: str, status: int = 200) -> Any:
        """Make a remark on a proposal."""
        path = f"{self.place.space}/proposal/{id_of(branch)}/review"
        return self.caller.ask("POST", path, status, json={"action": action, "head": head}).json()

    def cannot_approve(self, branch: str, head: str) -> None:
        """Fail unless the approval is refused, and with it the merge and the push to release."""
        assert self.say(branch, "approve", head, 403)["error"] == "own_change"
        self.caller.refused("POST", merge_of(self.place, branch), 403, "approval_required")
        git(self.folder, "fetch", "-q", "origin")
        git(self.folder, "checkout", "-q", "--detach", "origin/release")
        git(self.folder, "merge", "-q", "--no-ff", "-m", "Merge it", head)
        assert UNAPPROVED in self.refused("origin", "HEAD:release")


def id_of(branch: str) -> str:
    return sha256(branch.encode()).hexdigest()[:16]


def merge_of(place: Place, branch: str) -> str:
    return f"{place.space}/proposal/{id_of(branch)}/merge"


Clones = Callable[[], Person]


@pytest.fixture
def shop(world: World) -> Place:
    """Create a project that requires a review."""
    return world.place(review="required")


@pytest.fixture
def person(shop: Place, tmp_path: Path) -> Clones:
    """Return a function that makes a person with a clone."""

    def make() -> Person:
        found = Person(shop, tmp_path / f"clone{len(list(tmp_path.iterdir()))}", shop.world.token(GRANTS))
        git(tmp_path, "clone", "-q", found.url, str(found.folder))
        return found

    return make


def test_a_pushed_draft_stays_of_its_pusher_as_a_proposal(shop: Place, person: Clones) -> None:
    ann, ben = person(), person()
    head = ann.change("/a")
    ann.pushed("origin", "HEAD:refs/heads/draft/shop/main")
    for who, branch in ((ann, "from/ann"), (ben, "from/ben")):
        who.caller.ask("POST", f"{shop.space}/proposals", 201, json={"branch": branch, "project": "shop"})
        ann.cannot_approve(branch, head)
    ben.say("from/ben", "approve", head)
    ann.caller.ask("POST", merge_of(shop, "from/ben"), 200)


def test_a_second_name_changes_nothing(shop: Place, person: Clones) -> None:
    """An approval or a rejection is of a head, under all its names, and in the API as for a push."""
    ann, ben, cid = person(), person(), person()
    head = ann.change("/a")
    ann.pushed("origin", "HEAD:refs/heads/one")
    git(cid.folder, "fetch", "-q", "origin")
    cid.pushed("origin", f"{head}:refs/heads/two")
    ann.cannot_approve("two", head)
    ben.say("one", "reject", head)
    cid.say("two", "approve", head)
    cid.caller.refused("POST", merge_of(shop, "two"), 403, "approval_required")
    assert UNAPPROVED in ann.refused("origin", f"{head}:release")
    ben.say("two", "approve", head)
    ann.pushed("origin", f"{head}:release")
    assert shop.sources() == ["/a"]


def test_commits_below_the_tip_are_of_the_pusher_too(person: Clones) -> None:
    ann, ben = person(), person()
    lower = ann.change("/a")
    ann.change("/a", "/b", onto=lower)
    ann.pushed("origin", "HEAD:refs/tags/v1")
    git(ben.folder, "fetch", "-q", "--tags", "origin")
    ben.pushed("origin", f"{lower}:refs/heads/lower")
    ann.cannot_approve("lower", lower)
    ben.say("lower", "approve", lower)
    ann.pushed("origin", f"{lower}:release")


def test_a_merge_of_release_alone_makes_nobody_a_writer(shop: Place, person: Clones) -> None:
    """Neither by the API nor by Git; a rebased commit is a new one, of who pushed it."""
    ann, ben, cid = person(), person(), person()
    ann.change("/a")
    ann.pushed("origin", "HEAD:refs/heads/one")
    shop.root.ask("POST", f"{shop.space}/projects", 201, json={"name": "blog"})
    path = f"{shop.space}/proposal/{id_of('one')}"
    head = ben.caller.ask("POST", f"{path}/update", 200).json()["head"]
    ann.cannot_approve("one", head)
    shop.root.ask("POST", f"{shop.space}/projects", 201, json={"name": "help"})
    git(cid.folder, "fetch", "-q", "origin")
    git(cid.folder, "checkout", "-q", "--detach", "origin/one")
    git(cid.folder, "merge", "-q", "-m", "Merge release", "origin/release")
    merged = git(cid.folder, "rev-parse", "HEAD")
    cid.pushed("origin", "HEAD:refs/heads/one")
    ann.cannot_approve("one", merged)
    cid.say("one", "approve", merged)
    git(ben.folder, "fetch", "-q", "origin")
    git(ben.folder, "checkout", "-q", "-B", "mine", "origin/one")
    git(ben.folder, "rebase", "-q", "origin/release")
    rebased = git(ben.folder, "rev-parse", "HEAD")
    ben.pushed("--force", "origin", "HEAD:refs/heads/one")
    ben.cannot_approve("one", rebased)
    ann.say("one", "approve", rebased)
    ann.caller.ask("POST", merge_of(shop, "one"), 200)


def test_a_restored_namespace_knows_who_pushed(shop: Place, person: Clones) -> None:
    """Another namespace of its name does not; a push that is refused brings nothing."""
    ann, ben = person(), person()
    head = ann.change("/a")
    assert UNAPPROVED in ann.refused("origin", "HEAD:release", "HEAD:refs/heads/head")
    ann.pushed("origin", "HEAD:refs/heads/one")
    shop.root.ask("DELETE", f"{shop.space}?confirm={shop.namespace}", 204)
    shop.root.ask("POST", f"{shop.space}/restore", 200)
    ann.cannot_approve("one", head)
    ben.say("one", "approve", head)
    ann.pushed("origin", "HEAD:release")


def test_a_head_that_was_replaced_is_not_approved_any_more(person: Clones) -> None:
    ann, ben = person(), person()
    first = ann.change("/a")
    ann.pushed("origin", "HEAD:refs/heads/one")
    ben.say("one", "approve", first)
    ann.change("/a", "/b")
    ann.pushed("--force", "origin", "HEAD:refs/heads/one")
    answer = ann.refused("origin", f"{first}:release")
    assert f"The commit {first[:12]} was approved, but no branch is at it any more." in answer
    ann.pushed("origin", f"{first}:refs/heads/again")
    ann.pushed("origin", f"{first}:release")
