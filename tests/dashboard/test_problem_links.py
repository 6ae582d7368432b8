"""Problems lead to what has them: a rule or page of a draft to its form, one of a proposal to its change or to its list."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import World

Opens = Callable[..., Page]


def test_a_problem_of_a_draft_leads_to_the_form_of_its_rule_or_page(world: World, new_page: Opens) -> None:
    """Also one of a rule that the draft does not change; what the draft brings leads to its change too."""
    place = world.place()
    place.add("/mid", "/end")
    place.add("/chain", "/mid")
    place.publish()
    place.add("/hidden.txt")
    place.add_page("/hidden.txt")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    problems = page.get_by_role("region", name="Problems")
    old = problems.get_by_role("listitem").filter(has=page.get_by_role("link", name="/chain", exact=True))
    expect(old.get_by_text("New", exact=True)).to_have_count(0)
    assert violations(page) == []
    old.get_by_role("link").click()
    expect(page.get_by_role("dialog", name="Edit the redirect").get_by_label("Source")).to_have_value("/chain")
    page.go_back()
    new = problems.get_by_role("listitem").filter(has=page.get_by_role("link", name="/hidden.txt", exact=True))
    change = view(place, "/draft?q=%2Fhidden.txt")
    expect(new.get_by_role("link", name="/hidden.txt", exact=True)).to_have_attribute("href", change)
    new.get_by_role("link", name="Open /hidden.txt").click()
    expect(page.get_by_role("dialog", name="Edit the page").get_by_label("Path")).to_have_value("/hidden.txt")


def test_errors_come_first_are_new_and_a_fix_stands_beside_its_warning(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/chain", "/mid")
    place.add("/mid", "/end")
    place.add("/zz", "/zzz")
    place.publish()
    place.add("/zzz", "/zz")
    found = place.get("/draft")["problems"]
    assert found[0]["code"] == "chain"
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    problems = page.get_by_role("region", name="Problems").get_by_role("listitem")
    expect(problems).to_have_count(len(found))
    expect(problems.first).to_contain_text("Error")
    expect(problems.first.get_by_text("New", exact=True)).to_be_visible()
    expect(problems.last).to_contain_text("Warning")
    expect(problems.last.get_by_text("New", exact=True)).to_have_count(0)
    problems.last.get_by_role("button", name="Fix /chain").click()
    expect(problems).to_have_count(len(found) - 1)
    [fixed] = place.get("/draft/redirects", source="/chain")["items"]
    assert fixed["target"] == "/end"


def test_a_problem_of_a_proposal_leads_to_its_change_or_to_its_list(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/a", "/b")
    place.publish()
    place.add("/b", "/a")
    body = {"branch": "team/loop", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made}")
    problems = page.get_by_role("region", name="Problems of shop")
    problems.get_by_role("link", name="/b", exact=True).click()
    expect(page.locator(".change:target")).to_contain_text("/b")
    expect(page.locator(".change:target")).to_be_in_viewport()
    assert violations(page) == []
    problems.get_by_role("link", name="/a", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(2)  # that of the draft, and /a whose target has it
    expect(page.get_by_label("Search source, target and note")).to_have_value("/a")


def test_only_who_may_read_every_kind_is_told_what_a_problem_is_about(world: World) -> None:
    place = world.place()
    place.add("/mid", "/end")
    place.add("/chain", "/mid")
    [problem] = place.get("/draft")["problems"]
    assert (problem["kind"], problem["source"]) == ("redirect", "/chain")
    assert place.get(f"/draft/redirects/{problem['id']}")["source"] == "/chain"
    [withheld] = place.holder(("project", "read"), ("redirect", "read")).get("/draft")["problems"]
    assert withheld.keys() == {"file", "line", "code", "severity", "message"}
