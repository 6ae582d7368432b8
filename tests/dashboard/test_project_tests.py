"""Tests of a project in the dashboard: what changes in them, and how a failing one is fixed."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import hold, view
from tests.dashboard.test_history import TSV
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World

Opens = Callable[..., Page]


def keep_tests(place: Place, *tests: tuple[str, int]) -> None:
    """Have exactly these tests in the draft."""
    place.ask("PUT", "/draft/tests", 200, json={"tests": [{"url": url, "status": status} for url, status in tests]})


def test_changed_tests_are_shown_and_counted_wherever_a_state_is_compared(world: World, new_page: Opens) -> None:
    """Also in the question before a publish, and in that before a rollback, which changes them back."""
    place = world.place()
    place.add("/a")
    keep_tests(place, ("/a", 301), ("/guard", 404))
    place.publish()
    place.add("/b")
    keep_tests(place, ("/a", 301), ("/c", 404))
    proposal = place.root.ask(
        "POST", f"{place.space}/proposals", 201, json={"branch": "team/tests", "project": place.project}
    ).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{proposal}")
    counts = "1 redirect added; 1 test added, 1 removed"
    main = page.get_by_role("main")
    expect(main).to_contain_text(counts)
    shows_tests(main)
    page.goto(view(place, "/draft"))
    expect(main.locator(".summary")).to_contain_text(counts)
    shows_tests(main)
    assert violations(page) == []
    page.get_by_role("button", name="Publish …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(counts)
    dialog.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("This is publish 3")).to_be_visible()
    page.goto(view(place, "/history?version=3"))
    shows_tests(main)
    page.get_by_role("button", name="Roll back to publish 2").click()
    expect(dialog).to_contain_text("1 redirect removed; 1 test added, 1 removed")
    expect(dialog.locator(".change.added")).to_contain_text("/guard")
    assert violations(page) == []
    page.goto(view(place, "/history?from=2&to=3"))
    expect(main).to_contain_text(counts)
    shows_tests(main)


def shows_tests(where: Locator) -> None:
    """Expect the removed and the added test, each with its URL and answer."""
    files = where.get_by_role("region", name="Files beside the rules")
    expect(files.locator(".change.removed")).to_contain_text("/guard")
    expect(files.locator(".change.removed")).to_contain_text("404")
    expect(files.locator(".change.added")).to_contain_text("/c")


def test_a_rollback_does_not_claim_to_change_settings(world: World, new_page: Opens) -> None:
    """The settings of a project stay as they are."""
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.ask("PATCH", "", 200, json={"title": "Another"})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/history?version=2"))
    page.get_by_role("button", name="Roll back to this").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".change.removed")).to_contain_text("/b")
    expect(dialog).not_to_contain_text("beside the rules")


def test_a_failing_test_is_reached_from_the_draft_and_takes_the_new_answer(world: World, new_page: Opens) -> None:
    """Others see which grant that needs."""
    place = world.place()
    keep_tests(place, ("/other", 404), ("/a", 404))
    place.add("/a", "/right")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    page.get_by_role("link", name="Show the test").click()
    tests = page.get_by_role("region", name="Tests of the project")
    marked = tests.locator("[aria-current]")
    expect(marked).to_contain_text("gets 301 to /right")
    expect(marked).to_be_focused()
    assert violations(page) == []
    marked.get_by_role("button", name="Take the new answer of /a").click()
    expect(tests).to_contain_text("2 tests pass")
    found = [(each["url"], each["status"], each["location"]) for each in place.get("/draft/tests")["tests"]]
    assert found == [("/other", 404, None), ("/a", 301, "/right")]
    page.get_by_role("button", name="Undo").click()
    expect(tests).to_contain_text("1 of 2 tests fails")
    found = [(each["url"], each["status"], each["location"]) for each in place.get("/draft/tests")["tests"]]
    assert found == [("/other", 404, None), ("/a", 404, None)]
    page = new_page()
    sign_in(page, world.user("viewer"), view(place, "/test"))
    expect(listed_tests(page)).to_contain_text("Only those with the grant project:write may change the tests")
    expect(listed_tests(page).get_by_role("button", name="Take the new answer")).to_have_count(0)


def test_a_test_that_is_written_is_said_to_be_so_where_it_cannot_be_read_again(world: World, new_page: Opens) -> None:
    place = world.place()
    keep_tests(place, ("/a", 404))
    place.add("/a", "/right")
    page = new_page(refused=503)
    sign_in(page, world.user("admin"), view(place, "/test"))
    written = list[str]()

    def refuse_reads(route: Route) -> None:
        if route.request.method == "PUT":
            written.append(route.request.url)
        if written and route.request.method == "GET":
            route.fulfill(status=503, json={"error": {"code": "busy", "message": "Busy."}})
        else:
            route.fallback()

    page.route("**/draft/tests?*", refuse_reads)
    listed_tests(page).get_by_role("button", name="Take the new answer of /a").click()
    expect(page.get_by_text("The test of /a expects what the draft answers")).to_be_visible()
    assert [(each["url"], each["status"]) for each in place.get("/draft/tests")["tests"]] == [("/a", 301)]


def test_a_publisher_reads_why_answers_cannot_be_kept_where_the_button_would_be(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    page = new_page()
    sign_in(page, world.user("publisher"), view(place, "/test"))
    expect(listed_tests(page)).to_contain_text("None yet")
    expect(listed_tests(page)).to_contain_text("Only those with the grant project:write may change the tests")
    page.get_by_label("URLs or paths").fill("/a")
    page.get_by_role("button", name="Test 1 URL").click()
    results = page.get_by_role("region", name="Results")
    expect(results).to_contain_text("Only those with the grant project:write may change the tests")
    expect(results.get_by_role("button", name="Keep as tests")).to_have_count(0)


def listed_tests(page: Page) -> Locator:
    """Return the list of the project's tests."""
    return page.get_by_role("region", name="Tests of the project")


