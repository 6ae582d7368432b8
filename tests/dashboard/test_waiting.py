"""The overview begins with the drafts and proposals that wait for the reader, and leads to all others."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import Place, World, redirect

Opens = Callable[..., Page]


def someone(world: World, place: Place, *actions: str) -> str:
    """Return a user who may do this with the projects of one namespace, and sees no other one."""
    grants = [
        {"namespace": place.namespace, "project": "*", "resource": "project", "action": each}
        for each in ("read", *actions)
    ]
    name = f"waits-in-{place.namespace}"
    world.person("admin").ask("POST", "/api/roles", 201, json={"name": name, "description": "", "grants": grants})
    return world.user(name)


def test_an_old_review_that_waits_for_me_is_first_and_all_others_can_be_reached(world: World, new_page: Opens) -> None:
    place = world.place()
    for name in ("z-asked", *(f"other-{number}" for number in range(51))):
        place.ask("POST", f"/draft/redirects?draft={name}", 201, json=redirect(f"/{name}"))
    head = place.get("/draft?draft=z-asked")["head"]
    page = new_page()
    sign_in(page, someone(world, place, "review"))
    waiting = page.get_by_role("region", name="Waiting")
    rows = waiting.get_by_role("listitem")
    expect(waiting.get_by_role("heading")).to_have_text("Waiting 52")
    expect(rows).to_have_count(50)
    expect(waiting).not_to_contain_text("z-asked")
    place.ask(
        "POST",
        "/draft/review?draft=z-asked",
        200,
        json={"action": "request", "head": head, "note": "Please have a look.\nIt is for Friday."},
    )
    expect(rows.first).to_contain_text("(z-asked)")
    expect(rows.first).to_contain_text("You may review it · 1 redirect added · e2e asks: Please have a look.")
    expect(page.get_by_role("region", name=place.namespace)).to_contain_text("52 drafts open")
    waiting.get_by_role("link", name="And 2 more").click()
    expect(rows).to_have_count(2)
    assert violations(page) == []
    waiting.get_by_role("link", name="Before these").click()
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("(z-asked)")
    verdict = {"action": "reject", "head": head, "note": "Not before Friday.\nSo no."}
    place.as_(world.person("publisher")).ask("POST", "/draft/review?draft=z-asked", 200, json=verdict)
    waiting.get_by_role("link", name="And 2 more").click()
    expect(page.get_by_text("Rejected by Ada Lovelace: Not before Friday.", exact=True)).to_be_visible()


def test_a_proposal_that_waits_says_what_it_changes_and_why(world: World, new_page: Opens) -> None:
    place = world.place()
    place.published("/old")
    place.add("/sale")
    place.ask(
        "PATCH", f"/draft/redirects/{place.get('/draft/redirects')['items'][0]['id']}", 200, json={"target": "/winter"}
    )
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json={"branch": "sale", "project": place.project})
    review = {"action": "request", "head": made.json()["head"], "note": "Marketing wants it by Friday."}
    place.root.ask("POST", f"{place.space}/proposal/{made.json()['id']}/review", 200, json=review)
    page = new_page()
    sign_in(page, someone(world, place, "review"))
    row = page.get_by_role("region", name="Waiting").get_by_role("listitem").filter(has_text="Proposal open")
    expect(row).to_contain_text("You may review it · shop · 2 changes · e2e asks: Marketing wants it by Friday.")


def test_the_proposals_of_a_project_are_listed_and_paged(world: World, new_page: Opens) -> None:
    place = world.place()
    page = new_page()
    sign_in(page, world.user("admin"), view(place))
    page.get_by_role("link", name="Proposals", exact=True).click()
    expect(page.get_by_role("heading", name="No proposals")).to_be_visible()
    place.add("/sale")
    for number in range(51):
        body = {"branch": f"sale-{number}", "project": place.project}
        place.root.ask("POST", f"{place.space}/proposals", 201, json=body)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("Proposal open")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Next").click()
    expect(rows).to_have_count(1)
    assert violations(page) == []
    rows.get_by_role("link").click()
    expect(page.locator(".change.added")).to_contain_text("/sale")
