"""The keyboard goes on where it was: a call that disables its button takes no focus away."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.e2e.world import PASSWORD, World

Opens = Callable[..., Page]


def test_a_refused_form_leads_to_its_first_wrong_field(world: World, new_page: Opens) -> None:
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), "/dashboard/settings/users?edit=new")
    form = page.get_by_role("dialog", name="Add a user")
    form.get_by_label("User name").fill("two words")
    form.get_by_label("Password").fill("short")
    form.get_by_role("button", name="Add the user").press("Enter")
    expect(form.get_by_label("User name")).to_be_focused()
    # The label names the field; its problem does not repeat the name in the API.
    expect(form.get_by_role("alert")).to_have_text(
        [
            "Must be 1 to 100 letters, digits and . _ @ + -, beginning with a letter or digit",
            "Must have at least 8 characters",
        ]
    )


def test_a_button_keeps_the_focus_over_its_call_or_gives_it_to_its_field(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a", "/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Ask for a review", exact=True).press("Enter")
    page.get_by_text("asked for a review").wait_for()
    expect(page.get_by_role("button", name="Ask again")).to_be_focused()  # the same button, with a new name
    page.get_by_label("Your comment").fill("A remark")
    page.get_by_role("button", name="Comment", exact=True).last.press("Enter")
    page.get_by_text("A remark").wait_for()
    expect(page.get_by_label("Your comment")).to_be_focused()  # its button is disabled again, without a text


def test_the_first_steps_lead_to_what_is_wrong(world: World, new_page: Opens) -> None:
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.get_by_label("Namespace").fill("two words")
    page.get_by_label("Project").fill("www")
    page.get_by_label("First redirect: from").fill("/old")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").press("Enter")
    expect(page.get_by_label("Namespace")).to_be_focused()
    expect(page.get_by_role("alert")).to_have_text("Must be 1 to 50 letters, digits, underscores and hyphens")


def test_one_types_at_once_to_sign_in_and_comes_back_to_the_project_from_a_wrong_address(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    page = new_page()
    page.goto(view(place, "/import"))
    expect(page.get_by_label("User name")).to_be_focused()
    page.keyboard.type(world.user("admin"))
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Go to the project").click()
    expect(page.get_by_role("heading", name=place.project)).to_be_visible()
