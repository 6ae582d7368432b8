"""Verdicts: the questions before them, who will see a request for one, and the key that sends a form."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.caller import Caller
from tests.e2e.world import World

Opens = Callable[..., Page]


def test_who_approves_their_own_draft_is_asked_first(world: World, new_page: Opens) -> None:
    place, ada = world.place(), world.user("publisher")
    place.as_(Caller(world.http, world.session(ada)["accessToken"])).add("/a")
    page = new_page()
    sign_in(page, ada, view(place, "/draft"))
    page.get_by_role("button", name="✓ Approve").click()
    dialog = page.get_by_role("dialog", name="Approve your own draft?")
    expect(dialog).to_contain_text("This is your own draft")
    assert violations(page) == []
    dialog.get_by_role("button", name="Cancel").click()
    assert place.get("/draft")["review"]["state"] == "none"
    page.get_by_role("button", name="✓ Approve").click()
    dialog.get_by_role("button", name="Approve it all the same").click()
    expect(page.get_by_text("✓ Approved").first).to_be_visible()
    other = new_page()
    place.add("/b")
    sign_in(other, world.user("publisher"), view(place, "/draft"))
    other.get_by_role("button", name="✓ Approve").click()  # of someone else: nothing is asked
    expect(other.get_by_text("✓ Approved").first).to_be_visible()


def test_an_approval_of_ones_own_draft_is_of_what_was_shown_when_it_was_asked_about(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    ada = world.user("publisher")
    place.as_(Caller(world.http, world.session(ada)["accessToken"])).add("/mine")
    page = new_page()
    sign_in(page, ada, view(place, "/draft"))
    page.get_by_role("button", name="✓ Approve").click()
    question = page.get_by_role("dialog", name="Approve your own draft?")
    expect(question).to_be_visible()
    place.add("/evil")
    expect(question).to_have_count(0)
    expect(page.get_by_text("The draft has changed since you began to look at it.")).to_be_visible()
    assert place.get("/draft/review")["total"] == 0
    page.get_by_role("button", name="I have looked").click()
    expect(question).to_have_count(0)


def test_a_rejection_needs_a_reason(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    page.get_by_role("button", name="✕ Reject").click()
    comment = page.get_by_label("Your comment")
    expect(page.get_by_text("Say in a few words what has to change")).to_be_visible()
    expect(comment).to_be_focused()
    assert violations(page) == []
    assert place.get("/draft/review")["total"] == 0
    comment.fill("Not before spring.")
    expect(page.get_by_text("Say in a few words what has to change")).to_have_count(0)
    page.get_by_role("button", name="✕ Reject").click()
    expect(page.get_by_text("✕ Rejected").first).to_be_visible()
    assert place.get("/draft")["review"]["rejections"][0]["note"] == "Not before spring."


def test_ctrl_enter_sends_a_comment_and_publishes_from_the_message(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    comment = page.get_by_label("Your comment")
    comment.fill("Looks good.")
    comment.press("Control+Enter")
    expect(page.locator(".remarks")).to_contain_text("Looks good.")
    page.get_by_role("button", name="Publish …").click()
    message = page.get_by_role("dialog").get_by_label("Message")
    message.fill("For spring")
    message.press("Meta+Enter")
    expect(page.get_by_role("dialog", name="Published")).to_contain_text("This is publish 2")
    assert place.get("/history")["items"][0]["message"].startswith("For spring")
    page.get_by_role("button", name="Done").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Ctrl+Enter")
