"""Agents that take a publish, as the dashboard draws it: on the overview, on a project, and after a publish."""

from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import overview_of, sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World
from tests.service import wait_until

Opens = Callable[..., Page]

# The colours that are in a canvas.
COLOURS = """(canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) found.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
  return [...found];
}"""


def report(place: Place, *names: str, version: int, status: str = "success") -> None:
    """Report a version as these agents."""
    for name in names:
        body = {"name": name, "type": "default", "version": version, "status": status}
        place.ask("POST", "/agents", 200, json=body)


def test_the_agents_of_a_project_are_charted_with_words_for_who_cannot_see_it(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", "b", "c", version=1)
    place.published("/a")
    report(place, "a", "b", version=2)
    page = new_page(color_scheme="light")
    sign_in(page, world.user("admin"), view(place, "/agents"))
    chart = page.get_by_role("img", name="Chart: 2 of 3 agents serve it")
    expect(chart.locator("canvas")).to_be_visible()
    expect(page.get_by_role("link", name="2 of 3 agents current")).to_be_visible()
    light = page.evaluate(COLOURS, chart.locator("canvas").element_handle())
    assert "11,100,100" in light  # --accent
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"(canvas) => ({COLOURS})(canvas).includes('92,202,202')", arg=chart.locator("canvas").element_handle()
    )
    assert violations(page) == []
    chart.hover()
    expect(page.locator(".taken figcaption")).to_contain_text("of 3 agents")
    report(place, "c", version=2)
    expect(page.get_by_role("link", name="3 of 3 agents current")).to_be_visible()
    expect(page.get_by_role("img", name="Chart: 3 of 3 agents serve it")).to_be_visible()
    expect(page.locator("tbody").get_by_text("current")).to_have_count(3)


def test_the_heading_tells_of_an_agent_that_comes_after_the_publish(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history"))
    expect(page.get_by_role("link", name="No agent yet. Connect one")).to_be_visible()
    report(place, "a", version=2)
    expect(page.get_by_role("link", name="1 of 1 agent current")).to_be_visible()


def test_who_publishes_is_told_which_agents_fail(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", version=1)
    report(place, "b", version=1, status="error")
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("1 agent fails to apply what is published: b.")
    expect(dialog.get_by_role("link", name="What they report")).to_be_visible()
    report(place, "b", version=1)
    expect(dialog.get_by_role("status")).to_have_count(0)


def test_a_publish_is_watched_until_the_agents_have_it(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", "b", version=1)
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(dialog.get_by_text("0 of 2 agents serve it")).to_have_count(1)
    expect(dialog.locator("canvas")).to_have_count(0)
    report(place, "a", version=2)
    report(place, "b", version=1, status="error")
    expect(dialog.get_by_text("✕ Failing")).to_be_visible()
    expect(dialog.get_by_text("1 of 2 agents serve it")).to_have_count(1)
    expect(dialog.locator("canvas")).to_be_visible()
    assert violations(page) == []
    report(place, "b", version=2)
    expect(dialog.get_by_text("✓ all")).to_be_visible()


def test_the_overview_has_the_last_publishes_a_small_chart_and_the_failing_agents(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.add("/a")
    place.publish(message="Begin the sale")
    report(place, "a", "b", version=2)
    report(place, "c", version=2, status="error")
    page = new_page()
    grants = [
        {"namespace": place.namespace, "project": "*", "resource": each, "action": "read"}
        for each in ("project", "redirect", "page", "agent")
    ]
    name = f"reader-of-{place.namespace}"
    world.person("admin").ask("POST", "/api/roles", 201, json={"name": name, "description": "", "grants": grants})
    sign_in(page, world.user(name))
    section = page.get_by_role("region", name=place.namespace)
    expect(section.get_by_role("list", name="Last publishes").get_by_role("listitem")).to_have_count(2)
    expect(section.get_by_role("link", name="Begin the sale")).to_be_visible()
    expect(section.get_by_role("img", name="2 of 3 agents serve it")).to_be_visible()
    waiting = page.get_by_role("region", name="Waiting").get_by_role("listitem")
    expect(waiting).to_contain_text("1 agent fails")
    waiting.get_by_role("link").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def hide(page: Page, state: str) -> None:
    """Have the page as the browser has one that is `hidden` behind another, or `visible` again."""
    page.evaluate(
        """(state) => {
          Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )


def pass_time(page: Page, shown: Locator, text: str) -> None:
    """Let a minute of the page pass until it shows a text: a minute that passes during a read begins no other one."""

    def is_shown() -> bool:
        page.clock.fast_forward(60_000)
        with suppress(AssertionError):
            expect(shown).to_contain_text(text, timeout=1_000)
            return True
        return False

    wait_until(is_shown, 30, text)


def test_the_overview_follows_the_agents_until_all_are_current(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", "b", version=1)
    page = new_page()
    page.clock.install()
    sign_in(page, world.user("admin"), overview_of(place))
    section = page.get_by_role("region", name=place.namespace)
    expect(section).to_contain_text("2 of 2 agents current")
    place.published("/a")
    expect(section).to_contain_text("0 of 2 agents current")  # the event of the publish; none tells of an agent
    report(place, "a", version=2)
    pass_time(page, section, "1 of 2 agents current")
    expect(section.get_by_role("img", name="1 of 2 agents serve it")).to_be_visible()
    page.clock.fast_forward("30:00")  # long after it, one is still looked for
    report(place, "b", version=2)
    pass_time(page, section, "2 of 2 agents current")


def test_the_heading_follows_an_agent_that_takes_long(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", version=1)
    place.published("/a")
    page = new_page()
    page.clock.install()
    sign_in(page, world.user("admin"), view(place, "/history"))
    heading = page.locator(".heading-side")
    expect(heading).to_contain_text("0 of 1 agent current")
    page.clock.fast_forward("30:00")
    expect(heading).to_contain_text("1 not yet")
    report(place, "a", version=2)
    pass_time(page, heading, "1 of 1 agent current")


def test_the_open_table_of_agents_is_read_again_while_it_is_seen(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", "c", version=1)
    page = new_page()
    page.clock.install()
    sign_in(page, world.user("admin"), view(place, "/agents"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.wait_for_load_state("networkidle")
    remove = page.get_by_role("button", name="Remove c")
    remove.focus()
    report(place, "b", version=1)
    pass_time(page, page.locator("tbody"), "b default")
    expect(rows).to_have_count(3)
    expect(remove).to_be_focused()
    page.wait_for_load_state("networkidle")
    hide(page, "hidden")
    report(place, "d", version=1)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(60_000)
    page.evaluate("fetch('/api/roles')")  # after it, one that was made before it is known too
    assert [each for each in asked if "/agents" in each] == []
    hide(page, "visible")
    expect(rows).to_have_count(4)
    expect(remove).to_be_focused()


def test_a_machine_that_slept_during_a_read_follows_the_agents_again(world: World, new_page: Opens) -> None:
    place = world.place()
    report(place, "a", version=1)
    place.published("/a")
    page = new_page()
    page.clock.install()
    held: list[Route] = []
    page.route("**/agents?limit=0*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright refuses a built-in
    with page.expect_request("**/agents?limit=0*"):
        sign_in(page, world.user("admin"), view(place, "/history"))
    page.clock.fast_forward("08:00:00")
    for each in held:
        each.continue_()
    page.unroute("**/agents?limit=0*")
    heading = page.locator(".heading-side")
    expect(heading).to_contain_text("0 of 1 agent current")
    report(place, "a", version=2)
    pass_time(page, heading, "1 of 1 agent current")
