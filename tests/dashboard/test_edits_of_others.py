"""Edits by other people, in whatever way, show in an open page without a reload, and take nothing from who looks at it."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_tabs import one_stream
from tests.e2e.git import Clone, rules
from tests.e2e.world import Place, World
from tests.service import ROOT

Opens = Callable[..., Page]


def open_rule(world: World, page: Page) -> tuple[Place, Any, Locator]:
    """Open a rule of a draft in its form, with another target typed; return its place, the rule and the form."""
    place = world.place()
    made = place.add("/a", "/first")
    sign_in(page, world.user("admin"), f"{view(place)}?edit={made['id']}")
    form = page.get_by_role("dialog", name="Edit the redirect")
    form.get_by_label("Target").fill("/mine")
    return place, made, form


def test_edits_by_people_api_push_and_command_show_and_leave_what_one_does(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    place = world.place()
    place.published("/a")
    mine, theirs = new_page(), new_page()
    sign_in(mine, world.user("admin"), view(place))
    rows = mine.locator("tbody tr")
    expect(rows).to_have_count(1)
    one_stream(world)
    mine.get_by_label("Choose /a").check()
    search = mine.get_by_label("Search source, target and note")
    search.focus()
    sign_in(theirs, world.user("admin"), f"{view(place)}?edit=new")
    form = theirs.get_by_role("dialog", name="Add a redirect")
    form.get_by_label("Source").fill("/by-dashboard")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    expect(rows).to_have_count(2)
    place.add("/by-api")
    expect(rows).to_have_count(3)
    (tmp_path / "rules.tsv").write_text("type\tsource\ttarget\tstatus\nBASIC\t/by-command\t/new\tFOUND\n", "utf-8")
    words = ("import", place.namespace, place.project, str(tmp_path / "rules.tsv"), "--data", str(world.service.data))
    subprocess.run((sys.executable, "-m", "cli.main", *words), cwd=ROOT, check=True, capture_output=True)
    expect(rows).to_have_count(4)
    clone = Clone.of(place.repository, tmp_path / "clone", "draft/shop/main")
    clone.write("shop/redirects.yaml", rules("/a", "/by-push"))
    clone.commit()
    clone.push("draft/shop/main")
    expect(rows).to_have_count(2)  # the push leaves out what the draft has added
    expect(mine.locator("tbody")).to_contain_text("/by-push")
    expect(search).to_be_focused()
    expect(mine.get_by_label("Choose /a")).to_be_checked()


def test_an_open_form_says_that_its_rule_was_changed_and_only_then(world: World, new_page: Opens) -> None:
    place = world.place()
    made, other = place.add("/a", "/first"), place.add("/b", "/other")
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), view(place))
    page.locator("tbody").get_by_role("link", name="/a").click()
    form = page.get_by_role("dialog", name="Edit the redirect")
    target = form.get_by_label("Target")
    one_stream(world)
    target.fill("/mine")
    target.evaluate("(field) => field.setSelectionRange(1, 3)")
    both = form.get_by_role("region", name="What someone else has made of it")
    with page.expect_response(lambda answer: answer.url.endswith(f"/draft/redirects/{made['id']}")):
        place.ask("PATCH", f"/draft/redirects/{other['id']}", 200, json={"target": "/changed"})
    expect(page.locator("tbody")).to_contain_text("/changed")
    expect(both).to_have_count(0)
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs"})
    expect(both.locator("del")).to_contain_text("/theirs")
    expect(both.locator("ins")).to_contain_text("/mine")
    expect(target).to_be_focused()
    expect(target).to_have_value("/mine")
    assert target.evaluate("(field) => [field.selectionStart, field.selectionEnd]") == [1, 3]
    both.get_by_role("button", name="Save mine over it").click()
    expect(form).to_be_hidden()
    assert place.get(f"/draft/redirects/{made['id']}")["target"] == "/mine"
    page.locator("tbody").get_by_role("link", name="/a").click()
    target.fill("/mine too")
    place.ask("DELETE", f"/draft/redirects/{made['id']}", 204)
    expect(both).to_contain_text("e2e has removed it")
    expect(target).to_have_value("/mine too")


def test_two_people_who_change_other_fields_of_a_rule_both_keep_theirs(world: World, new_page: Opens) -> None:
    page = new_page()
    place, made, form = open_rule(world, page)
    one_stream(world)
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"note": "Theirs"})
    both = form.get_by_role("region", name="What someone else has made of it")
    expect(both.locator("dl > div")).to_have_count(2)
    expect(both.locator("dl > div", has_text="Target")).to_contain_text("changed by you only")
    expect(both.locator("dl > div", has_text="Note")).to_contain_text("changed by e2e")
    form.get_by_label("Target").press("Enter")  # to save is to choose first
    expect(both.get_by_role("alert")).to_be_focused()
    page.keyboard.press("Tab")
    expect(both.get_by_role("button", name="Save both")).to_be_focused()
    page.keyboard.press("Enter")
    expect(form).to_be_hidden()
    found = place.get(f"/draft/redirects/{made['id']}")
    assert (found["target"], found["note"]) == ("/mine", "Theirs")


def test_who_changed_which_field_is_named_and_each_is_chosen(world: World, new_page: Opens) -> None:
    page = new_page()
    place, made, form = open_rule(world, page)
    form.get_by_label("Note").fill("Mine")
    one_stream(world)
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs", "tags": ["theirs"]})
    [draft] = place.get("/drafts")["items"]
    both = form.get_by_role("region", name="What someone else has made of it")
    alert = both.get_by_role("alert")
    expect(alert).to_contain_text(re.compile(f"{re.escape(draft['updatedBy'])} changed Target, Tags .*(just now|ago)"))
    expect(form.get_by_text("Changed meanwhile: choose above.")).to_be_visible()
    form.get_by_role("button", name="Save in the draft").click()
    expect(alert).to_be_focused()
    assert alert.evaluate("(text) => getComputedStyle(text).outlineStyle") == "solid"
    save = both.get_by_role("button", name="Save as chosen")
    expect(save).to_be_disabled()
    expect(both.get_by_role("radio")).to_have_count(2)  # of the one field that both have changed
    both.get_by_label("Theirs", exact=True).check()
    save.click()
    expect(form).to_be_hidden()
    found = place.get(f"/draft/redirects/{made['id']}")
    assert (found["target"], found["note"], found["tags"]) == ("/theirs", "Mine", ["theirs"])


def test_a_second_enter_gives_nothing_away_that_was_typed(world: World, new_page: Opens) -> None:
    page = new_page()
    place, made, form = open_rule(world, page)
    one_stream(world)
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/theirs"})
    both = form.get_by_role("region", name="What someone else has made of it")
    expect(both.get_by_role("alert")).to_be_visible()
    expect(both.get_by_role("button", name="Save both")).to_have_count(0)
    form.get_by_label("Target").focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    expect(both.get_by_role("alert")).to_be_focused()
    expect(form.get_by_label("Target")).to_have_value("/mine")
    assert place.get(f"/draft/redirects/{made['id']}")["target"] == "/theirs"


def test_nothing_is_approved_that_changed_under_the_eyes_of_the_reviewer(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    made = place.add("/a", "/first")
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": place.get("/draft")["head"]})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    approve = page.get_by_role("button", name="✓ Approve")
    expect(approve).to_be_visible()
    one_stream(world)
    page.get_by_label("Your comment").fill("Good.")
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/elsewhere"})
    expect(page.locator(".changes")).to_contain_text("/elsewhere")
    expect(page.get_by_text("has changed since you began to look at it")).to_be_visible()
    expect(approve).to_have_count(0)
    expect(page.get_by_label("Your comment")).to_have_value("Good.")
    page.get_by_role("button", name="I have looked").click()
    approve.click()
    expect(page.get_by_text("has changed since you began to look at it")).to_have_count(0)
    expect(page.get_by_label("Your comment")).to_have_value("")
    assert place.get("/draft")["review"]["approvals"] != []


def test_a_push_to_a_proposal_shows_in_its_view(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    place.published("/a")
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.write("shop/redirects.yaml", rules("/a", "/first"))
    clone.commit()
    clone.push("feature")
    (proposal,) = place.root.get(f"{place.space}/proposals")["items"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal['id']}")
    expect(page.locator(".changes")).to_contain_text("/first")
    one_stream(world)
    clone.write("shop/redirects.yaml", rules("/a", "/second"))
    clone.commit()
    clone.push("feature")
    expect(page.locator(".changes")).to_contain_text("/second")


def test_a_row_of_another_page_that_someone_changed_is_not_changed_unseen(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published(*(f"/rule-{number:02}" for number in range(60)))
    first = place.get("/draft/redirects", source="/rule-00")["items"][0]["id"]
    place.ask("PATCH", f"/draft/redirects/{first}", 200, json={"note": "Begins the draft"})
    page = new_page()
    sign_in(page, world.user("admin"), f"{view(place)}?sort=source")
    page.get_by_label("Choose /rule-00").check()
    page.get_by_role("link", name="Next").click()
    page.get_by_label("Choose /rule-55").check()
    one_stream(world)
    with page.expect_response(lambda answer: "/draft/redirects?" in answer.url):
        place.ask("PATCH", f"/draft/redirects/{first}", 200, json={"target": "/theirs"})
    bar = page.get_by_role("region", name="The chosen redirects")
    bar.get_by_label("Status of the chosen").select_option("FOUND")
    bar.get_by_role("button", name="Set the status").click()
    expect(bar.get_by_role("alert")).to_contain_text("Not done: /rule-00 on another page changed since you chose")
    expect(bar.get_by_role("status")).to_have_text("2 redirects chosen")
    statuses = {each["source"]: each["status"] for each in place.get("/draft/redirects", limit=100)["items"]}
    assert {statuses["/rule-00"], statuses["/rule-55"]} == {"MOVED_PERMANENT"}
    bar.get_by_role("button", name="Set the status").click()
    expect(page.get_by_text("The status of 2 redirects is changed")).to_be_visible()
    statuses = {each["source"]: each["status"] for each in place.get("/draft/redirects", limit=100)["items"]}
    assert {statuses["/rule-00"], statuses["/rule-55"]} == {"FOUND"}


KEEP_STREAMS = """
    window.streams = [];
    window.EventSource = class extends EventSource { constructor(url) { super(url); streams.push(this); } };
