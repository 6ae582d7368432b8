"""Every page of the dashboard: its rules of access, its size and its policy."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.e2e.world import PASSWORD, World
from tests.service import ROOT

AXE = (ROOT / "dashboard/node_modules/axe-core/axe.min.js").read_text
PROJECT = "/dashboard/project/{namespace}/shop"
PROJECT_PARTS = [
    "",
    "/pages",
    "/draft",
    "/proposals",
    "/history",
    "/history?version=2",
    "/agents",
    "/test",
    "/transfer",
    "?edit=new",
]
SETTINGS = ["", "/users", "/roles", "/tokens", "/namespaces", "/webhooks", "/audit", "/api"]
PAGES = [
    "/",
    "/dashboard/start",
    "/dashboard/no-such-view",
    *(PROJECT + part for part in PROJECT_PARTS),
    *("/dashboard/settings" + part for part in SETTINGS),
]
MOST_BYTES = 80 * 1024

Opens = Callable[..., Page]


def violations(page: Page) -> list[str]:
    """Return what axe finds on a page."""
    # Not by a script element, which the policy forbids.
    page.evaluate(AXE("utf-8"))
    found: Any = page.evaluate("() => axe.run().then((found) => found.violations)")
    return [f"{each['id']}: {node['html'][:120]}: {node['failureSummary']}" for each in found for node in each["nodes"]]


def test_a_stranger_gets_the_sign_in_and_a_wrong_password_is_said_beside_its_field(
    world: World, new_page: Opens
) -> None:
    page = new_page(refused=403)
    page.goto("/")
    expect(page).to_have_title("Sign in · Waypost")
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    assert (
        world.nobody.http.get("/", headers={"Accept": "text/html"})
        .headers["content-security-policy"]
        .startswith("default-src 'self';")
    )


def test_signing_out_ends_the_session(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"))
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()


def test_redirects_are_searched_and_sorted_by_the_address(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/alpha", "/beta")
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop?sort=-source")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("/beta")
    page.keyboard.press("/")
    page.keyboard.type("alpha")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("/alpha")
    assert "q=alpha" in page.url
    assert "sort=-source" in page.url
    page.reload()
    expect(rows).to_have_count(1)


def test_a_publish_of_someone_else_appears_by_itself(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/project/{place.namespace}/shop")
    expect(page.get_by_text("No redirects yet")).to_be_visible()
    place.published("/new-one")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_the_first_steps_lead_to_a_published_rule_and_a_connected_agent(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/start")
    name = f"first-{world.user('viewer')}"
    page.get_by_label("Namespace").fill(name)
    page.get_by_label("Project").fill("www")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").click()
    expect(page.get_by_text("The redirect is published.")).to_be_visible()
    token = page.locator(".secret code").first.inner_text()
    found = world.nobody.http.get(
        f"/api/namespace/{name}/project/www/redirects", headers={"Authorization": f"Bearer {token}"}
    ).json()
    assert [each["source"] for each in found["items"]] == ["/old"]
    expect(page.get_by_text("Waiting for the first report of agent-1")).to_be_visible()
    subprocess.run(["sh", "-euc", page.locator(".snippet").inner_text()], cwd=tmp_path, check=True)
    expect(page.get_by_text("agent-1 serves what is published.")).to_be_visible()


def test_a_fault_of_the_first_steps_is_told_beside_its_field(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.get_by_label("Namespace").fill(place.namespace)
    page.get_by_label("Project").fill(place.project)
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").click()
    expect(page.get_by_label("Project")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("To", exact=True)).not_to_have_attribute("aria-invalid", "true")


def test_an_ended_session_asks_for_a_login_over_the_page_and_loses_nothing(world: World, new_page: Opens) -> None:
    user = world.user("admin")
    page = new_page(refused=401)
    sign_in(page, user, "/dashboard/start")
    page.get_by_label("Namespace").fill(f"kept-{user}")
    page.get_by_label("Project").fill("www")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create and publish").click()
    dialog = page.get_by_role("dialog", name="Sign in again")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("The redirect is published.")).to_be_visible()


def test_the_palette_and_the_shortcuts_open_by_keys(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("overview")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_the_palette_finds_projects_and_namespaces(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.keyboard.press("Control+k")
    page.keyboard.type(place.namespace)
    options = page.get_by_role("option")
    expect(options).to_have_text([f"{place.namespace} / shop", f"Namespace {place.namespace}"])
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="shop", level=1)).to_be_visible()


def test_the_palette_asks_the_service_while_one_types_and_drops_late_answers(world: World, new_page: Opens) -> None:
    place = world.place()
    for number in range(22):
        place.root.ask(
            "POST", f"{place.space}/projects", 201, json={"name": f"p-{number:02}", "title": f"Part {number:02}"}
        )
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/start")
    asked: list[str] = []
    held: list[Route] = []

    def answer(route: Route) -> None:
        asked.append(parse_qs(urlsplit(route.request.url).query)["q"][0])
        if len(asked) > 1:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/overview?*q=*", answer)
    options = page.get_by_role("option")
    page.keyboard.press("Control+k")
    with page.expect_request("**/api/overview?*q=*"):
        page.keyboard.type(place.namespace)
    expect(options).to_have_count(0)
    page.keyboard.type("/P-21 part")
    expect(options).to_have_text([f"{place.namespace} / p-21: Part 21"])  # beyond the first projects
    held[0].fulfill(json=place.root.get("/api/overview", q=place.namespace, limit=20))
    page.evaluate("fetch('/health/ping')")  # the late answer is there by then
    expect(options).to_have_text([f"{place.namespace} / p-21: Part 21"])
    page.keyboard.type("s")
    expect(page.get_by_text("No command, project or namespace has these words.")).to_be_visible()
    assert asked[0] == place.namespace
    assert len(asked) < len(place.namespace)  # not one for each key
    page.get_by_label("Find a command, project or namespace").fill(f"namespace {place.namespace}")
    expect(options).to_have_text([f"Namespace {place.namespace}"])
    page.get_by_label("Find a command, project or namespace").fill(place.namespace)
    expect(page.get_by_text("and 3 more projects: type more of the name")).to_be_visible()
    assert violations(page) == []


def test_single_keys_are_shortcuts_until_they_are_switched_off(world: World, new_page: Opens) -> None:
    """https://www.w3.org/TR/WCAG22/#character-key-shortcuts."""
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.clock.install()
    page.locator("h1").click()
    page.keyboard.press("g")
    awaited = page.locator(".awaited p")
    expect(awaited).to_contain_text("Go to the overview")
    assert violations(page) == []
    page.clock.run_for(2500)
    expect(awaited).to_have_count(0)
    page.keyboard.press("o")  # too late
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").get_by_label("Use shortcuts of single keys").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.locator("h1").click()
    for key in "go?":
        page.keyboard.press(key)
    expect(awaited).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile("/dashboard/start$"))
    page.goto("/dashboard/settings")
    page.get_by_label("Use shortcuts of single keys").check()
    page.locator("h1").click()
    for key in "go":
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_the_address_without_a_view_shows_the_overview(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard")
    for path in ("/dashboard", "/dashboard/"):
        page.goto(path)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_the_first_page_is_small_and_its_files_never_change(world: World, new_page: Opens) -> None:
    page = new_page()
    page.add_init_script("window.requestIdleCallback = () => 0")  # the other views, which wait for the first one
    sizes: dict[str, int] = {}
    page.on("requestfinished", lambda request: sizes.update({request.url: request.sizes()["responseBodySize"]}))
    sign_in(page, world.user("admin"))
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    files = {url: size for url, size in sizes.items() if "/assets/" in url or url.endswith("/")}
    assert any(url.endswith(".js") for url in files)
    assert sum(files.values()) <= MOST_BYTES
    asset = next(url for url in files if "/assets/" in url)
    answer = world.nobody.http.get(asset, headers={"Accept-Encoding": "br, gzip"})
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-encoding"] == "br"