def test_kept_answers_replace_those_of_their_url_and_tell_what_fails_in_the_draft(
    world: World, new_page: Opens
) -> None:
    """A URL that is pasted twice counts once, and one that cannot be requested is not counted as tested."""
    place = world.place()
    place.published("/a")
    keep_tests(place, ("/a", 404), ("/a", 200), ("/kept", 404))
    place.add("/b")
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test"))
    page.get_by_label("In the state").select_option("published")
    page.get_by_label("Compare with").select_option("Nothing")
    page.get_by_label("URLs or paths").fill("/a\n/b\n/a\nhttp://[")
    page.get_by_role("button", name="Test 3 URLs").click()
    results = page.get_by_role("region", name="Results")
    expect(results).to_contain_text("2 URLs tested, 1 not tested.")
    results.get_by_role("button", name="Keep as tests").click()
    expect(results).to_contain_text("1 test added, 1 replaced in the draft.")
    found = [(each["url"], each["status"]) for each in place.get("/draft/tests")["tests"]]
    assert found == [("/a", 301), ("/kept", 404), ("/b", 404)]
    results.get_by_role("link", name="1 of 2 fails in the draft").click()
    expect(listed_tests(page).locator(".change")).to_have_count(1)
    expect(listed_tests(page)).to_contain_text("✕ Fails It gets 301")
    assert violations(page) == []


