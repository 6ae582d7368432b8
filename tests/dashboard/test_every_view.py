"""Every view and dialog with hostile texts in everything that people and agents write: read by axe, and in any width."""

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from api.auth.accounts import NewUser
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from tests.dashboard.conftest import sign_in
from tests.dashboard.states import STATES, prepare, show
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import PASSWORD, Place, World

OVERRIDE = "\u202e"  # the letters after it run from right to left
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&amp;{{7*7}}"
HOSTILE = f"{MARKUP}{OVERRIDE}abc😀👩‍👩‍👧 שלום مرحبا " + "w" * 120
LONGEST = 2048
# The elements that make the page wider than the window, none for a page that is not; a box that scrolls hides its own.
TOO_WIDE = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((each) => each.getBoundingClientRect().right > root.clientWidth + 1);
  return wide.slice(0, 9).map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`);
}"""
# The elements in which a change of direction that someone wrote reaches beyond its own text.
UNBOUND = """() => [...document.querySelectorAll("body *")]
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.includes("\\u202e")))
  .filter((each) => !each.closest("bdi, textarea, option, pre, .note") && !["isolate", "isolate-override", "plaintext"].includes(getComputedStyle(each).unicodeBidi))
  .filter((each) => each.parentElement?.childNodes.length > 1 || each.childNodes.length > 1)
  .map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`)"""
# A window of 1,280 pixels has the other widths at 200 % and 400 %: https://www.w3.org/TR/WCAG22/#reflow
WIDTHS = (1280, 640, 320)
# All states are too many for one test: several processes share them.
PARTS = 4

Opens = Callable[..., Page]


class Hostile(NamedTuple):
    """A project full of hostile texts, and what the addresses of the states name."""

    place: Place
    ids: dict[str, str]


@pytest.fixture(scope="module")
def hostile(world: World) -> Hostile:
    """Return a project in which everything that takes any text has markup and other directions in it."""
    place = world.place()
    place.root.ask("PATCH", place.space, 200, json={"description": HOSTILE})
    place.root.ask("PATCH", place.path, 200, json={"title": HOSTILE[:100], "description": HOSTILE})
    place.add(_long("/old/"), _long("https://example.org/"), note=HOSTILE, tags=["<b>tag</b>😀", HOSTILE[40:80]])
    place.add(rf"^/(a|b)/(?P<rest>\d+[^/]*)/{re.escape(MARKUP)}", "/$1", type="REGEX", note=HOSTILE)
    place.add_page("/page.txt", HOSTILE)
    place.publish(message=HOSTILE)
    place.add(_long("/"), "/offers", note=HOSTILE)
    head = place.get("/draft")["head"]
    place.ask("POST", "/draft/review", 200, json={"action": "comment", "head": head, "note": HOSTILE})
    place.ask("POST", "/draft/tests", 200, json={"tests": [{"url": "/<b>u</b>", "status": 404}]})
    agent = {"name": "edge", "type": "default", "version": "0" * 40, "status": "error", "error": HOSTILE}
    place.ask("POST", "/agents", 200, json=agent)
    name = f"hostile-{place.namespace}"
    person = HOSTILE.replace(OVERRIDE, "")[:100]  # names of people and tokens have none
    world.services.tokens.create(OPERATOR, person, (Grant("*", "*", "redirect", "read"),))
    world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, ("viewer",), person, person))
    return Hostile(place, prepare(place, HOSTILE))


def _long(start: str) -> str:
    """Return an address of the greatest length that browsers and proxies agree on, with all of the hostile text."""
    return (start + HOSTILE.replace(" ", "+")).ljust(LONGEST, "x")


@pytest.mark.parametrize("part", range(PARTS))
def test_every_state_is_read_by_axe_in_both_schemes_and_fits_any_width(
    world: World, new_page: Opens, hostile: Hostile, part: int
) -> None:
    page = new_page(refused=401)  # of the session that ends; a report of the policy, which forbids scripts, fails it
    look(page, "light", WIDTHS[0])
    sign_in(page, world.user("admin"))
    found: dict[str, object] = {}
    for state in STATES[part::PARTS]:
        show(page, state, hostile.ids)
        found[state.name] = faults_of(page)
        look(page, "light", WIDTHS[0])
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(("path", "wanted"), [("/", "Sign in"), ("/licences", "Licences")])
def test_a_page_without_a_session_is_read_by_axe_and_fits_any_width(new_page: Opens, path: str, wanted: str) -> None:
    page = new_page()
    page.goto(path)
    expect(page).to_have_title(re.compile(wanted))
    assert faults_of(page) == []


def look(page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
    page.set_viewport_size({"width": width, "height": 512})


def faults_of(page: Page) -> list[str]:
    """Return the faults of a page in both schemes and in any width."""
    faults = [] if page.locator("img[src=x], main b, main script").count() == 0 else ["has markup of a text"]
    faults += [f"not isolated: {each}" for each in page.evaluate(UNBOUND)]
    look(page, "light", WIDTHS[0])
    faults += violations(page)
    for width in WIDTHS:
        look(page, "dark", width)
        faults += [f"too wide at {width}: {each}" for each in page.evaluate(TOO_WIDE)]
    return faults + violations(page)


def test_hostile_texts_are_shown_whole_in_the_table_the_draft_and_a_proposal(
    world: World, new_page: Opens, hostile: Hostile
) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), view(hostile.place))
    expect(page.locator("tbody tr")).to_have_count(3)
    for address in (_long("/old/"), _long("https://example.org/"), _long("/")):
        shown = address.replace(OVERRIDE, "\u2039U+202E\u203a")  # a letter that would not be seen has its name
        expect(page.get_by_title(shown, exact=True)).to_have_count(1)
    page.goto(view(hostile.place, "/draft"))
    expect(page.locator(".changes").first).to_contain_text(MARKUP)
    expect(page.locator(".changes").first).to_contain_text("שלום")
    page.goto(f"/dashboard/proposal/{hostile.place.namespace}/{hostile.ids['proposal']}")
    expect(page.locator(".changes").first).to_contain_text(MARKUP)
    page.goto(view(hostile.place, "/history?version=2"))
    expect(page.locator("main")).to_contain_text(MARKUP)


def test_a_box_that_is_not_checked_is_seen_in_both_schemes(world: World, new_page: Opens) -> None:
    """Its edge has a contrast of 3 to what is around it: https://www.w3.org/TR/WCAG22/#non-text-contrast."""
    page = new_page()
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    box = page.get_by_label("publisher")
    for scheme in ("light", "dark"):
        look(page, scheme, WIDTHS[0])
        edge, ground = (
            [
                float(each)
                for each in box.evaluate(f"(box) => getComputedStyle(box).{name}.match(/[0-9.]+/g).slice(0, 3)")
            ]
            for name in ("borderTopColor", "backgroundColor")
        )
        dark, bright = sorted((_luminance(edge), _luminance(ground)))
        assert (bright + 0.05) / (dark + 0.05) >= 3, scheme
        assert box.evaluate("(box) => getComputedStyle(box).borderTopWidth") != "0px"


def _luminance(colour: list[float]) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    parts = [each / 255 for each in colour]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
