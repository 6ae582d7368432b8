"""The palette before one types: the projects that were visited last, then others; and the search of the shown project."""

import re
import secrets
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World
from tests.service import wait_until

Opens = Callable[..., Page]
PATIENCE = 20  # s


def visit(page: Page, place: Place) -> None:
    page.goto(view(place))
    expect(page.get_by_text("No redirects yet").or_(page.locator("tbody tr").first)).to_be_visible()
    wait_for_visit(page, place)


def wait_for_visit(page: Page, place: Place, *, noted: bool = True) -> None:
    """Wait until a visit is noted, or forgotten: that is after the project was read."""
    held = "name => Object.values(localStorage).some(each => each.includes(name))"
    wait_until(lambda: page.evaluate(held, place.namespace) is noted, PATIENCE, "the note of a visit")


def open_palette(page: Page) -> Locator:
    page.keyboard.press("Control+k")
    return page.get_by_role("dialog", name="Commands").get_by_role("option")


def test_the_projects_that_were_visited_last_are_first_before_one_types(world: World, new_page: Opens) -> None:
    places = [world.place() for _ in range(3)]
    first, _, second = sorted(places, key=lambda each: each.namespace)  # not the order in which they are visited last
    page = new_page(refused=404)
    sign_in(page, world.user("admin"))
    visit(page, first)
    visit(page, second)
    options = open_palette(page)
    expect(options.first).to_have_text(f"{first.namespace} / shop")  # without the shown one
    page.keyboard.press("Escape")
    page.goto("/dashboard/start")
    options = open_palette(page)
    expect(options.nth(0)).to_have_text(f"{second.namespace} / shop")
    expect(options.nth(1)).to_have_text(f"{first.namespace} / shop")
    expect(options.nth(2)).to_have_text(re.compile(" / "))  # others, in the order of their names
    expect(options.get_by_text("Go to the overview")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(view(first)))
    first.ask("DELETE", f"?confirm={first.project}", 204)
    expect(page.locator("main .failure").first).to_be_visible()
    wait_for_visit(page, first, noted=False)
    page.goto("/dashboard/start")
    options = open_palette(page)
    expect(options.first).to_have_text(f"{second.namespace} / shop")
    expect(options.get_by_text(first.namespace)).to_have_count(0)


def test_visits_are_forgotten_by_who_signs_out(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"))
    visit(page, place)
    assert place.namespace in page.evaluate("JSON.stringify(localStorage)")
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    assert place.namespace not in page.evaluate("JSON.stringify(localStorage)")


def test_the_redirects_of_the_shown_project_are_searched_from_the_palette(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/alpha", "/beta")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history"))
    expect(page.locator(".publishes > li").first).to_be_visible()
    options = open_palette(page)
    page.keyboard.type("/alpha & more")
    expect(options).to_have_text(["Search redirects for “/alpha & more”"])
    assert violations(page) == []
    page.get_by_role("combobox").fill("/alpha")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_label("Search source, target and note")).to_have_value("/alpha")
    page.goto("/dashboard/start")
    options = open_palette(page)
    page.keyboard.type("/nowhere")
    expect(page.get_by_text("No command, project or namespace has these words.")).to_be_visible()
    expect(options).to_have_count(0)


def test_what_is_done_in_a_project_is_found_from_every_page(world: World, new_page: Opens) -> None:
    """In those that were visited last, and only what the reader may do there."""
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    wait_for_visit(page, place)
    page.goto("/dashboard/settings/account")
    page.get_by_role("button", name="Sign out").wait_for()
    options, text = page.get_by_role("option"), page.get_by_label("Find a command, project")

    def find(words: str) -> None:
        page.keyboard.press("Control+k")
        text.fill(words)

    find("publish shop")
    expect(options.first).to_have_text("Publish the draft of shop …")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/shop/draft$"))
    expect(page.get_by_text("No draft is open")).to_be_visible()
    for words, name, path in (
        ("add redirect", "Add a redirect to shop", "/shop\\?edit=new"),
        ("import", "Import into shop", "/shop/transfer$"),
        ("test urls", "Test URLs in shop", "/shop/test$"),
    ):
        page.goto("/")
        page.get_by_role("heading", name="Overview").wait_for()
        find(words)
        options.filter(has_text=name).click()
        expect(page).to_have_url(re.compile(path))
    reader = new_page()
    sign_in(reader, world.user("viewer"), view(place))
    wait_for_visit(reader, place)
    reader.goto("/dashboard/settings/account")
    reader.get_by_role("button", name="Sign out").wait_for()
    reader.keyboard.press("Control+k")
    reader.get_by_label("Find a command, project").fill("shop t")
    expect(reader.get_by_role("option").filter(has_text="Test URLs in shop")).to_be_visible()
    expect(
        reader.get_by_role("option").filter(has_text=re.compile("Publish the draft|Add a redirect|Import into"))
    ).to_have_count(0)