def test_on_a_phone_the_url_of_a_test_is_above_what_can_be_done_with_it(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    keep_tests(place, ("/a", 301))
    page = new_page(viewport={"width": 390, "height": 844})
    sign_in(page, world.user("admin"), view(place, "/test"))
    name, button = listed_tests(page).locator(".name"), listed_tests(page).get_by_role("button", name="Remove")
    tops = [found.bounding_box() for found in (name, button)]
    assert tops[0]
    assert tops[1]
    assert tops[0]["y"] < tops[1]["y"]


def test_the_impact_claims_no_more_than_is_known(world: World, new_page: Opens) -> None:
    """Of a regular expression only examples are known, and of many answers the first are listed."""
    place = world.place()
    rows = "".join(f"BASIC\t/r/{number}\t/to\t301\n" for number in range(120))
    place.ask("POST", "/import", 200, content=f"type\tsource\ttarget\tstatus\n{rows}", headers=TSV)
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    impact = page.get_by_role("region", name="What it changes for visitors")
    expect(impact).to_contain_text("The first 100 of 120 are listed.")
    expect(impact).to_contain_text("Compared with the publish from which this began")
    expect(impact).not_to_contain_text("At least")
    place.add("^/x/[0-9]+$", "/to", type="REGEX")
    expect(impact).to_contain_text("At least 120 requests are answered in another way")
    expect(impact).to_contain_text("only examples are known")
    assert violations(page) == []


def test_a_failing_test_of_a_proposal_leads_to_what_its_url_gets_in_the_branch(world: World, new_page: Opens) -> None:
    place = world.place()
    keep_tests(place, ("/a", 404))
    place.publish()
    place.add("/a")
    body = {"branch": "team/tests", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made}")
    page.get_by_role("region", name="Problems of shop").get_by_role("link", name="Show what it gets").click()
    expect(page.get_by_label("URLs or paths, one per line")).to_have_value("/a")
    results = page.get_by_role("region", name="Results")
    expect(results).to_contain_text("301")  # release has no such rule
    expect(results).to_contain_text("shop/redirects.yaml")


# Both places at one moment: what is above them can move them.
IS_BELOW_NAME = """each => each.closest(".change").querySelector(".name").getBoundingClientRect().bottom
    <= each.getBoundingClientRect().top"""


def test_on_a_phone_a_result_begins_with_its_url_and_says_a_loop_once(world: World, new_page: Opens) -> None:
    place = world.place()
    place.add("/same", "/new")
    place.publish()
    place.add("/a", "/b")
    place.add("/b", "/a")
    page = new_page(viewport={"width": 390, "height": 900})
    sign_in(page, world.user("admin"), view(place, "/test"))
    page.get_by_label("URLs").fill("/a\n/same")
    page.get_by_role("button", name="Test 2 URLs").click()
    results = page.get_by_role("region", name="Results").locator(".change")
    for result, text, below in ((results.nth(0), "/a", "≠ Differs"), (results.nth(1), "/same", "The same in both")):
        expect(result.locator(".name")).to_have_text(text)
        badge = result.get_by_text(below)
        expect(badge).to_be_visible()
        assert badge.evaluate(IS_BELOW_NAME)
    expect(results.nth(0).get_by_text("The redirects go in a circle")).to_have_count(1)
    expect(results.nth(0).get_by_role("list", name="The chain").first.get_by_role("listitem")).to_have_text(
        ["/a → 301 /b", "/b → 301 /a"]
    )
    assert violations(page) == []


def test_who_is_quicker_than_the_list_of_drafts_tests_the_draft(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/same")
    place.add("/a", "/b")
    page = new_page()
    held = hold(page, "**/shop/drafts")
    sign_in(page, world.user("admin"), view(place, "/test"))
    page.get_by_label("URLs").fill("/a")
    page.get_by_role("button", name="Test 1 URL").click()
    expect(page.get_by_role("button", name="Test 1 URL")).to_be_disabled()
    for route in held:
        route.continue_()
    expect(page.get_by_role("region", name="Results").get_by_text("≠ Differs")).to_be_visible()
    expect(page.get_by_label("In the state")).to_have_value("draft")


def test_why_a_test_fails_repeats_nothing_of_the_test(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/a")
    tests = [{"url": "/a", "status": 301, "location": "/old"}, {"url": "/gone", "status": 301}]
    place.ask("PUT", "/draft/tests", 200, json={"tests": tests})
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/test"))
    failing = listed_tests(page).locator(".change p")
    expect(failing).to_have_text(
        ['✕ Fails It gets 301 to /new by the rule "/a"', "✕ Fails It gets 404: no rule matches"]
    )


def test_changes_of_tests_are_discarded_one_by_one_in_the_draft(world: World, new_page: Opens) -> None:
    """A removed, a changed and an added one; the keyboard goes on with the next, and Undo brings the change back."""
    place = world.place()
    keep_tests(place, ("/a", 404), ("/b", 404))
    place.publish()
    place.add("/x")
    keep_tests(place, ("/b", 301), ("/c", 404))
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    files = page.get_by_role("region", name="Files beside the rules")

    def tests() -> list[tuple[str, int]]:
        return [(each["url"], each["status"]) for each in place.get("/draft/tests")["tests"]]

    files.get_by_role("button", name="Discard the change of the test of /a").press("Enter")
    expect(page.get_by_text("The change of the test of /a is discarded.")).to_be_visible()
    expect(files.locator(".change")).to_have_count(2)
    assert tests() == [("/b", 301), ("/c", 404), ("/a", 404)]
    page.get_by_role("button", name="Undo").click()
    expect(files.locator(".change.removed")).to_contain_text("/a")
    assert tests() == [("/b", 301), ("/c", 404)]
    for url, left in (("/b", 2), ("/c", 1)):
        files.get_by_role("button", name=f"Discard the change of the test of {url}").press("Enter")
        expect(files.locator(".change")).to_have_count(left)
    assert tests() == [("/b", 404)]
    assert violations(page) == []
