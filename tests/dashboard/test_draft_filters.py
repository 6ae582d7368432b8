"""The list of changes of a large draft: searched, filtered by the kind of change, and reached from a problem."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_pages import violations
from tests.e2e.world import World

Opens = Callable[..., Page]


def test_changes_of_a_draft_are_searched_and_filtered_and_a_problem_leads_to_its_change(
    world: World, new_page: Opens
) -> None:
    place = world.place()
    place.published("/gone")
    fields = {"type": "BASIC", "target": "/new", "status": "FOUND"}
    place.ask(
        "POST",
        "/draft/changes",
        200,
        json=[
            *(
                {"op": "put", "kind": "redirect", "item": {**fields, "source": f"/{number:03}"}}
                for number in range(119)
            ),
            {"op": "put", "kind": "redirect", "item": {**fields, "source": "/chained", "target": "/118"}},
            {"op": "delete", "kind": "redirect", "source": "/gone"},
        ],
    )
    page = new_page()
    sign_in(page, world.user("admin"), view(place, "/draft"))
    changes = page.locator(".changes > .change")
    expect(changes).to_have_count(50)
    page.get_by_label("Choose the change of /000").check()
    page.get_by_label("Search source, target and note").fill("/117")
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("/117")
    expect(page).to_have_url(re.compile(r"q=%2F117"))
    expect(page.get_by_role("button", name="Publish 1 change …")).to_be_visible()  # the chosen one is not shown now
    page.get_by_label("Kind of change").select_option("removed")
    page.get_by_role("link", name="Show all 121 changes").click()
    expect(changes).to_have_count(50)
    page.get_by_label("Kind of change").select_option("removed")
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("/gone")
    assert violations(page) == []
    page.reload()
    expect(changes).to_have_count(1)
    page.get_by_role("region", name="Problems").get_by_role("link", name="/chained", exact=True).click()
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("/118")
