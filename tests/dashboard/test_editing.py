"""Redirects in the dashboard: added, changed, duplicated, deleted, replaced; and their draft, reviewed and published."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World, redirect

Opens = Callable[..., Page]


def view(place: Place, part: str = "") -> str:
    """Return the address of a view of a project."""
    return f"/dashboard/project/{place.namespace}/{place.project}{part}"


def overtake(page: Page, place: Place, source: str) -> None:
    """Let someone else add a rule right before each change that the page sends with the head that it knows."""

    def add_first(route: Route) -> None:
        if route.request.method == "POST":
            place.add(source, "/theirs")
        route.continue_()

    page.route("**/draft/changes?*", add_first)


def hold(page: Page, calls: str) -> list[Route]:
    """Hold calls back; return them, as they come."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route(calls, keep)
    return held


def drafted(place: Place) -> dict[str, str]:
    """Return the targets of the draft by their sources."""
    return {
        each["source"]: each["target"] for each in place.get("/draft/redirects")["items"] if each["change"] != "removed"
    }


def test_a_redirect_is_added_changed_duplicated_removed_and_put_back(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_role("button", name="Add a redirect").click()
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/sale")
    form.get_by_label("Target").fill("/offers")
    form.get_by_label("Tags").fill("spring, print")
    assert violations(page) == []
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert drafted(place) == {"/old": "/new", "/sale": "/offers"}
    page.get_by_role("link", name="spring").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Tag: spring").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("link", name="/sale").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/summer")
    form.get_by_role("button", name="Save in the draft").click()
    expect(page.locator("tbody")).to_contain_text("/summer")
    page.get_by_role("link", name="/sale").click()
    form.get_by_role("button", name="Duplicate").click()
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/sale-2")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="/old").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    assert drafted(place) == {"/sale": "/summer", "/sale-2": "/summer"}
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_text("\u2212 removed")).to_be_hidden()
    assert "/old" in drafted(place)


def test_what_is_added_leads_to_its_publish(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/old")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    page.get_by_role("link", name="Review and publish").click()
    expect(page).to_have_url(re.compile(f"{view(place, '/draft')}$"))
    expect(page.get_by_role("log")).to_be_empty()


def test_a_refused_rule_is_told_beside_its_field_and_nothing_typed_is_lost(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Type").select_option("REGEX")
    form.get_by_label("Source").fill("^/(unclosed")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("textbox", name="Source")).to_have_text("^/(unclosed")
    form.get_by_label("Source").fill("^/(closed)")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "false")
    form.get_by_label("Source").fill("^/(unclosed")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Escape")
    expect(form.get_by_text("What you typed is not saved.")).to_be_visible()
    form.get_by_role("button", name="Keep editing").click()
    expect(form.get_by_label("Target")).to_have_value("/new")


