"""Bad input while editing: a session that ends, a service that is away, late answers, two tabs: said in words, nothing lost."""

import re
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import drafted, view
from tests.dashboard.test_quick_views import held
from tests.e2e.world import PASSWORD, Place, World
from tests.service import wait_until

Opens = Callable[..., Page]


def test_a_session_that_ends_in_an_edit_asks_for_a_login_and_then_saves(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=401)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/sale")
    form.get_by_label("Target").fill("/offers")
    # Else the try line, which asks while one types, finds the end of the session before the button does.
    expect(form.get_by_role("region", name="Try it")).to_contain_text("/offers")
    page.context.clear_cookies()
    form.get_by_role("button", name="Add to the draft").click()
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("tbody")).to_contain_text("/sale")
    assert drafted(place) == {"/sale": "/offers"}


def sign_in_over(page: Page, username: str) -> None:
    """Sign in in the dialog over a page whose session has ended."""
    dialog = page.get_by_role("dialog", name="Sign in again")
    dialog.get_by_label("User name").fill(username)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()


def ended_while_saving(page: Page, place: Place, username: str) -> None:
    """Save a redirect of one person after the session has ended."""
    sign_in(page, username, f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/hers")
    form.get_by_label("Target").fill("/offers")
    expect(form.get_by_role("region", name="Try it")).to_contain_text("/offers")
    page.context.clear_cookies()
    form.get_by_role("button", name="Add to the draft").click()


def test_what_one_person_saves_is_never_sent_as_another_who_signs_in(world: World, new_page: Opens) -> None:
    place = world.place()
    ada, bob = world.user("admin"), world.user("admin")
    page = new_page(refused=401)
    ended_while_saving(page, place, ada)
    sign_in_over(page, bob)
    expect(page.get_by_role("alert").filter(has_text=f"{bob} has signed in.")).to_be_visible()
    assert drafted(place) == {}
    sign_in_over(page, ada)
    expect(page.locator("tbody")).to_contain_text("/hers")
    assert drafted(place) == {"/hers": "/offers"}


def test_another_person_who_goes_on_starts_anew_and_gets_nothing_that_was_typed(world: World, new_page: Opens) -> None:
    place = world.place()
    ada, bob = world.user("admin"), world.user("admin")
    page = new_page(refused=401, permissions=["clipboard-read", "clipboard-write"])
    ended_while_saving(page, place, ada)
    sign_in_over(page, bob)
    page.get_by_role("button", name="Copy what was typed").click()
    expect(page.get_by_role("dialog").get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Source: /hers\nTarget: /offers"
    page.get_by_role("button", name=f"Go on as {bob}").click()
    expect(page.get_by_text(f"What {ada} typed here is lost then.")).to_be_visible()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name=f"Go on as {bob}").click()
    page.get_by_role("button", name="Drop it").click()
    page.wait_for_url("**/")
    expect(page.get_by_role("banner").get_by_role("link", name=bob)).to_be_visible()
    assert drafted(place) == {}


def test_no_secret_that_was_typed_is_copied_for_the_next_person(world: World, new_page: Opens) -> None:
    place = world.place()
    ada, bob = world.user("admin"), world.user("admin")
    page = new_page(refused=4, permissions=["clipboard-read", "clipboard-write"])
    sign_in(page, ada, f"/dashboard/settings/namespaces?name={place.namespace}&upstream=edit")
    form = page.get_by_role("dialog", name=f"Upstream of {place.namespace}")
    form.get_by_text("SSH", exact=True).click()
    form.get_by_text("Git host", exact=True).click()
    form.get_by_label("URL", exact=True).fill("https://ada:url-secret@git.example/rules.git")
    form.get_by_label("User name").fill("robot")
    for label in ("Password or token", "Private key", "Token for its API", "Secret of its webhook"):
        form.get_by_label(label).fill("secret of Ada")
    page.context.clear_cookies()
    form.get_by_role("button", name="Save the upstream").click()
    sign_in_over(page, bob)
    page.get_by_role("button", name="Copy what was typed").click()
    copied = wait_until(lambda: page.evaluate("() => navigator.clipboard.readText()"), 20, "the copy")
    assert copied == "User name: robot"


def test_another_person_in_another_tab_stops_what_the_first_one_saves(world: World, new_page: Opens) -> None:
    """Also where the tab itself has not noticed yet that its session has ended."""
    place = world.place()
    ada, bob = world.user("admin"), world.user("admin")
    page = new_page(refused=401)
    ended_while_saving(page, place, ada)
    page.get_by_role("dialog", name="Sign in again").wait_for()
    fresh = page.context.new_page()
    sign_in(fresh, ada, f"{view(place)}?edit=new")  # her own login in another tab goes on with what she saved
    expect(page.locator("tbody")).to_contain_text("/hers")
    form = fresh.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/unnoticed")
    form.get_by_label("Target").fill("/offers")
    page.context.clear_cookies()
    sign_in(page.context.new_page(), bob)
    for tab in (page, fresh):
        expect(tab.get_by_role("alert").filter(has_text=f"{bob} has signed in.")).to_be_visible()
    sign_in_over(fresh, ada)
    form.get_by_role("button", name="Add to the draft").click()
    expect(fresh.locator("tbody")).to_contain_text("/unnoticed")
    expect(page.get_by_role("dialog")).to_have_count(0)


def sign_out_in_another_tab(page: Page) -> None:
    other = page.context.new_page()
    other.goto("/dashboard/start")
    other.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out")).to_be_visible()


def reload_after_the_session(page: Page) -> None:
    page.context.clear_cookies()
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()


@pytest.mark.parametrize("end", [sign_out_in_another_tab, reload_after_the_session])
def test_what_one_person_typed_is_not_shown_to_the_next_one_and_waits_for_its_own(
    world: World, new_page: Opens, end: Callable[[Page], None]
) -> None:
    place = world.place()
    place.add("/a")
    ada, bob = world.user("admin"), world.user("admin")
    page = new_page(refused=401)
    sign_in(page, ada, view(place, "/draft"))
    page.get_by_label("Your comment").fill("What Ada thinks")
    page.get_by_role("button", name="Comment on /a").click()
    page.get_by_label("Comment on this rule").fill("Of Ada")
    page.get_by_role("button", name="Publish …").click()
    page.get_by_role("dialog").get_by_label("Message").fill("A message of Ada")
    page.get_by_role("button", name="Close").click()
    end(page)
    sign_in(page, bob, view(place, "/draft"))
    expect(page.get_by_label("Your comment")).to_have_value("")
    expect(page.get_by_label("Comment on this rule")).to_have_count(0)
    page.get_by_role("button", name="Publish …").click()
    expect(page.get_by_role("dialog").get_by_label("Message")).to_have_value("")
    page.get_by_role("button", name="Close").click()
    page.get_by_label("Your comment").fill("What Bob thinks")
    end(page)
    sign_in(page, ada, view(place, "/draft"))
    expect(page.get_by_label("Your comment")).to_have_value("What Ada thinks")
    expect(page.get_by_label("Comment on this rule")).to_have_value("Of Ada")
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    sign_in(page, bob, view(place, "/draft"))
    expect(page.get_by_label("Your comment")).to_have_value("What Bob thinks")
    assert "Ada" not in page.evaluate("JSON.stringify({...sessionStorage})")


def test_an_undo_is_not_offered_to_the_next_person(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=401)
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose /a").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    sign_out_in_another_tab(page)
    assert page.get_by_role("button", name="Undo").count() == 0  # at once: it goes away by itself


def test_a_service_that_is_away_is_told_and_what_was_typed_is_saved_later(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=503)
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    form.locator(".cm-content").click()
    page.keyboard.type("User-agent: *")
    away = {"error": "unavailable", "message": "Waypost is restarting. Try again in a moment."}
    page.route("**/draft/pages*", lambda route: route.fulfill(status=503, json=away))
    form.get_by_role("button", name="Add to the draft").click()
    expect(form.get_by_role("alert")).to_contain_text("Try again in a moment.")
    expect(form.locator(".cm-line")).to_have_text("User-agent: *")
    page.unroute("**/draft/pages*")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.get_by_role("link", name="/robots.txt")).to_be_visible()


