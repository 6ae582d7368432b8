"""Comparisons and old publishes: any two states, all of what differs, and what to do with an old version."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import drafted, view
from tests.dashboard.test_pages import violations
from tests.dashboard.test_tabs import one_stream
from tests.e2e.world import Place, World, redirect

Opens = Callable[..., Page]

TSV = {"Content-Type": "text/tab-separated-values"}


def test_all_changes_of_a_large_push_are_shown_before_it_is_approved_published_or_rolled_back(
    world: World, new_page: Opens
) -> None:
    """A proposal, a comparison, a publish and a rollback show 500 changes at first, and the others on request."""
    place = world.place()
    imported(place, 1100)
    body = {"branch": "team/many", "project": place.project}
    proposal = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal}")
    shows_all(page.get_by_role("main"))
    place.publish()
    for part in ("/history?version=2", "/history?from=1&to=published"):
        page.goto(view(place, part))
        shows_all(page.get_by_role("main"))
    page.goto(view(place, "/history?version=2"))
    page.get_by_role("button", name="Roll back to publish 1").click()
    shows_all(page.get_by_role("dialog"))


def test_any_version_is_typed_to_compare_and_is_kept_over_a_reload_and_a_swap(world: World, new_page: Opens) -> None:
    """Guard: only the newest 100 publishes are in the list."""
    place = world.place()
    place.published("/first")
    for number in range(101):
        place.published(f"/other/{number}")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?from=100&to=published"))
    source, target = (page.get_by_label(name, exact=True) for name in ("From", "To"))
    expect(page.locator(".changes > .change")).to_have_count(3)
    expect(source.locator("option", has_text="Publish 2:")).to_have_count(0)
    source.select_option("Another publish, branch or commit …")
    page.get_by_label("From: publish, branch or commit").fill("2")
    expect(page.locator(".changes > .change")).to_have_count(3)  # nothing is compared while it is typed
    page.get_by_label("From: publish, branch or commit").press("Enter")
    expect(page.locator(".changes > .change")).to_have_count(101)
    page.reload()
    expect(source).to_have_value("2")
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".change.removed")).to_have_count(101)
    expect(source).to_have_value("published")
    expect(target).to_have_value("2")
    target.select_option("Another publish, branch or commit …")
    page.get_by_label("To: publish, branch or commit").fill(place.get("/history/50")["version"][:8])
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".change.removed")).to_have_count(53)
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_comparison_with_the_draft_shows_each_edit_of_it(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?from=published&to=draft"))
    expect(page.get_by_text("No rule differs").first).to_be_visible()
    one_stream(world)
    place.add("/b")
    expect(page.locator(".change.added")).to_contain_text("/b")


def test_an_old_version_is_opened_as_another_draft_where_there_is_one(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.add("/mine")
    place.ask("POST", "/draft/redirects?draft=taken", 201, json=redirect("/other"))
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Open as a draft").click()
    dialog = page.get_by_role("dialog", name="Open publish 2 as a draft")
    expect(dialog).to_contain_text("There is a draft main already")
    expect(dialog).not_to_contain_text("pass its head")
    assert violations(page) == []
    name = dialog.get_by_label("Name of another draft")
    for wrong, words in (("two words", "Use 1 to 50 of"), ("taken", "There is a draft of this name")):
        name.fill(wrong)
        name.press("Enter")
        expect(dialog).to_contain_text(words)
    name.fill("before-b")
    name.press("Enter")
    expect(page.locator(".change.removed")).to_contain_text("/b")
    assert drafted(place) == {"/a": "/new", "/b": "/new", "/mine": "/new"}
    assert [each["source"] for each in place.get("/draft/redirects?draft=before-b&change=removed")["items"]] == ["/b"]


def test_an_old_version_replaces_the_draft_that_was_shown_and_nothing_that_came_after(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.add("/mine")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Open as a draft").click()
    dialog = page.get_by_role("dialog", name="Open publish 2 as a draft")
    expect(dialog.locator(".change.added")).to_contain_text("/mine")
    expect(dialog).to_contain_text("1 redirect added. All of that is lost.")
    place.add("/theirs")
    dialog.get_by_role("button", name="Replace them with publish 2").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Someone has changed the draft while you looked at it.")
    assert drafted(place) == {"/a": "/new", "/b": "/new", "/mine": "/new", "/theirs": "/new"}
    dialog.get_by_role("button", name="Show what it has now").click()
    expect(dialog.locator(".change.added")).to_contain_text(["/mine", "/theirs"])
    dialog.get_by_role("button", name="Replace them with publish 2").click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".change.removed")).to_contain_text("/b")
    assert drafted(place) == {"/a": "/new"}


def test_a_large_page_is_shown_by_its_differing_lines_with_a_way_to_the_rest(world: World, new_page: Opens) -> None:
    """In the life of a page too, which showed the whole text twice for each publish."""
    place = world.place()
    lines = [f"Disallow: /folder/{number:05}/with/a/long/path\n" for number in range(8000)]  # some 300 kB
    made = place.add_page("/robots.txt", "".join(lines))
    place.publish()
    content = "".join([*lines[:4000], "Disallow: /changed/\n", *lines[4001:]])
    place.ask("PATCH", f"/draft/pages/{made['id']}", 200, json={"content": content})
    place.publish()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?path=%2Frobots.txt"))
    newest, first = page.locator(".publishes > li").first, page.locator(".publishes > li").last
    expect(newest.locator(".line.new .text")).to_have_text("Added: Disallow: /changed/")
    expect(newest.locator(".line")).to_have_count(8)
    expect(first.locator(".line")).to_have_count(400)
    first.get_by_role("button", name="Show 2,000 more lines").press("Enter")
    expect(first.locator(".line")).to_have_count(2400)
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def imported(place: Place, number: int) -> None:
    """Import redirects into the draft."""
    rows = "".join(f"BASIC\t/many/{each:04}\t/new\t301\n" for each in range(number))
    place.ask("POST", "/import", 200, content=f"type\tsource\ttarget\tstatus\n{rows}", headers=TSV)


def shows_all(part: Locator) -> None:
    """Go to the end of 1,100 changes, with the keyboard: it goes on at the first change that has come."""
    cards = part.locator(".changes > .change")
    expect(cards).to_have_count(500)
    expect(part.get_by_text("500 of 1,100 changes are shown.")).to_be_visible()
    part.get_by_role("button", name="Show 500 more").press("Enter")
    expect(cards).to_have_count(1000)
    expect(cards.nth(500)).to_be_focused()
    part.get_by_role("button", name="Show 100 more").press("Enter")
    expect(cards).to_have_count(1100)
    expect(cards.nth(1000)).to_be_focused()
    expect(part.get_by_role("button", name="more")).to_have_count(0)
    expect(cards.last).to_contain_text("/many/1099")


def test_a_rollback_with_a_message_of_its_own_is_marked_as_one(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.ask("POST", "/rollback", 200, json={"version": 2, "message": "The sale is over"})
    assert [each["rolledBackToNumber"] for each in place.get("/history")["items"]] == [2, None, None, None]
    assert place.get("/history/4")["rolledBackToNumber"] == 2
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history"))
    rows = page.locator(".publishes li")
    expect(rows.first).to_contain_text("The sale is over")
    expect(rows.first).to_contain_text("Rolls back to publish 2")
    expect(page.get_by_text("Rolls back to")).to_have_count(1)
    rows.first.get_by_role("link", name="The sale is over").click()
    expect(page.get_by_text("Rolls back to publish 2")).to_be_visible()
    page.get_by_role("link", name="Compare with publish 3").click()
    expect(page.locator(".change.removed")).to_contain_text("/b")
