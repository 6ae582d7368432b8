"""Pictures of the main pages, light, dark and narrow; `make pictures` writes those of the documents."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page

from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from tests.dashboard.conftest import sign_in
from tests.e2e.caller import Caller
from tests.e2e.world import PASSWORD, Place, World, open_world, redirect
from tests.service import ROOT, WAYPOST, running

Opens = Callable[..., Page]

WIDE = {"width": 1280, "height": 860}
NARROW = {"width": 390, "height": 844}
VIEWS = {
    "overview": "/",
    "redirects": "/dashboard/project/acme/shop?sort=source",
    "edit": "/dashboard/project/acme/shop?edit={rule}",
    "draft": "/dashboard/project/acme/shop/draft",
    "history": "/dashboard/project/acme/shop/history",
    "agents": "/dashboard/project/acme/shop/agents",
    "page": "/dashboard/project/acme/shop/pages?edit={page}",
    "tester": "/dashboard/project/acme/shop/test",
    "settings": "/dashboard/settings/users",
    "conflicts": "/dashboard/project/acme/blog/draft",
    "fixes": "/dashboard/project/acme/careers/draft",
    "publish": "/dashboard/project/acme/careers/draft",
    "proposal": "/dashboard/proposal/acme/{proposal}",
    "reference": "/dashboard/settings/api?q=/api/roles",
    "upstream": "/dashboard/settings/namespaces?name=press&upstream=shown",
}
# Those of the documents; the others are only looked at by the test.
KEPT = {
    *(f"{name}-light" for name in VIEWS if name != "upstream"),
    "draft-dark",
    "edit-dark",
    "redirects-narrow",
    "draft-narrow",
}
SITEMAP = """\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://shop.example.com/offers</loc><changefreq>daily</changefreq></url>
  <url><loc>https://shop.example.com/shoes</loc></url>
</urlset>
"""
LATER = timedelta(minutes=8)
SECTIONS = ["shoes", "coats", "lamps", "books", "garden", "kitchen"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service of its own, whose names are those of the pictures."""
    with running(WAYPOST, tmp_path_factory.mktemp("pictures") / "data") as service, open_world(service) as found:
        yield found


@pytest.fixture(scope="module")
def ids(world: World) -> dict[str, str]:
    """Fill the service as a shop would; return the ids of a rule that the draft changes, and of a page."""
    ada, grace = (_person(world, *names) for names in (("ada", "Ada", "Lovelace"), ("grace", "Grace", "Hopper")))
    ada.ask("POST", "/api/namespaces", 201, json={"name": "acme", "description": "The sites of Acme"})
    for name in ("shop", "blog", "careers"):
        place = Place(world, "acme", name, ada)
        review = "required" if name == "shop" else "optional"
        ada.ask("POST", f"{place.space}/projects", 201, json={"name": name, "review": review})
        _publish(place, [redirect(f"/{name}", f"/{name}/home")], "Begin")
    place = Place(world, "acme", "shop", ada)
    rules = [
        redirect(f"/{section}/{year}", f"https://shop.example.com/{section}?season={year}", tags=["season"])
        for section in SECTIONS
        for year in range(2019, 2027)
    ]
    _publish(place, [*rules, redirect("/sale", "/offers", status="FOUND")], "Send old seasons to their archive", grace)
    version = _publish(
        place, [redirect("^/p/([0-9]+)$", "/product/$1", type="REGEX")], "Short links of products", grace
    )
    for number in range(1, 6):
        agent = {
            "name": f"edge-{number}",
            "type": "proxy",
            "version": version,
            "status": "success",
            "load_duration": 38_000_000 + number * 1_100_000,
        }
        if number == 5:
            agent |= {"status": "error", "error": "The file of rules cannot be written: no space left on device."}
        place.ask("POST", "/agents", 200, json=agent)
    _add_conflict(place.as_(grace), "blog")
    for source, target in (("/jobs", "/open-positions"), ("/open-positions", "/careers/all"), ("/intern", "/jobs")):
        Place(world, "acme", "careers", grace).add(source, target)
    world.root.ask("POST", "/api/namespaces", 201, json={"name": "press"})
    upstream = {"url": "https://127.0.0.1:1/press.git", "mode": "mirror"}  # nothing answers there
    world.root.ask("PUT", "/api/namespace/press/upstream", 200, json=upstream)
    careers = Place(world, "acme", "careers", ada)
    careers.ask("POST", "/draft/redirects?draft=summer", 201, json=redirect("/summer-jobs", "/careers/summer"))
    body = {"branch": "team/summer-jobs", "project": "careers", "draft": "summer"}
    proposal = ada.ask("POST", "/api/namespace/acme/proposals", 201, json=body).json()["id"]
    page = place.add_page("/sitemap.xml", SITEMAP, contentType="XML", note="Asked for by search engines")
    place.add("/black-friday", "/offers/black-friday", status="FOUND", tags=["sale"], note="Until 30 November")
    rule = next(each for each in place.get("/draft/redirects", q="/sale")["items"] if each["source"] == "/sale")
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": "/offers/black-friday"})
    old = place.get("/draft/redirects", q="/books/2019")["items"][0]
    place.ask("DELETE", f"/draft/redirects/{old['id']}", 204)
    head = place.get("/draft")["head"]
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": head, "note": "For Friday, please."})
    return {"rule": rule["id"], "page": page["id"], "proposal": proposal}


