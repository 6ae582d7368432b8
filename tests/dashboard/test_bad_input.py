"""Bad input while editing: a session that ends, a service that is away, late answers, two tabs: said in words, nothing lost."""

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import drafted, view
from tests.e2e.world import PASSWORD, World

Opens = Callable[..., Page]


def test_a_session_that_ends_in_an_edit_asks_for_a_login_and_then_saves(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=401)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/sale")
    form.get_by_label("Target").fill("/offers")
    # Else the try line, which asks while one types, finds the end of the session before the button does.
    expect(form.get_by_role("region", name="Try it")).to_contain_text("/offers")
    page.context.clear_cookies()
    form.get_by_role("button", name="Add to the draft").click()
    dialog = page.get_by_role("dialog", name="Sign in again")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("tbody")).to_contain_text("/sale")
    assert drafted(place) == {"/sale": "/offers"}


def test_a_service_that_is_away_is_told_and_what_was_typed_is_saved_later(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=503)
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    form.locator(".cm-content").click()
    page.keyboard.type("User-agent: *")
    away = {"error": "unavailable", "message": "Waypost is restarting. Try again in a moment."}
    page.route("**/draft/pages*", lambda route: route.fulfill(status=503, json=away))
    form.get_by_role("button", name="Add to the draft").click()
    expect(form.get_by_role("alert")).to_contain_text("Try again in a moment.")
    expect(form.locator(".cm-line")).to_have_text("User-agent: *")
    page.unroute("**/draft/pages*")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.get_by_role("link", name="/robots.txt")).to_be_visible()


def test_an_answer_that_is_late_never_replaces_a_newer_one(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/alpha", "/beta")
    page = new_page()
    held: list[Route] = []
    page.route("**/draft/redirects?*q=alpha*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    sign_in(page, world.user("admin"), view(place))
    expect(page.locator("tbody tr")).to_have_count(2)
    search = page.get_by_label("Search source, target and note")
    with page.expect_request("**/draft/redirects?*q=alpha*"):
        search.fill("alpha")
    search.fill("beta")
    expect(page.locator("tbody tr")).to_have_count(1)
    for route in held:
        route.fallback()
    with page.expect_response("**/draft/redirects?*sort=target*"):
        page.get_by_role("link", name="Target").first.click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("/beta")


def test_two_tabs_with_one_rule_do_not_overwrite_each_other(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add("/a", "/first")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), f"{view(place)}?edit={made['id']}")
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/of-the-first-tab")
    tab = page.context.new_page()
    tab.goto(f"{view(place)}?edit={made['id']}")
    other = tab.get_by_role("dialog", name="Edit the redirect")
    other.get_by_label("Target").fill("/of-the-second-tab")
    other.get_by_role("button", name="Save in the draft").click()
    expect(other).to_be_hidden()
    form.get_by_role("button", name="Save in the draft").click()
    expect(form.get_by_role("alert").first).to_contain_text("Someone else has changed it meanwhile")
    expect(form.get_by_label("Target")).to_have_value("/of-the-first-tab")
    assert drafted(place) == {"/a": "/of-the-second-tab"}


def test_a_draft_that_moved_while_it_was_read_is_not_published_unseen(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/seen")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog", name="Publish the draft")
    dialog.get_by_label("Message").fill("Begin the sale")
    place.add("/unseen")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Read it again")
    expect(dialog.get_by_label("Message")).to_have_value("Begin the sale")
    assert place.sources() == []
