"""A fresh service: from an empty overview to a published rule, by clicking alone."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.conftest import opening_pages, sign_in
from tests.dashboard.test_pages import violations
from tests.e2e.world import World, open_world
from tests.service import WAYPOST, running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[World]:
    """Run a service without namespaces."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as found:
        yield found


@pytest.fixture
def new_page(chromium: Browser, fresh: World) -> Iterator[Callable[..., Page]]:
    """Open pages of the fresh service."""
    with opening_pages(chromium, fresh.service.url) as open_page:
        yield open_page


def test_an_empty_overview_leads_to_a_published_rule(fresh: World, new_page: Callable[..., Page]) -> None:
    looking = new_page()
    sign_in(looking, fresh.user("viewer"))
    expect(looking.get_by_role("heading", name="Nothing that you may see")).to_be_visible()
    page = new_page()
    sign_in(page, fresh.user("admin"))
    expect(page.get_by_role("heading", name="Nothing is here yet")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Take the first steps").click()
    page.get_by_label("Namespace").fill("acme")
    page.get_by_label("Project").fill("shop")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").click()
    expect(page.get_by_text("The redirect is published.")).to_be_visible()
    page.get_by_role("button", name="I have kept it, open the project").click()
    expect(page.locator("tbody tr")).to_contain_text("/old")
    page.get_by_role("banner").get_by_role("link", name="Waypost").click()
    card = page.get_by_role("region", name="acme")
    expect(card).to_contain_text("1 redirect")
    expect(card.get_by_role("link", name="Add the first redirect")).to_be_visible()
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    expect(looking.get_by_role("region", name="acme")).to_contain_text("1 redirect")
    card.get_by_role("link", name="Connect one").click()
    expect(page.get_by_role("dialog", name="Connect an agent")).to_be_visible()
    for name in ("zoo", "aaa"):
        fresh.root.ask("POST", "/api/namespaces", 201, json={"name": name})
    page.goto("/")
    expect(page.get_by_role("heading", level=2)).to_have_text(["Waiting", "aaa", "acme", "zoo"])
    page.goto("/dashboard/settings/namespaces")
    expect(page.get_by_role("heading", level=2)).to_have_text(["aaa", "acme", "zoo"])
    served = fresh.root.get("/api/namespace/acme/project/shop/redirects")["items"]
    assert [(each["source"], each["target"]) for each in served] == [("/old", "/new")]
