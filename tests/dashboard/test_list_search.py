"""The lists of proposals and publishes are searched, and the search is in the address."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World

Opens = Callable[..., Page]


@pytest.fixture
def place(world: World) -> Place:
    """Return a project with two publishes of rules and two proposals."""
    found = world.place()
    for name in ("spring", "autumn"):
        found.add(f"/{name}")
        found.publish(message=f"The {name} sale")
        found.add(f"/{name}-2")
        body = {"branch": f"team/{name}", "project": found.project}
        found.root.ask("POST", f"{found.space}/proposals", 201, json=body)
        found.ask("DELETE", "/draft", 204)
    return found


def test_publishes_are_searched(place: Place, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, place.world.user("admin"), view(place, "/history"))
    publishes = page.locator(".publishes > li")
    expect(publishes).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("AUTUMN")
    expect(publishes).to_have_count(1)
    expect(publishes).to_contain_text("The autumn sale")
    expect(page).to_have_url(re.compile(r"q=AUTUMN"))
    box = page.get_by_label("Search message, person and number")
    expect(box).to_be_focused()
    assert violations(page) == []
    publishes.get_by_role("link").click()
    page.get_by_role("link", name="All publishes").click()
    expect(publishes).to_have_count(1)  # what was searched is still there
    page.reload()
    expect(publishes).to_have_count(1)
    box.fill("2")
    expect(publishes.first).to_contain_text("The spring sale")
    expect(publishes.first.get_by_text("Served now")).to_have_count(0)
    box.fill("nothing has this")
    expect(page.get_by_text("No publish matches")).to_be_visible()
    page.get_by_role("link", name="Show all publishes").click()
    expect(publishes).to_have_count(3)
    expect(box).to_have_value("")


def test_proposals_are_searched(place: Place, new_page: Opens) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    sign_in(page, place.world.user("admin"), view(place, "/proposals"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    box = page.get_by_label("Search title, branch and author")
    box.fill("team/spring")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=team%2Fspring"))
    assert violations(page) == []
    page.reload()
    expect(rows).to_have_count(1)
    box.fill("nothing has this")
    expect(page.get_by_text("No proposal matches")).to_be_visible()
    expect(box).to_be_focused()
    page.get_by_role("link", name="Show all proposals").click()
    expect(rows).to_have_count(2)
