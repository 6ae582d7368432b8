"""Each role is offered what it may do, and refused the rest by the service; the token of an agent gets in nowhere."""

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.e2e.caller import Caller
from tests.e2e.contract import describe
from tests.e2e.world import Place, World, page, redirect

Opens = Callable[..., Page]
ROLES = ("viewer", "editor", "publisher", "admin")


class Offer(NamedTuple):
    """A control of a view, the first of the roles that have it, and the request that it makes."""

    control: str
    role: str
    method: str
    tail: str
    body: Any = None


# By view: what is there for every role once the view is read, and what only some are offered.
VIEWS: dict[str, tuple[str, list[Offer]]] = {
    "": (
        "tbody tr",
        [
            Offer("Add a redirect", "editor", "POST", "/draft/redirects", redirect("/more")),
            Offer("Replace …", "editor", "POST", "/draft/replace", {"find": "a", "replace": "b", "fields": ["note"]}),
            Offer("New draft …", "editor", "POST", "/draft/redirects?draft=other", redirect("/more")),
        ],
    ),
    "/pages": ("tbody tr", [Offer("Add a page", "editor", "POST", "/draft/pages", page("/more.txt"))]),
    "/draft": (
        ".change",
        [
            Offer("Discard all …", "editor", "DELETE", "/draft"),
            Offer("Discard the change of /waits", "editor", "POST", "/draft/revert", {"ids": ["ID"]}),
            Offer(
                "Comment on /waits",
                "editor",
                "POST",
                "/draft/review",
                {"action": "comment", "head": "HEAD", "note": "x"},
            ),
            Offer("Ask for a review", "editor", "POST", "/draft/review", {"action": "request", "head": "HEAD"}),
            Offer("✓ Approve", "publisher", "POST", "/draft/review", {"action": "approve", "head": "HEAD"}),
            Offer("✕ Reject", "publisher", "POST", "/draft/review", {"action": "reject", "head": "HEAD"}),
            Offer("Publish …", "publisher", "POST", "/publish", {}),
        ],
    ),
    "/history?version=2": (
        ".publishes li",
        [
            Offer("Roll back to publish 1 …", "publisher", "POST", "/rollback", {"version": 1}),
            Offer("Open as a draft", "editor", "POST", "/draft", {"version": 1}),
        ],
    ),
    "/agents": ("tbody tr", [Offer("Remove edge-1", "admin", "DELETE", "/agents/edge-1")]),
}
# The tabs of the settings, and what they read.
SETTINGS = {"Users": "/api/users", "Roles": "/api/roles", "API tokens": "/api/tokens", "Audit log": "/api/audit"}


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    """Make one project for all roles, with something in each view."""
    place = world.place()
    place.add_page("/robots.txt")
    version = place.published("/a")["version"]
    place.add("/waits")
    place.ask("POST", "/agents", 200, json={"name": "edge-1", "type": "default", "version": version})
    return place


def may(role: str, offer: Offer) -> bool:
    """Tell whether a role is offered something: each role may do all that those before it may do."""
    return ROLES.index(role) >= ROLES.index(offer.role)


def refuse(place: Place, caller: Caller, offer: Offer) -> None:
    """Check that the service refuses what was not offered."""
    body = dict(offer.body or {})
    if "head" in body:
        body["head"] = place.get("/draft")["head"]
    if "ids" in body:
        body["ids"] = [place.get("/draft/diff")["items"][0]["id"]]
    answer = caller.send(offer.method, place.path + offer.tail, **({} if offer.body is None else {"json": body}))
    assert answer.status_code == 403, describe(answer)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_offered_what_it_may_do_and_refused_the_rest(
    world: World, shop: Place, new_page: Opens, role: str
) -> None:
    person = world.user(role)
    caller = Caller(world.http, world.session(person)["accessToken"])
    browser = new_page()
    sign_in(browser, person, view(shop))
    for part, (ready, offers) in VIEWS.items():
        browser.goto(view(shop, part))
        expect(browser.locator(ready).first).to_be_visible()
        for offer in offers:
            control = browser.get_by_role("button", name=offer.control, exact=True)
            expect(control).to_have_count(1 if may(role, offer) else 0)
            if not may(role, offer):
                refuse(shop, caller, offer)
    browser.goto(view(shop, "/transfer"))
    expect(browser.get_by_role("heading", name="Export", exact=True)).to_be_visible()
    expect(browser.get_by_label("File to import")).to_have_count(0 if role == "viewer" else 1)
    browser.goto("/dashboard/settings")
    expect(browser.get_by_role("navigation").get_by_role("link", name="Your account")).to_be_visible()
    for tab, path in SETTINGS.items():
        expect(browser.get_by_role("link", name=tab)).to_have_count(1 if role == "admin" else 0)
        if role != "admin":
            caller.refused("GET", path, 403, "forbidden")


def person_of(world: World, *permissions: str) -> str:
    """Return the name of an account with a role of these grants alone."""
    name = f"role-{secrets.token_hex(4)}"
    grants = [Grant("*", "*", *each.split(":")) for each in permissions]
    world.services.roles.create(OPERATOR, name, "", grants)
    return world.user(name)


TABS = {
    "redirect:read project:read": ["Redirects", "Draft", "Proposals", "History", "Tester", "Import and export"],
    "redirect:read redirect:write": ["Redirects", "Tester", "Import and export"],
    "page:read project:read": ["Pages", "Draft", "Proposals", "History"],
    "page:read page:write": ["Pages"],
    "agent:read": ["Agents"],
    "redirect:read": ["Tester", "Import and export"],
}


