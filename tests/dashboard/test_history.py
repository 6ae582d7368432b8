"""Comparisons and old publishes: any two states, all of what differs, and what to do with an old version."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.e2e.world import Place, World

Opens = Callable[..., Page]

TSV = {"Content-Type": "text/tab-separated-values"}


def test_all_changes_of_a_large_push_are_shown_before_it_is_approved_published_or_rolled_back(
    world: World, new_page: Opens
) -> None:
    """A proposal, a comparison, a publish and a rollback show 500 changes at first, and the others on request."""
    place = world.place()
    imported(place, 1100)
    body = {"branch": "team/many", "project": place.project}
    proposal = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal}")
    shows_all(page.get_by_role("main"))
    place.publish()
    for part in ("/history?version=2", "/history?from=1&to=published"):
        page.goto(view(place, part))
        shows_all(page.get_by_role("main"))
    page.goto(view(place, "/history?version=2"))
    page.get_by_role("button", name="Roll back to publish 1").click()
    shows_all(page.get_by_role("dialog"))


def imported(place: Place, number: int) -> None:
    """Import redirects into the draft."""
    rows = "".join(f"BASIC\t/many/{each:04}\t/new\t301\n" for each in range(number))
    place.ask("POST", "/import", 200, content=f"type\tsource\ttarget\tstatus\n{rows}", headers=TSV)


def shows_all(part: Locator) -> None:
    """Go to the end of 1,100 changes, with the keyboard: it goes on at the first change that has come."""
    cards = part.locator(".changes > .change")
    expect(cards).to_have_count(500)
    expect(part.get_by_text("500 of 1,100 changes are shown.")).to_be_visible()
    part.get_by_role("button", name="Show 500 more").press("Enter")
    expect(cards).to_have_count(1000)
    expect(cards.nth(500)).to_be_focused()
    part.get_by_role("button", name="Show 100 more").press("Enter")
    expect(cards).to_have_count(1100)
    expect(cards.nth(1000)).to_be_focused()
    expect(part.get_by_role("button", name="more")).to_have_count(0)
    expect(cards.last).to_contain_text("/many/1099")
