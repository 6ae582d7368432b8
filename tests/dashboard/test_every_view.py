"""Every view with hostile texts in everything that people and agents write, and in a narrow or enlarged window."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from api.auth.accounts import NewUser
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import PAGES
from tests.e2e.world import PASSWORD, Place, World

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&amp;{{7*7}}" + "w" * 120
# The elements that make the page wider than the window, none for a page that is not; a box that scrolls hides its own.
TOO_WIDE = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((each) => each.getBoundingClientRect().right > root.clientWidth + 1);
  return wide.slice(0, 9).map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`);
}"""

Opens = Callable[..., Page]


@pytest.fixture(scope="module")
def hostile(world: World) -> Place:
    """Return a project in which everything that takes any text has markup in it."""
    place = world.place()
    place.root.ask("PATCH", place.space, 200, json={"description": HOSTILE})
    place.root.ask("PATCH", place.path, 200, json={"title": HOSTILE[:100], "description": HOSTILE})
    place.add("/old", "https://example.org/" + HOSTILE.replace(" ", "+"), note=HOSTILE, tags=["<b>tag</b>"])
    place.add_page("/page.txt", HOSTILE)
    place.publish(message=HOSTILE)
    place.add("/" + "<b>x</b>" * 40, "/offers", note=HOSTILE)
    head = place.get("/draft")["head"]
    place.ask("POST", "/draft/review", 200, json={"action": "comment", "head": head, "note": HOSTILE})
    place.ask("POST", "/draft/tests", 200, json={"tests": [{"url": "/<b>u</b>", "status": 404}]})
    agent = {"name": "edge", "type": "default", "version": "0" * 40, "status": "error", "error": HOSTILE}
    place.ask("POST", "/agents", 200, json=agent)
    place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/<i>" + "w" * 90})
    world.services.tokens.create(OPERATOR, HOSTILE[:90], (Grant("*", "*", "redirect", "read"),))
    name = f"hostile-{place.namespace}"
    world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, ("viewer",), HOSTILE[:60], HOSTILE[:60]))
    return place


def test_texts_are_shown_as_texts_in_every_view(world: World, new_page: Opens, hostile: Place) -> None:
    page = new_page()  # fails for a report of the policy, which forbids scripts in the page
    sign_in(page, world.user("admin"))
    for path in PAGES:
        _show(page, path, hostile)
        assert page.locator("img[src=x], main b, main script").count() == 0, path
    _show(page, "/dashboard/project/{namespace}/shop/history?version=2", hostile)
    assert "<img src=x" in page.locator("main").inner_text()


@pytest.mark.parametrize("width", [1280, 640, 320], ids=["in-full-size", "twice-as-large", "four-times-as-large"])
def test_no_view_scrolls_sideways_when_it_is_enlarged(
    world: World, new_page: Opens, hostile: Place, width: int
) -> None:
    """A window of 1,280 pixels has these widths at 200 % and 400 %: https://www.w3.org/TR/WCAG22/#reflow."""
    page = new_page(viewport={"width": width, "height": 512})
    sign_in(page, world.user("admin"))
    wide: dict[str, list[str]] = {}
    for path in PAGES:
        _show(page, path, hostile)
        found = page.evaluate(TOO_WIDE)
        if found:
            wide[path] = found
    assert wide == {}


def _show(page: Page, path: str, place: Place) -> None:
    page.goto(path.format(namespace=place.namespace))
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_role("banner").get_by_role("button", name="Sign out").wait_for()
    page.wait_for_load_state("networkidle")
