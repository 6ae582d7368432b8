"""A session that ends takes nothing that was typed with it, and leaves nothing to read: in every form, in two tabs of one browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_bad_input import sign_in_over
from tests.dashboard.test_editing import drafted, view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World
from tests.service import wait_until

Opens = Callable[..., Page]


def in_a_redirect(page: Page, _place: Place) -> Locator:
    page.get_by_role("button", name="Add a redirect").click()
    return page.get_by_role("dialog").get_by_label("Target")


def in_a_rule(page: Page, _place: Place) -> Locator:
    page.locator("tbody").get_by_role("link", name="/a").click()
    return page.get_by_role("dialog").get_by_label("Note")


def in_a_page(page: Page, place: Place) -> Locator:
    page.goto(view(place, "/pages?edit=new"))
    editor = page.get_by_role("dialog").locator(".cm-content")
    expect(editor).to_be_visible()
    return editor


def in_a_comment(page: Page, place: Place) -> Locator:
    page.goto(view(place, "/draft"))
    return page.get_by_label("Your comment")


def in_a_publish(page: Page, place: Place) -> Locator:
    page.goto(view(place, "/draft"))
    page.get_by_role("button", name="Publish …").click()
    return page.get_by_role("dialog").get_by_label("Message")


def in_the_tester(page: Page, place: Place) -> Locator:
    page.goto(view(place, "/test"))
    return page.get_by_label("URLs")


def in_a_namespace(page: Page, place: Place) -> Locator:
    page.goto(f"/dashboard/settings/namespaces?name={place.namespace}")
    return page.get_by_label("Description")


def in_a_webhook(page: Page, _place: Place) -> Locator:
    page.goto("/dashboard/settings/webhooks?edit=new")
    return page.get_by_role("dialog").get_by_label("URL")


def in_a_role(page: Page, _place: Place) -> Locator:
    page.goto("/dashboard/settings/roles?edit=%2B")
    return page.get_by_role("dialog", name="Add a role").get_by_label("Name")


def in_a_password(page: Page, _place: Place) -> Locator:
    page.goto("/dashboard/settings")
    return page.get_by_label("Current password")


def sign_out_elsewhere(page: Page) -> None:
    """Sign out in another tab of the browser."""
    other = page.context.new_page()
    other.goto("/dashboard/start")
    other.get_by_role("banner").get_by_role("button", name="Sign out").click()
    expect(other.get_by_text("You have signed out.")).to_be_visible()
    other.close()


def text_of(field: Locator) -> str:
    return field.evaluate("(field) => field.value ?? field.innerText") or ""


FORMS = [
    in_a_redirect,
    in_a_rule,
    in_a_page,
    in_a_comment,
    in_a_publish,
    in_the_tester,
    in_a_namespace,
    in_a_webhook,
    in_a_role,
    in_a_password,
]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_typed_is_covered_when_its_person_signs_out_elsewhere_and_goes_on_with_them(
    world: World, new_page: Opens, form: Callable[[Page, Place], Locator]
) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    page, ada = new_page(refused=401), world.user("admin")
    sign_in(page, ada, view(place))
    field = form(page, place)
    field.click()
    page.keyboard.type("of Ada")
    typed = text_of(field)
    assert "of Ada" in typed
    sign_out_elsewhere(page)
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_contain_text("You have signed out in another tab.")
    expect(field).to_be_hidden()
    assert not page.locator("#content *:visible").count()
    assert place.namespace not in page.title()
    expect(dialog.get_by_role("button", name="Copy what was typed")).to_have_count(0)
    assert violations(page) == []
    sign_in_over(page, ada)
    expect(dialog).to_have_count(0)
    expect(field).to_be_visible()
    assert text_of(field) == typed


def test_an_edit_that_waited_for_its_person_is_saved_over_nothing_that_came_meanwhile(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    rules = {source: place.add(source, "/first") for source in ("/a", "/b")}
    page, ada = new_page(refused=4), world.user("admin")
    sign_in(page, ada, view(place))
    form = page.get_by_role("dialog", name="Edit the redirect")
    for source, saves in (("/a", True), ("/b", False)):
        page.locator("tbody").get_by_role("link", name=source).click()
        form.get_by_label("Target").fill("/mine")
        sign_out_elsewhere(page)
        if not saves:
            place.ask("PATCH", f"/draft/redirects/{rules[source]['id']}", 200, json={"target": "/theirs"})
        sign_in_over(page, ada)
        expect(form.get_by_label("Target").first).to_have_value("/mine")
        form.get_by_role("button", name="Save in the draft").click()
        if saves:
            expect(form).to_be_hidden()
    expect(form.get_by_role("region", name="What someone else has made of it")).to_contain_text("/theirs")
    assert drafted(place) == {"/a": "/mine", "/b": "/theirs"}


def test_the_answer_to_a_save_that_was_on_its_way_is_told_to_its_person_alone(world: World, new_page: Opens) -> None:
    place = world.place()
    page, ada = new_page(refused=401), world.user("admin")
    sign_in(page, ada, f"{view(place)}?edit=new")
    saves: list[Route] = []
    page.route(
        "**/draft/redirects*",
        lambda route: saves.append(route) if route.request.method == "POST" else route.continue_(),
    )
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/of-ada")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    wait_until(lambda: page.evaluate("1") and saves, 10, "the save")
    answer = saves[0].fetch()
    sign_out_elsewhere(page)
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_be_visible()
    saves[0].fulfill(response=answer)
    expect(form).to_have_count(0)
    expect(page.get_by_text("/of-ada is added to the draft.")).to_have_count(0, timeout=3_000)
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    sign_in_over(page, ada)
    expect(page.get_by_text("/of-ada is added to the draft.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_what_is_typed_goes_only_after_a_question(world: World, new_page: Opens) -> None:
    place = world.place()
    page, ada, bob = new_page(refused=401), world.user("admin"), world.user("admin")
    sign_in(page, ada, f"{view(place)}?edit=new")
    page.get_by_role("dialog").get_by_label("Target").fill("/of-ada")
    sign_out_elsewhere(page)
    other = page.context.new_page()
    sign_in(other, bob)
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_contain_text(f"{bob} has signed in.")
    # She has signed out of it: no one else gets it.
    expect(dialog.get_by_role("button", name="Copy what was typed")).to_have_count(0)
    other.get_by_role("banner").get_by_role("button", name="Sign out").click()
    drop = dialog.get_by_role("button", name="Drop what was typed")
    drop.click()
    expect(dialog.get_by_role("alert").filter(has_text="is lost then")).to_be_visible()
    expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Enter")
    drop.click()
    dialog.get_by_role("button", name="Drop it").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_view_with_nothing_typed_is_left_when_its_person_signs_out_elsewhere(world: World, new_page: Opens) -> None:
    """A search and a saved form are nothing typed."""
    place = world.place()
    place.published("/a")
    page = new_page(refused=401)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/b")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    expect(form).to_be_hidden()
    page.get_by_label("Search source, target and note").fill("/a")
    expect(page.locator("tbody tr")).to_have_count(1)
    sign_out_elsewhere(page)
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    expect(page.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()


def test_a_disabled_account_leaves_its_text_covered(world: World, new_page: Opens) -> None:
    place = world.place()
    page, ada = new_page(refused=4), world.user("admin")
    sign_in(page, ada, f"{view(place)}?edit=new")
    field = page.get_by_role("dialog").get_by_label("Target")
    page.get_by_role("dialog").get_by_label("Source").fill("/a")
    field.fill("/of-ada")
    admin = world.person("admin")
    (user,) = [each for each in admin.get("/api/users", q=ada)["items"] if each["username"] == ada]
    admin.ask("PATCH", f"/api/user/{user['id']}", 200, json={"active": False})
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_contain_text("Your session has ended.")
    expect(field).to_be_hidden()
    sign_in_over(page, ada)
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(field).to_be_hidden()
    admin.ask("PATCH", f"/api/user/{user['id']}", 200, json={"active": True})
    sign_in_over(page, ada)
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody")).to_contain_text("/of-ada")


def test_what_is_saved_is_nothing_typed_and_what_is_typed_during_a_save_stays(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page(refused=401)
    sign_in(page, world.user("admin"), f"/dashboard/settings/namespaces?name={place.namespace}")
    saves: list[Route] = []
    page.route(
        f"**{place.space}", lambda route: saves.append(route) if route.request.method == "PATCH" else route.continue_()
    )
    field = page.get_by_label("Description")
    save = page.get_by_role("button", name="Save the description")
    field.fill("Of Ada")
    save.click()
    wait_until(lambda: page.evaluate("1") and saves, 10, "the save")
    field.fill("Of Ada, and more")
    saves[0].continue_()
    expect(page.get_by_text("The description is saved.")).to_be_visible()
    expect(field).to_have_value("Of Ada, and more")
    page.unroute(f"**{place.space}")
    save.click()
    expect(save).to_be_disabled()
    expect(page.get_by_text("The description is saved.")).to_have_count(2)
    sign_out_elsewhere(page)
    expect(page.get_by_role("heading", name="Sign in to Waypost")).to_be_visible()
    expect(page.get_by_role("dialog", name="Sign in again")).to_have_count(0)
