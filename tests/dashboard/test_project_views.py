"""The views of a project beside its redirects: pages, history, tester, import and export."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import drafted, overtake, view
from tests.dashboard.test_pages import violations
from tests.e2e.world import World, redirect

Opens = Callable[..., Page]
RECORD_PROGRESS = """() => {
  window.words = [];
  new MutationObserver(() => {
    const shown = document.querySelector(".progress p")?.textContent;
    if (shown) window.words.push(shown);
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""


def test_a_page_is_written_changed_and_removed(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/pages"))
    expect(page.get_by_text("No pages yet")).to_be_visible()
    page.keyboard.press("n")
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots.txt")
    form.get_by_label("Content").fill("User-agent: *\nDisallow: /<script>\n")
    expect(form.get_by_text("3 lines, 34 bytes").first).to_be_visible()  # the editor, once it is loaded, has it too
    assert violations(page) == []
    form.get_by_role("button", name="Add to the draft").click()
    page.get_by_role("link", name="/robots.txt").click()
    form = page.get_by_role("dialog", name="Edit the page")
    form.get_by_label("Content").fill("User-agent: *\n")
    form.get_by_role("button", name="Save in the draft").click()
    expect(page.locator("tbody")).to_contain_text("14 bytes")
    assert [each["content"] for each in place.get("/draft/pages")["items"]] == ["User-agent: *\n"]
    page.get_by_role("link", name="/robots.txt").click()
    form.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("No pages yet")).to_be_visible()
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_role("link", name="/robots.txt")).to_be_visible()


def test_a_page_is_checked_while_it_is_typed_and_duplicated(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add_page("/robots.txt", "User-agent: *\n", tags=["crawlers"])
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), view(place, "/pages?edit=new"))
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("no path")
    expect(form.get_by_label("Path")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Path").fill("/humans.txt")
    expect(form.get_by_label("Path")).not_to_have_attribute("aria-invalid", "true")
    form.get_by_label("Path").fill("")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="/robots.txt").click()
    form = page.get_by_role("dialog", name="Edit the page")
    expect(form.get_by_label("Tags")).to_have_value("crawlers")
    form.get_by_role("button", name="Duplicate").click()
    form = page.get_by_role("dialog", name="Add a page")
    form.get_by_label("Path").fill("/robots-2.txt")
    form.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    found = {each["path"]: (each["content"], each["tags"]) for each in place.get("/draft/pages")["items"]}
    assert found == dict.fromkeys(("/robots.txt", "/robots-2.txt"), ("User-agent: *\n", ["crawlers"]))


def test_pages_are_filtered_chosen_and_changed_together(world: World, new_page: Opens) -> None:
    place = world.place()
    for number in range(3):
        place.add_page(f"/{number}.txt", f"old {number}")
    place.add_page("example.org/host.txt", "old", type="BASIC_HOST")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/pages"))
    page.get_by_label("Type").select_option("BASIC")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("Choose /0.txt").check()
    page.get_by_label("Choose /1.txt").check()
    page.get_by_role("button", name="Tags …").click()
    page.get_by_label("Add tags").fill("seasonal")
    page.get_by_role("button", name="Change the tags").click()
    page.get_by_role("link", name="seasonal").first.click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Tag: seasonal").click()
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Replace in them").click()
    form = page.get_by_role("dialog", name="Search and replace")
    form.get_by_label("Find").fill("old")
    form.get_by_label("Replace with").fill("new")
    form.get_by_role("button", name="Show what changes").click()
    form.get_by_role("button", name="Replace in 3 pages").click()
    expect(form).to_be_hidden()
    assert violations(page) == []
    page.get_by_role("button", name="Remove …").click()
    page.get_by_role("button", name="Remove 3 pages").click()
    expect(page.get_by_text("No page fits")).to_be_visible()
    assert [each["content"] for each in place.get("/draft/pages")["items"]] == ["old"]
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator("tbody tr")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert "new 2" in download.value.path().read_text("utf-8")


def test_an_old_publish_is_looked_at_compared_and_rolled_back_to(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history"))
    expect(page.locator(".publishes li")).to_have_count(3)
    assert violations(page) == []
    page.locator(".publishes li").first.get_by_role("link").click()
    expect(page.get_by_role("button", name="Roll back to publish 2")).to_be_visible()
    expect(page.get_by_role("link", name="Compare with what is published")).to_have_count(0)  # it is what is published
    page.go_back()
    page.locator(".publishes li").nth(1).get_by_role("link").click()
    expect(page.locator(".changes")).to_contain_text("/a")
    page.get_by_role("link", name="Compare with what is published").click()
    expect(page.locator(".changes")).to_contain_text("/b")
    assert violations(page) == []
    page.go_back()
    page.get_by_role("button", name="Roll back to this").click()
    dialog = page.get_by_role("dialog", name="Roll back to publish 2")
    expect(dialog.locator(".change.removed")).to_contain_text("/b")
    dialog.get_by_label("Message").fill("The sale is over")
    dialog.get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("The content of publish 2 is published again.")).to_be_visible()
    assert place.sources() == ["/a"]
    assert place.get("/history")["items"][0]["message"] == "The sale is over"


def test_from_the_publish_that_is_served_one_rolls_back_to_the_one_before_it(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?version=3"))
    expect(page.locator(".publishes")).to_contain_text("Served now")
    page.get_by_role("button", name="Roll back to publish 2 …").click()
    page.get_by_role("dialog", name="Roll back to publish 2").get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("The content of publish 2 is published again.")).to_be_visible()
    assert place.sources() == ["/a"]


def test_every_view_keeps_the_chosen_draft(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.ask("POST", "/draft/redirects?draft=autumn", 201, json=redirect("/b"))
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?draft=autumn&version=1"))
    page.get_by_role("link", name="All publishes").click()
    expect(page.locator(".publishes li")).to_have_count(2)
    page.get_by_role("link", name="Agents", exact=True).click()
    expect(page.get_by_text("No agents yet")).to_be_visible()
    page.get_by_role("link", name="Redirects", exact=True).click()
    page.get_by_role("link", name="/b").click()
    page.get_by_role("link", name="History of this rule").click()
    expect(page.get_by_text("No publish has touched this rule")).to_be_visible()
    page.get_by_role("link", name="draft", exact=True).click()
    expect(page.locator(".change.added")).to_contain_text("/b")


def test_agents_are_paged_and_filtered_by_the_service(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    for number in range(52):
        version = 1 if number == 51 else 2
        place.ask("POST", "/agents", 200, json={"name": f"edge-{number:02}", "type": "default", "version": version})
    page = new_page()
    sign_in(page, world.user("viewer"), view(place, "/agents"))
    expect(page.get_by_text("1–50 of 52")).to_be_visible()  # noqa: RUF001 - as it is shown
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("State").select_option("behind")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("edge-51")
    page.get_by_label("Search by name").fill("EDGE-0")
    expect(page.get_by_text("No agent fits")).to_be_visible()
    page.get_by_role("link", name="show all agents").click()
    expect(page.get_by_text("1–50 of 52")).to_be_visible()  # noqa: RUF001 - as it is shown


def test_the_lines_for_a_new_agent_connect_it(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/agents"))
    page.get_by_role("button", name="Connect an agent").click()
    form = page.get_by_role("dialog", name="Connect an agent")
    form.get_by_label("Name of the agent").fill("edge 1")
    expect(form.get_by_label("Name of the agent")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Name of the agent").fill("edge-1")
    form.get_by_label("The token ends").select_option("in 30 days")
    form.get_by_role("button", name="Make its token").click()
    dialog = page.get_by_role("dialog", name="Connect edge-1")
    expect(dialog.get_by_text("Waiting for the first report of edge-1")).to_be_visible()
    assert violations(page) == []
    subprocess.run(["sh", "-euc", dialog.locator(".snippet").inner_text()], cwd=tmp_path, check=True)
    expect(dialog.get_by_text("edge-1 serves what is published.")).to_be_visible()
    assert [each["source"] for each in json.loads((tmp_path / "redirects.json").read_text())["items"]] == ["/a"]
    dialog.get_by_role("button", name="Done").click()
    expect(page.locator("tbody")).to_contain_text("edge-1")
    tokens = [each for each in world.root.get("/api/tokens", limit=1_000_000)["items"] if each["name"] == "edge-1"]
    [token] = [
        each for each in tokens if each["grants"][0]["namespace"] == place.namespace
    ]  # other tests have agents too
    assert token["expiresAt"] is not None


def test_an_old_version_is_opened_as_a_draft(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Open as a draft").click()
    expect(page.locator(".change.removed")).to_contain_text("/b")
    assert drafted(place) == {"/a": "/new"}


def test_the_life_of_one_rule_is_told(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_role("link", name="/a").click()
    page.get_by_role("link", name="History of this rule").click()
    expect(page.locator(".publishes li")).to_have_count(1)
    expect(page.locator(".publishes")).to_contain_text("+ Added")


def test_urls_are_tested_in_two_states_side_by_side(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a", "/b")
    place.add("/b", "/c")
    place.publish()
    place.add("/c", "/d")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test"))
    expect(page.get_by_label("In the state")).to_have_value("draft")  # which has changes
    expect(page.get_by_label("Compare with")).to_have_value("published")
    page.get_by_label("Compare with").select_option("Nothing")
    expect(page.get_by_label("In the state")).to_have_value("draft")
    page.get_by_label("In the state").select_option("published")
    page.get_by_label("URLs or paths").fill("/a\n/nothing\n")
    page.get_by_role("button", name="Test 2 URLs").click()
    expect(page.get_by_label("The chain").locator("li")).to_have_count(2)
    expect(page.get_by_label("In the state").locator("option")).to_contain_text(
        ["What is published", "The draft", "Publish 2", "Publish 1", "Another publish, branch or commit …"]
    )
    expect(page.get_by_label("Compare with").locator("option")).to_contain_text(
        [
            "Nothing",
            "The draft",
            "Publish 2",
            "Publish 1",
            "Another publish, branch or commit …",
        ]  # not the state itself
    )
    page.get_by_label("Compare with").select_option("draft")
    page.get_by_label("URLs or paths").fill("/c\n/nothing\n")
    page.get_by_role("button", name="Test 2 URLs").click()
    expect(page.get_by_text("1 answer differs")).to_be_visible()
    assert violations(page) == []
    page.reload()
    expect(page.get_by_label("URLs or paths")).to_have_value("/c\n/nothing\n")
    expect(page.get_by_label("Compare with")).to_have_value("draft")
    page.get_by_label("In the state").select_option("1")
    page.get_by_label("Compare with").select_option("Another publish, branch or commit …")
    page.get_by_label("Compare with: publish, branch or commit").fill(place.get("/version"))
    page.get_by_label("URLs or paths").fill("/a")
    page.get_by_role("button", name="Test 1 URL").click()
    expect(page.locator(".changes .two > div").first).to_contain_text("No rule")
    expect(page.locator(".changes .two > div").last).to_contain_text("/b")
    assert violations(page) == []


def test_a_url_without_a_rule_leads_to_those_that_nearly_match(world: World, new_page: Opens) -> None:
    """A rule that the draft removes leads to its history; beside the other state it is left out."""
    place = world.place()
    place.published("/sale/")
    place.published("/gone")
    rule = next(each for each in place.get("/draft/redirects")["items"] if each["source"] == "/gone")
    place.ask("DELETE", f"/draft/redirects/{rule['id']}", 204)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test?at=draft"))
    page.get_by_label("URLs or paths").fill("/sale\n/gone\n/nothing")
    page.get_by_role("button", name="Test 3 URLs").click()
    near = page.get_by_role("list", name="Nearly matches")
    expect(near).to_have_text(["/sale/ it matches with a slash at the end", "/gone the draft removes it"])
    assert violations(page) == []
    page.get_by_label("Compare with").select_option("published")
    page.get_by_role("button", name="Test 3 URLs").click()
    expect(page.get_by_text("1 answer differs")).to_be_visible()
    expect(near.filter(has_text="removes")).to_have_count(0)
    page.get_by_label("Compare with").select_option("Nothing")
    page.get_by_role("button", name="Test 3 URLs").click()
    near.filter(has_text="removes").get_by_role("link").click()
    expect(page.locator(".publishes li")).to_have_count(1)
    page.go_back()
    page.get_by_role("button", name="Test 3 URLs").click()
    near.first.get_by_role("link").click()
    expect(page.get_by_role("dialog").get_by_label("Source")).to_have_value("/sale/")


def test_the_answers_that_differ_are_found_among_many(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/last")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test?at=published&against=draft"))
    page.get_by_label("URLs or paths").fill("".join(f"/{number}\n" for number in range(499)) + "/last")
    page.get_by_role("button", name="Test 500 URLs").click()
    rows = page.get_by_role("region", name="Results").locator(".change")
    expect(page.get_by_text("1 answer differs")).to_be_visible()
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("/last")
    expect(rows.first).to_contain_text("≠ Differs")
    expect(rows.nth(1)).not_to_contain_text("≠ Differs")
    expect(rows.first.get_by_text("What is published")).to_be_visible()
    expect(rows.nth(1)).to_have_text("/0The same in bothNo rule")  # once
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("51–100 of 500")).to_be_visible()  # noqa: RUF001 - as it is shown
    expect(rows.first).to_contain_text("/49")
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    assert violations(page) == []
    page.get_by_label("Only those that differ").check()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("/last")


def test_answers_differ_also_where_only_the_end_of_the_chain_does(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a", "/b")
    place.add("/b", "/c")
    place.publish()
    rule = next(each for each in place.get("/draft/redirects")["items"] if each["source"] == "/b")
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": "/d"})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test?at=draft&against=published"))
    page.get_by_label("URLs or paths").fill("/a")
    page.get_by_role("button", name="Test 1 URL").click()
    expect(page.get_by_text("1 answer differs")).to_be_visible()
    expect(page.get_by_label("The chain")).to_have_count(2)


def test_failing_tests_are_first_and_lead_to_what_their_url_gets_in_the_draft(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    tests = [{"url": f"/{number}", "status": 404} for number in range(250)]
    place.ask("PUT", "/draft/tests?draft=autumn", 200, json={"tests": tests})
    place.ask("POST", "/draft/redirects?draft=autumn", 201, json=redirect("/249", "/landed"))
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test?draft=autumn"))
    page.get_by_label("URLs or paths").fill("/typed")
    panel = page.get_by_role("region", name="Tests of the project")
    expect(panel).to_contain_text("1 of 250 tests fails")
    expect(panel.locator(".change")).to_have_count(50)
    expect(panel.locator(".change").first).to_contain_text("✕ Fails")
    panel.get_by_role("button", name="Next").click()
    expect(panel.locator(".change").first).to_contain_text("/49")
    panel.get_by_label("Only those that fail").check()
    expect(panel.locator(".change")).to_have_count(1)
    panel.get_by_role("link", name="Show what /249 gets").click()
    expect(page.get_by_label("URLs or paths")).to_have_value("/249")
    expect(page.get_by_label("URLs or paths")).to_be_focused()
    expect(page.get_by_label("In the state")).to_have_value("draft")
    expect(page.get_by_label("Draft", exact=True)).to_have_value("autumn")
    expect(page.get_by_role("region", name="Results")).to_contain_text("/landed")
    assert violations(page) == []
    page.go_back()
    expect(page.get_by_label("URLs or paths")).to_have_value("/typed")


def test_answers_are_kept_as_tests_which_hold_a_publish(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test"))
    page.get_by_label("URLs or paths").fill("/a\n/nothing")
    page.get_by_role("button", name="Test 2 URLs").click()
    page.get_by_role("button", name="Keep as tests").click()
    tests = page.get_by_role("region", name="Tests of the project")
    expect(tests).to_contain_text("2 tests pass")
    place.publish()
    place.add("/nothing")
    page.reload()
    expect(tests).to_contain_text("1 of 2 tests fails")
    assert violations(page) == []
    place.refused("POST", "/publish", 422, "invalid_content")
    tests.get_by_role("button", name="Remove the test of /nothing").click()
    expect(tests).to_contain_text("1 test passes")
    page.get_by_role("log").get_by_role("button", name="Undo").click()
    expect(tests).to_contain_text("1 of 2 tests fails")
    tests.get_by_role("button", name="Remove the test of /nothing").click()
    expect(tests).to_contain_text("1 test passes")
    place.publish()


def test_a_file_is_looked_at_before_it_is_imported_and_its_errors_are_downloaded(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    place = world.place()
    place.published("/old")
    file = tmp_path / "rules.csv"
    file.write_text("Target,Source,Tag,Owner,Note\n/y,/x,a,b,why\n/y,no\u200bpath,,,\n", "utf-8")
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    page.get_by_label("File to import").set_input_files(file)
    expect(page.get_by_text("1 wrong")).to_be_visible()
    expect(page.get_by_role("button", name="Import into the draft")).to_be_disabled()
    columns = page.get_by_role("list", name="Columns that are not imported")
    expect(columns).to_contain_class("notice warn")
    expect(columns.get_by_role("listitem")).to_have_text(
        [
            'The column "Tag" is not imported; did you mean "tags"?',
            'The column "Owner" is not imported; no column is named "status", so each redirect gets 301',
        ]
    )
    hindrance = page.get_by_text("Correct the invalid lines and choose the file again, or skip them.")
    expect(hindrance).to_be_visible()
    assert violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the errors").click()
    assert "3\t2\tsource\t" in download.value.path().read_text("utf-8")
    errors = page.locator(".errors li").first
    expect(errors).to_contain_text("line 3, source")
    expect(errors).to_contain_text("with a host it is “Basic, with host” (BASIC_HOST)")
    expect(errors.locator(".quiet")).to_have_text(re.compile("/y,no.U.200B.path"))
    page.get_by_label("Skip the invalid lines").check()
    expect(hindrance).to_be_hidden()
    page.get_by_role("button", name="Import into the draft").click()
    expect(page.get_by_text("1 imported, 1 skipped")).to_be_visible()
    expect(page.get_by_role("button", name="Download the errors")).to_be_visible()
    page.get_by_role("link", name="Show the draft").click()
    expect(page.locator(".change")).to_contain_text("/x")
    assert drafted(place) == {"/old": "/new", "/x": "/y"}
    assert [each["note"] for each in place.get("/draft/redirects", source="/x")["items"]] == ["why"]


def test_the_example_of_a_file_can_be_imported(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download an example").click()
    download.value.save_as(tmp_path / "example.tsv")
    page.get_by_label("File to import").set_input_files(tmp_path / "example.tsv")
    page.get_by_role("button", name="Import into the draft").click()
    expect(page.get_by_role("link", name="Draft", exact=True)).to_have_attribute("aria-current", "page")
    assert drafted(place) == {"/old": "/new", "/sale": "https://shop.example/offers"}
    [tagged] = place.get("/draft/redirects", tag="shop")["items"]
    assert (tagged["source"], tagged["note"]) == ("/sale", "Until the autumn")
    page.go_back()
    page.get_by_label("File to import").set_input_files(tmp_path / "example.tsv")
    expect(page.get_by_text("The draft has all of it already.")).to_be_visible()
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04 a workbook")
    page.get_by_label("File to import").set_input_files(tmp_path / "book.xlsx")
    expect(page.get_by_text("save the sheet as text (CSV)")).to_be_visible()
    expect(page.get_by_text("Correct the file, and choose it again.")).to_be_visible()


def test_the_findings_of_a_file_are_listed_before_it_is_imported(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    place.published("/old")
    file = tmp_path / "rules.tsv"
    chains = "".join(f"BASIC\t/chain/{number}\t/old\t301\n" for number in range(110))
    file.write_text(f"type\tsource\ttarget\tstatus\nREGEX\t^/old$\t/y\t301\nBASIC\t/new\t/z\t301\n{chains}", "utf-8")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    page.get_by_label("File to import").set_input_files(file)
    findings = page.get_by_role("region", name="Findings")
    expect(findings.get_by_role("heading")).to_have_text("Findings 112")
    first = findings.get_by_role("listitem").first
    expect(first).to_contain_text("line 2")
    expect(first).to_contain_text("^/old$")
    expect(first).to_contain_text("never")
    expect(findings.get_by_role("listitem")).to_have_count(100)
    expect(findings.get_by_text("and 12 more")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Import into the draft").click()
    page.get_by_text("Imported into the draft: 112 added").wait_for()


def test_an_import_tells_how_much_is_sent_and_what_the_service_does(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    file = tmp_path / "rules.tsv"
    rows = "".join(f"BASIC\t/old/{number}\t/new\t301\n" for number in range(4_000))
    file.write_text(f"type\tsource\ttarget\tstatus\n{rows}", "utf-8")
    page = new_page()
    sign_in(page, world.user("admin"), view(world.place(), "/transfer"))
    page.evaluate(RECORD_PROGRESS)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    page.get_by_label("File to import").set_input_files(file)
    page.get_by_role("button", name="Import into the draft").click()
    page.get_by_text("Imported into the draft: 4,000 added").wait_for()
    words = page.evaluate("window.words")
    phases = list(dict.fromkeys(each.partition(" of ")[0].split(":")[0].strip() for each in words))
    assert phases == [
        "Sending the file",
        "The service checks each line …",
        "The service writes the redirects into the draft …",
    ]
    assert len({each for each in words if each.startswith("Sending")}) > 2


def test_a_mended_file_is_chosen_again(world: World, new_page: Opens, tmp_path: Path) -> None:
    """A browser reads no file that was saved after it was chosen; and it tells a page of no second choice of the same file."""
    place = world.place()
    file = tmp_path / "rules.tsv"
    file.write_text("type\tsource\ttarget\tstatus\nBASIC\tno path\t/y\t301\n", "utf-8")
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    page.get_by_label("File to import").set_input_files(file)
    expect(page.get_by_text("1 wrong")).to_be_visible()
    expect(page.get_by_label("File to import")).to_have_value("")
    file.write_text("type\tsource\ttarget\tstatus\nBASIC\t/mended\t/y\t301\n", "utf-8")
    page.get_by_label("Skip the invalid lines").check()
    expect(page.get_by_role("alert")).to_have_text("The file has changed since it was chosen. Choose it again.")
    page.get_by_label("File to import").set_input_files(file)
    page.get_by_role("button", name="Import into the draft").click()
    expect(page.locator(".change")).to_contain_text("/mended")
    assert drafted(place) == {"/mended": "/y"}


DROP = """(zone, text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "dropped.tsv", { type: "text/tab-separated-values" }));
  const drag = (name) => zone.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
  return [drag("dragover"), zone.classList.contains("over"), drag("drop")];
}"""


def test_a_dropped_file_overwrites_rules_only_when_it_is_told_to(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    text = "type\tsource\ttarget\tstatus\nBASIC\t/old\t/other\t301\n"
    # Both events are taken: the browser would open the file in place of the page.
    assert page.locator(".drop").evaluate(DROP, text)[::2] == [False, False]
    expect(page.get_by_text("dropped.tsv")).to_be_visible()
    expect(page.get_by_text("1 skipped")).to_be_visible()
    skipped = page.get_by_role("region", name="Skipped lines").get_by_role("listitem")
    expect(skipped).to_contain_text("line 2")
    expect(skipped).to_contain_text("/old")
    expect(skipped.locator("del")).to_contain_text("/new")
    expect(skipped.locator("ins")).to_contain_text("/other")
    assert violations(page) == []
    page.get_by_label("Overwrite redirects with the same source").check()
    expect(page.get_by_text("1 changed")).to_be_visible()
    expect(skipped).to_have_count(0)
    page.get_by_role("button", name="Import into the draft").click()
    expect(page.locator(".change.changed")).to_contain_text("/old")
    assert drafted(place) == {"/old": "/other"}


def test_a_file_that_is_dropped_beside_the_box_is_taken(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    text = "type\tsource\ttarget\tstatus\nBASIC\t/new\t/other\t301\n"
    expect(page.locator(".drop")).to_be_visible()
    assert page.locator("h1").evaluate(DROP, text)[::2] == [False, False]
    expect(page.get_by_text("1 added")).to_be_visible()


def test_what_is_searched_for_is_seen_in_a_long_source(world: World, new_page: Opens) -> None:
    place = world.place()
    name = f"/legacy/catalogue/of/all/products/item-29/{'long-' * 30}end.html"
    place.published(name)
    page = new_page(viewport={"width": 1280, "height": 800})
    sign_in(page, world.user("admin"), view(place, "?q=ITEM-29"))
    found = page.locator("tbody mark")
    expect(found).to_have_text("item-29")
    box, cell = found.bounding_box(), page.locator("tbody td.url").first.bounding_box()
    assert box
    assert cell
    assert box["x"] + box["width"] <= cell["x"] + cell["width"], "it is in the part that is cut off"


def test_an_import_overwrites_nothing_that_was_edited_after_the_look(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    page.get_by_label("Overwrite redirects with the same source").check()
    rows = b"type\tsource\ttarget\tstatus\nBASIC\t/a\t/imported\t301\n"
    page.get_by_label("File to import").set_input_files({"name": "a.tsv", "mimeType": "text/plain", "buffer": rows})
    expect(page.get_by_text("1 changed")).to_be_visible()
    (item,) = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{item['id']}", 200, json={"target": "/theirs"})  # it begins the draft
    start, again = (page.get_by_role("button", name=name) for name in ("Import into the draft", "Look again"))
    for target in ("/theirs", "/theirs-too"):
        place.ask("PATCH", f"/draft/redirects/{item['id']}", 200, json={"target": target})
        start.click()
        expect(page.get_by_role("alert")).to_contain_text("Someone has changed the draft since you looked")
        expect(start).to_have_count(0)
        assert drafted(place) == {"/a": target}
        assert violations(page) == []
        again.press("Enter")
        expect(page.get_by_text("1 changed")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    start.click()
    expect(page.locator(".change.changed")).to_contain_text("/imported")
    assert drafted(place) == {"/a": "/imported"}


def test_errors_that_are_left_out_are_told(world: World, new_page: Opens, tmp_path: Path) -> None:
    file = tmp_path / "rules.tsv"
    rows = "".join(f"BASIC\tno path {number}\t/y\t301\n" for number in range(1_002))
    file.write_text(f"type\tsource\ttarget\tstatus\n{rows}", "utf-8")
    page = new_page(refused=422)
    sign_in(page, world.user("admin"), view(world.place(), "/transfer"))
    page.get_by_label("File to import").set_input_files(file)
    expect(page.get_by_text("The first 50 of 1,002 are shown.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the first 1,000 errors").click()
    assert len(download.value.path().read_text("utf-8").splitlines()) == 1_001


def test_what_the_table_shows_is_exported(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old", "/other")
    place.add("/oldest")
    page = new_page()
    sign_in(page, world.user("viewer"), view(place, "?q=old&sort=-source"))
    page.get_by_text("Export what is shown").wait_for()
    assert violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="tab-separated text").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert [line.split("\t")[1] for line in lines[1:]] == ["/oldest", "/old"]


def test_the_pages_that_the_table_shows_are_exported(world: World, new_page: Opens) -> None:
    place = world.place()
    for path in ("/old.txt", "/other.txt", "/oldest.txt"):
        place.add_page(path, f"A text\nof {path}\n", tags=["sale"])
    page = new_page()
    sign_in(page, world.user("viewer"), view(place, "/pages?tag=sale&q=old&sort=-source&status=301"))
    page.get_by_text("Export what is shown").wait_for()
    assert violations(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="YAML").click()
    assert download.value.suggested_filename == "shop-pages.yaml"
    found = yaml.safe_load(download.value.path().read_text("utf-8"))["pages"]
    assert [each["path"] for each in found] == ["/oldest.txt", "/old.txt"]
    page.goto(view(place, "/pages"))
    page.get_by_text("Export all as").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert len(json.loads(download.value.path().read_text("utf-8"))["pages"]) == 3


def test_the_published_rules_are_exported(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/transfer"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert "/old" in download.value.path().read_text("utf-8")


def test_one_of_three_changes_is_published_then_the_rest(world: World, new_page: Opens) -> None:
    """Published changes are no longer chosen, so that the rest is one click."""
    place = world.place()
    for source in ("/a", "/b", "/c"):
        place.add(source)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_label("Choose the change of /b").check()
    page.get_by_role("button", name="Publish 1 change …").click()
    dialog = page.get_by_role("dialog", name="Publish 1 change")
    expect(dialog).to_contain_text("1 redirect added")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("dialog", name="Published").get_by_role("button", name="Done").click()
    assert place.sources() == ["/b"]
    expect(page.locator(".change")).to_have_count(2)
    expect(page.get_by_role("button", name="Discard 1 change")).to_have_count(0)
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog", name="Publish the draft")
    expect(dialog).to_contain_text("2 redirects added")
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("This is publish 3")).to_be_visible()
    assert place.sources() == ["/a", "/b", "/c"]


def test_a_discarded_change_is_put_back_unless_someone_has_changed_the_rule_since(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a", "/gone")
    rules = {each["source"]: each["id"] for each in place.get("/draft/redirects")["items"]}
    place.ask("PATCH", f"/draft/redirects/{rules['/a']}", 200, json={"target": "/mine"})
    place.ask("DELETE", f"/draft/redirects/{rules['/gone']}", 204)
    place.add("/b", tags=["spring"])
    place.add_page("/robots.txt", "User-agent: *\n")
    before = place.get("/draft/diff")["items"]
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    undo = page.get_by_role("button", name="Undo")
    expect(page.locator(".change")).to_have_count(4)
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Discard 4 changes").click()
    expect(page.get_by_text("No draft is open")).to_be_visible()
    undo.click()
    expect(page.locator(".change")).to_have_count(4)
    assert place.get("/draft/diff")["items"] == before
    for source, change in (("/a", {"target": "/theirs"}), ("/b", None)):
        page.get_by_role("button", name=f"Discard the change of {source}").click()
        expect(page.locator(".change")).to_have_count(3)
        if change:
            place.ask("PATCH", f"/draft/redirects/{rules[source]}", 200, json=change)
        else:
            place.add(source, "/theirs")
        undo.click()
        expect(page.get_by_text(f"Not put back: someone has changed {source} since.")).to_be_visible()
        expect(page.locator(".change")).to_have_count(4)
        assert drafted(place)[source] == "/theirs"


def test_a_discarded_change_is_not_put_back_over_what_comes_meanwhile(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    place.add("/b")
    place.add("/c")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Discard the change of /b").click()
    expect(page.locator(".change")).to_have_count(1)
    overtake(page, place, "/b")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Not put back: someone has just changed the draft. Look at the draft")).to_be_visible()
    assert drafted(place)["/b"] == "/theirs"


def test_a_discarded_change_is_not_put_back_over_one_that_came_before_the_rule_was_looked_at(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/a")
    (rule,) = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": "/mine"})
    page = new_page()
    discarded: list[str] = []

    def look(route: Route) -> None:
        """Have another person's change come before what is read after the discard."""
        if discarded:
            place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": "/theirs"})
            discarded.clear()
        route.continue_()

    page.on("requestfinished", lambda request: discarded.append("") if "/draft/revert" in request.url else None)
    page.route(re.compile(rf"/draft/redirects/{rule['id']}"), look)
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("button", name="Discard the change of /a").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Not put back: someone has changed /a since.")).to_be_visible()
    assert drafted(place)["/a"] == "/theirs"


def test_a_page_of_changes_is_shown_whole_and_stays_in_its_place_when_one_is_discarded(
    world: World, new_page: Opens
) -> None:
    """The first screen is painted before the others; a discard keeps all of them and the scroll."""
    place = world.place()
    new = [{"op": "put", "kind": "redirect", "item": redirect(f"/r{number:03}")} for number in range(120)]
    place.ask("POST", "/draft/changes", 200, json=new)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.locator(".change")).to_have_count(50)
    page.evaluate(
        "() => { paint = requestAnimationFrame; held = []; requestAnimationFrame = (run) => held.push(run); }"
    )
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".change").first).to_contain_text("/r050")
    assert page.locator(".change").count() < 50
    assert page.evaluate("() => document.querySelector('.changes').offsetHeight >= innerHeight")
    page.evaluate("() => { requestAnimationFrame = paint; held.forEach((run) => run(0)); }")
    expect(page.locator(".change")).to_have_count(50)
    last = page.get_by_role("button", name="Discard the change of /r099")
    last.scroll_into_view_if_needed()
    place_before = page.evaluate("scrollY")
    last.click()
    expect(last).to_have_count(0)
    assert page.evaluate("scrollY") > place_before / 2 > 0
    expect(page.locator(".change").last).to_contain_text("/r100")


LINES = [f"Disallow: /old/{number}/\n" for number in range(1, 101)]


def shows_lines(place: Locator, old: str, new: str) -> None:
    """Check that a difference shows one changed line among its neighbours, with what differs marked."""
    expect(place.locator(".line.old .text")).to_have_text(f"Removed: {old}")
    expect(place.locator(".line.new .text")).to_have_text(f"Added: {new}")
    expect(place.locator(".line.same")).to_have_count(6)
    expect(place.locator(".left-out")).to_have_text(["46 equal lines", "47 equal lines"])
    expect(place.locator("mark")).to_have_text(["old", "new"])


def test_a_long_page_is_compared_line_by_line(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add_page("/robots.txt", "".join(LINES))
    place.add("/from", "/a/long/path/to/something/old/index.html")
    place.publish()
    changed = "".join([*LINES[:49], "Disallow: /new/50/\n", *LINES[50:]])
    place.ask("PATCH", f"/draft/pages/{made['id']}", 200, json={"content": changed})
    rule = place.get("/draft/redirects")["items"][0]
    target = {"target": "/a/long/path/to/something/new/index.html"}
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json=target)
    body = {"branch": "team/robots", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    change = page.locator(".change", has_text="/robots.txt")
    shows_lines(change, "Disallow: /old/50/", "Disallow: /new/50/")
    expect(page.locator(".change", has_text="/from").locator("mark")).to_have_text(["old", "new"])
    assert violations(page) == []
    page.goto(f"/dashboard/proposal/{place.namespace}/{made['id']}")
    shows_lines(change, "Disallow: /old/50/", "Disallow: /new/50/")
    place.publish()
    page.goto(view(place, "/history?version=3"))
    shows_lines(change, "Disallow: /old/50/", "Disallow: /new/50/")
    assert violations(page) == []


def test_conflicts_of_a_page_a_file_and_a_whole_rule_show_what_each_side_did(world: World, new_page: Opens) -> None:
    place = world.place()
    made = place.add_page("/robots.txt", "".join(LINES))
    rule = place.add("/a", note="kept")
    place.publish()
    for draft, word in (("main", "mine"), ("other", "theirs")):
        content = "".join([*LINES[:49], f"Disallow: /{word}/50/\n", *LINES[50:]])
        place.ask("PATCH", f"/draft/pages/{made['id']}?draft={draft}", 200, json={"content": content})
        tests = {"tests": [{"url": f"/{word}", "status": 404}]}
        place.ask("PUT", f"/draft/tests?draft={draft}", 200, json=tests)
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"target": "/mine"})
    place.ask("DELETE", f"/draft/redirects/{rule['id']}?draft=other", 204)
    place.ask("POST", "/publish?draft=other", 200)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    expect(page.get_by_role("heading", name="3 conflicts with what was published meanwhile")).to_be_visible()
    text, file, whole = (page.get_by_role("group", name=name) for name in ("/robots.txt", "tests.yaml", "/a the whole"))
    mine, theirs = (text.locator(".side", has_text=name) for name in ("The draft", "Published"))
    expect(mine.locator(".line.new .text")).to_have_text("Added: Disallow: /mine/50/")
    expect(theirs.locator(".line.new .text")).to_have_text("Added: Disallow: /theirs/50/")
    expect(file.locator(".line.new")).to_contain_text(["/mine", "/theirs"])
    expect(whole.locator(".side dt")).to_have_text(["target"])
    expect(whole.locator(".side", has_text="The draft").locator("ins")).to_contain_text("/mine")
    expect(whole.locator(".side", has_text="Published")).to_contain_text("removed")
    assert violations(page) == []
    for group in (text, file, whole):
        group.get_by_role("radio", name="The draft").check()
    page.get_by_role("button", name="Resolve 3 conflicts").click()
    expect(page.get_by_role("heading", name="3 conflicts")).to_be_hidden()
    assert drafted(place) == {"/a": "/mine"}
    assert place.get("/draft")["conflicts"] == []


def test_a_pasted_url_is_searched_for_by_its_path_and_words_by_themselves(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old/product-1.html", "/old/product-2.html")
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    search = page.get_by_role("searchbox")
    search.fill("https://shop.example.com/old/product-2.html")
    page.get_by_role("link", name="Search for /old/product-2.html").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(search).to_have_value("/old/product-2.html")
    search.fill("html product-1")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody mark")).to_have_text(["html"])
