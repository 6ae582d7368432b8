"""The dashboard on a draft: whose work a discard loses, and what a reopened version keeps."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.e2e.world import Place, World, redirect

Opens = Callable[..., Page]


def asked_to_discard(world: World, page: Page, place: Place) -> Locator:
    """Return the question before a draft is discarded."""
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Discard all").click()
    return page.get_by_role("dialog", name="Discard the whole draft?")


def test_the_question_before_a_discard_names_whose_work_is_lost(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    place.as_(world.person("admin")).add("/b")
    dialog = asked_to_discard(world, new_page(), place)
    expect(dialog).to_contain_text("the work of e2e, Ada Lovelace. Undo is offered right after it")


def test_a_draft_is_said_to_be_lost_for_good_where_something_was_published_since(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/mine")
    place.ask("POST", "/draft/redirects?draft=other", 201, json=redirect("/theirs"))
    place.ask("POST", "/publish?draft=other", 200, json={})
    dialog = asked_to_discard(world, new_page(), place)
    expect(dialog).to_contain_text("They cannot be taken back here.")


def test_a_draft_of_more_than_a_page_is_said_to_be_lost_for_good(world: World, new_page: Opens) -> None:
    place = world.place()
    new = [{"op": "put", "kind": "redirect", "item": redirect(f"/r{number:03}")} for number in range(51)]
    place.ask("POST", "/draft/changes", 200, json=new)
    dialog = asked_to_discard(world, new_page(), place)
    expect(dialog).to_contain_text("They cannot be taken back here.")
    dialog.get_by_role("button", name="Discard the draft").click()
    page = dialog.page
    expect(page.get_by_text("The draft is discarded.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_an_old_version_as_a_draft_is_said_to_keep_todays_tests(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.add("/c")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    expect(page.get_by_text("The project's tests and settings stay as they are today")).to_be_visible()
    page.get_by_role("button", name="Open as a draft").click()
    dialog = page.get_by_role("dialog", name="Open publish 2 as a draft")
    expect(dialog).to_contain_text("tests and settings stay as they are today")
    dialog.get_by_role("button", name="Roll back instead …").click()
    expect(page.get_by_role("dialog", name="Roll back to publish 2")).to_be_visible()


def test_a_time_is_not_just_now_for_longer_than_a_minute(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    page.clock.install()
    sign_in(page, world.user("admin"), view(place, "/history"))
    place.published("/a")
    shown = page.locator(".publishes time").first
    expect(shown).to_have_text("just now")
    page.clock.run_for(80_000)
    expect(shown).to_have_text("1 minute ago")
