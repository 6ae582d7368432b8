"""No view jumps while it loads: the browser itself tells what moved without a key or a click."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import PAGES
from tests.e2e.world import World

Opens = Callable[..., Page]

MOST = 0.02  # of the window, times the way it moved; 0.1 is called good: https://web.dev/articles/cls
OBSERVE = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) {
    if (!each.hadRecentInput) moved.push([each.value, each.sources.map((source) => source.node?.outerHTML?.slice(0, 100))]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


def test_no_view_jumps_while_it_loads(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    place.add("/waiting")
    place.add_page("/robots.txt")
    for name, status in (("a", "success"), ("b", "error")):
        place.ask("POST", "/agents", 200, json={"name": name, "type": "default", "version": 2, "status": status})
    page = new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(OBSERVE)
    sign_in(page, world.user("admin"))
    jumps: dict[str, object] = {}
    for path in PAGES:
        page.goto(path.format(namespace=place.namespace))
        page.get_by_role("heading", level=1).wait_for()
        page.get_by_role("banner").get_by_role("button", name="Sign out").wait_for()
        page.wait_for_load_state("networkidle")
        moved = page.evaluate("moved")
        if sum(value for value, _ in moved) > MOST:
            jumps[path] = moved
    assert jumps == {}
    page.set_viewport_size({"width": 320, "height": 640})
    for name in ("transfer", "test", "history"):  # the tabs scroll sideways, and the current one is seen
        page.goto(f"/dashboard/project/{place.namespace}/shop/{name}")
        expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=1)
