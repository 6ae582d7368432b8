"""Code owners in the dashboard: whom to ask in the draft, and what waits for me in the overview."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import sign_in
from tests.e2e.git import Clone
from tests.e2e.world import World

Opens = Callable[..., Page]
MARK = "Waits for you, an owner of what it changes"


def test_a_draft_names_its_owners_and_waits_for_them(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    owner, other = world.user("publisher"), world.user("publisher")
    Clone.of(place.repository, tmp_path / "clone").publish("CODEOWNERS", f"/shop/ @{owner}\n")
    place.add("/a")
    asking, owning, looking = (new_page() for _ in range(3))
    draft = f"/dashboard/project/{place.namespace}/shop/draft"
    sign_in(asking, world.user("editor"), draft)
    owners = asking.get_by_label("Code owners")
    expect(owners).to_contain_text(f"Ada Lovelace ({owner})")
    shown = (
        f"A request will be shown to Ada Lovelace ({owner}) (owners of what it changes), and to everyone who may review"
    )
    expect(asking.get_by_text(shown)).to_be_visible()
    row = f"{place.namespace} / shop"
    sign_in(owning, owner)
    waiting = owning.locator(".waiting li", has_text=row)
    expect(waiting).to_be_visible()
    expect(waiting).not_to_contain_text(MARK)  # no one has asked yet
    asking.get_by_role("button", name="Ask for a review", exact=True).click()
    expect(waiting).to_contain_text(MARK)
    sign_in(looking, other)
    expect(looking.locator(".waiting li", has_text=row)).to_contain_text("You may review it")
    owning.goto(draft)
    owning.get_by_role("button", name="✓ Approve").click()
    expect(owning.get_by_label("Code owners")).to_have_count(0)
    owning.goto("/")
    expect(waiting).to_be_visible()
    expect(waiting).not_to_contain_text(MARK)