def _add_conflict(place: Place, project: str) -> None:
    """Leave a draft that changes two fields, which another one has changed and published meanwhile."""
    found = Place(place.world, place.namespace, project, place.root)
    [rule] = found.get("/draft/redirects")["items"]
    for draft, fields in (
        ("main", {"target": "/blog/start", "status": "FOUND"}),
        ("redesign", {"target": "/stories", "status": "TEMPORARY_REDIRECT"}),
    ):
        found.ask("PATCH", f"/draft/redirects/{rule['id']}?draft={draft}", 200, json=fields)
    found.ask("POST", "/publish?draft=redesign", 200, json={"message": "The blog is called Stories now"})


def _person(world: World, name: str, given: str, family: str) -> Caller:
    """Return an administrator with a session, and a name that fits the pictures."""
    world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, ("admin",), given, family))
    return Caller(world.http, world.session(name)["accessToken"])


def _publish(place: Place, items: list[dict[str, object]], message: str, reviewer: Caller | None = None) -> str:
    """Publish rules, which a second person approves, or without approval."""
    place.ask("POST", "/draft/changes", 200, json=[{"op": "put", "kind": "redirect", "item": each} for each in items])
    if reviewer:
        body = {"action": "approve", "head": place.get("/draft")["head"]}
        place.as_(reviewer).ask("POST", "/draft/review", 200, json=body)
    why = {} if reviewer else {"override": "The first content"}
    answer = place.ask("POST", "/publish", 200, json={"message": message, **why})
    return str(answer.json()["version"])


@pytest.mark.parametrize(("look", "size"), [("light", WIDE), ("dark", WIDE), ("narrow", NARROW)])
def test_pictures_show_every_view_in_full_width(
    new_page: Opens, ids: dict[str, str], tmp_path: Path, look: str, size: dict[str, int]
) -> None:
    folder = ROOT / os.environ["PICTURES"] if "PICTURES" in os.environ else tmp_path
    folder.mkdir(exist_ok=True)
    page = new_page(color_scheme="dark" if look == "dark" else "light", viewport=size, reduced_motion="reduce")
    sign_in(page, "grace")
    # A reader comes some minutes later, except to the agents, which report all the time.
    page.clock.install(time=datetime.now(UTC) + LATER)
    for name, path in VIEWS.items():
        page.clock.set_system_time(datetime.now(UTC) + (timedelta() if name == "agents" else LATER))
        page.goto(path.format(**ids))
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        if name == "tester":
            page.get_by_label("URLs or paths").fill("/sale\n/p/42\n/lamps/2020\n/nothing")
            page.get_by_label("In the state").select_option("published")
            page.get_by_label("Compare with").select_option("draft")
            page.get_by_role("button", name="Test 4 URLs").click()
            page.get_by_text("1 answer differs").wait_for()
        if name == "fixes":
            page.locator("summary", has_text="What can be fixed").click()
            page.get_by_role("button", name="Fix all 2").wait_for()
        if name == "edit":
            page.get_by_label("Target", exact=True).fill("/offers/winter")
            page.get_by_role("heading", name="What this change does").wait_for()
        if name == "reference":
            page.locator(".operation summary", has_text="Create a role").click()
        if name == "publish":
            page.get_by_role("button", name="Publish …").click()
            page.get_by_label("Message").fill("Jobs have a new home")
        picture = page.screenshot(path=(folder if f"{name}-{look}" in KEPT else tmp_path) / f"{name}-{look}.png")
        assert picture.startswith(b"\x89PNG")
        if name == "edit":  # what is typed would hold up the next view
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Discard it").click()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
