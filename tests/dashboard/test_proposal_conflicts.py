"""Conflicts of a proposal in the dashboard: side by side, with a choice for each field, and one merge of release."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.dashboard.conftest import sign_in
from tests.dashboard.test_pages import violations
from tests.dashboard.test_tabs import one_stream
from tests.e2e.git import Clone, check_repository, git
from tests.e2e.world import Place, World

Opens = Callable[..., Page]
PHONE = {"width": 390, "height": 844}
ADDRESS = "/dashboard/proposal/{}/{}"
UPDATE = "**/proposal/*/update"
PAGE = "pages:\n  - {type: BASIC, path: /p, contentType: TEXT_PLAIN, "


def yaml(**targets: str) -> str:
    """Return redirects with the note `base`, but for those with another one in `target note`."""
    lines = ["redirects:"]
    for source, words in targets.items():
        target, note = (*words.split(), "base")[:2]
        lines.append(f"  - {{type: BASIC, source: /{source}, target: /{target}, status: 301, note: {note}}}")
    return "\n".join([*lines, ""])


class Pushed:
    """A branch `team/sale` of a namespace, and release, both pushed by C git from one clone."""

    def __init__(self, place: Place, folder: Path, base: dict[str, str]) -> None:
        self.place = place
        self._clone = Clone.of(place.repository, folder)
        self.push("release", base)
        git(self._clone.folder, "push", "-q", "origin", "HEAD:refs/heads/team/sale")
        self.address = ADDRESS.format(place.namespace, sha256(b"team/sale").hexdigest()[:16])

    def push(self, branch: str, files: Mapping[str, str | None]) -> str:
        """Push a commit on top of a branch; return it."""
        git(self._clone.folder, "fetch", "-q", "origin")
        git(self._clone.folder, "checkout", "-q", "--detach", f"origin/{branch}")
        for path, text in files.items():
            if text is None:
                (self._clone.folder / path).unlink()
            else:
                self._clone.write(path, text)
        commit = self._clone.commit()
        self._clone.push(branch)
        return commit

    def git(self, *words: str) -> str:
        """Return the output of C git in the repository."""
        return git(self.place.repository, *words)


@pytest.fixture
def pushed(world: World, tmp_path: Path) -> Pushed:
    """Return a branch with three redirects that release has too."""
    return Pushed(world.place(), tmp_path / "clone", {"shop/redirects.yaml": yaml(a="base", b="base", c="base")})


def button(page: Page, name: str = "Resolve") -> Locator:
    return page.locator(".conflicts").get_by_role("button", name=name)


def take(page: Page, group: str, side: str) -> None:
    page.get_by_role("group", name=group).get_by_role("radio", name=side).check()


def test_two_people_meet_in_a_branch_and_the_conflict_is_resolved_and_merged(pushed: Pushed, new_page: Opens) -> None:
    """One pushes a branch by Git, the other publishes in a browser; then each field is chosen, and all is merged."""
    place = pushed.place
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine mine", b="base", c="mine")})
    author, other = new_page(), new_page()
    sign_in(author, place.world.user("publisher"), pushed.address)
    expect(author.locator(".change")).to_have_count(2)
    expect(author.locator(".conflicts")).to_have_count(0)
    rules = {each["source"]: each for each in place.get("/draft/redirects")["items"]}
    for source, fields in (("/a", {"target": "/theirs", "note": "theirs"}), ("/b", {"target": "/theirs"})):
        place.ask("PATCH", f"/draft/redirects/{rules[source]['id']}", 200, json=fields)
    one_stream(place.world)
    sign_in(other, place.world.user("publisher"), f"/dashboard/project/{place.namespace}/shop/draft")
    other.get_by_role("button", name="Publish …").click()
    other.get_by_role("dialog").get_by_role("button", name="Publish", exact=True).click()
    expect(other.get_by_text("This is publish")).to_be_visible()
    expect(author.get_by_role("heading", name="2 conflicts with what was published meanwhile")).to_be_visible()
    expect(author.get_by_role("group", name="/a Target in shop")).to_contain_text("It was /base")
    assert violations(author) == []
    expect(author.get_by_role("button", name="Merge and publish …")).to_be_disabled()
    expect(button(author)).to_be_disabled()
    take(author, "/a target", "The branch")
    expect(author.get_by_text("1 of 2 chosen")).to_be_visible()
    expect(button(author)).to_be_disabled()
    take(author, "/a note", "Published")
    head, release = pushed.git("rev-parse", "team/sale"), pushed.git("rev-parse", "release")
    button(author, "Resolve 2 conflicts").click()
    expect(author.get_by_text("2 conflicts resolved, and release is merged into the branch.")).to_be_visible()
    expect(author.locator(".conflicts")).to_have_count(0)
    assert pushed.git("rev-list", "--parents", "-1", "team/sale").split()[1:] == [head, release]
    expect(author.get_by_text("to approve it is to approve your own change")).to_be_visible()
    expect(author.get_by_text("has changed since you began to look at it")).to_have_count(0)
    author.get_by_role("button", name="Merge and publish …").click()
    author.get_by_role("dialog").get_by_role("button", name="Merge and publish").click()
    expect(author.get_by_role("dialog", name="Published")).to_contain_text("2 redirects changed")
    found = {each["source"]: (each["target"], each["note"]) for each in place.get("/draft/redirects")["items"]}
    assert found == {"/a": ("/mine", "theirs"), "/b": ("/theirs", "base"), "/c": ("/mine", "base")}
    check_repository(place.repository)


def test_a_draft_with_conflicts_says_what_is_not_known_of_it(world: World, new_page: Opens) -> None:
    place = world.place()
    rule = place.add("/a")
    place.publish()
    for draft, target in (("main", "/mine"), ("other", "/theirs")):
        place.ask("PATCH", f"/draft/redirects/{rule['id']}?draft={draft}", 200, json={"target": target})
    page = new_page()
    sign_in(page, world.user("publisher"), f"/dashboard/project/{place.namespace}/shop/draft")
    panel = page.get_by_role("region", name="What it changes for visitors")
    expect(panel).to_contain_text("Compared with the publish from which this began")
    expect(panel).not_to_contain_text("ut of date")
    place.ask("POST", "/publish?draft=other", 200)
    expect(page.get_by_text("The rules are checked again once the conflicts are resolved.")).to_be_visible()
    expect(panel.locator(".notice")).to_contain_text("Out of date.")
    assert violations(page) == []


def test_choices_outlive_a_lost_network(pushed: Pushed, new_page: Opens) -> None:
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine", b="base", c="base")})
    pushed.push("release", {"shop/redirects.yaml": yaml(a="theirs", b="base", c="base")})
    page = new_page(offline=True)
    sign_in(page, pushed.place.world.user("editor"), pushed.address)
    take(page, "/a", "The branch")
    page.context.set_offline(True)
    button(page).click()
    expect(page.locator(".conflicts").get_by_role("alert")).to_contain_text("Waypost cannot be reached")
    expect(page.get_by_role("group", name="/a").get_by_role("radio", name="The branch")).to_be_checked()
    page.context.set_offline(False)
    button(page).click()
    expect(page.get_by_text("1 conflict resolved, and release is merged into the branch.")).to_be_visible()


def test_what_moves_while_one_chooses_is_chosen_again_and_the_rest_is_kept(pushed: Pushed, new_page: Opens) -> None:
    """After a publish, and after a push to the branch, both of which the page learns of by the refusal."""
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine", b="mine", c="mine")})
    pushed.push("release", {"shop/redirects.yaml": yaml(a="theirs", b="theirs", c="base")})
    page = new_page(refused=409)
    sign_in(page, pushed.place.world.user("editor"), pushed.address)
    button(page, "All from the branch").click()
    radio = {name: page.get_by_role("group", name=f"/{name}").get_by_role("radio", name="The branch") for name in "ab"}
    stale = page.get_by_text("Someone has published or changed something while you chose")
    for branch, files, again in (
        ("release", yaml(a="newer", b="theirs", c="base"), "a"),
        ("team/sale", yaml(a="mine", b="newer", c="mine"), "b"),
    ):
        with moving(page, lambda: pushed.push(branch, {"shop/redirects.yaml": files})):  # noqa: B023 - called here
            button(page).click()
            expect(stale).to_be_visible()
        expect(page.get_by_role("group", name=f"/{again}")).to_contain_text("/newer")
        kept = "b" if again == "a" else "a"
        expect(radio[kept]).to_be_checked()
        expect(radio[again]).not_to_be_checked()
        expect(button(page)).to_be_disabled()
        radio[again].check()
    button(page).click()
    expect(page.get_by_text("2 conflicts resolved, and release is merged into the branch.")).to_be_visible()
    text = pushed.git("cat-file", "blob", "team/sale:shop/redirects.yaml").replace('"', "")
    assert [each in text for each in ("target: /mine", "target: /newer", "target: /theirs")] == [True, True, False]


@contextmanager
def moving(page: Page, move: Callable[[], object]) -> Iterator[None]:
    """Have something moved just before the call is sent: the page has not heard of it then."""

    def send(route: Route) -> None:
        move()
        route.continue_()

    page.route(UPDATE, send)
    yield
    page.unroute(UPDATE)


def test_those_who_may_not_choose_read_both_sides_and_the_way_of_git(pushed: Pushed, new_page: Opens) -> None:
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine", b="base", c="base")})
    pushed.push("release", {"shop/redirects.yaml": yaml(a="theirs", b="base", c="base")})
    reader, editor = new_page(), new_page(viewport=PHONE)
    for page, role in ((reader, "viewer"), (editor, "editor")):
        sign_in(page, pushed.place.world.user(role), pushed.address)
        expect(page.get_by_role("group", name="/a")).to_contain_text("The branch/mine")
        expect(page.get_by_role("group", name="/a")).to_contain_text("Published/theirs")
        assert violations(page) == []
    expect(reader.get_by_text("git merge origin/release")).to_be_visible()
    expect(reader.get_by_role("radio")).to_have_count(0)
    expect(button(reader)).to_have_count(0)
    expect(editor.get_by_text("git merge origin/release")).to_be_hidden()
    editor.get_by_text("Resolve them with Git").click()
    expect(editor.get_by_text("git merge origin/release")).to_be_visible()
    # By keyboard alone
    editor.get_by_role("group", name="/a").get_by_role("radio", name="The branch").focus()
    editor.keyboard.press("ArrowDown")
    assert editor.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    button(editor).focus()
    editor.keyboard.press("Enter")
    expect(editor.get_by_text("1 conflict resolved, and release is merged into the branch.")).to_be_visible()
    assert "/theirs" in pushed.git("cat-file", "blob", "team/sale:shop/redirects.yaml")
    expect(reader.locator(".conflicts")).to_have_count(0)


def test_conflicts_of_several_projects_and_files_are_one_list(world: World, new_page: Opens, tmp_path: Path) -> None:
    place = world.place()
    place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "blog"})
    names = ("shop/redirects.yaml", "blog/redirects.yaml")
    pushed = Pushed(place, tmp_path / "clone", {**dict.fromkeys(names, yaml(a="base")), "README.md": "Base\n"})
    pushed.push("team/sale", {**dict.fromkeys(names, yaml(a="mine")), "README.md": "Mine\n"})
    pushed.push("release", {**dict.fromkeys(names, yaml(a="theirs")), "README.md": "Theirs\n"})
    page = new_page()
    sign_in(page, world.user("admin"), pushed.address)
    take(page, "/a Target in shop", "The branch")
    take(page, "/a Target in blog", "Published")
    readme = page.get_by_role("group", name="README.md The whole file")
    expect(readme.get_by_role("radio")).to_have_count(2)
    for side, text in (("The branch", "Mine"), ("Published", "Theirs")):
        shown = readme.locator("label", has_text=side)
        expect(shown.locator(".line.old")).to_contain_text("Base")
        expect(shown.locator(".line:not(.old)")).to_contain_text(text)
    assert violations(page) == []
    take(page, "README.md The whole file", "The branch")
    button(page, "Resolve 3 conflicts").click()
    expect(page.locator(".conflicts")).to_have_count(0)
    found = [pushed.git("cat-file", "blob", f"team/sale:{each}") for each in (*names, "README.md")]
    assert ("/mine" in found[0], "/theirs" in found[1], found[2]) == (True, True, "Mine")


def test_conflicts_of_three_rounds_are_all_answered(pushed: Pushed, new_page: Opens) -> None:
    """The service asks for more after the second choice than after the first one: all that was chosen is sent again."""
    pushed.push("team/sale", {"shop/redirects.yaml": yaml(a="mine", b="base", c="base")})
    pushed.push("release", {"shop/redirects.yaml": yaml(a="theirs", b="base", c="base")})
    page = new_page(refused=409)
    sent: list[list[str]] = []

    def refuse(route: Route) -> None:
        choices = json.loads(route.request.post_data or "")["choices"]
        sent.append([each["field"] for each in choices])
        further = {1: "note", 2: "tags"}.get(len(choices))
        if further is None:
            route.fulfill(json={"head": "0" * 40})
            return
        conflict = {"kind": "redirect", "project": "shop", "id": choices[0]["id"], "field": further, "source": "/a"}
        values = {"base": "base", "draft": "mine", "release": "theirs"}
        body = {"error": "conflict", "message": "More differs.", "conflicts": [{**conflict, **values}]}
        route.fulfill(status=409, json=body)

    page.route(UPDATE, refuse)
    sign_in(page, pushed.place.world.user("editor"), pushed.address)
    for number, field in enumerate(("Target", "Note", "Tags"), 1):
        take(page, f"/a {field}", "The branch")
        button(page, f"Resolve {number} conflict").click()
    expect(page.get_by_text("3 conflicts resolved")).to_be_visible()
    assert sent == [["target"], ["target", "note"], ["target", "note", "tags"]]


def test_a_conflict_that_follows_from_a_choice_is_asked_for(world: World, new_page: Opens, tmp_path: Path) -> None:
    """The branch moves a page to where it cannot name the content file of release; that shows once its note is chosen."""
    pushed = Pushed(world.place(), tmp_path / "clone", {"shop/pages.yaml": PAGE + "content: old}\n"})
    moved: Any = {"shop/pages.yaml": None, "shop/pages/deep/all.yaml": PAGE + "content: old, note: mine}\n"}
    pushed.push("team/sale", moved)
    pushed.push("release", {"shop/pages.yaml": PAGE + "file: a.txt, note: theirs}\n", "shop/a.txt": "old"})
    page = new_page(refused=409)
    sign_in(page, world.user("editor"), pushed.address)
    take(page, "/p Note", "Published")
    button(page).click()
    expect(page.get_by_text("With these choices more values differ")).to_be_visible()
    take(page, "/p ContentFile", "The branch")
    button(page, "Resolve 2 conflicts").click()
    expect(page.get_by_text("2 conflicts resolved, and release is merged into the branch.")).to_be_visible()
    assert 'note: "theirs"' in pushed.git("cat-file", "blob", "team/sale:shop/pages/deep/all.yaml")