@pytest.mark.parametrize("permissions", TABS)
def test_the_tabs_of_a_project_are_those_that_one_may_read(
    world: World, shop: Place, new_page: Opens, permissions: str
) -> None:
    browser = new_page()
    sign_in(browser, person_of(world, *permissions.split()), view(shop))
    tabs = browser.get_by_role("navigation", name="Views of the project").get_by_role("link")
    expect(tabs).to_have_text(TABS[permissions])
    expect(tabs.first).to_have_attribute("aria-current", "page")
    browser.wait_for_load_state("networkidle")  # nothing that is read is refused


READS = ("redirect:read", "page:read", "project:read")


@pytest.mark.parametrize(("written", "other"), [("page", "redirect"), ("redirect", "page")])
def test_one_kind_alone_is_edited_by_who_may_write_only_that(
    world: World, new_page: Opens, written: str, other: str
) -> None:
    place = world.place()
    place.published("/a")
    place.add("/waits")
    place.add_page("/robots.txt")
    ids = {kind: place.get(f"/draft/{kind}s")["items"][0]["id"] for kind in ("redirect", "page")}
    names = {"redirect": "/waits", "page": "/robots.txt"}
    browser = new_page()
    sign_in(browser, person_of(world, *READS, f"{written}:write"), view(place))
    form = browser.get_by_role("dialog")
    for kind, part in (("redirect", ""), ("page", "/pages")):
        browser.goto(view(place, f"{part}?edit={ids[kind]}"))
        expect(form.get_by_role("link", name="History of this")).to_be_visible()
        for name in ("Save in the draft", "Duplicate", "Remove"):
            expect(form.get_by_role("button", name=name)).to_have_count(int(kind == written))
    browser.goto(view(place, "/draft"))
    expect(browser.locator(".change")).to_have_count(2)
    for kind, count in ((written, 1), (other, 0)):
        expect(browser.get_by_role("button", name=f"Discard the change of {names[kind]}")).to_have_count(count)
        expect(browser.get_by_role("link", name=f"Edit {names[kind]}")).to_have_count(count)
        expect(browser.get_by_label(f"Choose the change of {names[kind]}")).to_have_count(count)
    expect(browser.get_by_role("button", name="Discard all …")).to_have_count(0)


def test_nothing_of_redirects_is_asked_while_a_page_is_typed_by_who_may_not_read_them(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, person_of(world, "project:read", "page:read", "page:write"), view(place, "/pages?edit=new"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    field = page.get_by_role("dialog", name="Add a page").get_by_label("Path")
    for path in ("/robots.txt", "/humans.txt"):
        with page.expect_response(f"**/draft/pages?*{path.removeprefix('/')}*"):
            field.fill(path)
    expect(page.get_by_role("dialog")).to_be_visible()
    assert asked == []


def test_a_conflict_is_resolved_by_who_may_write_its_kind(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    [made] = place.get("/draft/redirects")["items"]
    for draft, target in (("main", "/mine"), ("other", "/theirs")):
        place.ask("PATCH", f"/draft/redirects/{made['id']}?draft={draft}", 200, json={"target": target})
    place.ask("POST", "/publish?draft=other", 200)
    for kind, count in (("page", 0), ("redirect", 2)):
        browser = new_page()
        sign_in(browser, person_of(world, *READS, f"{kind}:write"), view(place, "/draft"))
        expect(browser.get_by_role("heading", name="1 conflict with what was published meanwhile")).to_be_visible()
        expect(browser.get_by_role("radio")).to_have_count(count)
        expect(browser.get_by_role("button", name="Resolve")).to_have_count(count // 2)


def test_a_built_in_role_offers_no_change_of_its_grants(world: World, new_page: Opens) -> None:
    browser = new_page()
    sign_in(browser, world.user("admin"), "/dashboard/settings/roles?edit=viewer")
    form = browser.get_by_role("dialog", name="Role viewer")
    expect(form).to_contain_text("See redirects in all namespaces redirect:read@*/*")
    expect(form.get_by_role("button")).to_have_count(1)  # the one that closes it
    expect(form.locator("input, select")).to_have_count(0)


def test_a_token_of_an_agent_gets_in_nowhere(shop: Place, new_page: Opens) -> None:
    agent = shop.holder(("redirect", "read"), ("page", "read"), ("agent", "write"))
    for _, offers in VIEWS.values():
        for offer in offers:
            if not offer.control.startswith("Remove"):  # an agent may withdraw its own report
                refuse(shop, agent.root, offer)
    for tail in (
        "/draft",
        "/draft/redirects",
        "/draft/diff",
        "/drafts",
        "/history",
        "/agents",
        "/lint",
        "/export?at=draft",
    ):
        agent.refused("GET", tail, 403, "forbidden")
    for path in (*SETTINGS.values(), shop.space, f"{shop.space}/webhooks"):
        agent.root.refused("GET", path, 403, "forbidden")
    browser = new_page(refused=403)  # of the sign-in
    browser.goto("/")
    browser.get_by_label("User name").fill("e2e")
    browser.get_by_label("Password").fill(str(agent.root.token))
    browser.get_by_role("button", name="Sign in", exact=True).click()
    expect(browser.get_by_role("alert")).to_be_visible()
    expect(browser.get_by_role("banner").get_by_role("button", name="Sign out")).to_have_count(0)
