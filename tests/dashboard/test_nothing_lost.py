"""Texts and choices of a person are kept while others change the same, answers are late, or a read fails."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.dashboard.test_quick_views import held
from tests.dashboard.test_tabs import one_stream
from tests.e2e.git import Clone, rules
from tests.e2e.world import World

Opens = Callable[..., Page]

# The buttons of a dialog under what has just happened.
COVERED = """(dialog) => {
  const { left, right, top, bottom } = dialog.querySelector(".toast").getBoundingClientRect();
  const isUnder = (box) => box.left < right && box.right > left && box.top < bottom && box.bottom > top;
  return [...dialog.querySelectorAll("button")].filter((each) => isUnder(each.getBoundingClientRect())).map((each) => each.ariaLabel ?? each.textContent);
}"""


def test_a_choice_changes_what_the_rules_are_now(world: World, new_page: Opens) -> None:
    """A rule may have been edited since it was chosen; undo puts back what it was just before."""
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Choose /a").check()
    (item,) = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{item['id']}", 200, json={"target": "/theirs"})
    expect(page.locator("tbody")).to_contain_text("/theirs")
    page.get_by_label("Status of the chosen").select_option("FOUND")
    page.get_by_role("button", name="Set the status").click()
    page.get_by_role("button", name="Undo").wait_for()
    assert [(each["target"], each["status"]) for each in place.get("/draft/redirects")["items"]] == [
        ("/theirs", "FOUND")
    ]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("tbody")).to_contain_text("301")
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/theirs"]


def test_a_late_preview_of_a_replacement_is_not_that_of_the_new_text(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?replace=1")
    form = page.get_by_role("dialog", name="Search and replace")
    form.get_by_label("Find").fill("/new")
    form.get_by_label("Replace with").fill("/one")
    with held(page, re.compile("/draft/replace")) as calls:
        with page.expect_request(re.compile("/draft/replace")):
            form.get_by_role("button", name="Show what changes").click()
        assert calls
        form.get_by_label("Replace with").fill("/two")
    expect(form.get_by_role("button", name="Show what changes")).to_be_enabled()
    expect(form.get_by_role("button", name="Replace in")).to_have_count(0)
    form.get_by_role("button", name="Show what changes").click()
    form.get_by_role("button", name="Replace in 1 redirect").click()
    expect(form).to_be_hidden()
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/two"]


def test_escape_twice_closes_no_form_with_text_in_it(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(world.place())}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Target").fill("/new")
    for _ in range(3):
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(form.get_by_text("What you typed is not saved.")).to_be_visible()
    expect(form.get_by_label("Target")).to_have_value("/new")
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_the_back_button_and_links_ask_before_a_form_with_text_is_left(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.locator("tbody").get_by_role("link", name="/a").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    opened = page.url
    form.get_by_label("Target").fill("/mine")
    question = form.get_by_text("What you typed is not saved.")
    for leave in (lambda: page.evaluate("history.back()"), form.get_by_role("link", name="History of this rule").click):
        leave()
        question.wait_for()
        form.get_by_role("button", name="Keep editing").click()
        expect(question).to_be_hidden()
        expect(form.get_by_label("Target")).to_have_value("/mine")
        assert page.url == opened
    page.evaluate("history.back()")
    form.get_by_role("button", name="Discard it").click()
    expect(form).to_be_hidden()
    assert "edit=" not in page.url
    page.evaluate("history.forward()")
    expect(form.get_by_label("Target")).to_have_value("/new")
    form.get_by_label("Target").fill("/mine")
    form.get_by_role("link", name="History of this rule").click()
    form.get_by_role("button", name="Discard it").click()
    page.wait_for_url(re.compile("/history"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.evaluate("history.back()")  # nothing is typed any more
    expect(form.get_by_label("Target")).to_have_value("/new")
    page.evaluate("history.back()")
    expect(form).to_be_hidden()


def test_a_remark_that_is_not_sent_yet_is_there_when_one_comes_back(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_label("Your comment").fill("Why 301?")
    page.get_by_role("button", name="Comment on /a").click()
    page.get_by_label("Comment on this rule").fill("And this?")
    page.get_by_role("link", name="Redirects", exact=True).click()
    expect(page.locator("table")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Your comment")).to_have_value("Why 301?")
    expect(page.get_by_label("Comment on this rule")).to_have_value("And this?")
    page.get_by_role("complementary").get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".remarks")).to_contain_text("Why 301?")
    expect(page.get_by_label("Your comment")).to_have_value("")
    page.reload()
    expect(page.get_by_label("Comment on this rule")).to_have_value("And this?")
    expect(page.get_by_label("Your comment")).to_have_value("")


def test_a_refused_save_shows_both_and_the_form_opens_with_theirs(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add("/a", "/first")
    page = new_page(refused=412)
    sign_in(page, world.user("admin"), view(place))
    page.locator("tbody").get_by_role("link", name="/a").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/mine")
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs"})
    form.get_by_role("button", name="Save in the draft").click()
    both = form.get_by_role("region", name="What someone else has made of it")
    expect(both.locator("del")).to_contain_text("/theirs")
    expect(both.locator("ins")).to_contain_text("/mine")
    form.get_by_role("button", name="Keep theirs").click()
    expect(form).to_be_hidden()
    page.locator("tbody").get_by_role("link", name="/a").click()
    expect(form.get_by_label("Target")).to_have_value("/theirs")
    form.get_by_label("Target").fill("/agreed")
    form.get_by_role("button", name="Save in the draft").click()
    expect(form).to_be_hidden()
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/agreed"]


def test_an_open_form_stays_when_the_project_cannot_be_read_again(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=503)
    sign_in(page, world.user("admin"), f"{view(place)}?edit=new")
    form = page.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Target").fill("/mine")
    page.wait_for_load_state("networkidle")
    page.route(
        re.compile(rf"/project/{place.project}$"),
        lambda route: route.fulfill(status=503, json={"error": "overloaded", "message": "Too busy. Try again."}),
    )
    place.published("/b")  # its event has the views read again
    expect(page.get_by_text("Too busy. Try again.")).to_be_visible()
    expect(form.get_by_label("Target")).to_have_value("/mine")


def test_the_first_steps_publish_no_draft_of_someone_else(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/theirs")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), "/dashboard/start")
    page.get_by_label("Namespace", exact=True).fill(place.namespace)
    page.get_by_label("Project", exact=True).fill(place.project)
    page.get_by_label("First redirect: from").fill("/mine")
    page.get_by_label("To", exact=True).fill("/new")
    page.get_by_role("button", name="Create and publish").click()
    expect(page.get_by_role("alert")).to_contain_text("already exists")
    expect(page.get_by_label("First redirect: from")).to_have_value("/mine")
    assert place.sources() == []


def test_the_search_box_has_the_text_that_the_table_is_searched_for(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_label("Search source, target and note").fill("nothing has this")
    page.get_by_role("link", name="show all redirects").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_label("Search source, target and note")).to_have_value("")


@pytest.mark.parametrize("clipboard", [True, False])
def test_what_became_of_a_copy_is_told_in_the_dialog_of_a_secret(
    world: World, new_page: Opens, *, clipboard: bool
) -> None:
    """Guard: what is under a dialog is neither seen nor read out."""
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    if not clipboard:
        page.add_init_script("delete Navigator.prototype.clipboard")
    sign_in(page, world.user("admin"), view(world.place(), "/agents"))
    page.get_by_role("button", name="Connect an agent").click()
    page.get_by_label("Name of the agent").fill("edge-1")
    page.get_by_role("button", name="Make its token").click()
    dialog = page.get_by_role("dialog", name="Connect edge-1")
    dialog.get_by_role("button", name="Copy the token").click()
    said = dialog.get_by_role("log").get_by_text("Copied" if clipboard else "The browser does not allow copying here.")
    expect(said).to_be_visible()
    if clipboard:
        assert page.evaluate("navigator.clipboard.readText()") == dialog.locator(".secret code").inner_text()
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("log")).to_have_count(1)


def test_what_has_just_happened_covers_no_button_of_a_dialog(world: World, new_page: Opens) -> None:
    page = new_page(viewport={"width": 400, "height": 900})
    page.add_init_script("delete Navigator.prototype.clipboard")
    sign_in(page, world.user("admin"), view(world.place(), "/agents"))
    page.get_by_role("button", name="Connect an agent").click()
    page.get_by_label("Name of the agent").fill("edge-1")
    page.get_by_role("button", name="Make its token").click()
    dialog = page.get_by_role("dialog", name="Connect edge-1")
    for _ in range(2):  # the dialog begins at a share of the height
        bottom = dialog.get_by_role("button", name="Done").evaluate("(button) => button.getBoundingClientRect().bottom")
        page.set_viewport_size({"width": 400, "height": round(bottom) + 45})
    dialog.get_by_role("button", name="Copy the token").click()
    said = dialog.get_by_role("log").get_by_text("The browser does not allow copying here.")
    expect(said).to_be_in_viewport()
    assert dialog.evaluate(COVERED) == []


def test_the_content_is_skipped_to(world: World, new_page: Opens) -> None:
    page = new_page()
    sign_in(page, world.user("admin"), view(world.place()))
    page.get_by_role("link", name="Skip to the content").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    expect(page.get_by_text("No redirects yet")).to_be_visible()


def test_nothing_is_discarded_that_came_while_one_was_asked(world: World, new_page: Opens) -> None:
    """Guard: also where the page has heard of no event."""
    place = world.place()
    place.add("/mine")
    page = new_page(refused=409)
    page.route("**/api/events", lambda route: route.fulfill(content_type="text/event-stream", body=""))
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Discard all").click()
    dialog = page.get_by_role("dialog", name="Discard the whole draft?")
    expect(dialog).to_contain_text("1 redirect added")
    place.add("/theirs")
    discard = dialog.get_by_role("button", name="Discard the draft")
    discard.click()
    expect(dialog.get_by_text("Nothing is discarded yet.")).to_be_visible()
    expect(dialog.locator(".change")).to_contain_text("/theirs")
    expect(discard).to_be_disabled()
    assert place.get("/draft/redirects")["total"] == 2
    dialog.get_by_role("button", name="Go on with the draft as it is now").click()
    expect(dialog).to_contain_text("2 redirects added")
    discard.click()
    expect(page.get_by_text("No draft is open")).to_be_visible()
    assert place.get("/draft/redirects")["total"] == 0


def test_a_branch_is_removed_only_after_a_question(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    clone = Clone.of(place.repository, tmp_path / "clone", "release")
    clone.write("shop/redirects.yaml", rules("/a"))
    clone.commit()
    clone.push("team/sale")
    [proposal] = place.root.get(f"{place.space}/proposals")["items"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal['id']}")
    page.get_by_role("button", name="Remove the branch …").click()
    dialog = page.get_by_role("dialog", name="Remove the branch team/sale?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert len(place.root.get(f"{place.space}/proposals")["items"]) == 1
    page.get_by_role("button", name="Remove the branch …").click()
    dialog.get_by_role("button", name="Remove the branch").click()
    expect(page.get_by_text("The branch team/sale is removed.")).to_be_visible()
    assert place.root.get(f"{place.space}/proposals")["items"] == []


def test_enter_that_is_held_discards_one_change(world: World, new_page: Opens) -> None:
    """The focus goes to the next change, which the repeated key would discard too."""
    place = world.place()
    for source in ("/a", "/b", "/c"):
        place.add(source)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.evaluate("window.clicks = 0; document.addEventListener('click', () => window.clicks++, true)")
    page.get_by_role("button", name="Discard the change of /a").focus()
    page.keyboard.down("Enter")
    expect(page.locator(".change")).to_have_count(2)
    expect(page.get_by_role("button", name="Discard the change of /b")).to_be_focused()
    page.keyboard.down("Enter")  # a repetition of the key that is down
    assert page.evaluate("window.clicks") == 1
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".change")).to_have_count(1)
    assert [each["source"] for each in place.get("/draft/redirects")["items"]] == ["/c"]


NO_STREAM = "window.EventSource = class extends EventTarget { close() {} };"


def test_no_conflict_is_resolved_with_a_value_that_was_not_shown(world: World, new_page: Opens) -> None:
    """A browser without live events, as behind a proxy that stops them, has not heard of the publish."""
    place = world.place()
    place.published("/a", "/b")
    rules_ = {each["source"]: f"/draft/redirects/{each['id']}" for each in place.get("/draft/redirects")["items"]}

    def publish_other(**targets: str) -> None:
        for name, target in targets.items():
            place.ask("PATCH", f"{rules_[f'/{name}']}?draft=other", 200, json={"target": target})
        place.ask("POST", "/publish?draft=other", 200)

    for tail in rules_.values():
        place.ask("PATCH", tail, 200, json={"target": "/mine"})
    publish_other(a="/first", b="/first")
    page = new_page(refused=409)
    page.add_init_script(NO_STREAM)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    conflicts = page.locator(".conflicts")
    conflicts.get_by_role("button", name="All that is published").click()
    publish_other(b="/second")
    resolve = conflicts.get_by_role("button", name="Resolve")
    resolve.press("Enter")
    expect(conflicts.get_by_role("alert")).to_contain_text("so nothing is resolved")
    expect(conflicts.get_by_role("group", name="/b target")).to_contain_text("/second")
    expect(conflicts.get_by_role("radio", checked=True)).to_have_count(1)  # of /a, which is as it was
    assert [each["target"] for each in place.get("/draft/redirects")["items"]] == ["/mine", "/mine"]
    assert len(place.get("/draft")["conflicts"]) == 2
    conflicts.get_by_role("group", name="/b target").get_by_role("radio", name="Published").check()
    resolve.click()
    expect(conflicts).to_have_count(0)
    assert {each["source"]: each["target"] for each in place.get("/draft/redirects")["items"]} == {
        "/a": "/first",
        "/b": "/second",
    }


def test_a_side_of_a_conflict_is_chosen_again_once_another_value_is_published(world: World, new_page: Opens) -> None:
    place = world.place()
    [rule] = place.published("/a") and place.get("/draft/redirects")["items"]
    tail = f"/draft/redirects/{rule['id']}"
    place.ask("PATCH", tail, 200, json={"target": "/mine"})

    def publish_other(target: str) -> None:
        place.ask("PATCH", f"{tail}?draft=other", 200, json={"target": target})
        place.ask("POST", "/publish?draft=other", 200)

    publish_other("/first")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    conflicts = page.locator(".conflicts")
    one_stream(world)
    conflicts.get_by_role("radio").first.check()
    publish_other("/second")
    expect(conflicts).to_contain_text("/second")
    expect(conflicts.get_by_role("radio", checked=True)).to_have_count(0)
    expect(conflicts.get_by_role("button", name="Resolve")).to_be_disabled()
    conflicts.get_by_role("radio").first.check()
    conflicts.get_by_role("button", name="Resolve 1 conflict").click()
    expect(conflicts).to_have_count(0)
    assert place.get("/draft/redirects")["items"][0]["target"] == "/mine"


def test_a_long_source_or_path_is_copied_and_read_as_a_whole_without_a_mouse(world: World, new_page: Opens) -> None:
    place = world.place()
    long = "/" + "/".join(f"part-{number}" for number in range(60))
    place.add(long, "/new")
    place.add_page(f"{long}.txt")
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    sign_in(page, world.user("viewer"), view(place))
    for part, text in (("", long), ("/pages", f"{long}.txt")):
        page.goto(view(place, part))
        link, copy = page.locator("tbody .row-link"), page.locator("tbody tr td.url").first.get_by_role("button")
        expect(link).to_be_visible()
        folded = link.bounding_box()
        copy.focus()
        page.keyboard.press("Shift+Tab")
        expect(link).to_be_focused()
        unfolded = link.bounding_box()
        assert folded
        assert unfolded
        assert unfolded["height"] > 2 * folded["height"]
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == text
        expect(page.locator("a button")).to_have_count(0)
        assert violations(page) == []