def test_an_answer_that_is_late_never_replaces_a_newer_one(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/alpha", "/beta")
    page = new_page()
    held: list[Route] = []
    page.route("**/draft/redirects?*q=alpha*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    sign_in(page, world.user("admin"), view(place))
    expect(page.locator("tbody tr")).to_have_count(2)
    search = page.get_by_label("Search source, target and note")
    with page.expect_request("**/draft/redirects?*q=alpha*"):
        search.fill("alpha")
    search.fill("beta")
    expect(page.locator("tbody tr")).to_have_count(1)
    for route in held:
        route.fallback()
    with page.expect_response("**/draft/redirects?*sort=target*"):
        page.get_by_role("link", name="Target").first.click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("/beta")


def test_two_tabs_with_one_rule_do_not_overwrite_each_other(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add("/a", "/first")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), f"{view(place)}?edit={made['id']}")
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/of-the-first-tab")
    tab = page.context.new_page()
    tab.goto(f"{view(place)}?edit={made['id']}")
    other = tab.get_by_role("dialog", name="Edit the redirect")
    other.get_by_label("Target").fill("/of-the-second-tab")
    other.get_by_role("button", name="Save in the draft").click()
    expect(other).to_be_hidden()
    form.get_by_role("button", name="Save in the draft").click()
    expect(form.get_by_role("alert").first).to_contain_text("Someone else changed Target meanwhile")
    expect(form.get_by_label("Target")).to_have_value("/of-the-first-tab")
    assert drafted(place) == {"/a": "/of-the-second-tab"}


def test_a_draft_that_moved_while_it_was_read_is_not_published_unseen(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/seen")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog", name="Publish the draft")
    dialog.get_by_label("Message").fill("Begin the sale")
    place.add("/unseen")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    moved = dialog.get_by_role("region", name="What changed meanwhile")
    expect(moved.locator(".change")).to_have_count(1)
    expect(moved.locator(".change")).to_contain_text("/unseen")
    assert place.sources() == []
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Publish …").click()
    expect(dialog.get_by_label("Message")).to_have_value("Begin the sale")
    place.add("/late")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    moved.get_by_role("button", name="Go on with the draft as it is now").click()
    expect(moved).to_have_count(0)
    expect(dialog.get_by_role("alert")).to_have_count(0)
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("dialog", name="Published")).to_contain_text("This is publish 2")
    assert sorted(place.sources()) == ["/late", "/seen", "/unseen"]
    assert place.get("/history")["items"][0]["message"].startswith("Begin the sale")


