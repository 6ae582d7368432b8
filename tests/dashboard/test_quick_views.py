"""Views that are there at once: what was read before is shown until it is read again, and nothing is read in vain."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.e2e.world import PASSWORD, Place, World
from tests.service import wait_until

Opens = Callable[..., Page]
LIST = re.compile(r"/draft/redirects\?")
PATIENCE = 20.0
CALLS = re.compile(r"/api/namespace/")


@contextmanager
def held(page: Page, calls: re.Pattern[str]) -> Iterator[list[str]]:
    """Hold calls back until the end of the block, and yield their addresses."""
    waiting = list[Route]()
    urls = list[str]()

    def hold(route: Route) -> None:
        waiting.append(route)
        urls.append(route.request.url)

    page.route(calls, hold)
    yield urls
    for route in waiting:
        route.continue_()
    page.unroute(calls, hold)


def tab(page: Page, name: str) -> None:
    """Go to a view of the project."""
    page.get_by_role("navigation", name="Views of the project").get_by_role("link", name=name, exact=True).click()


def open_list(page: Page, place: Place, username: str) -> None:
    """Sign in at the list of redirects, and wait until the other views are loaded."""
    sign_in(page, username, view(place))
    expect(page.locator("tbody tr")).to_have_count(1)
    page.wait_for_load_state("networkidle")


def test_a_list_that_was_read_before_is_there_while_it_is_read_again(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    open_list(page, place, world.user("admin"))
    tab(page, "History")
    expect(page.locator(".publishes li")).to_have_count(2)
    with held(page, LIST) as calls:
        tab(page, "Redirects")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.get_by_role("region", name="Redirects")).to_have_attribute("aria-busy", "true")
        wait_until(lambda: page.evaluate("1") and len(calls) == 1, PATIENCE, "the call")
        place.add("/b")  # by someone else: after its event, no kept list is shown
    expect(page.locator("tbody tr")).to_have_count(2)


def test_a_view_is_left_without_reading_what_the_next_address_asks_of_it(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    open_list(page, place, world.user("admin"))
    page.get_by_role("link", name="Source").click()
    expect(page).to_have_url(re.compile("sort=source"))
    page.wait_for_load_state("networkidle")
    with held(page, CALLS) as calls:
        tab(page, "Draft")
        page.wait_for_function("document.title.startsWith('Draft')")
        expect(page.locator(".tabs [aria-current]")).to_have_text("Draft")
    page.wait_for_load_state("networkidle")
    assert calls
    assert [url for url in calls if LIST.search(url)] == []


def test_a_rule_of_the_list_is_in_its_form_without_a_call(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    open_list(page, place, world.user("admin"))
    with held(page, re.compile(r"/draft/redirects/[^/?]+$")) as calls:
        page.locator("tbody").get_by_role("link", name="/a").click()
        expect(page.get_by_role("dialog").get_by_label("Source", exact=True)).to_have_value("/a")
        assert calls == []


def test_a_rule_that_someone_else_has_changed_is_not_overwritten(world: World, new_page: Opens) -> None:
    """The form is filled from the list, which may be older than the draft."""
    place = world.place()
    place.published("/a")
    page = new_page(refused=412)
    open_list(page, place, world.user("admin"))
    (item,) = place.get("/draft/redirects")["items"]
    body = {name: item[name] for name in ("type", "source", "status")} | {"target": "/theirs"}
    place.ask("PUT", f"/draft/redirects/{item['id']}", 200, json=body)
    page.locator("tbody").get_by_role("link", name="/a").click()
    page.get_by_role("dialog").get_by_label("Target", exact=True).fill("/mine")
    page.get_by_role("dialog").get_by_role("button", name="Save in the draft").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Save mine over it")).to_be_visible()
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/theirs"]


def test_nothing_that_was_read_is_shown_to_the_next_person(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    open_list(page, place, world.user("admin"))
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    page.get_by_label("User name").fill(world.user("admin"))
    page.get_by_label("Password").fill(PASSWORD)
    with held(page, CALLS) as calls:
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_role("banner").get_by_role("button", name="Sign out").wait_for()
        page.wait_for_function("document.title.startsWith('Redirects')")
        expect(page.locator(".tabs [aria-current]")).to_have_text("Redirects")
        expect(page.locator("tbody tr")).to_have_count(0)
        assert [url for url in calls if LIST.search(url)]
    expect(page.locator("tbody tr")).to_have_count(1)


# What a view says while it reads, and whether that is seen in the frame in which it comes.
WATCH = """window.seen = [];
new MutationObserver(() => {
  for (const each of document.querySelectorAll("main p, dialog p")) {
    if (/^(Reading|Comparing|Looking)/.test(each.textContent) && !each.seen) {
      each.seen = true;
      window.seen.push([each.textContent, getComputedStyle(each).visibility]);
    }
  }
}).observe(document, { childList: true, subtree: true });"""
SAID = {
    "/agents": (r"/agents\?.*limit=50", "Reading the agents …"),
    "/history": (r"/history\?", "Reading the history …"),
    "/history?version=1": (r"/history/1", "Reading the publish …"),
    "/history?from=1&to=published": (r"/diff\?", "Comparing …"),
    "/draft": (r"/draft/changes", "Reading the draft …"),
    "?edit=ID": (r"/draft/redirects", "Reading the redirect …"),
}


@pytest.mark.parametrize("part", SAID)
def test_what_is_read_is_told_only_if_it_takes_a_while(world: World, new_page: Opens, part: str) -> None:
    place = world.place()
    place.published("/a")
    calls, text = SAID[part]
    rule = place.get("/draft/redirects")["items"][0]["id"]
    page = new_page()
    page.add_init_script(WATCH)
    sign_in(page, world.user("admin"), "/dashboard/settings")
    with held(page, re.compile(calls)):
        page.goto(view(place, part.replace("ID", rule)))
        expect(page.get_by_text(text)).to_be_visible()
        assert page.evaluate("window.seen") == [[text, "hidden"]]
    expect(page.get_by_text(text)).to_have_count(0)


def test_what_is_saved_and_taken_back_is_in_the_table_before_it_is_read_again(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    open_list(page, place, world.user("admin"))
    page.get_by_role("link", name="/a", exact=True).click()
    page.get_by_role("dialog").get_by_label("Target").fill("/saved")
    with held(page, LIST) as calls:
        page.get_by_role("button", name="Save in the draft").click()
        expect(page.locator("tbody")).to_contain_text("/saved")
        expect(page.locator("tbody")).to_contain_text("Changed")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("tbody")).not_to_contain_text("/saved")
        wait_until(lambda: page.evaluate("1") and len(calls) >= 1, PATIENCE, "the list that is read again")
    expect(page.locator("tbody")).to_contain_text("/new")


def test_a_discarded_change_leaves_the_list_before_it_is_read_again(world: World, new_page: Opens) -> None:
    place = world.place()
    for source in ("/a", "/b", "/c"):
        place.add(source)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".change")).to_have_count(3)
    page.wait_for_load_state("networkidle")
    with held(page, re.compile(r"/draft/changes\?")) as calls:
        page.get_by_role("button", name="Discard the change of /a").click()
        expect(page.locator(".change")).to_have_count(2)
        expect(page.locator(".summary")).to_contain_text("2 redirects added")
        page.get_by_role("button", name="Discard the change of /b").click()
        expect(page.locator(".change")).to_have_count(1)
        wait_until(lambda: page.evaluate("1") and len(calls) >= 1, PATIENCE, "the list that is read again")
    expect(page.locator(".summary")).to_contain_text("1 redirect added")
    assert [each["source"] for each in place.get("/draft/redirects")["items"]] == ["/c"]


def test_the_changes_of_a_draft_are_read_while_the_pointer_is_on_their_tab(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    expect(page.locator("tbody tr")).to_have_count(2)
    page.wait_for_load_state("networkidle")
    with page.expect_response(re.compile(r"/draft/changes\?")):
        page.locator(".tabs a[href*='/draft']").hover()
    with held(page, re.compile(r"/draft/changes\?")):
        tab(page, "Draft")
        expect(page.locator(".change")).to_have_count(1)


def test_a_discarded_change_is_put_back_though_it_could_not_be_read_ahead(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    [item] = place.get("/draft/redirects")["items"]
    record = f"/draft/redirects/{item['id']}"
    place.ask("PATCH", record, 200, json={"target": "/mine"})
    place.add("/b")
    page = new_page(offline=True)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".change")).to_have_count(2)
    page.wait_for_load_state("networkidle")
    discard = page.get_by_role("button", name="Discard the change of /a")
    early = list[Route]()
    page.route(re.compile(record), lambda route: early.append(route), times=1)  # noqa: PLW0108 - Playwright cannot wrap a builtin
    discard.hover()
    wait_until(lambda: page.evaluate("1") and early, PATIENCE, "the read while the pointer is there")
    discard.click()
    early[0].abort("internetdisconnected")
    expect(page.locator(".change")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".change")).to_have_count(2)
    assert place.get(record)["target"] == "/mine"
