"""The live events of several tabs: they share one stream, and another tab reads it when the first is closed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.dashboard.conftest import opening_pages, sign_in
from tests.dashboard.test_editing import view
from tests.e2e.world import World
from tests.service import wait_until

Opens = Callable[..., Page]
PATIENCE = 60.0


def streams(world: World) -> int:
    """Return the number of streams that the service counts, of all its workers."""
    text = world.root.ask("GET", "/metrics", 200).text
    return sum(
        int(float(each)) for each in re.findall(r"^waypost_event_streams(?:{[^}]*})? (\S+)$", text, re.MULTILINE)
    )


def one_stream(world: World) -> None:
    """Wait until one stream is open; those of earlier pages end within seconds."""
    wait_until(lambda: streams(world) == 1, PATIENCE, "one stream")


def test_three_tabs_share_one_stream_and_the_next_one_takes_over(world: World, new_page: Opens) -> None:
    place = world.place()
    asked: list[Page] = []

    def note(request: Request) -> None:
        if request.url.endswith("/api/events"):
            asked.append(request.frame.page)

    first = new_page()
    tabs = [first, first.context.new_page(), first.context.new_page()]
    for tab in tabs:
        tab.on("request", note)
    sign_in(first, world.user("admin"), view(place))
    for tab in tabs[1:]:
        tab.goto(view(place))
    for tab in tabs:
        expect(tab.get_by_text("No redirects yet")).to_be_visible()
    one_stream(world)
    assert asked == [first]
    place.published("/a")
    for tab in tabs:
        expect(tab.locator("tbody tr")).to_have_count(1, timeout=30_000)
    first.close()
    place.published("/b")
    for tab in tabs[1:]:
        expect(tab.locator("tbody tr")).to_have_count(2, timeout=30_000)
    one_stream(world)
    assert len(asked) == 2
    place.published("/c")
    for tab in tabs[1:]:
        expect(tab.locator("tbody tr")).to_have_count(3, timeout=30_000)
    tabs[1].get_by_role("banner").get_by_role("button", name="Sign out").click()
    wait_until(lambda: streams(world) == 0, PATIENCE, "the stream to end with the session")


def _run_in_second_tab(chromium: Browser, url: str, script: str) -> None:
    with opening_pages(chromium, url) as open_page:
        first = open_page()
        first.goto("/")
        second = first.context.new_page()
        second.goto("/")
        second.evaluate(f"{script}; new Promise((done) => setTimeout(done))")


@pytest.mark.parametrize(
    ("script", "fault"),
    [("console.error('of a call')", "of a call"), ("setTimeout(() => { throw Error('alone') })", "alone")],
)
def test_an_error_in_any_tab_fails_the_test(world: World, chromium: Browser, script: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        _run_in_second_tab(chromium, world.service.url, script)


def test_a_view_is_read_again_while_events_arrive_without_a_pause(world: World, new_page: Opens) -> None:
    """Guard: an event gives up no read that runs, or no answer would ever arrive."""
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    expect(page.locator("tbody tr")).to_have_count(1)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url) if "/draft/redirects?" in request.url else None)
    burst = """({namespace, project}) => {
        const channel = new BroadcastChannel("waypost-events");
        const tell = () => channel.postMessage({type: "published", namespace, project});
        for (let at = 0; at < 200; at += 1) tell();
        window.burst = setInterval(tell, 4);
    }"""
    place.add("/b")
    page.evaluate(burst, {"namespace": place.namespace, "project": place.project})
    expect(page.locator("tbody tr")).to_have_count(2)
    assert len(asked) < 100
    page.evaluate("clearInterval(window.burst)")