def test_a_source_that_exists_is_named_while_it_is_typed_and_marked_when_it_is_saved(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    made = place.add("/taken", "/there")
    place.add("/taken/too")
    place.add_page("/robots.txt")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    link = form.get_by_role("link", name="/taken → /there")
    form.get_by_label("Source").fill("/take")
    form.get_by_label("Target").fill("/new")
    expect(form.get_by_role("region", name="Try it")).to_contain_text("/new")
    expect(link).to_have_count(0)
    form.get_by_label("Source").fill("/taken")
    expect(link).to_be_visible()
    tried = form.get_by_role("region", name="Try it")
    expect(tried).to_contain_text("/taken exists already")
    expect(tried).not_to_contain_text("301")
    expect(tried.get_by_role("link", name="Open it")).to_have_attribute("href", re.compile(made["id"]))
    assert violations(page) == []
    form.get_by_label("Target").press("Enter")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Source")).to_be_focused()
    expect(form.get_by_role("alert")).to_contain_text(["A redirect for '/taken' already exists."])
    assert drafted(place)["/taken"] == "/there"
    link.click()
    form.get_by_role("button", name="Discard it").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    expect(form.get_by_label("Target")).to_have_value("/there")
    assert f"edit={made['id']}" in page.url
    expect(form.get_by_text("The draft has this redirect already")).to_have_count(0)
    page.goto(view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    expect(form.get_by_role("link", name="/robots.txt")).to_be_visible()
    form.get_by_label("Path").press("Enter")
    expect(form.get_by_label("Path")).to_have_attribute("aria-invalid", "true")


def test_a_rule_that_differs_only_in_case_or_a_slash_is_named_while_one_is_typed(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add("/spring")
    place.add_page("/terms.txt")
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    near = form.get_by_role("list", name="Nearly matches")
    form.get_by_label("Source").fill("/Spring/")
    expect(near).to_have_text("/spring it matches in lower case and without the slash at the end")
    assert violations(page) == []
    with page.expect_response(re.compile("/test$")):
        form.get_by_label("Source").fill("/springs")
    expect(near).to_have_count(0)
    form.get_by_label("Source").fill("/terms.txt/")
    expect(near).to_have_text("/terms.txt it matches without the slash at the end")
    form.get_by_label("Source").fill("/SPRING")
    near.get_by_role("link", name="/spring").click()
    form.get_by_role("button", name="Discard it").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    expect(form.get_by_label("Source")).to_have_value("/spring")
    assert f"edit={made['id']}" in page.url
    form.get_by_label("Source").fill("/Spring")
    expect(form.get_by_role("region", name="Try it")).to_contain_text("301")
    expect(form.get_by_text("Nearly the same")).to_have_count(0)  # it would be the rule itself
    form.get_by_role("button", name="Save in the draft").click()
    expect(form).to_be_hidden()
    page.goto(view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/Terms.txt")
    expect(form.get_by_role("list", name="Nearly matches")).to_have_text("/terms.txt it matches in lower case")


def test_a_page_is_sent_with_the_keyboard_from_its_content(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    form.locator(".cm-content").click()
    page.keyboard.type("Disallow: /")
    page.keyboard.press("Control+Enter")
    expect(form).to_be_hidden()
    assert [each["content"] for each in place.get("/draft/pages")["items"]] == ["Disallow: /"]


def test_a_rule_that_another_person_changed_meanwhile_is_not_overwritten_unasked(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add("/a", "/first")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), f"{view(place)}?edit={made['id']}")
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/mine")
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs"})
    form.get_by_role("button", name="Save in the draft").click()
    expect(form.get_by_role("alert").first).to_be_visible()
    assert drafted(place) == {"/a": "/theirs"}
    form.get_by_role("button", name="Save mine over it").click()
    expect(form).to_be_hidden()
    assert drafted(place) == {"/a": "/mine"}


def test_many_are_chosen_and_changed_removed_or_replaced_together(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a", "/b", "/c")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose /a").check()
    page.get_by_label("Choose /b").check()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Status of the chosen").focus()
    for _ in range(3):  # each key chooses the next one in a closed list
        page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Status of the chosen")).to_have_value("TEMPORARY_REDIRECT")
    assert asked == []
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Set the status")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("± changed")).to_have_count(2)
    assert {each["status"] for each in place.get("/draft/redirects", change="changed")["items"]} == {
        "TEMPORARY_REDIRECT"
    }
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("± changed")).to_have_count(0)
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Replace in them").click()
    form = page.get_by_role("dialog", name="Search and replace")
    form.get_by_label("Find").fill("/new")
    form.get_by_label("Replace with").fill("/newer")
    form.get_by_role("button", name="Show what changes").click()
    expect(form.get_by_text("3 redirects would change.")).to_be_visible()
    expect(form.locator(".pairs .long")).to_have_text(["/a", "/b", "/c"])
    assert violations(page) == []
    form.get_by_role("button", name="Replace in 3 redirects").click()
    expect(form).to_be_hidden()
    assert drafted(place) == {"/a": "/newer", "/b": "/newer", "/c": "/newer"}
    page.get_by_role("button", name="Remove …").click()
    question = page.get_by_role("dialog", name="Remove 3 redirects?")
    expect(question.get_by_role("listitem")).to_have_text(["/a", "/b", "/c"])
    assert violations(page) == []
    question.get_by_role("button", name="Cancel").click()
    assert drafted(place) == {"/a": "/newer", "/b": "/newer", "/c": "/newer"}
    page.get_by_role("button", name="Remove …").click()
    question.get_by_role("button", name="Remove 3 redirects").click()
    expect(page.get_by_text("\u2212 removed")).to_have_count(3)
    assert drafted(place) == {}


@pytest.mark.parametrize("act", ["remove", "replace"])
def test_nothing_is_removed_or_replaced_that_a_colleague_changed_since_the_question_in_a_draft_that_nobody_had_begun(
    world: World, new_page: Opens, act: str
) -> None:
    place = world.place()
    place.published("/a", "/b")
    [first, _] = place.get("/draft/redirects")["items"]
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose all on this page").check()
    if act == "remove":
        page.get_by_role("button", name="Remove …").click()
        last = page.get_by_role("button", name="Remove 2 redirects")
    else:
        page.get_by_role("button", name="Replace in them").click()
        page.get_by_label("Find").fill("/new")
        page.get_by_label("Replace with").fill("/mine")
        page.get_by_role("button", name="Show what changes").click()
        last = page.get_by_role("button", name="Replace in 2 redirects")
    expect(last).to_be_visible()
    place.ask("PATCH", f"/draft/redirects/{first['id']}", 200, json={"note": "of a colleague"})
    last.click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("draft")
    assert drafted(place) == {"/a": "/new", "/b": "/new"}


def test_the_undo_of_a_change_of_many_stays_until_it_is_closed(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a", "/b", "/c")
    page = new_page()
    page.clock.install()
    sign_in(page, world.user("admin"), view(place))
    log = page.get_by_role("log")
    remove(page, "/c")
    expect(log.get_by_role("button", name="Undo")).to_be_visible()
    page.clock.fast_forward("01:00")
    expect(log).to_be_empty()  # of one rule it goes away
    remove(page, "/a", "/b")
    expect(log).to_contain_text("2 redirects removed in the draft.")
    page.get_by_role("link", name="Draft", exact=True).click()
    expect(page.locator(".change")).to_have_count(3)
    page.clock.fast_forward("01:00")
    assert violations(page) == []
    log.get_by_role("button", name="Undo").click()
    expect(page.locator(".change")).to_have_count(1)
    assert drafted(place) == {"/a": "/new", "/b": "/new"}
    page.get_by_role("link", name="Redirects", exact=True).click()
    remove(page, "/a", "/b")
    log.get_by_role("button", name="Close this message").click()
    expect(log).to_be_empty()


def remove(page: Page, *sources: str) -> None:
    """Choose rules of the table and remove them."""
    for source in sources:
        page.get_by_label(f"Choose {source}", exact=True).check()
    with page.expect_response(re.compile(r"/draft/redirects\?")):  # the rows are in another order then
        page.get_by_role("button", name=re.compile(r"^Remove( …)?$")).click()
        if len(sources) > 1:
            page.get_by_role("button", name=f"Remove {len(sources)} redirects").click()
    expect(page.locator(".chosen")).to_be_hidden()
    expect(page.locator(".table-box")).to_have_attribute("aria-busy", "false")


def test_a_replacement_is_in_what_the_filter_of_changes_shows_and_never_in_what_is_removed(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/kept", "/changed", "/gone", "/gone2")
    ids = {each["source"]: each["id"] for each in place.get("/draft/redirects")["items"]}
    place.ask("PATCH", f"/draft/redirects/{ids['/changed']}", 200, json={"note": "changed"})
    for source in ("/gone", "/gone2"):
        place.ask("DELETE", f"/draft/redirects/{ids[source]}", 204)
    place.add("/added", "/new")
    page = new_page()
    form = page.get_by_role("dialog", name="Search and replace")

    def replace(scope: str, find: str, wanted: str) -> None:
        expect(form.get_by_text(f"In {scope}.")).to_be_visible()
        form.get_by_label("Find").fill(find)
        form.get_by_label("Replace with").fill(wanted)
        form.get_by_role("button", name="Show what changes").click()
        form.get_by_role("button", name="Replace in 1 redirect").click()
        expect(form).to_be_hidden()

    sign_in(page, world.user("admin"), view(place, "?change=added"))
    for change in ("added", "changed"):
        page.get_by_label("Change in the draft").select_option(change)
        page.get_by_role("button", name="Replace …").click()
        replace("what the table shows", "/new", f"/{change}2")
    assert drafted(place) == {"/kept": "/new", "/changed": "/changed2", "/added": "/added2"}
    page.get_by_label("Change in the draft").select_option("removed")
    page.get_by_role("link", name="/gone", exact=True).wait_for()
    expect(page.get_by_role("button", name="Replace …")).to_have_count(0)
    page.get_by_label("Choose /gone", exact=True).check()
    expect(page.get_by_role("button", name="Replace in them")).to_be_disabled()
    page.goto(view(place, "?change=removed&replace=1"))
    expect(form.get_by_text("nothing can be replaced in them")).to_be_visible()
    assert violations(page) == []
    expect(form.get_by_label("Find")).to_have_count(0)
    form.get_by_role("button", name="Close", exact=True).last.click()
    page.goto(view(place))
    page.get_by_label("Choose /gone", exact=True).check()
    page.get_by_label("Choose /kept").check()
    page.get_by_role("button", name="Replace in them").click()
    replace("the 1 redirect that you chose, without 1 removed redirect", "/new", "/chosen")
    assert drafted(place) == {"/kept": "/chosen", "/changed": "/changed2", "/added": "/added2"}


def test_all_that_match_are_changed_after_a_look_and_no_edit_in_between_is_lost(world: World, new_page: Opens) -> None:
    place = world.place()
    rules = [redirect(f"/sale/{number:03}") for number in range(500)]
    puts = [{"op": "put", "kind": "redirect", "item": item} for item in [*rules, redirect("/other")]]
    place.ask("POST", "/draft/changes", 200, json=puts)
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), f"{view(place)}?q=/sale/")
    page.get_by_label("Choose all on this page").check()
    expect(page.get_by_text("50 redirects chosen")).to_be_visible()
    page.get_by_role("button", name="Choose all 500 redirects that match").click()
    expect(page.get_by_text("All 500 redirects that match are chosen")).to_be_visible()
    page.get_by_role("button", name="Tags …").click()
    page.get_by_label("Add tags").fill("spring, print")
    page.get_by_role("button", name="Change the tags").click()
    dialog = page.get_by_role("dialog", name="Change all that match")
    expect(dialog.get_by_text("500 redirects would be changed in the draft.")).to_be_visible()
    assert violations(page) == []
    found = place.get("/draft/redirects", q="/sale/007")["items"][0]
    place.ask("PATCH", f"/draft/redirects/{found['id']}", 200, json={"target": "/between", "status": "FOUND"})
    dialog.get_by_role("button", name="Change 500 redirects").click()
    expect(dialog.get_by_role("alert")).to_be_visible()  # the draft is not the one that was looked at
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_label("Status of the chosen").select_option("FOUND")
    page.get_by_role("button", name="Set the status").click()
    expect(dialog.get_by_role("status")).to_contain_text("Their status becomes 302. 1 redirect has it already.")
    dialog.get_by_role("button", name="Change 499 redirects").click()
    expect(page.get_by_text("The status of 499 redirects is changed in the draft.")).to_be_visible()
    after = {item["source"]: item for item in place.get("/draft/redirects", limit=1000)["items"]}
    assert [each for each, item in after.items() if item["status"] != "FOUND"] == ["/other"]
    assert (after["/sale/007"]["target"], after["/sale/007"]["tags"]) == ("/between", [])
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Choose all 500 redirects that match").click()
    page.get_by_role("button", name="Remove …").click()
    dialog = page.get_by_role("dialog", name="Remove all that match")
    expect(dialog).to_contain_text("and 480 redirects more")
    dialog.get_by_role("button", name="Remove 500 redirects").click()
    expect(page.get_by_text("No redirect fits")).to_be_visible()
    assert list(drafted(place)) == ["/other"]


def test_an_undo_does_not_overwrite_what_came_after(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a", "/b")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose /a").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    place.add("/a", "/again")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The draft was changed since then, so nothing was undone.")).to_be_visible()
    assert drafted(place) == {"/a": "/again", "/b": "/new"}


def test_an_undone_removal_in_an_editor_replaces_nothing_that_came_after(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add_page("/robots.txt", "mine")
    place.published("/a", "/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    undo = page.get_by_role("button", name="Undo")
    page.get_by_role("link", name="/a", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    place.add("/a", "/theirs")
    undo.click()
    expect(page.get_by_text("Not put back: someone has added /a again since.")).to_be_visible()
    assert drafted(place) == {"/a": "/theirs", "/b": "/new"}
    page.get_by_role("link", name="/b", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    place.add("/c")  # another rule is no reason against it
    undo.click()
    expect(page.get_by_text("\u2212 removed")).to_be_hidden()
    assert drafted(place) == {"/a": "/theirs", "/b": "/new", "/c": "/new"}
    page.goto(view(place, "/pages"))
    page.get_by_role("link", name="/robots.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    place.add_page("/robots.txt", "theirs")
    undo.click()
    expect(page.get_by_text("Not put back: someone has added /robots.txt again since.")).to_be_visible()
    assert [each["content"] for each in place.get("/draft/pages")["items"] if each["change"] != "removed"] == ["theirs"]


def test_a_saved_edit_is_undone_unless_someone_has_changed_the_rule_since(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add_page("/robots.txt", "before")
    place.published("/a")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), view(place))
    undo, form = page.get_by_role("button", name="Undo").last, page.get_by_role("dialog")

    def edit(target: str) -> None:
        page.get_by_role("link", name="/a", exact=True).click()
        form.get_by_label("Target").fill(target)
        form.get_by_role("button", name="Save in the draft").click()
        expect(form).to_be_hidden()
        assert drafted(place)["/a"] == target

    edit("/mine")
    undo.click()
    expect(page.locator("tbody")).to_contain_text("/new")
    expect(page.get_by_text("± changed")).to_have_count(0)
    assert drafted(place) == {"/a": "/new"}
    edit("/mine")
    [made] = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs"})
    undo.click()
    expect(page.get_by_text("Not undone: /a has been changed since.")).to_be_visible()
    assert drafted(place) == {"/a": "/theirs"}
    page.get_by_role("button", name="Add a redirect").click()
    form.get_by_label("Source").fill("/b")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    undo.click()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert drafted(place) == {"/a": "/theirs"}
    page.goto(view(place, "/pages"))
    page.get_by_role("link", name="/robots.txt").click()
    form.get_by_label("Content").fill("after")
    form.get_by_role("button", name="Save in the draft").click()
    expect(page.get_by_text("± changed")).to_be_visible()
    undo.click()
    expect(page.get_by_text("± changed")).to_have_count(0)
    assert [each["content"] for each in place.get("/draft/pages")["items"]] == ["before"]


def test_a_replacement_is_undone_also_where_it_renames(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a/1", "/a/2", "/b")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place))
    form = page.get_by_role("dialog", name="Search and replace")

    def replace() -> None:
        page.get_by_role("button", name="Replace …").click()
        form.get_by_label("Find").fill("/a/")
        form.get_by_label("Replace with").fill("/c/")
        form.get_by_label("In the field").select_option("source")
        form.get_by_role("button", name="Show what changes").click()
        form.get_by_role("button", name="Replace in 2 redirects").click()
        expect(form).to_be_hidden()
        assert drafted(place) == {"/c/1": "/new", "/c/2": "/new", "/b": "/new"}

    before = drafted(place)
    replace()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The replacement is taken back.")).to_be_visible()
    assert drafted(place) == before
    assert place.get("/draft/diff")["total"] == 0
    replace()
    place.add("/late")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The draft was changed since then, so nothing was undone.")).to_be_visible()
    assert drafted(place) == {"/c/1": "/new", "/c/2": "/new", "/b": "/new", "/late": "/new"}


def test_a_replacement_in_more_rules_than_its_preview_lists_is_undone(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published(*(f"/a/{number}" for number in range(60)))
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    before = drafted(place)
    page.get_by_role("button", name="Replace …").click()
    form = page.get_by_role("dialog", name="Search and replace")
    form.get_by_label("Find").fill("/new")
    form.get_by_label("Replace with").fill("/newer")
    form.get_by_role("button", name="Show what changes").click()
    expect(form.get_by_text("The first 50 are shown.")).to_be_visible()
    form.get_by_role("button", name="Replace in 60 redirects").click()
    expect(form).to_be_hidden()
    assert set(drafted(place).values()) == {"/newer"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The replacement is taken back.")).to_be_visible()
    assert drafted(place) == before


def test_discarded_changes_of_chosen_rows_are_put_back(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a", "/b")
    [first, _] = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{first['id']}", 200, json={"target": "/mine"})
    place.add("/c", "/mine")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Discard their changes").click()
    expect(page.get_by_text("The changes of 2 redirects are discarded.")).to_be_visible()
    assert drafted(place) == {"/a": "/new", "/b": "/new"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 changes put back.")).to_be_visible()
    assert drafted(place) == {"/a": "/mine", "/b": "/new", "/c": "/mine"}


def test_rows_that_someone_changed_after_the_table_was_read_are_not_changed_unseen(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place))
    table, moved = "**/draft/redirects?*", page.get_by_text("Someone has changed the draft since you chose.")

    def let_someone_change(target: str, action: str) -> None:
        """Change a rule while the table cannot be read again, and try to do something to what it shows."""
        held = hold(page, table)
        [rule] = place.get("/draft/redirects?source=/b")["items"]
        place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": target})
        page.get_by_role("button", name=action, exact=True).click()
        expect(moved).to_be_visible()
        assert drafted(place) == {"/a": "/new", "/b": target}
        for route in held:
            route.continue_()
        page.unroute(table)
        expect(page.locator("tbody")).to_contain_text(target)

    page.get_by_label("Choose /b").check()
    let_someone_change("/theirs", "Remove")
    let_someone_change("/theirs2", "Discard their changes")
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(moved).to_be_hidden()
    expect(page.get_by_text("1 redirect removed in the draft.")).to_be_visible()
    assert drafted(place) == {"/a": "/new"}


def test_what_takes_long_says_what_it_waits_for(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    held = hold(page, "**/draft/replace?*")
    page.get_by_label("Choose /a").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("Still waiting: 1 redirect is looked at and changed in the draft …")).to_be_visible()
    held.pop().continue_()
    expect(page.get_by_text("1 redirect removed in the draft.")).to_be_visible()
    expect(page.get_by_text("Still waiting")).to_have_count(0)
    held = hold(page, "**/api/**/test")
    page.goto(view(place, "/test"))
    page.get_by_label("URLs or paths").fill("/a\n/b")
    page.get_by_role("button", name="Test 2 URLs").click()
    expect(page.get_by_text("Still waiting: 2 URLs are tested …")).to_be_visible()
    assert violations(page) == []
    for each in held:  # in the draft, and in what is published
        each.continue_()
    expect(page.get_by_role("region", name="Results")).to_be_visible()


def test_an_undone_removal_is_refused_if_the_draft_changes_meanwhile(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place))
    page.get_by_role("link", name="/a", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("\u2212 removed")).to_be_visible()
    overtake(page, place, "/a")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Not put back: someone has just changed the draft.")).to_be_visible()
    assert drafted(place) == {"/a": "/theirs"}


def test_a_change_of_a_draft_is_edited_from_there(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/gone")
    [made] = place.get("/draft/redirects")["items"]
    place.ask("DELETE", f"/draft/redirects/{made['id']}", 204)
    place.add("/a")
    place.add_page("/robots.txt")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    for name, label in (("/a", "Source"), ("/robots.txt", "Path")):
        page.get_by_role("link", name=f"Edit {name}").click()
        expect(page.get_by_role("dialog").get_by_label(label, exact=True)).to_have_value(name)
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Draft", exact=True).click()
    expect(page.get_by_role("link", name="Edit /gone")).to_have_count(0)
    expect(page.get_by_role("button", name="Discard the change of /gone")).to_be_visible()


def test_a_draft_is_reviewed_by_a_second_person_and_published(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    author, second = world.user("admin"), world.user("admin")
    page = new_page()
    sign_in(page, author, f"{view(place)}?edit=new")
    form = page.get_by_role("dialog")
    form.get_by_label("Source").fill("/sale")
    form.get_by_label("Target").fill("/offers")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Draft", exact=True).click()
    expect(page.get_by_text("Needs approval").first).to_be_visible()
    page.get_by_label("Your comment").fill("Please look at the target.")
    page.get_by_role("button", name="Ask for a review", exact=True).click()
    expect(page.get_by_text("Review requested", exact=True)).to_be_visible()
    other = new_page()
    sign_in(other, second, view(place, "/draft"))
    expect(other.get_by_text("Please look at the target.")).to_be_visible()
    other.get_by_role("button", name="Comment on /sale").click()
    expect(other.get_by_label("Comment on this rule")).to_be_focused()
    other.get_by_label("Comment on this rule").fill("Good.")
    other.get_by_role("button", name="Comment", exact=True).first.click()
    expect(other.locator(".change .remarks")).to_contain_text("Good.")
    other.get_by_label("Your comment").fill("To which offers?")
    other.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Change what the comments name, then ask for a review again.")).to_be_visible()
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_text("✓ Approved").first).to_be_visible()
    assert violations(other) == []
    expect(page.get_by_text("✓ Approved").first).to_be_visible()
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog", name="Publish the draft")
    dialog.get_by_label("Message").fill("Begin the sale")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("This is publish 2")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("No draft is open")).to_be_visible()
    expect(page.get_by_role("link", name="pages", exact=True)).to_have_attribute("href", view(place, "/pages"))
    newest = place.get("/history")["items"][0]
    assert (newest["message"], place.sources()) == ("Begin the sale", ["/sale"])


def test_conflicts_are_shown_side_by_side_and_resolved(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    [made] = place.get("/draft/redirects")["items"]
    for draft, target in (("main", "/mine"), ("other", "/theirs")):
        place.ask("PATCH", f"/draft/redirects/{made['id']}?draft={draft}", 200, json={"target": target})
    place.ask("POST", "/publish?draft=other", 200)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.get_by_role("heading", name="1 conflict with what was published meanwhile")).to_be_visible()
    expect(page.get_by_role("button", name="Publish …")).to_be_disabled()
    assert violations(page) == []
    page.get_by_role("radio", name="The draft").check()
    page.get_by_role("button", name="Resolve 1 conflict").click()
    expect(page.get_by_role("heading", name="1 conflict")).to_be_hidden()
    page.get_by_role("button", name="Publish …").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("This is publish 4")).to_be_visible()
    assert place.get("/redirects")["items"][0]["target"] == "/mine"


def test_one_change_or_all_are_discarded(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    place.add("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Discard the change of /a").click()
    expect(page.locator(".change")).to_have_count(1)
    assert drafted(place) == {"/b": "/new"}
    page.get_by_role("button", name="Discard all").click()
    page.get_by_role("button", name="Discard the draft").click()
    expect(page.get_by_text("No draft is open")).to_be_visible()
    assert drafted(place) == {}
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator(".change")).to_contain_text("/b")
    assert drafted(place) == {"/b": "/new"}


def test_changes_are_discarded_though_what_undo_needs_cannot_be_read_afterwards(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    place.add("/b")
    page = new_page(refused=503)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.route("**/version", lambda route: route.fulfill(status=503, json={"error": "busy", "message": "Busy."}))
    page.get_by_role("button", name="Discard the change of /a").click()
    expect(page.get_by_text("The change of /a is discarded.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    expect(page.locator(".change")).to_have_count(1)
    assert drafted(place) == {"/b": "/new"}


def test_a_source_is_checked_before_a_target_is_typed(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("no path")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_have_text(
        'A “Basic” source begins with "/"; with a host it is “Basic, with host”'  # as the list of types has them
    )
    form.get_by_label("Source").fill("/old")
    expect(form.get_by_label("Source")).not_to_have_attribute("aria-invalid", "true")
    form.get_by_label("Type").select_option("REGEX")
    form.get_by_label("Source").fill("^/(unclosed")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Target")).not_to_have_attribute("aria-invalid", "true")
    form.get_by_label("Source").fill("^/old$")
    form.get_by_label("Target").fill("/new")
    answer = form.get_by_role("region", name="Try it")
    expect(answer).to_contain_text("The draft answers the same")
    form.get_by_label("Target").fill("")
    expect(answer).to_contain_text("Write a source and a target")
    expect(answer).not_to_contain_text("The draft answers the same")


def test_a_url_is_tried_before_the_rule_is_saved(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Type").select_option("REGEX")
    form.get_by_label("Source").fill("^/old/([0-9]+$")
    form.get_by_label("Target").fill("/newer/$1")
    expect(form.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Source").fill("^/old/([0-9]+)$")
    form.get_by_label("Try a URL").fill("/old/7")
    answer = form.get_by_role("region", name="Try it")
    expect(answer).to_contain_text("/newer/7")
    expect(answer).to_contain_text("not saved yet")
    effects = answer.get_by_label("What this change does")
    expect(effects).to_contain_text("nothing")  # before
    expect(effects).to_contain_text("301 /newer/7")
    expect(form.get_by_label("Source")).not_to_have_attribute("aria-invalid", "true")
    assert violations(page) == []
    assert place.get("/draft")["head"] is None


# An editor that is busy hears late of a selection; here it never does.
DEAF = """document.addEventListener("selectionchange", (event) => window.deaf && event.stopImmediatePropagation(), true);"""
SELECT_ALL = """(content) => {
  window.deaf = true;
  getSelection().selectAllChildren(content);
}"""


def test_an_expression_is_typed_over_before_the_editor_hears_of_the_selection(world: World, new_page: Opens) -> None:
    """A browser would keep the colours of what is replaced, by an inline style; the console tells if the policy refuses one."""
    page = new_page()
    page.add_init_script(DEAF)
    sign_in(page, world.user("admin"), f"{view(world.place())}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Type").select_option("REGEX")
    form.locator(".cm-content").wait_for()
    form.get_by_label("Source").fill("(^/old/([0-9]+)$)")
    expect(form.locator(".cm-content .group").first).to_be_visible()
    form.locator(".cm-content").evaluate(SELECT_ALL)
    page.keyboard.insert_text("^/new/(.*)$")
    expect(form.get_by_label("Source")).to_have_text("^/new/(.*)$")


def test_what_an_edit_takes_away_is_told_before_it_is_saved(world: World, new_page: Opens) -> None:
    place = world.place()
    [rule] = place.published("/a") and place.get("/draft/redirects")["items"]
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?edit={rule['id']}")
    form = page.get_by_role("dialog", name="Edit the redirect")
    answer = form.get_by_role("region", name="Try it")
    expect(answer).to_contain_text("301")
    expect(answer).not_to_contain_text("without this change")  # nothing is changed yet
    form.get_by_label("Note").fill("why")
    expect(answer).to_contain_text("The draft answers the same without this change.")
    form.get_by_label("Source").fill("/b")
    effects = answer.get_by_label("What this change does")
    expect(effects.locator("dt")).to_have_text(["/b", "/a"])
    expect(effects.locator("dd").first.locator("del")).to_have_text("Before: nothing")
    expect(effects.locator("dd").last.locator("ins")).to_have_text("After: nothing")
    assert violations(page) == []
    assert drafted(place) == {"/a": "/new"}


def test_findings_are_fixed_in_the_draft_one_or_all(world: World, new_page: Opens) -> None:
    place = world.place()
    for source, target in (("/a", "/b"), ("/b", "/c"), ("/c", "/d"), ("/d", "/e")):
        place.add(source, target)
    page = new_page()
    asked: list[str] = []  # it reads all rules, so it is asked only when the panel is opened
    page.on("request", lambda request: asked.append(request.url) if "/draft/fixes" in request.url else None)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    panel = page.get_by_role("region", name="What can be fixed")
    panel.locator("summary").wait_for()
    page.wait_for_load_state("networkidle")
    assert asked == []
    panel.locator("summary").click()
    expect(panel.locator("li")).to_have_count(3)
    assert violations(page) == []
    panel.get_by_role("button", name="Fix /a").click()
    expect(panel.locator("li")).to_have_count(2)
    assert drafted(place)["/a"] == "/e"
    panel.get_by_role("button", name="Fix all 2").click()
    expect(panel).to_contain_text("Nothing: no rule can be written better")
    assert drafted(place) == {"/a": "/e", "/b": "/e", "/c": "/e", "/d": "/e"}


def test_a_finding_of_a_draft_is_shown_once_and_marked_if_the_draft_brings_it(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/known", "/next")
    place.add("/next", "/end")
    place.published("/old")
    place.add("/new", "/newer")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    problems = page.get_by_role("region", name="Problems")
    expect(problems.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_text("/known → /next → /end")).to_have_count(1)
    expect(page.get_by_text("/old → /new → /newer")).to_have_count(1)
    marked = problems.get_by_role("listitem").filter(has=page.get_by_text("New", exact=True))
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("/old → /new → /newer")
    impact = page.get_by_role("region", name="What it changes for visitors")
    expect(impact.get_by_text("1 finding more, marked as new among the problems.")).to_be_visible()
    assert violations(page) == []


def test_several_drafts_are_begun_listed_switched_and_discarded(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/in-main")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_role("button", name="New draft …").click()
    form = page.get_by_role("dialog", name="New draft")
    form.get_by_label("Name of the draft").fill("autumn sale")
    form.get_by_role("button", name="Use this draft").click()
    expect(form.get_by_label("Name of the draft")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Name of the draft").fill("autumn")
    form.get_by_role("button", name="Use this draft").click()
    expect(page.get_by_text("No redirects yet")).to_be_visible()
    page.get_by_role("button", name="Add a redirect").click()
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/in-autumn")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("/in-autumn")
    assert violations(page) == []
    assert drafted(place) == {"/in-main": "/new"}
    page.get_by_role("link", name="Draft", exact=True).click()
    expect(page.locator(".change")).to_contain_text("/in-autumn")
    choice = page.get_by_label("Draft", exact=True)
    expect(choice.locator("option", has_text="autumn: 1 change by")).to_have_count(1)
    choice.select_option("main")
    expect(page.locator(".change")).to_contain_text("/in-main")
    choice.select_option("autumn")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_role("button", name="Discard the draft").click()
    expect(page.get_by_text("The draft autumn has no changes")).to_be_visible()
    assert [each["draft"] for each in place.get("/drafts")["items"]] == ["main"]


def open_new(world: World, page: Page) -> Locator:
    """Open the form of a new redirect."""
    sign_in(page, world.user("admin"), view(world.place(), "?edit=new"))
    return page.get_by_role("dialog", name="Add a redirect")


def test_a_pasted_url_becomes_a_source_with_host(world: World, new_page: Opens) -> None:
    form = open_new(world, new_page(refused=422))
    form.get_by_label("Source").fill("https://shop.example.com/summer")
    form.get_by_label("Type").select_option("BASIC_HOST")
    expect(form.get_by_text("Left empty, https://shop.example.com/summer is tried.")).to_be_visible()
    form.get_by_label("Type").select_option("BASIC")
    form.get_by_role("button", name="Use it as: Basic, with host, shop.example.com/summer").click()
    expect(form.get_by_label("Source")).to_have_value("shop.example.com/summer")
    expect(form.get_by_label("Type")).to_have_value("BASIC_HOST")
    expect(form.get_by_role("button", name="Use it as")).to_be_hidden()


def test_a_redirect_to_itself_and_a_wildcard_in_a_regex_are_named_before_they_are_added(
    world: World, new_page: Opens
) -> None:
    form = open_new(world, new_page(refused=422))
    form.get_by_label("Source").fill("/promo")
    form.get_by_label("Target").fill("/promo")
    answer = form.get_by_role("region", name="Try it")
    expect(answer.locator(".problem")).to_contain_text("go in a circle")
    expect(answer.locator(".badge.bad").first).to_have_text("301")
    form.get_by_label("Source").fill("/blog/*")
    hint = form.get_by_text("is no wildcard")
    expect(hint).to_be_hidden()
    form.get_by_label("Type").select_option("REGEX")
    expect(hint).to_be_visible()
