"""The pages that Git hosts link to: each shows what its commit status is about."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from api.page_links import PageLinks
from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import violations
from tests.e2e.world import World

Opens = Callable[..., Page]


def test_each_link_of_a_host_shows_what_it_is_about(world: World, new_page: Opens) -> None:
    links = PageLinks(world.service.url, has_dashboard=True)
    place = world.place()
    version = place.published("/sale")["version"]
    place.add("/summer", "/offers")
    body = {"branch": "team/summer", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    place.root.ask("PUT", f"{place.space}/upstream", 200, json={"url": "http://127.0.0.1:9/up.git", "mode": "mirror"})
    page = new_page()
    sign_in(page, world.user("admin"), links.draft(place.namespace, place.project, "main"))
    expect(page.locator(".change.added")).to_contain_text("/summer")
    page.goto(links.publish(place.namespace, place.project, version))
    expect(page.locator(".publishes")).to_contain_text(version[:7])
    expect(page.locator(".change.added")).to_contain_text("/sale")
    page.goto(links.proposal(place.namespace, made["id"]))
    expect(page.locator(".change.added")).to_contain_text("/summer")
    page.goto(links.upstream(place.namespace))
    panel = page.get_by_role("dialog", name=f"Namespace {place.namespace}").get_by_role("region", name="Upstream")
    expect(panel).to_contain_text("http://127.0.0.1:9/up.git")
    assert violations(page) == []
