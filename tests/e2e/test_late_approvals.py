"""Verdicts that arrive while a publish waits for its turn, and verdicts of users who have lost the right to review."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from gitstore.git.lock import FILE_NAME, hold
from tests.e2e.caller import Caller
from tests.e2e.git import check_repository, git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.world import PASSWORD, Place, World
from tests.service import wait_until


@pytest.fixture
def shop(world: World) -> Place:
    """Create a project that needs approvals, with a draft of a user who edits and publishes."""
    place = world.place(review="required").as_(world.person("publisher"))
    place.add("/a")
    return place


@pytest.fixture
def kim(world: World, shop: Place) -> Place:
    """Return the same project for a reviewer who has approved the draft."""
    place = shop.as_(world.person("publisher"))
    submit_verdict(place, "approve")
    return place


@pytest.fixture
def lee(world: World, shop: Place) -> Place:
    """Return the same project for another reviewer."""
    return shop.as_(world.person("publisher"))


def submit_verdict(place: Place, action: str, head: str = "") -> None:
    """Give a verdict on the current head of the draft, which is acknowledged at the return."""
    body = {"action": action, "head": head or head_of(place)}
    place.ask("POST", "/draft/review", 200, json=body)


def head_of(place: Place) -> str:
    found: str = place.get("/draft")["head"]
    return found


def id_of(place: Place) -> int:
    found: int = place.root.get("/api/me")["id"]
    return found


def change(place: Place, **fields: object) -> None:
    """Change the account of the caller of a place."""
    place.world.services.accounts.change(OPERATOR, id_of(place), fields)


def remove(place: Place) -> None:
    place.world.services.accounts.remove(OPERATOR, id_of(place))


def is_waited_for(repository: Path) -> bool:
    """Return whether another process has the namespace's lock open, as a process that waits for it does."""
    lock = str((repository / FILE_NAME).resolve())
    others = (path for path in Path("/proc").glob("[0-9]*/fd/*") if path.parts[2] != str(os.getpid()))
    return any(_target(path) == lock for path in others)


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def publish_after(place: Place, happening: Callable[[], object], **body: str) -> httpx.Response:
    """Return the response to a publish during whose wait for the namespace's lock an event happened."""
    with ThreadPoolExecutor(1) as pool:
        with hold(place.repository):
            answer = pool.submit(place.root.send, "POST", f"{place.path}/publish", json=body)
            wait_until(lambda: is_waited_for(place.repository), 60, "the publish to wait for the lock")
            happening()
        return answer.result()


HAPPENINGS: dict[str, Callable[[Place, Place, str], object]] = {
    "somebody else rejects it": lambda _, lee, head: submit_verdict(lee, "reject", head),
    "the approver rejects it after all": lambda kim, _, head: submit_verdict(kim, "reject", head),
    "the approver is disabled": lambda kim, *_: change(kim, active=False),
    "the approver loses the role": lambda kim, *_: change(kim, roles=["editor"]),
    "the approver's account is removed": lambda kim, *_: remove(kim),
}


@pytest.mark.parametrize("what", HAPPENINGS)
def test_a_publish_that_waits_for_its_turn_respects_later_verdicts(
    shop: Place, kim: Place, lee: Place, what: str
) -> None:
    tip, head = git(shop.repository, "rev-parse", "release"), head_of(shop)
    answer = publish_after(shop, lambda: HAPPENINGS[what](kim, lee, head))
    assert (answer.status_code, answer.json()["error"]) == (403, "approval_required")
    assert git(shop.repository, "rev-parse", "release") == tip
    assert shop.sources() == []
    check_repository(shop.repository)


def test_an_approval_that_comes_meanwhile_counts_too(shop: Place, lee: Place) -> None:
    head = head_of(shop)
    answer = publish_after(shop, lambda: submit_verdict(lee, "approve", head))
    assert answer.status_code == 200
    assert f"user-{id_of(lee)}@" in git(shop.repository, "log", "-1", "--format=%(trailers:key=Approved-by)", "release")


