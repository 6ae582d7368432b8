"""Reviews, conflicts and imports by the keyboard alone: what has the focus, and what a screen reader reads out."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_proposal_conflicts import Pushed, yaml
from tests.dashboard.test_proposals import proposed
from tests.e2e.caller import Caller
from tests.e2e.git import Clone
from tests.e2e.world import World

Opens = Callable[..., Page]
MOST = 60  # steps to what is looked for


def step_to(page: Page, goal: Locator, key: str = "Tab") -> None:
    """Press a key until an element has the focus."""
    expect(goal).to_be_visible()
    for _ in range(MOST):
        page.keyboard.press(key)
        if goal.evaluate("(found) => found === document.activeElement"):
            return
    raise AssertionError(f"{goal} is not reached")


def test_a_rule_of_a_proposal_is_commented_on_where_one_types(world: World, new_page: Opens) -> None:
    place = world.place()
    made = proposed(place, "/sale")
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    comment = page.get_by_role("button", name="Comment on /sale")
    step_to(page, comment)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Comment on this rule")).to_be_focused()
    page.keyboard.type("To which offers?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".change .remarks")).to_contain_text("To which offers?")
    expect(comment).to_be_focused()


def test_a_review_goes_on_in_its_form_when_its_buttons_change(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place(review="required")
    author = Caller(world.http, world.session(world.user("editor"))["accessToken"])
    made = proposed(place.as_(author), "/sale")
    page = new_page()
    sign_in(page, world.user("publisher"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    approve = page.get_by_role("button", name="✓ Approve")
    field = page.get_by_label("Your comment on shop")
    expect(page.get_by_role("list", name="Requests that are answered in another way")).to_be_visible()
    step_to(page, approve)
    clone = Clone.of(place.repository, tmp_path / "clone", "team/sale")
    clone.write("README.md", "unseen\n")
    clone.commit("Unseen")
    clone.push("team/sale")
    seen = page.get_by_role("button", name="I have looked")
    expect(seen).to_be_visible()
    expect(field).to_be_focused()  # what had it is gone
    step_to(page, seen)
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    step_to(page, approve)
    page.keyboard.press("Enter")
    expect(page.get_by_text("✓ Approved")).to_be_visible()
    expect(approve).to_be_focused()


def test_all_is_chosen_aloud_in_the_conflicts_of_a_proposal(world: World, new_page: Opens, tmp_path: Path) -> None:
    pushed = Pushed(world.place(), tmp_path / "clone", {"shop/redirects.yaml": yaml(a="base", b="base", c="base")})
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine mine", b="mine", c="mine")})
    pushed.push("release", {"shop/redirects.yaml": yaml(a="theirs theirs", b="theirs", c="base")})
    page = new_page()
    sign_in(page, world.user("publisher"), pushed.address)
    conflicts = page.locator(".conflicts")
    said = conflicts.get_by_role("status")
    expect(said).to_have_text("0 of 3 chosen")
    step_to(page, page.get_by_role("button", name="All from the branch"))
    page.keyboard.press("Enter")
    expect(said).to_have_text("3 of 3 chosen")
    step_to(page, conflicts.get_by_role("radio", name="The branch /mine").first)
    page.keyboard.press("ArrowDown")
    expect(conflicts.get_by_role("radio", name="Published /theirs").first).to_be_checked()
    step_to(page, page.get_by_role("button", name="Resolve 3 conflicts"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_after_some_conflicts_of_a_draft_one_goes_on_with_the_others(world: World, new_page: Opens) -> None:
    place = world.place()
    rules = [place.add("/a"), place.add("/b")]
    place.publish()
    for rule in rules:
        for draft, target in (("main", "/mine"), ("other", "/theirs")):
            place.ask("PATCH", f"/draft/redirects/{rule['id']}?draft={draft}", 200, json={"target": target})
    place.ask("POST", "/publish?draft=other", 200)
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/draft"))
    step_to(page, page.get_by_role("group", name="/a").get_by_role("radio", name="The draft"))
    page.keyboard.press("Space")
    expect(page.locator(".conflicts").get_by_role("status")).to_have_text("1 of 2 chosen")
    step_to(page, page.get_by_role("button", name="Resolve 1 conflict"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 conflict with what was published meanwhile")).to_be_focused()
    step_to(page, page.get_by_role("group", name="/b").get_by_role("radio", name="The draft"))


def test_what_a_file_does_is_read_out_and_its_errors_are_reached(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    place.published("/have")
    file = tmp_path / "rules.tsv"
    file.write_text("source\ttarget\n/a\t/b\n/have\t/other\nwrong\t/c\n", encoding="utf-8")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    # A screen reader reads what changes in a region that was there before.
    region = page.get_by_role("region", name="Import redirects").get_by_role("status")
    expect(region).to_have_text("")
    said = region.element_handle()
    chosen = page.get_by_label("File to import")
    step_to(page, chosen)
    chosen.set_input_files(file)  # the dialog that Enter opens is the browser's own
    expect(region).to_contain_text(re.compile("3 lines.*1 added.*1 skipped.*1 wrong"))
    step_to(page, page.get_by_label("Overwrite redirects with the same source"))
    page.keyboard.press("Space")
    expect(region).to_contain_text(re.compile("1 added.*1 changed.*1 wrong"))
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Import into the draft")).to_be_enabled()
    expect(page.get_by_label("Skip the invalid lines")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("list", name="Invalid lines")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Download the errors")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(region).to_contain_text("2 imported, 1 skipped")
    assert said is not None
    assert said.evaluate("(found) => found.isConnected")
