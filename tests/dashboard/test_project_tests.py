"""Tests of a project in the dashboard: what changes in them, and how a failing one is fixed."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World

Opens = Callable[..., Page]


def keep_tests(place: Place, *tests: tuple[str, int]) -> None:
    """Have exactly these tests in the draft."""
    place.ask("PUT", "/draft/tests", 200, json={"tests": [{"url": url, "status": status} for url, status in tests]})


def test_changed_tests_are_shown_and_counted_wherever_a_state_is_compared(world: World, new_page: Opens) -> None:
    """Also in the question before a publish, and in that before a rollback, which changes them back."""
    place = world.place()
    place.add("/a")
    keep_tests(place, ("/a", 301), ("/guard", 404))
    place.publish()
    place.add("/b")
    keep_tests(place, ("/a", 301), ("/c", 404))
    proposal = place.root.ask(
        "POST", f"{place.space}/proposals", 201, json={"branch": "team/tests", "project": place.project}
    ).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal}")
    counts = "1 redirect added; 1 test added, 1 removed"
    main = page.get_by_role("main")
    expect(main).to_contain_text(counts)
    shows_tests(main)
    page.goto(view(place, "/draft"))
    expect(main.locator(".summary")).to_contain_text(counts)
    shows_tests(main)
    assert violations(page) == []
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(counts)
    dialog.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("This is publish 3")).to_be_visible()
    page.goto(view(place, "/history?version=3"))
    shows_tests(main)
    page.get_by_role("button", name="Roll back to publish 2").click()
    expect(dialog).to_contain_text("1 redirect removed; 1 test added, 1 removed")
    expect(dialog.locator(".change.added")).to_contain_text("/guard")
    assert violations(page) == []
    page.goto(view(place, "/history?from=2&to=3"))
    expect(main).to_contain_text(counts)
    shows_tests(main)


def shows_tests(where: Locator) -> None:
    """Expect the removed and the added test, each with its URL and answer."""
    files = where.get_by_role("region", name="Files beside the rules")
    expect(files.locator(".change.removed")).to_contain_text("/guard")
    expect(files.locator(".change.removed")).to_contain_text("404")
    expect(files.locator(".change.added")).to_contain_text("/c")


def test_a_rollback_does_not_claim_to_change_settings(world: World, new_page: Opens) -> None:
    """The settings of a project stay as they are."""
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.ask("PATCH", "", 200, json={"title": "Another"})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Roll back to this").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".change.removed")).to_contain_text("/b")
    expect(dialog).not_to_contain_text("beside the rules")
