"""The editor of texts and regular expressions: loaded when it is first used, small, and as usable as a plain field."""

import json
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import drafted, view
from tests.dashboard.test_pages import violations
from tests.e2e.world import World
from tests.service import ROOT

EDITOR = "**/assets/code_editor-*.js"
MOST_BYTES_OF_EDITOR = 150 * 1024
MOST_BYTES_OF_THE_REST = 180 * 1024

Opens = Callable[..., Page]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_has_numbered_lines_and_colours_and_tab_leaves_it(world: World, new_page: Opens, scheme: str) -> None:
    place = world.place()
    page = new_page(color_scheme=scheme, viewport={"width": 390, "height": 844})
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/sitemap.xml")
    form.get_by_label("Kind").select_option("XML")
    content = form.get_by_role("textbox", name="Content")
    content.click()
    page.keyboard.type("<urlset>\n<url loc='/a'/>\n</urlset>")  # lines are indented as the elements are
    expect(form.locator(".cm-lineNumbers")).to_contain_text("3")
    tag = form.locator(".cm-line").first.locator("span", has_text="urlset").first
    assert tag.evaluate("(each) => getComputedStyle(each).color !== getComputedStyle(each.parentElement).color")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.keyboard.press("Tab")
    expect(form.get_by_label("Note")).to_be_focused()
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    [made] = place.get("/draft/pages")["items"]
    assert made["content"] == "<urlset>\n  <url loc='/a'/>\n</urlset>"


def test_the_groups_of_a_regex_are_numbered_and_enter_saves_it(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Type").select_option("REGEX")
    form.get_by_label("Target").fill("/new/$2")
    source = form.get_by_role("textbox", name="Source")
    source.click()
    page.keyboard.insert_text("^/(?:a|b)/([0-9]+)/(x)$")
    expect(form.locator(".group[data-group]")).to_have_count(2)
    assert form.locator(".group[data-group]").last.evaluate("(each) => getComputedStyle(each, '::before').content") in {
        '"2"',
        "attr(data-group)",
    }
    page.keyboard.press("Control+a")
    page.keyboard.type("^/(?:a|b)/([0-9]+)/(x)$")  # over coloured text, without an inline style
    page.keyboard.press("Enter")
    expect(form).to_be_hidden()
    assert drafted(place) == {"^/(?:a|b)/([0-9]+)/(x)$": "/new/$2"}


def test_what_is_typed_while_the_editor_is_loaded_goes_on_in_it(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    held: list[Route] = []
    page.route(EDITOR, lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Content").fill("abd")
    form.get_by_label("Content").press("ArrowLeft")
    [route] = held
    route.continue_()
    expect(form.locator(".cm-content")).to_be_focused()
    page.keyboard.type("c")
    expect(form.locator(".cm-line")).to_have_text("abcd")


def test_without_the_editor_the_plain_field_stays(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=404)
    page.route(EDITOR, lambda route: route.fulfill(status=404))
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    form.get_by_label("Content").fill("User-agent: *\n")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.get_by_role("link", name="/robots.txt")).to_be_visible()
    assert [each["content"] for each in place.get("/draft/pages")["items"]] == ["User-agent: *\n"]


def test_line_ends_stay_as_they_are(world: World, new_page: Opens) -> None:
    place = world.place()
    page_id = place.add_page("/robots.txt", "a\r\nb\r\n")["id"]
    page = new_page()
    sign_in(page, world.user("admin"), view(place, f"/pages?edit={page_id}"))
    form = page.get_by_role("dialog", name="Edit the page")
    form.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("c\nd")
    form.get_by_role("button", name="Save in the draft").click()
    expect(form).to_be_hidden()
    assert place.get("/draft/pages")["items"][0]["content"] == "a\r\nb\r\nc\r\nd"


def test_the_editor_is_loaded_when_it_is_first_used_and_its_files_are_small(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    sign_in(page, world.user("admin"), view(place, "/pages"))
    page.get_by_text("No pages yet").wait_for()
    assert not any("code_editor" in url for url in loaded)
    page.get_by_role("button", name="Add a page").click()
    page.locator(".cm-content").wait_for()
    assert any("code_editor" in url for url in loaded)
    built = ROOT / "dashboard/built"
    sizes = {
        name: (built / f"{name}.br").stat().st_size for name in json.loads((built / "built.json").read_text())["files"]
    }
    editor = sum(size for name, size in sizes.items() if name.startswith("code_editor"))
    assert 0 < editor <= MOST_BYTES_OF_EDITOR
    assert sum(sizes.values()) - editor <= MOST_BYTES_OF_THE_REST


def test_a_regular_expression_is_coloured_with_its_groups_numbered_wherever_it_is_read(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    source = r"^/shop/([a-z]+)/(\d+)/of-a-long-address/(?:x|y)$"
    place.add(source, "/$1/$2", type="REGEX")
    place.add("/(plain)")
    place.publish()
    (rule,) = (each for each in place.get("/draft/redirects")["items"] if each["source"] == source)
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": "changed, but for its type"})
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    link = page.get_by_role("link", name=source[: len("^/shop/([a-z]+)/")])  # the numbers are not in its name
    _read_as_a_regex(link)
    expect(page.get_by_role("link", name="/(plain)").locator("[class^=re-]")).to_have_count(0)
    page.goto(view(place, "/draft"))
    _read_as_a_regex(page.locator(".change .name"))
    page.goto(view(place, "/history?version=2"))
    _read_as_a_regex(page.locator(".changes .name").filter(has_text="shop"))
    page.goto(view(place, "/history?" + urlencode({"source": source})))
    _read_as_a_regex(page.locator(".publishes ins").filter(has_text="shop"))
    page.goto(view(place, "/test"))
    page.get_by_label("URLs or paths").fill("/shop/hats/7/of-a-long-address/x")
    page.get_by_role("button", name="Test 1 URL").click()
    results = page.get_by_label("Results")
    _read_as_a_regex(results.locator(".help").filter(has_text="Rule").first)  # in the draft, beside what is published


def _read_as_a_regex(found: Locator) -> None:
    """Check that an expression with two groups has its parts in their colours."""
    expect(found.locator(".re-group[data-group]")).to_have_text(["(", "("])
    assert [each.get_attribute("data-group") for each in found.locator("[data-group]").all()] == ["1", "2"]
    expect(found.locator(".re-class")).to_have_text("[a-z]")
    expect(found.locator(".re-escape")).to_have_text(r"\d")
    colours = found.locator(".re-group, .re-class").evaluate_all(
        "(all) => all.map((each) => getComputedStyle(each).color)"
    )
    assert len(set(colours)) == 2