"""


def test_an_edit_while_the_stream_was_lost_shows_when_it_is_back(world: World, new_page: Opens) -> None:
    """Guard: an edit is sent once, so a stream that resumes with the last id has not sent it."""
    place = world.place()
    place.published("/a")
    page = new_page(offline=True)
    page.add_init_script(KEEP_STREAMS)
    sign_in(page, world.user("admin"), view(place))
    expect(page.locator("tbody tr")).to_have_count(1)
    one_stream(world)
    page.evaluate("streams.forEach((each) => each.close())")  # a browser without a network keeps what is open
    page.context.set_offline(True)
    expect(page.get_by_text("Not connected since")).to_be_visible()
    page.get_by_role("button", name="Add a redirect").click()
    form = page.get_by_role("dialog", name="Add a redirect")
    expect(form.get_by_text("Not connected since")).to_be_visible()  # what is under a dialog is not seen
    form.get_by_label("Source").fill("/mine")
    form.get_by_label("Target").fill("/new")
    form.get_by_role("button", name="Add to the draft").click()
    unreached = form.get_by_text("Waypost cannot be reached")  # also in the line that tries the rule
    expect(form.locator(".failure")).to_contain_text("Waypost cannot be reached")
    place.add("/b")
    page.context.set_offline(False)
    expect(unreached).to_have_count(0)
    form.get_by_role("button", name="Close").click()
    form.get_by_role("button", name="Discard it").click()
    expect(page.locator("tbody tr")).to_have_count(2)
