"""Nothing jumps while it loads, as the browser itself tells; and the focus goes where a person without a mouse goes on."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import overview_of, sign_in
from tests.dashboard.states import STATES, State, prepare, show
from tests.dashboard.test_pages import PAGES, violations
from tests.e2e.world import World, redirect

Opens = Callable[..., Page]

IN_THE_BAR = "all that match"  # a click in the bar of chosen rows, which has less in it afterwards; no row moves
MOST = 0.02  # of the window, times the way it moved; 0.1 is called good: https://web.dev/articles/cls
# Also what moves soon after a click, which the browser says is expected: here, answers are as quick.
OBSERVE = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) moved.push([each.value, each.sources.map((source) => source.node?.outerHTML?.slice(0, 100))]);
}).observe({ type: "layout-shift", buffered: true });
"""
# The chips of which a part is not seen, and those that begin with a small letter and are no name of a role.
FAULTY_CHIPS = r"""(roles) => [...document.querySelectorAll("main .badge")]
  .filter((each) => each.scrollWidth > each.clientWidth || (/^[^\p{L}\d]*\p{Ll}/u.test(each.textContent) && !roles.includes(each.textContent)))
  .map((each) => each.textContent)"""
# The next frame but one: by then, the browser has reported what moved in this one.
FRAMES = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"


@pytest.mark.parametrize(
    "states",
    [
        pytest.param(STATES[: len(PAGES)], id="views"),
        pytest.param([each for each in STATES[len(PAGES) :] if each.name != IN_THE_BAR], id="dialogs"),
    ],
)
def test_nothing_jumps_while_it_loads_and_chips_are_whole(world: World, new_page: Opens, states: list[State]) -> None:
    place = world.place()
    place.published("/old")
    place.add("/waiting")
    place.add_page("/robots.txt")
    for name, status in (("a", "success"), ("b", "error")):
        place.ask("POST", "/agents", 200, json={"name": name, "type": "default", "version": 2, "status": status})
    ids = prepare(place)
    page = new_page(refused=401, viewport={"width": 1280, "height": 800})  # of the session that ends
    page.add_init_script(OBSERVE)
    sign_in(page, world.user("admin"))
    every_role = world.person("admin").ask("GET", "/api/roles", 200).json()["items"]  # also those of other tests
    roles = [each["name"] for each in every_role]
    jumps: dict[str, object] = {}
    chips: dict[str, object] = {}
    for state in states:
        show(page, state, ids)
        page.evaluate(FRAMES)
        moved = page.evaluate("moved")
        if sum(value for value, _ in moved) > MOST:
            jumps[state.name] = moved
        if faulty := page.evaluate(FAULTY_CHIPS, roles):
            chips[state.name] = faulty
    assert (jumps, chips) == ({}, {})


def test_the_current_tab_is_seen_on_a_narrow_screen(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(viewport={"width": 320, "height": 640})
    sign_in(page, world.user("admin"))
    for name in ("transfer", "test", "history"):  # the tabs scroll sideways
        page.goto(f"/dashboard/project/{place.namespace}/shop/{name}")
        expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=1)


