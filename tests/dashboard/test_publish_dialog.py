"""The dialog that publishes: what others do with the draft meanwhile, answers that are lost, and where the keyboard goes on."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.dashboard.test_tabs import one_stream
from tests.e2e.world import Place, World

Opens = Callable[..., Page]


def begin_publish(world: World, page: Page, place: Place, message: str) -> Locator:
    """Open the dialog for the draft of a project, and type a message; return the dialog."""
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill(message)
    return dialog


def test_who_was_overtaken_by_another_publish_of_the_draft_is_told_so_and_keeps_the_message(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    begin_publish(world, page, place, "Mine, for the sale")
    one_stream(world)
    place.publish(message="Theirs, by Robin")
    overtaken = page.get_by_role("dialog", name="Already published")
    expect(overtaken.get_by_role("alert")).to_contain_text(
        "e2e has published this draft as publish 2: Theirs, by Robin"
    )
    expect(overtaken.get_by_role("region", name="Your message")).to_contain_text("Mine, for the sale")
    expect(overtaken.get_by_role("heading", name="Already published")).to_be_focused()
    assert violations(page) == []
    overtaken.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.get_by_text("No draft is open")).to_be_visible()


def test_an_answer_with_the_publish_of_someone_else_is_not_taken_for_ones_own(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    dialog = begin_publish(world, page, place, "Mine, for the sale")

    def overtake(route: Route) -> None:
        place.publish(message="Theirs, by Robin")
        route.continue_()

    page.route("**/publish?*", overtake)
    dialog.get_by_role("button", name="Publish", exact=True).click()
    overtaken = page.get_by_role("dialog", name="Already published")
    expect(overtaken.get_by_role("alert")).to_contain_text(
        "e2e has published this draft as publish 2: Theirs, by Robin"
    )
    expect(overtaken.get_by_role("region", name="Your message")).to_contain_text("Mine, for the sale")


def test_ones_own_publish_whose_answer_was_lost_is_ones_own(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page(refused=502)
    dialog = begin_publish(world, page, place, "For the sale")

    def lose(route: Route) -> None:
        route.fetch()
        route.fulfill(status=502, content_type="text/html", body="Bad gateway")

    page.route("**/publish?*", lose)
    one_stream(world)
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("dialog", name="Published")).to_contain_text("This is publish 2")
    expect(page.get_by_role("button", name="Done")).to_be_focused()


def test_a_draft_that_is_discarded_while_one_publishes_is_shown_as_ended(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    dialog = begin_publish(world, page, place, "Mine")
    one_stream(world)
    place.ask("DELETE", "/draft", 204)
    expect(dialog.get_by_role("alert")).to_contain_text("The draft has ended: someone has discarded it, or")
    expect(dialog.get_by_role("button", name="Publish", exact=True)).to_be_disabled()
    expect(dialog.get_by_label("Message")).to_have_value("Mine")


def test_a_draft_that_is_changed_and_then_published_is_not_called_discarded(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    dialog = begin_publish(world, page, place, "Mine")
    one_stream(world)
    place.add("/b")
    expect(dialog.get_by_role("alert")).to_contain_text("Someone has changed the draft")
    place.publish(message="Theirs, by Robin")
    overtaken = page.get_by_role("dialog", name="Already published")
    expect(overtaken.get_by_role("alert")).to_contain_text(
        "e2e has published this draft as publish 2: Theirs, by Robin"
    )
    expect(overtaken.get_by_role("region", name="Your message")).to_contain_text("Mine")


def press(button: Locator) -> None:
    """Press a button with the keyboard, once it can be pressed."""
    expect(button).to_be_enabled()
    button.press("Enter")


def test_the_keyboard_goes_on_after_a_publish_and_a_rollback(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    dialog = page.get_by_role("dialog")
    press(page.get_by_role("button", name="Publish …"))
    press(dialog.get_by_role("button", name="Publish", exact=True))
    done = page.get_by_role("button", name="Done")
    expect(done).to_be_focused()
    done.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands")).to_be_visible()
    page.goto(view(place, "/history?version=2"))
    press(page.get_by_role("button", name="Roll back to this …"))
    press(dialog.get_by_role("button", name="Roll back", exact=True))
    expect(done).to_be_focused()


def test_the_history_says_that_a_draft_was_changed_after_its_review(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    body = {"action": "approve", "head": place.get("/draft")["head"]}
    place.as_(world.person("publisher")).ask("POST", "/draft/review", 200, json=body)
    place.add("/b")
    place.publish()
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/history"))
    rows = page.locator(".publishes > li")
    expect(rows.nth(0)).to_contain_text("Approved by Ada Lovelace, changed since")
    expect(rows.nth(1)).not_to_contain_text("changed since")
    assert violations(page) == []
    page.goto(view(place, "/history?version=2"))
    expect(page.get_by_text("Approved by Ada Lovelace, changed since.")).to_be_visible()
    assert violations(page) == []


def test_a_rejection_and_warnings_are_told_before_a_publish_and_in_the_history(world: World, new_page: Opens) -> None:
    """Of a project that requires no approval: nothing else keeps a rejected draft from agents."""
    place = world.place()
    place.add("/a", "/b")
    place.add("/b", "/c")
    head = place.get("/draft")["head"]
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 warning")).to_be_visible()
    expect(dialog.get_by_role("list", name="What is published").get_by_role("listitem")).to_have_text(
        ["Added /a", "Added /b"]
    )
    expect(dialog).not_to_contain_text("Rejected")
    body = {"action": "reject", "head": head, "note": "Not /c."}
    place.as_(world.person("publisher")).ask("POST", "/draft/review", 200, json=body)
    expect(dialog.get_by_text("Rejected by Ada Lovelace.")).to_be_visible()
    dialog.get_by_role("button", name="Publish anyway").click()
    page.get_by_role("button", name="Done").click()
    place.add("/d")
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": place.get("/draft")["head"]})
    place.publish()
    page.goto(view(place, "/history"))
    rows = page.locator(".publishes > li")
    expect(rows.nth(0)).to_contain_text("Without the review asked for")
    expect(rows.nth(1)).to_contain_text("✕ Despite a rejection")
    expect(rows.nth(2)).to_contain_text("Publish 1")
    expect(rows.nth(2)).not_to_contain_text("reject")
    assert violations(page) == []
    page.goto(view(place, "/history?version=2"))
    expect(page.get_by_text("Its review was rejected by Ada Lovelace.")).to_be_visible()
    assert violations(page) == []
