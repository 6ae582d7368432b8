"""A draft or release that moves while one reads it: what is then shown is read by axe, and fits any width."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_editing import view
from tests.dashboard.test_every_view import HOSTILE, WIDTHS, faults_of, look
from tests.dashboard.test_tabs import one_stream
from tests.e2e.world import Place, World

Opens = Callable[..., Page]
OVERTAKEN = "What changed meanwhile"
MET = "What someone else has made of it"


class Scene(NamedTuple):
    """A page of someone who reads, beside others who change what it shows."""

    page: Page
    place: Place

    def read(self, part: str) -> None:
        """Sign in, open a view of the project, and wait until the page hears of what others do."""
        sign_in(self.page, self.place.world.user("admin"), view(self.place, part))
        one_stream(self.place.world)

    def press(self, name: str) -> None:
        """Press the first button of a name."""
        self.page.get_by_role("button", name=name).first.click()

    def region(self, name: str) -> None:
        """Wait for a region."""
        expect(self.page.get_by_role("region", name=name)).to_be_visible()

    def say(self, text: str) -> None:
        """Wait for a text."""
        expect(self.page.get_by_text(text).first).to_be_visible()


def _edit(scene: Scene) -> str:
    """Type into the form of a rule; return its path."""
    rule = scene.place.add("/met", note="Before")["id"]
    scene.read(f"?edit={rule}")
    scene.page.get_by_role("dialog").get_by_label("Target").fill("/mine")
    return f"/draft/redirects/{rule}"


def edit_a_changed_rule(scene: Scene) -> None:
    path = _edit(scene)
    scene.place.ask("PATCH", path, 200, json={"target": "/theirs", "note": HOSTILE, "tags": ["<b>tag</b>"]})
    scene.region(MET)


def edit_a_removed_rule(scene: Scene) -> None:
    scene.place.ask("DELETE", _edit(scene), 204)
    scene.region(MET)


def edit_a_changed_page(scene: Scene) -> None:
    page = scene.place.add_page("/met.txt", "First\nLine")["id"]
    scene.read(f"/pages?edit={page}")
    scene.page.get_by_role("dialog").get_by_label("Path").fill("/mine.txt")
    scene.place.ask("PATCH", f"/draft/pages/{page}", 200, json={"content": f"Second\n{HOSTILE}"})
    scene.region(MET)


def _begin(scene: Scene, button: str) -> None:
    scene.place.add("/mine", note=HOSTILE)
    scene.read("/draft")
    scene.press(button)


def publish_a_draft_that_moved(scene: Scene) -> None:
    _begin(scene, "Publish …")
    scene.place.add("/theirs", note=HOSTILE)
    scene.region(OVERTAKEN)


def publish_a_draft_that_is_published(scene: Scene) -> None:
    _begin(scene, "Publish …")
    scene.page.get_by_label("Message").fill(HOSTILE)
    scene.place.publish(message=HOSTILE)
    scene.region("Your message")


def publish_a_draft_that_is_discarded(scene: Scene) -> None:
    _begin(scene, "Publish …")
    scene.place.ask("DELETE", "/draft", 204)
    scene.say("The draft has ended")


def discard_a_draft_that_moved(scene: Scene) -> None:
    _begin(scene, "Discard all …")
    scene.place.add("/theirs", note=HOSTILE)
    scene.region(OVERTAKEN)


def approve_a_draft_that_moved(scene: Scene) -> None:
    scene.place.ask("PATCH", "", 200, json={"review": "required"})
    scene.place.add("/mine")
    scene.place.ask("POST", "/draft/review", 200, json={"action": "request", "head": scene.place.get("/draft")["head"]})
    scene.read("/draft")
    expect(scene.page.get_by_role("button", name="✓ Approve")).to_be_visible()
    scene.place.add("/theirs", note=HOSTILE)
    scene.say("has changed since you began to look at it")


def roll_back_while_release_moves(scene: Scene) -> None:
    for source in ("/a", "/b"):
        scene.place.published(source)
    scene.read("/history?version=2")
    scene.press("Roll back to this")
    scene.place.add("/c")
    scene.place.publish(message=HOSTILE)
    scene.region(OVERTAKEN)


def _tear(scene: Scene) -> Callable[[str], None]:
    """Change a rule in the draft and in release; return what publishes another note of it."""
    scene.place.published("/torn")
    [rule] = scene.place.get("/draft/redirects")["items"]

    def publish(note: str) -> None:
        scene.place.ask("PATCH", f"/draft/redirects/{rule['id']}?draft=other", 200, json={"note": note})
        scene.place.ask("POST", "/publish?draft=other", 200)

    scene.place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": f"Mine {HOSTILE}"})
    publish("Theirs")
    scene.read("/draft")
    scene.page.get_by_role("radio").first.check()
    return publish


def choose_while_release_moves(scene: Scene) -> None:
    publish = _tear(scene)
    publish(f"Theirs again {HOSTILE}")
    scene.say("Theirs again")


def resolve_while_release_moves(scene: Scene) -> None:
    publish = _tear(scene)

    def overtake(route: Route) -> None:
        publish(f"Theirs again {HOSTILE}")
        route.continue_()

    scene.page.route("**/resolve?*", overtake, times=1)
    scene.press("Resolve 1 conflict")
    scene.say("Someone has published or changed something while you chose")
    scene.say("Theirs again")


def merge_a_branch_while_release_moves(scene: Scene) -> None:
    place = scene.place
    [rule] = place.published("/torn") and place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{rule['id']}", 200, json={"note": f"Mine {HOSTILE}"})
    body = {"branch": "team/torn", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()["id"]
    sign_in(scene.page, place.world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made}")
    one_stream(place.world)
    scene.press("Merge and publish …")
    place.ask("PATCH", f"/draft/redirects/{rule['id']}?draft=other", 200, json={"note": f"Theirs {HOSTILE}"})
    place.ask("POST", "/publish?draft=other", 200)
    expect(scene.page.locator(".conflicts")).to_be_attached()


MOVES = (
    edit_a_changed_rule,
    edit_a_removed_rule,
    edit_a_changed_page,
    publish_a_draft_that_moved,
    publish_a_draft_that_is_published,
    publish_a_draft_that_is_discarded,
    discard_a_draft_that_moved,
    approve_a_draft_that_moved,
    roll_back_while_release_moves,
    choose_while_release_moves,
    resolve_while_release_moves,
    merge_a_branch_while_release_moves,
)
# What the browser is refused, which it writes to the console: a record that is gone, and choices for another release.
REFUSED: dict[Callable[[Scene], None], int] = {edit_a_removed_rule: 404, resolve_while_release_moves: 409}


@pytest.mark.parametrize("move", MOVES, ids=lambda move: str(move.__name__))
def test_what_moved_while_one_reads_is_read_by_axe_and_fits_any_width(
    world: World, new_page: Opens, move: Callable[[Scene], None]
) -> None:
    page = new_page(refused=REFUSED.get(move, 0))
    look(page, "light", WIDTHS[0])
    move(Scene(page, world.place()))
    page.wait_for_load_state("networkidle")
    assert faults_of(page) == []