def test_a_page_ends_where_its_content_does(world: World, new_page: Opens) -> None:
    """Texts for screen readers are laid over the page: in a list that scrolls, they would stretch the page below its end."""
    place = world.place()
    place.ask(
        "POST",
        "/draft/changes",
        200,
        json=[{"op": "put", "kind": "redirect", "item": redirect(f"/{at}")} for at in range(200)],
    )
    page = new_page(viewport={"width": 1280, "height": 800})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop/draft")
    expect(page.locator(".answers li").nth(80)).to_be_attached()
    excess = "document.documentElement.scrollHeight - document.body.getBoundingClientRect().bottom - scrollY"
    assert page.evaluate(excess) <= 1


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press a key until an element has the focus, as a person does who has no mouse."""
    wanted.first.wait_for()
    for _ in range(500):  # other tests have projects on the overview too
        page.keyboard.press(key)
        if wanted.first.evaluate("(each) => each === document.activeElement || each.contains(document.activeElement)"):
            return
    expect(wanted.first).to_be_focused()


def test_a_rule_is_added_and_published_by_keyboard_alone(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    page = new_page()
    sign_in(page, world.user("admin"), overview_of(place))
    tab_to(page, page.get_by_role("link", name="shop").and_(page.locator(f"[href*='{place.namespace}']")))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="shop", level=1)).to_be_focused()
    tab_to(page, page.get_by_role("button", name="Add a redirect"))
    page.keyboard.press("Enter")
    form = page.get_by_role("dialog", name="Add a redirect")
    expect(form.get_by_label("Source")).to_be_focused()
    page.keyboard.type("/sale")
    tab_to(page, form.get_by_label("Target"))
    page.keyboard.type("/offers")
    page.keyboard.press("Enter")
    expect(form).to_be_hidden()
    expect(page.get_by_role("button", name="Add a redirect")).to_be_focused()
    tab = page.get_by_role("navigation", name="Views of the project").get_by_role("link", name="Draft", exact=True)
    tab_to(page, tab, "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".change")).to_contain_text("/sale")
    expect(tab).to_be_focused()
    tab_to(page, page.get_by_role("button", name="Publish …"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Publish the draft")
    expect(dialog.get_by_label("Message")).to_be_focused()
    page.keyboard.type("Begin the sale")
    tab_to(page, dialog.get_by_role("button", name="Publish", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is publish 3")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Done"))
    page.keyboard.press("Enter")
    history = page.get_by_role("navigation", name="Views of the project").get_by_role("link", name="History")
    tab_to(page, history, "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".publishes li").first).to_contain_text("Begin the sale")
    expect(history).to_be_focused()
    assert place.sources() == ["/old", "/sale"]


def test_after_a_removal_the_focus_is_on_the_next_row(world: World, new_page: Opens) -> None:
    place = world.place()
    for source in ("/a", "/b", "/c"):
        place.add(source)
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop/draft")
    button = page.get_by_role("button", name="Discard the change of /b")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".change")).to_have_count(2)
    expect(page.get_by_role("button", name="Discard the change of /c")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".change")).to_have_count(1)
    expect(page.get_by_role("button", name="Discard the change of /a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No draft is open")).to_be_visible()
    assert page.evaluate("document.activeElement !== document.body")


def test_an_empty_note_takes_no_line_on_a_narrow_screen(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add_page("/bare.txt")
    place.add_page("/noted.txt", note="For crawlers")
    page = new_page(viewport={"width": 360, "height": 640})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop/pages")
    notes = page.locator('td[data-label="Note"]')
    expect(notes).to_have_count(2)
    expect(notes.filter(visible=True)).to_have_text(["For crawlers"])


@pytest.mark.parametrize("width", [720, 820, 1000])
def test_the_texts_of_a_row_are_whole_on_a_tablet(world: World, new_page: Opens, width: int) -> None:
    place = world.place()
    place.add("/old/products/item-0001", target="/products/item-0001-shoes")
    place.add("/tagged", tags=["spring", "shoes", "print"])
    agent = {"name": "edge-frankfurt-1", "type": "default", "version": 1, "status": "error"}
    place.ask("POST", "/agents", 200, json={**agent, "error": "cannot load: out of memory"})
    page = new_page(viewport={"width": width, "height": 800})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop")
    expect(page.locator('td[data-label="Source"]')).to_have_count(2)
    cut = """[...document.querySelectorAll("table :is(th a, td, .long-start, .badge)")].filter((each) =>
      each.scrollWidth > each.clientWidth && getComputedStyle(each).display !== "inline").map((each) => each.textContent)"""
    assert page.evaluate(cut) == []
    source = page.get_by_role("link", name="Source", exact=True)
    expect(source).to_be_in_viewport()
    height = "at => at.getBoundingClientRect().height"
    assert source.evaluate(height) < 30  # the heading is on one line
    page.goto(f"/dashboard/project/{place.namespace}/shop/agents")
    for text in ("edge-frankfurt-1", "cannot load: out of memory"):
        assert page.get_by_text(text).evaluate(height) < 30


def test_texts_are_whole_on_a_phone(world: World, new_page: Opens) -> None:
    place = world.place()
    for number in range(52):
        place.add(f"/old/{number:02}")
    page = new_page(viewport={"width": 390, "height": 800})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop")
    page.get_by_role("checkbox", name="Choose /old/00").check()
    bar = page.get_by_role("region", name="The chosen redirects")
    expect(bar).to_be_visible()
    assert bar.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    assert bar.evaluate("(each) => each.offsetHeight") < 60  # one row, in which the buttons scroll
    bar.get_by_role("button", name="Choose none").click()
    expect(bar).to_be_hidden()
    page.goto("/dashboard/settings/audit")
    details = page.locator("td summary").first
    expect(details).to_be_visible()
    assert details.evaluate("(each) => each.offsetHeight") < 30  # one line
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"/dashboard/project/{place.namespace}/shop/transfer")
    chosen = page.get_by_label("Format")
    expect(chosen).to_be_visible()
    assert chosen.evaluate("(each) => each.offsetWidth") > 260  # the longest format in one line


def test_the_filters_of_the_audit_log_are_one_row(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/audit")
    filters = page.get_by_role("search").filter(has=page.get_by_label("Event"))
    for width, most in ((1280, 60), (900, 60), (390, 150)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(filters.get_by_label("Project")).to_be_visible()
        assert filters.evaluate("(each) => each.offsetHeight") < most
        assert filters.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    expect(page.get_by_label("Since")).to_be_hidden()
    page.goto("/dashboard/settings/audit?since=2026-01-31T00:00:00Z")
    expect(page.get_by_label("Since")).to_be_visible()
    assert violations(page) == []


def test_the_events_of_a_webhook_are_in_columns(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/settings/webhooks?namespace={world.namespace()}&edit=new")
    boxes = page.get_by_role("group", name="Events").get_by_role("checkbox")
    for width, most in ((390, 1), (1280, 4)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(boxes.nth(1)).to_be_visible()
        lefts = boxes.evaluate_all("(all) => all.map((each) => Math.round(each.getBoundingClientRect().left))")
        assert len(set(lefts)) <= most


# What an element shows of its text, to the right of where it begins.
SEEN = """each => {
  const range = document.createRange();
  range.selectNodeContents(each);
  return Math.min(range.getBoundingClientRect().right, each.getBoundingClientRect().right);
}"""


@pytest.mark.parametrize("width", [390, 1000, 1440])
def test_a_long_url_shows_its_host_and_the_last_part_of_its_path(world: World, new_page: Opens, width: int) -> None:
    place = world.place()
    target = "https://shop.example/offers/2024/spring/garden/furniture/benches?utm_source=catalogue&utm_campaign=spring"
    place.add("/spring", target)
    page = new_page(viewport={"width": width, "height": 800})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop")
    shown = page.locator('td[data-label="Target"] .long')
    expect(shown).to_have_text(target)
    expect(shown).to_have_attribute("title", target)
    for part in ("https://shop.example", "/benches"):
        piece = shown.locator("span", has_text=re.compile(f"^{re.escape(part)}$"))
        assert piece.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert shown.evaluate("each => each.offsetHeight") < 30


@pytest.mark.parametrize("width", [390, 1000, 1440])
def test_a_button_that_copies_covers_no_text(world: World, new_page: Opens, width: int) -> None:
    place = world.place()
    place.add("/help", "/support")
    page = new_page(viewport={"width": width, "height": 800})
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop")
    for label, text in (("Source", "/help"), ("Target", "/support")):
        cell = page.locator(f'td[data-label="{label}"]')
        cell.hover()
        button = cell.get_by_role("button", name=f"Copy: {text}")
        expect(button).to_have_css("opacity", "1")
        assert button.evaluate("each => getComputedStyle(each, '::before').content") == '""'  # its picture
        left = button.evaluate("each => each.getBoundingClientRect().left")
        assert cell.locator(".long > span").evaluate(SEEN) <= left


def test_a_phone_shows_who_is_signed_in_in_one_line(world: World, new_page: Opens) -> None:
    username = world.user("admin")
    for width in (390, 320):
        page = new_page(viewport={"width": width, "height": 844})
        sign_in(page, username)
        bar = page.get_by_role("banner")
        account = bar.get_by_role("link", name=username)
        expect(account).to_be_in_viewport(ratio=1)
        expect(bar.get_by_role("link", name="Waypost")).to_be_visible()
        expect(bar.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
        assert bar.evaluate("(found) => found.getBoundingClientRect().height") < 60
        assert account.evaluate("(found) => found.getBoundingClientRect().width") > 40