def choose(page: Page, words: str, name: str) -> None:
    """Find a command from the settings of one's account, where no project is shown, and run it."""
    page.goto("/dashboard/settings")
    page.get_by_role("heading", name="Your account").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_label("Find a command, project").fill(words)
    page.get_by_role("option", name=name, exact=True).click()


def test_the_publish_of_a_draft_is_opened_from_the_palette_once(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    page = new_page()
    sign_in(page, world.user("admin"))
    visit(page, place)
    choose(page, "publish shop", "Publish the draft of shop …")
    dialog = page.get_by_role("dialog", name="Publish the draft")
    expect(dialog.get_by_label("Message")).to_be_focused()
    expect(page).to_have_url(re.compile("/shop/draft$"))
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Publish …")).to_be_enabled()
    expect(dialog).to_have_count(0)


def test_the_settings_that_one_may_see_are_found(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"))
    for words, name, path in (
        ("users", "Settings: Users", "/users"),
        ("roles", "Settings: Roles", "/roles"),
        ("tokens", "Settings: API tokens", "/tokens"),
        ("webhooks", "Settings: Webhooks", "/webhooks"),
        ("audit log", "Settings: Audit log", "/audit"),
        ("namespaces", "Settings: Namespaces", "/namespaces"),
        ("sessions", "Go to your account", ""),
    ):
        choose(page, words, name)
        expect(page).to_have_url(re.compile(f"/dashboard/settings{path}$"))
    owner = new_page()
    sign_in(owner, world.owner(place.namespace))
    owner.keyboard.press("Control+k")
    owner.get_by_label("Find a command, project").fill("settings")
    expect(owner.get_by_role("option", name="Settings: Namespaces")).to_be_visible()
    expect(owner.get_by_role("option", name=re.compile("Users|Roles|Audit"))).to_have_count(0)


def test_the_views_of_every_project_are_found(world: World, new_page: Opens) -> None:
    place, other = world.place(), world.place(project=f"unvisited{secrets.token_hex(4)}")
    page = new_page()
    sign_in(page, world.user("admin"))
    visit(page, place)
    for words, name, path in (
        ("redirects shop", "Redirects of shop", "/shop$"),
        ("pages of shop", "Pages of shop", "/shop/pages$"),
        ("draft shop", "Draft of shop", "/shop/draft$"),
        ("history", "History of shop", "/shop/history$"),
        ("tester shop", "Tester of shop", "/shop/test$"),
        ("agents", "Agents of shop", "/shop/agents$"),
        ("import", "Import and export of shop", "/shop/transfer$"),
        ("settings shop", "Settings of shop", f"name={place.namespace}&project=shop$"),
    ):
        choose(page, words, name)
        expect(page).to_have_url(re.compile(path))
    choose(page, f"history {other.project}", f"History of {other.namespace} / {other.project}")
    expect(page).to_have_url(re.compile(f"/{other.project}/history$"))


def test_static_pages_and_publishes_of_the_last_project_are_found(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add_page("/robots.txt")
    version = place.publish(message="The spring sale")["version"]
    page = new_page()
    sign_in(page, world.user("admin"))
    visit(page, place)
    choose(page, "robots", "Page /robots.txt of shop")
    expect(page.get_by_role("dialog", name="Edit the page").get_by_label("Path")).to_have_value("/robots.txt")
    for words in ("publish 2", "spring sale", version[:7]):
        choose(page, words, "Publish 2 of shop: The spring sale")
        expect(page).to_have_url(re.compile("/shop/history\\?version=2$"))
        expect(page.get_by_role("link", name="The spring sale")).to_be_visible()


def test_what_is_chosen_with_the_arrows_is_in_view(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(viewport={"width": 800, "height": 400})
    sign_in(page, world.user("admin"), view(place))
    page.get_by_text("No redirects yet").wait_for()
    options, steps = open_palette(page), 12  # the list grows at its end and its start while it is read
    selected = page.locator("#commands [aria-selected=true]")
    expect(options.get_by_text("Go to Redirects")).to_have_count(1)
    for key in ["ArrowDown"] * steps + ["ArrowUp"] * steps:
        page.keyboard.press(key)
        expect(selected).to_be_in_viewport(ratio=0.9)
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Find a command, project")).to_be_in_viewport(ratio=0.9)