def test_an_override_goes_past_a_rejection_that_comes_meanwhile(world: World, shop: Place, lee: Place) -> None:
    boss, head = shop.as_(world.person("admin")), head_of(shop)
    assert publish_after(boss, lambda: submit_verdict(lee, "reject", head), override="It burns").status_code == 200


def test_verdicts_of_those_who_may_not_review_any_more_are_shown_and_do_not_count(
    shop: Place, kim: Place, lee: Place
) -> None:
    change(kim, roles=["editor"])
    review = shop.get("/draft")["review"]
    (verdict,) = review["approvals"]
    assert (review["state"], verdict["counts"], verdict["lapsed"]) == ("outdated", False, True)
    refused = shop.refused("POST", "/publish", 403, "approval_required")
    assert "The approval by Ada Lovelace no longer counts" in refused["message"]
    submit_verdict(lee, "approve")
    shop.publish()
    approved_by = shop.get("/history")["items"][0]["approvedBy"]
    assert approved_by == f"Ada Lovelace <user-{id_of(lee)}@waypost.invalid>"


def test_a_reviewer_who_may_again_has_their_word_again(shop: Place, kim: Place) -> None:
    number = id_of(kim)
    change(kim, active=False)
    shop.refused("POST", "/publish", 403, "approval_required")
    shop.world.services.accounts.change(OPERATOR, number, {"active": True})
    shop.publish()


@pytest.mark.usefixtures("kim")
def test_a_rejection_goes_with_the_account_that_gave_it(shop: Place, lee: Place) -> None:
    submit_verdict(lee, "reject")
    shop.refused("POST", "/publish", 403, "approval_required")
    remove(lee)
    (verdict,) = shop.get("/draft/review")["review"]["rejections"]
    assert (verdict["counts"], verdict["lapsed"]) == (False, True)
    shop.publish()


def test_an_api_token_s_word_goes_with_the_token(world: World, shop: Place) -> None:
    grants = [Grant(shop.namespace, "*", "project", action) for action in ("read", "review")]
    issued = world.services.tokens.create(OPERATOR, "robot", grants)
    robot = shop.as_(Caller(world.http, issued.value))
    submit_verdict(robot, "approve")
    assert shop.get("/draft")["review"]["state"] == "approved"
    world.services.tokens.remove(OPERATOR, issued.token.id)
    assert shop.get("/draft")["review"]["state"] == "outdated"
    shop.refused("POST", "/publish", 403, "approval_required")


def test_a_grant_elsewhere_does_not_count_here(world: World, shop: Place) -> None:
    """A token with the grant in this project alone counts in it."""
    grants = [Grant(shop.namespace, shop.project, "project", action) for action in ("read", "review")]
    issued = world.services.tokens.create(OPERATOR, "here", grants)
    submit_verdict(shop.as_(Caller(world.http, issued.value)), "approve")
    assert shop.get("/draft")["review"]["approvals"][0]["counts"] is True
    shop.publish()


@pytest.mark.parametrize("ref", ["release", "refs/heads/idea"])
@pytest.mark.parametrize("lost", [{"active": False}, {"roles": ["viewer"]}])
def test_a_pusher_who_loses_access_meanwhile_moves_nothing(
    world: World, tmp_path: Path, ref: str, lost: dict[str, object]
) -> None:
    place, name = world.place(), world.user("publisher")
    pusher = Pusher(place, tmp_path / "work", f"{name}:{quote(PASSWORD)}")
    git(tmp_path, "clone", "-q", pusher.url.replace("any:", ""), str(pusher.folder))
    pusher.commit("shop/redirects.yaml", rules("/a"))
    before = pusher.ref("refs/heads/")
    with ThreadPoolExecutor(1) as pool:
        with hold(place.repository):
            pushing = pool.submit(pusher.refused, "origin", f"HEAD:{ref}")
            wait_until(lambda: is_waited_for(place.repository), 60, "the push to wait for the lock")
            world.services.accounts.change(OPERATOR, world.services.accounts.principal(name).id, lost)
        assert "your grants have changed since the push began" in pushing.result()
    assert pusher.ref("refs/heads/") == before
    pusher.check()
