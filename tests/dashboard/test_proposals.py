"""Proposals in the dashboard: a pushed branch is found, reviewed and merged."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import violations
from tests.e2e.world import World

Opens = Callable[..., Page]


def test_a_proposal_waits_on_the_overview_and_is_approved_and_merged(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    place.add("/sale", "/offers")
    body = {"branch": "team/sale", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    place.ask("DELETE", "/draft", 204)
    page = new_page()
    sign_in(page, world.user("admin"))
    page.get_by_role("region", name="Waiting").get_by_role("link", name=f"{place.namespace}:").click()
    expect(page.locator(".change.added")).to_contain_text("/sale")
    impact = page.get_by_role("region", name="What it changes for visitors")
    expect(impact).to_contain_text("1 request is answered in another way")
    expect(page.get_by_text("Needs approval")).to_be_visible()
    page.get_by_label("Remark on shop").fill("Good.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("\u2713 Approved")).to_be_visible()
    expect(page.locator(".remarks")).to_contain_text("Good.")
    assert violations(page) == []
    page.get_by_role("button", name="Merge and publish").click()
    page.get_by_role("dialog").get_by_label("Message").fill("Begin the sale")
    page.get_by_role("dialog").get_by_role("button", name="Merge and publish").click()
    expect(page.get_by_text("Published: shop 2.")).to_be_visible()
    assert place.sources() == ["/sale"]
    assert made["id"]


def test_a_requested_review_waits_for_those_who_may_review(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    place.add("/sale", "/offers")
    head = place.get("/draft")["head"]
    page = new_page()
    sign_in(page, world.user("admin"))
    waiting = page.get_by_role("region", name="Waiting").get_by_role("listitem").filter(has_text=place.namespace)
    expect(waiting).to_contain_text("Draft open")
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": head})
    expect(waiting).to_contain_text("You may review it")