def test_a_rollback_replaces_no_publish_that_was_not_looked_at(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Roll back to this …").click()
    dialog = page.get_by_role("dialog", name="Roll back to publish 2")
    expect(dialog.get_by_role("region", name="What changes", exact=True)).to_contain_text("/b")
    dialog.get_by_label("Message").fill("Too early")
    late = {"error": "lost_race", "message": "Try again."}
    page.route(
        "**/history?limit=100", lambda route: route.fulfill(status=409, json=late)
    )  # so the event is not followed
    place.published("/c")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    expect(dialog.get_by_role("alert").filter(has_text="Read it again")).to_be_visible()
    page.unroute("**/history?limit=100")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    expect(dialog.get_by_role("region", name="What changed meanwhile")).to_contain_text("Publish 4")
    assert place.sources() == ["/a", "/b", "/c"]
    dialog.get_by_role("button", name="Show what a rollback changes now").click()
    expect(dialog.get_by_role("region", name="What changes", exact=True)).to_contain_text("/c")
    expect(dialog.get_by_label("Message")).to_have_value("Too early")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    expect(page.get_by_role("dialog", name="Rolled back")).to_be_visible()
    assert place.sources() == ["/a"]
    assert place.get("/history")["items"][0]["message"] == "Too early"


BUSY = {"error": "overloaded", "message": "Waypost is too busy. Try again."}
SECONDARY = {
    "the remarks of a draft": ("{view}/draft", r"/draft/review\?"),
    "the drafts": ("{view}", r"/drafts$"),
    "the publishes to roll back to": ("{view}/history?version=1", r"/history\?limit=100"),
    "the publishes to test": ("{view}/test", r"/history\?limit=100"),
    "the failing agents": ("{view}/draft", r"/agents\?limit=3"),
    "the remarks of a proposal": ("/dashboard/proposal/{namespace}/{proposal}", r"/proposal/.*/review\?"),
    "one's own tokens": ("/dashboard/settings", r"/api/me/tokens"),
    "the projects of a namespace": ("/dashboard/settings/namespaces?name={namespace}", r"/projects\?"),
    "the archived namespaces": ("/dashboard/settings/namespaces", r"/namespaces/archived"),
    "the sessions of a user": ("/dashboard/settings/users?edit={user}", r"/api/user/\d+/sessions"),
    "the roles to choose": ("/dashboard/settings/users?edit={user}", r"/api/roles\?"),
    "the permissions to grant": ("/dashboard/settings/roles?edit=%2B", r"/api/permissions"),
    "the deliveries of a webhook": ("/dashboard/settings/webhooks?namespace={namespace}", r"/deliveries\?"),
}


@pytest.mark.parametrize("case", SECONDARY)
def test_what_cannot_be_read_is_never_shown_as_nothing(world: World, new_page: Opens, case: str) -> None:
    address, call = SECONDARY[case]
    place = world.place()
    place.add("/a")
    body = {"branch": "team/sale", "project": place.project}
    proposal = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    hook = {"url": "https://hooks.example.org/waypost", "events": ["published"]}
    place.root.ask("POST", f"{place.space}/webhooks", 201, json=hook)
    admin = world.user("admin")
    user = world.root.get("/api/users")["items"][0]["id"]
    page = new_page(refused=503)
    page.route(re.compile(call), lambda route: route.fulfill(status=503, json=BUSY))
    parts = {"view": view(place), "namespace": place.namespace, "proposal": proposal, "user": user}
    sign_in(page, admin, address.format(**parts))
    if case == "the failing agents":
        page.get_by_role("button", name="Publish …").click()
    if case == "the deliveries of a webhook":
        page.get_by_text("Deliveries").click()
    alert = page.get_by_role("alert").filter(has_text="Waypost is too busy.")
    expect(alert).to_be_visible()
    if case.startswith("the remarks"):
        expect(page.get_by_text("No comments yet")).to_have_count(0)
    page.unroute(re.compile(call))
    alert.get_by_role("button", name="Try again").click()
    expect(alert).to_have_count(0)


def test_an_answer_that_is_cut_off_is_told_in_words(world: World, new_page: Opens) -> None:
    page = new_page()
    page.route("**/draft/redirects?*", lambda route: route.fulfill(content_type="application/json", body='{"items": ['))
    sign_in(page, world.user("admin"), view(world.place()))
    expect(page.get_by_role("alert")).to_contain_text("The answer of Waypost did not arrive whole.")


def test_a_page_in_the_place_of_an_answer_is_no_answer(world: World, new_page: Opens) -> None:
    """The sign-in page of a network or a proxy is 200 too: nothing is read from it, and no write is taken for done."""
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Kept")
    page.route("**/publish?*", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>"))
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("What answered was not Waypost")
    expect(dialog.get_by_label("Message")).to_have_value("Kept")
    page.unroute("**/publish?*")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("dialog", name="Published")).to_be_visible()
    page.route("**/draft/redirects?*", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>"))
    page.goto(view(place))
    expect(page.get_by_role("alert")).to_contain_text("What answered was not Waypost")
    page.unroute("**/draft/redirects?*")
    page.get_by_role("alert").get_by_role("button", name="Try again").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_letters_that_would_not_be_seen_are_named_where_rules_are_read_and_reviewed(
    world: World, new_page: Opens
) -> None:
    """A change of the direction shows `/gpj.exe` as `/exe.jpg`; a space without a width makes two hosts look like one."""
    place = world.place()
    place.add("/\u202egpj.exe", "https://shop\u200b.example/a")
    place.add("^/\u2066(a)", "/b", type="REGEX", note="see \u202d1")
    place.add_page("/p\u2060.txt", "a\nb\u200f\n")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    rows = page.locator("tbody")
    for shown in ("/\u2039U+202E\u203agpj.exe", "https://shop\u2039U+200B\u203a.example/a", "^/\u2039U+2066\u203a"):
        expect(rows).to_contain_text(shown)
    page.goto(view(place, "/draft"))
    changes = page.locator(".changes")
    for shown in (
        "/\u2039U+202E\u203agpj.exe",
        "https://shop\u2039U+200B\u203a.example/a",
        "see \u2039U+202D\u203a1",
        "/p\u2039U+2060\u203a.txt",
        "b\u2039U+200F\u203a",
    ):
        expect(changes).to_contain_text(shown)
    unseen = "[\u200b-\u200f\u202a-\u202e\u2060-\u206f]"
    assert not re.search(unseen, page.locator("#content").inner_text())


def test_a_page_after_the_last_one_leads_back_to_it(world: World, new_page: Opens) -> None:
    """Such as one whose rows are removed, or a kept address."""
    place = world.place()
    item = {"type": "BASIC", "target": "/new", "status": "FOUND"}
    rules = [{"op": "put", "kind": "redirect", "item": {"source": f"/{number:03}", **item}} for number in range(60)]
    place.ask("POST", "/draft/changes", 200, json=rules)
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?sort=source&page=90")
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages).to_contain_text("None on this page, 60 in all")
    pages.get_by_role("link", name="Previous").click()
    expect(pages).to_contain_text("51\u201360 of 60")
    expect(page.locator("tbody tr").first).to_contain_text("/050")


def test_a_publish_that_takes_long_says_what_it_waits_for(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    with held(page, re.compile(r"/publish")):
        dialog.get_by_role("button", name="Publish", exact=True).click()
        expect(dialog.get_by_text("Still waiting: the rules are checked and published …")).to_be_visible()
    expect(page.get_by_role("dialog", name="Published")).to_be_visible()
    expect(page.get_by_text("Still waiting")).to_have_count(0)


def test_a_network_that_goes_is_told_while_one_reads_and_what_was_missed_comes_after_it(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(offline=True)
    # Chromium keeps an open stream when it is set offline: an event of another place would say that all is well.
    sign_in(page, world.owner(place.namespace), view(place))
    expect(page.locator("tbody tr")).to_have_count(1)
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    expect(page.get_by_text("what you see may be old")).to_be_visible()
    place.published("/b")
    page.context.set_offline(False)
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("what you see may be old")).to_have_count(0)


def test_a_network_that_goes_while_one_types_takes_nothing_away(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(offline=True)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/sale")
    form.get_by_label("Target").fill("/offers")
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    form.get_by_role("button", name="Add to the draft").click()
    expect(form.get_by_role("alert").filter(has_text="nothing that you typed is lost")).to_be_visible()
    page.context.set_offline(False)
    expect(form.get_by_label("Target")).to_have_value("/offers")
    form.get_by_role("button", name="Add to the draft").click()
    expect(form).to_be_hidden()
    assert drafted(place) == {"/sale": "/offers"}


def test_a_view_that_cannot_be_loaded_blocks_no_other(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=503)
    page.route(re.compile(r"/history-[^/]*\.js$"), lambda route: route.fulfill(status=503, body=""))
    sign_in(page, world.user("admin"), view(place))
    tabs = page.get_by_role("navigation", name="Views of the project")
    tabs.get_by_role("link", name="History").click()
    expect(page.get_by_role("alert")).to_contain_text("Load the page again")
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("kind", ["redirects", "pages"])
def test_what_somebody_else_removed_can_be_added_again_as_it_was_typed(
    world: World, new_page: Opens, kind: str
) -> None:
    place = world.place()
    made = place.add("/a") if kind == "redirects" else place.add_page("/a.txt")
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), view(place, f"{'/pages' if kind == 'pages' else ''}?edit={made['id']}"))
    form = page.get_by_role("dialog")
    form.get_by_label("Note").fill("mine")
    place.ask("DELETE", f"/draft/{kind}/{made['id']}", 204)
    form.get_by_role("button", name="Save in the draft").click()
    theirs = form.get_by_role("region", name="What someone else has made of it")
    expect(theirs).to_contain_text("e2e has removed it meanwhile")
    expect(form.get_by_label("Note")).to_have_value("mine")
    theirs.get_by_role("button", name="Add it again").click()
    expect(form).to_be_hidden()
    assert [each["note"] for each in place.get(f"/draft/{kind}")["items"]] == ["mine"]


@pytest.mark.parametrize("kind", ["redirects", "pages"])
def test_what_somebody_else_changed_is_seen_before_it_is_removed(world: World, new_page: Opens, kind: str) -> None:
    place = world.place()
    made = place.add("/a") if kind == "redirects" else place.add_page("/a.txt")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), view(place, f"{'/pages' if kind == 'pages' else ''}?edit={made['id']}"))
    form = page.get_by_role("dialog")
    form.get_by_label("Note").wait_for()
    place.ask("PATCH", f"/draft/{kind}/{made['id']}", 200, json={"note": "theirs"})
    form.get_by_role("button", name="Remove", exact=True).click()
    expect(form.get_by_role("region", name="What someone else has made of it")).to_contain_text("theirs")
    assert place.get(f"/draft/{kind}")["total"] == 1
    form.get_by_role("button", name="Remove", exact=True).click()
    expect(form).to_be_hidden()
    assert place.get(f"/draft/{kind}")["total"] == 0


def test_a_comparison_is_never_shown_under_other_names(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?from=2&to=3"))
    expect(page.locator(".change")).to_contain_text("/b")
    with held(page, re.compile(r"/diff\?")):
        page.get_by_label("From").select_option("1")
        expect(page.get_by_text("Comparing …")).to_be_visible()
        expect(page.locator(".change")).to_have_count(0)
    expect(page.locator(".change")).to_have_count(2)


def test_the_age_of_what_is_shown_grows(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(timezone_id="Asia/Kolkata", locale="en-GB")
    page.clock.install()
    sign_in(page, world.user("admin"), view(place, "/history"))
    shown = page.locator(".publishes time").first
    expect(shown).to_have_text("just now")
    at = shown.get_attribute("datetime") or ""
    assert at in place.get("/history")["items"][0].values()
    exact = datetime.fromisoformat(at).astimezone(ZoneInfo("Asia/Kolkata"))
    expect(shown).to_have_attribute(
        "title", re.compile(rf"^{exact:%A},? {exact.day} {exact:%B %Y} at {exact:%H:%M:%S} ")
    )
    page.clock.fast_forward("05:00")
    expect(page.locator(".publishes time").first).to_have_text("5 minutes ago")
