"""The code owners of what a draft or proposal changes are suggested as its reviewers, through the API."""

from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.principal import OPERATOR
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, rules
from tests.e2e.world import Place, World


def names(review: Any) -> list[str]:
    return [each["name"] for each in review["suggestedReviewers"]]


def suggested(place: Place) -> list[str]:
    return names(place.get("/draft/review")["review"])


def signed_in(world: World, name: str) -> Caller:
    return Caller(world.http, world.session(name)["accessToken"])


@pytest.fixture
def clone(place: Place, tmp_path: Path) -> Clone:
    return Clone.of(place.repository, tmp_path / "clone")


def test_owners_of_a_changed_file_who_may_review_are_suggested(world: World, place: Place, clone: Clone) -> None:
    first, second = sorted((world.user("publisher"), world.user("admin")))
    reader, disabled = world.user("viewer"), world.user("admin")
    accounts = world.services.accounts
    accounts.change(OPERATOR, accounts.principal(disabled).id, {"active": False})
    owners = f"@{second} @{first.upper()} @{reader} @{disabled} @org/shop nobody@example.com"
    clone.publish("CODEOWNERS", f"* @{world.user('admin')}\n/shop/redirects.yaml {owners}\n")
    assert suggested(place) == []
    place.add("/a")
    assert suggested(place) == [first, second]
    assert names(place.get("/draft")["review"]) == [first, second]


def test_only_the_owners_of_what_changed_are_suggested(world: World, place: Place, clone: Clone) -> None:
    of_rules, of_pages = world.user("admin"), world.user("admin")
    clone.publish("CODEOWNERS", f"/shop/redirects.yaml @{of_rules}\npages.yaml @{of_pages}\n/other/ @{of_rules}\n")
    place.add_page("/a.txt")
    assert suggested(place) == [of_pages]
    place.add("/a")
    assert suggested(place) == sorted([of_rules, of_pages])


def test_who_wrote_requested_or_judged_the_draft_is_not_suggested(world: World, place: Place, clone: Clone) -> None:
    people = [world.user("admin") for _ in range(4)]
    author, requester, judge, left = (place.as_(signed_in(world, name)) for name in people)
    clone.publish(".github/CODEOWNERS", f"* {' '.join(f'@{name}' for name in people)}\n")
    author.add("/a")
    head = place.get("/draft")["head"]
    asked = requester.ask("POST", "/draft/review", 200, json={"action": "request", "head": head}).json()
    assert names(asked["review"]) == sorted(people[2:])
    judge.ask("POST", "/draft/review", 200, json={"action": "approve", "head": head})
    assert suggested(place) == [people[3]]
    left.add("/b")
    assert suggested(place) == [people[2]]


def test_the_overview_tells_whom_a_draft_waits_for(world: World, place: Place, clone: Clone) -> None:
    owner = world.user("admin")
    place.add("/a")

    def found() -> list[str]:
        [found] = [each for each in world.root.get("/api/overview")["drafts"] if each["namespace"] == place.namespace]
        return names(found["review"])

    assert found() == []
    clone.publish("CODEOWNERS", f"* @{owner}\n")
    assert found() == [owner]


def test_owners_of_a_proposal_are_suggested_by_project(world: World, place: Place, clone: Clone) -> None:
    owner = world.user("admin")
    clone.publish("CODEOWNERS", f"/shop/ @{owner}\n")
    clone.write("shop/redirects.yaml", rules("/pushed"))
    clone.commit()
    clone.push("idea")
    [proposal] = place.root.get(f"{place.space}/proposals")["items"]
    found = place.root.get(f"{place.space}/proposal/{proposal['id']}/review")["reviews"]
    assert {project: names(review) for project, review in found.items()} == {"shop": [owner]}


def test_a_file_that_cannot_be_used_suggests_nobody(world: World, place: Place, clone: Clone) -> None:
    owner = world.user("admin")
    place.add("/a")
    clone.publish("CODEOWNERS", f"* @{owner}\n{'#' * 100_000}\n")
    assert suggested(place) == []
    clone.publish("CODEOWNERS", f"* @{owner}\n")
    assert suggested(place) == [owner]
