"""Changes of a draft that are chosen, and published without the others."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World, redirect
from tests.service import wait_until

Opens = Callable[..., Page]


def test_an_error_elsewhere_in_the_draft_blocks_no_publish_of_chosen_changes_and_is_named_where_it_blocks(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.add("/loop", "/again")
    place.add("/again", "/loop")
    place.add("/fine")
    page = new_page(refused=422)
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    blocked = page.locator(".summary .blocked")
    publish = page.get_by_role("button", name="Publish …")
    expect(blocked).to_contain_text("Publishing is blocked by 2 errors: /loop")
    expect(publish).to_be_disabled()
    assert violations(page) == []
    blocked.get_by_role("link", name="2 errors").click()
    expect(page.get_by_role("region", name="Problems")).to_be_focused()
    page.get_by_label("Choose the change of /loop").check()
    page.get_by_label("Choose the change of /again").check()
    page.get_by_role("button", name="Publish 2 changes …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("/loop")  # the service checks what is chosen
    page.keyboard.press("Escape")
    page.get_by_label("Choose the change of /loop").uncheck()
    page.get_by_label("Choose the change of /again").uncheck()
    page.get_by_label("Choose the change of /fine").check()
    expect(blocked).to_have_count(0)
    page.get_by_role("button", name="Publish 1 change …").click()
    dialog.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("button", name="Done").click()
    expect(publish).to_be_disabled()
    assert place.sources() == ["/fine"]


def test_a_conflict_elsewhere_in_the_draft_blocks_no_publish_of_chosen_changes(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/torn")
    change = f"/draft/redirects/{place.get('/draft/redirects')['items'][0]['id']}"
    place.ask("PUT", change, 200, json=redirect("/torn", "/mine"))
    place.ask("PUT", f"{change}?draft=other", 200, json=redirect("/torn", "/theirs"))
    place.ask("POST", "/publish?draft=other", 200, json={})
    place.add("/fine")
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    expect(page.locator(".summary .blocked")).to_contain_text("Publishing is blocked by 1 conflict.")
    page.get_by_label("Choose the change of /fine").check()
    page.get_by_role("button", name="Publish 1 change …").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".summary .blocked")).to_be_visible()
    assert place.sources() == ["/torn", "/fine"]


def test_changes_are_chosen_by_range_by_page_and_all_of_a_list_with_the_keyboard_too(
    world: World, new_page: Opens
) -> None:
    place = many_changes(world, 120)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".changes > .change")).to_have_count(50)
    page.get_by_label("Choose the change of /0003").check()
    page.get_by_label("Choose the change of /0007").click(modifiers=["Shift"])
    chosen = page.locator(".choice").get_by_role("status")
    expect(chosen).to_have_text("5 chosen")
    page.get_by_label("Choose the change of /0004").press("Shift+Space")  # back from the last one
    expect(chosen).to_have_text("1 chosen")
    whole = page.get_by_label("Choose all on this page")
    expect(whole).to_have_js_property("indeterminate", value=True)
    whole.press("Space")
    expect(chosen).to_have_text("50 chosen")
    assert violations(page) == []
    page.get_by_role("button", name="Choose all 120 of this list").press("Enter")
    expect(chosen).to_have_text("120 chosen")
    expect(page.get_by_role("button", name="Publish 120 changes …")).to_be_enabled()
    page.get_by_role("link", name="Next").press("Enter")
    expect(page.get_by_label("Choose the change of /0099")).to_be_checked()
    page.get_by_role("button", name="Choose none").click()
    expect(chosen).to_have_text("")
    page.locator("h1").click()
    page.keyboard.press("a")
    expect(chosen).to_have_text("50 chosen")
    page.get_by_label("Search source, target and note").fill("/001")
    page.get_by_label("Search source, target and note").press("Tab")
    expect(page.locator(".changes > .change")).to_have_count(10)
    whole.check()
    expect(chosen).to_have_text("60 chosen")


def test_a_list_is_chosen_whole_and_what_is_taken_back_while_it_is_read_stays_so(world: World, new_page: Opens) -> None:
    place = many_changes(world, 120)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".changes > .change")).to_have_count(50)
    page.get_by_label("Choose all on this page").check()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/draft/changes.*limit=10000"), hold)
    with page.expect_request(re.compile("limit=10000")):
        page.get_by_role("button", name="Choose all 120 of this list").click()
    page.get_by_label("Choose the change of /0003").uncheck()
    held[0].continue_()
    chosen = page.locator(".choice").get_by_role("status")
    expect(chosen).to_have_text("119 chosen")
    page.get_by_label("Choose the change of /0003").check()
    expect(chosen).to_have_text("120 chosen")


def test_a_choice_that_is_made_as_the_list_is_drawn_again_is_kept(world: World, new_page: Opens) -> None:
    place = many_changes(world, 3)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".changes > .change")).to_have_count(3)
    page.evaluate(CHOOSE_AT_ONCE)
    page.get_by_label("Discard the change of /0000").click()
    chosen = page.locator(".choice").get_by_role("status")
    expect(chosen).to_have_text("2 chosen")
    page.get_by_label("Discard the change of /0001").click()
    expect(chosen).to_have_text("1 chosen")


CHOOSE_AT_ONCE = """() => new MutationObserver((_, own) => {
  own.disconnect()
  document.querySelector("#choose-page").click()
}).observe(document.querySelector(".changes"), {childList: true})"""


def many_changes(world: World, number: int) -> Place:
    """Create a project with a draft of so many new redirects."""
    place = world.place()
    puts = [{"op": "put", "kind": "redirect", "item": redirect(f"/{each:04}")} for each in range(number)]
    place.ask("POST", "/draft/changes", 200, json=puts)
    return place


def test_a_rule_that_another_draft_or_proposal_changes_too_says_so_in_the_draft_and_in_its_form(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a", "/b")
    [rule, _] = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": "mine"})
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    expect(page.locator(".change")).to_have_count(1)
    kim = place.as_(world.person("publisher"))
    kim.ask("PATCH", f"/draft/redirects/{rule['id']}?draft=autumn", 200, json={"note": "theirs"})
    shared = page.get_by_role("list", name="Where else /a is changed")
    expect(shared).to_contain_text("Also changed in the draft autumn by Ada Lovelace")  # while one looks at it
    assert violations(page) == []
    page.get_by_role("link", name="Edit /a").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    expect(form.get_by_role("list", name="Where else /a is changed")).to_contain_text("in the draft autumn")
    assert violations(page) == []
    kim.ask("DELETE", "/draft?draft=autumn", 204)
    expect(form.get_by_role("list", name="Where else /a is changed")).to_have_count(0)
    body = {"branch": "team/sale", "project": "shop"}
    place.root.ask("POST", f"{place.space}/proposals", 201, json=body)
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": "mine, again"})
    page.goto(view(place, "/draft"))
    shared.get_by_role("link").click()
    expect(page.get_by_text("Proposal open")).to_be_visible()


def test_what_else_changes_a_rule_is_read_again_only_after_what_can_change_it(world: World, new_page: Opens) -> None:
    """No step of a review, and no edit or publish of another project."""
    place = world.place()
    place.published("/a")
    [rule] = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": "mine"})
    other = world.place(place.namespace, "blog")
    page, asked = new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url) if "/draft/shared" in request.url else None)
    with page.expect_response("**/draft/shared?**"):
        sign_in(page, world.user("publisher"), view(place, "/draft"))
    other.published("/b")
    with page.expect_response("**/draft/review?**"):
        place.ask("POST", "/draft/review", 200, json={"action": "request", "head": place.get("/draft")["head"]})
    assert len(asked) == 1
    kim = place.as_(world.person("publisher"))
    with page.expect_response("**/draft/shared?**"):
        kim.ask("PATCH", f"/draft/redirects/{rule['id']}?draft=autumn", 200, json={"note": "theirs"})
    assert len(asked) == 2


def test_back_returns_to_the_place_in_a_list_of_changes_that_was_left(world: World, new_page: Opens) -> None:
    place = many_changes(world, 60)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".changes > .change")).to_have_count(50)
    row = page.get_by_label("Choose the change of /0045")
    link = page.get_by_role("link", name="Edit /0045")
    row.scroll_into_view_if_needed()
    place_of = "link => link.getBoundingClientRect().top"
    before = link.evaluate(place_of)
    link.click()
    page.get_by_role("dialog").get_by_label("Target").wait_for()
    page.go_back()
    expect(page.locator(".changes > .change")).to_have_count(50)
    expect(row).to_be_in_viewport()
    wait_until(lambda: abs(link.evaluate(place_of) - before) < 40, 10, "the row to be where it was")
    page.mouse.wheel(0, -100_000)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_a_page_in_place_of_a_redirect_is_chosen_and_discarded_without_it(world: World, new_page: Opens) -> None:
    """The two have one id."""
    place = world.place()
    place.published("/same")
    place.ask("DELETE", f"/draft/redirects/{place.get('/draft/redirects')['items'][0]['id']}", 204)
    place.add_page("/same", "typed for long")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    removed, added = page.locator(".change.removed"), page.locator(".change.added")
    removed.get_by_role("checkbox").check()
    expect(page.locator(".choice").get_by_role("status")).to_have_text("1 chosen")
    expect(added.get_by_role("checkbox")).not_to_be_checked()
    removed.get_by_role("button", name="Discard the change of /same").click()
    expect(removed).to_have_count(0)
    page.reload()
    expect(page.locator(".change")).to_have_count(1)
    expect(added).to_contain_text("typed for long")
    page.get_by_role("button", name="Discard the change of /same").click()
    expect(added).to_have_count(0)
