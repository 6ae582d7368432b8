"""Reviews in the dashboard: the newest remarks are shown first, who has asked for a review, and who may publish."""

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.caller import Caller
from tests.e2e.world import World
from tests.service import wait_until

Opens = Callable[..., Page]
SHOWN = 100  # remarks that are shown at first


def fill(caller: Caller, path: str, head: str) -> None:
    """Write one remark more than are shown at first."""
    for number in range(SHOWN + 1):
        caller.ask("POST", path, 200, json={"action": "comment", "head": head, "note": f"Remark {number}."})


def check_thread(page: Page, field: str) -> None:
    """Check that the newest remarks are shown, also one that is written now, and the earlier ones after a click."""
    remarks = page.locator(".remarks").last.get_by_role("listitem")
    expect(remarks).to_have_count(SHOWN)
    expect(remarks.last).to_contain_text(f"Remark {SHOWN}.")
    page.get_by_label(field).fill("The newest one.")
    page.get_by_role("button", name="Comment", exact=True).last.click()
    expect(remarks.last).to_contain_text("The newest one.")
    assert violations(page) == []
    page.get_by_role("button", name="Show earlier comments (2)").click()
    expect(remarks).to_have_count(SHOWN + 2)
    expect(remarks.first).to_contain_text("Remark 0.")
    expect(page.get_by_role("button", name="Show earlier comments")).to_have_count(0)


def test_the_newest_remarks_of_a_long_review_are_shown(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    fill(place.root, f"{place.path}/draft/review", place.get("/draft")["head"])
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    check_thread(page, "Your comment")


def test_the_newest_remarks_of_a_proposal_are_shown(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    body = {"branch": "team/a", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    fill(place.root, f"{place.space}/proposal/{made['id']}/review", made["head"])
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    check_thread(page, "Your comment on shop")


def test_an_editor_sees_who_has_asked_for_a_review_and_who_may_publish(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    place.add("/a")
    body = {"branch": "team/a", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    page = new_page()
    sign_in(page, world.user("editor"), view(place, "/draft"))
    for path in (view(place, "/draft"), f"/dashboard/proposal/{place.namespace}/{made['id']}"):
        page.goto(path)
        expect(page.get_by_text("needs the grant project:publish, which the roles publisher and admin")).to_be_visible()
        expect(page.get_by_text("has to be approved by someone else with the grant project:review")).to_be_visible()
        expect(page.get_by_text("A review was asked for")).to_have_count(0)
        page.get_by_role("button", name="Ask for a review", exact=True).click()
        expect(page.get_by_text("A review was asked for by Ada Lovelace just now.")).to_be_visible()
        expect(page.get_by_role("button", name="Ask for a review")).to_have_count(0)
        page.get_by_role("button", name="Ask again").click()
        expect(page.get_by_text("asked for a review", exact=False)).to_have_count(2)
    sign_in(other := new_page(), world.user("publisher"), view(place, "/draft"))
    expect(other.get_by_text("A review was asked for by Ada Lovelace")).to_be_visible()
    expect(other.get_by_text("needs the grant project:publish")).to_have_count(0)


def test_the_comments_on_a_proposal_are_read_after_its_merge_and_its_address_leads_there(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.add("/a")
    body = {"branch": "team/a", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    path = f"{place.space}/proposal/{made['id']}"
    remark = {"action": "comment", "head": made["head"], "note": "Only until May."}
    place.root.ask("POST", f"{path}/review", 200, json=remark)
    place.root.ask("POST", f"{path}/merge", 200)
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    expect(page.get_by_role("heading", name="This proposal is merged")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    assert violations(page) == []
    page.get_by_role("link", name="publish 2 of shop").click()
    comments = page.get_by_role("region", name="Comments")
    expect(comments).to_contain_text("Only until May.")
    expect(comments.get_by_role("textbox")).to_have_count(0)
    assert violations(page) == []


def test_the_address_of_a_removed_proposal_says_so_once(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    body = {"branch": "team/a", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    path = f"{place.space}/proposal/{made['id']}"
    place.root.ask("POST", f"{path}/review", 200, json={"action": "comment", "head": made["head"], "note": "No."})
    place.root.ask("DELETE", path, 204)
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    expect(page.get_by_role("heading", name="This proposal is gone")).to_be_visible()
    expect(page.get_by_text("was removed")).to_have_count(1)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_comment_is_sent_with_the_keyboard_and_its_address_is_a_link(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    field = page.get_by_label("Your comment")
    field.press("Control+Enter")
    field.fill("As in https://tickets.example/7, not javascript:alert(1)")
    field.press("Control+Enter")
    remarks = page.locator(".remarks").get_by_role("listitem")
    expect(remarks).to_have_count(1)
    expect(remarks.get_by_role("link")).to_have_count(1)
    link = remarks.get_by_role("link", name="https://tickets.example/7", exact=True)
    expect(link).to_have_attribute("href", "https://tickets.example/7")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(field).to_have_value("")
    assert violations(page) == []


def test_the_review_is_asked_for_and_given_from_the_top_of_a_long_draft(world: World, new_page: Opens) -> None:
    place = world.place()
    for number in range(12):
        place.add(f"/old/{number}")
    page, other = new_page(viewport={"width": 390, "height": 800}), new_page()
    sign_in(page, world.user("editor"), view(place, "/draft"))
    top = page.locator(".summary").get_by_role("button", name="Ask for a review …")
    expect(top).to_be_in_viewport()
    top.press("Enter")
    field = page.get_by_label("Your comment")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    page.keyboard.type("Before Friday, please.")
    page.get_by_role("button", name="Ask for a review", exact=True).click()
    expect(top).to_have_count(0)
    sign_in(other, world.user("publisher"), view(place, "/draft"))
    other.get_by_role("button", name="Review", exact=True).press("Enter")
    expect(other.get_by_label("Your comment")).to_be_focused()
    expect(other.get_by_role("button", name="✓ Approve")).to_be_in_viewport()


def test_what_is_typed_while_a_comment_is_sent_stays(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    sent: list[Route] = []
    page.route(
        "**/draft/review*", lambda route: sent.append(route) if route.request.method == "POST" else route.continue_()
    )
    field = page.get_by_label("Your comment")
    field.fill("First")
    field.press("Control+Enter")
    wait_until(lambda: page.evaluate("1") and sent, 10, "the comment")
    field.press_sequentially(", second")
    sent[0].continue_()
    expect(page.locator(".remarks").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text("The comment is added.")).to_be_visible()
    expect(field).to_have_value("First, second")
