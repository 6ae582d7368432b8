"""Proposals in the dashboard: a pushed branch is found, reviewed and merged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.dashboard.conftest import overview_of, sign_in
from tests.dashboard.test_pages import violations
from tests.dashboard.test_tabs import one_stream
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, rules
from tests.e2e.world import Place, World

Opens = Callable[..., Page]


def test_a_proposal_waits_on_the_overview_and_is_approved_and_merged(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    place.ask("POST", "/agents", 200, json={"name": "edge", "type": "default", "version": 1, "status": "success"})
    place.add("/sale", "/offers")
    body = {"branch": "team/sale", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    place.ask("DELETE", "/draft", 204)
    page = new_page()
    sign_in(page, world.user("admin"))
    page.get_by_role("region", name="Waiting").get_by_role("link", name=f"{place.namespace}:").click()
    expect(page.locator(".change.added")).to_contain_text("/sale")
    impact = page.get_by_role("region", name="What it changes for visitors")
    expect(impact).to_contain_text("1 request is answered in another way")
    expect(page.get_by_text("Needs approval")).to_be_visible()
    page.get_by_label("Your comment on shop").fill("Good.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("\u2713 Approved")).to_be_visible()
    expect(page.locator(".remarks")).to_contain_text("Good.")
    assert violations(page) == []
    page.get_by_role("button", name="Merge and publish").click()
    page.get_by_role("dialog").get_by_label("Message").fill("Begin the sale")
    page.get_by_role("dialog").get_by_role("button", name="Merge and publish").click()
    done = page.get_by_role("dialog", name="Published").get_by_role("region", name="shop")
    expect(done).to_contain_text("This is publish 2")
    expect(done).to_contain_text("1 redirect added")
    expect(done).to_contain_text("0 of 1 agent serves it")
    expect(page.locator(".heading")).to_contain_text("✓ Merged")  # behind the dialog, at once
    expect(page.get_by_text("Proposal open")).to_have_count(0)
    place.ask("POST", "/agents", 200, json={"name": "edge", "type": "default", "version": 2, "status": "success"})
    expect(done).to_contain_text("1 of 1 agent serves it")
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    expect(page.locator(".publishes li").first).to_contain_text("Begin the sale")
    assert place.sources() == ["/sale"]
    assert made["id"]


def test_a_requested_review_waits_for_those_who_may_review(world: World, new_page: Opens) -> None:
    place = world.place(review="required")
    place.add("/sale", "/offers")
    head = place.get("/draft")["head"]
    page = new_page()
    sign_in(page, world.user("admin"))
    waiting = page.get_by_role("region", name="Waiting").get_by_role("listitem").filter(has_text=place.namespace)
    expect(waiting).to_contain_text("Draft with changes")
    place.ask("POST", "/draft/review", 200, json={"action": "request", "head": head})
    expect(waiting).to_contain_text("You may review it")


def test_a_proposal_waits_for_its_owner_and_then_for_a_publisher(world: World, new_page: Opens, tmp_path: Path) -> None:
    """Two people in two browsers: one asks, the owner sees it, comments on a rule, and rejects; then it is approved."""
    place = world.place(review="required")
    owner, author = world.user("publisher"), world.user("editor")
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.publish("CODEOWNERS", f"/shop/ @{owner}\n")
    made = proposed(place.as_(Caller(world.http, world.session(author)["accessToken"])), "/sale")
    asking, owning = new_page(), new_page()
    sign_in(owning, owner)
    waiting = owning.locator(".waiting li", has_text=f"{place.namespace}:")
    expect(waiting).to_be_visible()
    sign_in(asking, author, f"/dashboard/proposal/{place.namespace}/{made['id']}")
    expect(asking.get_by_role("button", name="Approve")).to_have_count(0)
    asking.get_by_role("button", name="Ask for a review", exact=True).click()
    expect(asking.get_by_text("Review requested", exact=True)).to_be_visible()
    expect(waiting).to_contain_text("Waits for you, an owner of what it changes")
    waiting.get_by_role("link").click()
    owning.get_by_role("button", name="Comment on /sale").click()
    owning.get_by_label("Comment on this rule").fill("To which offers?")
    owning.locator(".change").get_by_role("button", name="Comment", exact=True).click()
    expect(owning.locator(".change .remarks")).to_contain_text("To which offers?")
    expect(asking.locator(".change .remarks")).to_contain_text("To which offers?")
    owning.get_by_label("Your comment on shop").fill("Not before the date is known.")
    owning.get_by_role("button", name="Reject").click()
    expect(asking.get_by_text("\u2715 Rejected")).to_be_visible()
    expect(asking.get_by_text("Not before the date is known.")).to_be_visible()
    assert violations(asking) == []
    owning.get_by_role("button", name="Approve").click()
    expect(owning.get_by_text("\u2713 Approved")).to_be_visible()
    owning.goto("/")
    expect(waiting).to_contain_text("Approved: you may publish it")


def test_a_branch_behind_release_is_updated_and_a_moved_one_is_not_merged_unseen(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    place = world.place()
    made = proposed(place, "/sale")
    page = new_page(refused=409)
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    expect(page.locator(".change.added")).to_contain_text("/sale")
    update = page.get_by_role("button", name="Update from release")
    expect(update).to_have_count(0)
    place.published("/other")
    page.reload()
    update.click()
    expect(page.get_by_text("Release is merged into the branch.")).to_be_visible()
    expect(update).to_have_count(0)
    page.get_by_role("button", name="Merge and publish …").click()
    dialog = page.get_by_role("dialog", name="Merge and publish")
    clone = Clone.of(place.repository, tmp_path / "clone", "team/sale")
    clone.write("README.md", "unseen\n")
    clone.commit("Unseen")
    clone.push("team/sale")
    merge = dialog.get_by_role("button", name="Merge and publish")
    merge.click()
    expect(dialog.get_by_text("The branch has moved since you looked at it")).to_be_visible()
    expect(merge).to_be_disabled()
    assert place.sources() == ["/other"]
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Remove the branch …").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the branch").click()
    expect(page.get_by_text("The branch team/sale is removed.")).to_be_visible()
    assert place.root.get(f"{place.space}/proposals")["items"] == []


def test_a_message_outlives_a_merge_by_someone_else(world: World, new_page: Opens) -> None:
    place = world.place()
    made = proposed(place, "/sale")
    page = new_page(refused=404)
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    begin = page.get_by_role("button", name="Merge and publish …")
    begin.click()
    dialog = page.get_by_role("dialog", name="Merge and publish")
    dialog.get_by_label("Message").fill("Mine, for the sale")
    dialog.get_by_role("button", name="Cancel").click()
    begin.click()
    expect(dialog.get_by_label("Message")).to_have_value("Mine, for the sale")
    one_stream(world)
    place.root.ask("POST", f"{place.space}/proposal/{made['id']}/merge", 200, json={"message": "Theirs"})
    ended = page.get_by_role("dialog", name="This proposal is merged")
    expect(ended.get_by_role("alert")).to_contain_text("Merged as publish 2 of shop by e2e")
    expect(ended.get_by_role("region", name="Your message")).to_contain_text("Mine, for the sale")
    expect(ended.get_by_role("heading", name="This proposal is merged")).to_be_focused()
    assert violations(page) == []
    with page.expect_response(lambda answer: answer.status == 404 and answer.url.endswith(made["id"])):
        say_on_another(place)
    expect(page.get_by_text("Merged as publish 2 of shop by e2e")).to_have_count(2)  # on the page, too
    expect(ended.get_by_role("region", name="Your message")).to_contain_text("Mine, for the sale")
    ended.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.get_by_role("heading", name="This proposal is merged")).to_be_visible()


def say_on_another(place: Place) -> None:
    """Comment on a draft of the namespace, which the page of a proposal follows."""
    place.add("/other")
    body = {"action": "comment", "head": place.get("/draft")["head"], "note": "Good."}
    place.ask("POST", "/draft/review", 200, json=body)


def test_two_people_meet_in_a_conflict_and_in_a_review(world: World, new_page: Opens) -> None:
    """A publish by one is a conflict of the other, who chooses by field; the author learns who can approve the draft."""
    place = world.place(review="required")
    [rule] = published(place, "/a")
    ada, kim = world.user("publisher"), world.user("publisher")
    for draft, person in (("main", ada), ("other", kim)):
        mine = place.as_(Caller(world.http, world.session(person)["accessToken"]))
        fields = {"target": f"/{draft}", "note": draft}
        mine.ask("PATCH", f"/draft/redirects/{rule['id']}?draft={draft}", 200, json=fields)
    of_ada, of_kim = new_page(), new_page()
    draft = f"/dashboard/project/{place.namespace}/shop/draft"
    sign_in(of_ada, ada, draft)
    expect(of_ada.locator(".change")).to_have_count(1)
    expect(of_ada.get_by_role("button", name="Approve")).to_have_count(0)
    expect(of_ada.get_by_text("another person has to approve it: anyone else who may review")).to_be_visible()
    sign_in(of_kim, kim, draft)
    of_kim.get_by_label("Your comment").fill("The note is wrong.")
    of_kim.get_by_role("button", name="Reject").click()
    expect(of_ada.get_by_text("\u2715 Rejected").first).to_be_visible()
    expect(of_ada.get_by_text("The note is wrong.")).to_be_visible()
    other = place.get("/draft", draft="other")["head"]
    reviewer = place.as_(Caller(world.http, world.session(ada)["accessToken"]))
    reviewer.ask("POST", "/draft/review?draft=other", 200, json={"action": "approve", "head": other})
    of_kim.goto(f"{draft}?draft=other")
    of_kim.get_by_role("button", name="Publish …").click()
    of_kim.get_by_role("dialog").get_by_role("button", name="Publish", exact=True).click()
    expect(of_ada.get_by_role("heading", name="2 conflicts with what was published meanwhile")).to_be_visible()
    for field, side in (("note", "Published"), ("target", "The draft")):
        of_ada.get_by_role("group", name=f"/a {field}").get_by_role("radio", name=side).check()
    of_ada.get_by_role("button", name="Resolve 2 conflicts").click()
    expect(of_ada.get_by_role("heading", name="2 conflicts")).to_be_hidden()
    [found] = place.get("/draft/redirects")["items"]
    assert (found["target"], found["note"]) == ("/main", "other")


def test_an_edit_of_an_approved_draft_is_warned_of_and_the_overview_tells_its_state(
    world: World, new_page: Opens
) -> None:
    place = world.place(review="required")
    made = place.add("/a")
    page = new_page()
    sign_in(page, world.user("publisher"), f"/dashboard/project/{place.namespace}/shop?edit={made['id']}")
    expect(page.get_by_role("dialog").get_by_label("Target")).to_have_value("/new")
    warning = page.get_by_role("dialog").get_by_text("This draft is approved; a change asks for a new review.")
    expect(warning).to_have_count(0)
    say(place.as_(world.person("publisher")), "approve")
    page.reload()
    expect(warning).to_be_visible()
    page.goto(overview_of(place))
    card = page.locator(".card", has_text="shop").filter(has=page.locator(f'a[href*="{place.namespace}"]'))
    waiting = page.locator(".waiting li", has_text=f"{place.namespace} / shop")
    expect(card.get_by_text("\u2713 Approved")).to_be_visible()
    expect(waiting).to_contain_text("Approved: you may publish it")
    place.add("/b")
    page.reload()
    expect(card.get_by_text("Changed since its review")).to_be_visible()


def test_a_missing_signature_is_overridden_with_a_reason_by_those_who_may(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    place = world.place()
    made = proposed(place, "/sale")
    clone = Clone.of(place.repository, tmp_path / "clone", "team/sale")
    clone.write("shop/redirects.yaml", "redirects:\n  - {type: BASIC, source: /pushed, target: /new, status: 301}\n")
    clone.commit("Without a signature")
    clone.push("team/sale")
    place.ask("PATCH", "", 200, json={"signatures": "required"})
    address = f"/dashboard/proposal/{place.namespace}/{made['id']}"
    admin, publisher = new_page(refused=403), new_page(refused=403)
    for page, role in ((publisher, "publisher"), (admin, "admin")):
        sign_in(page, world.user(role), address)
        page.get_by_role("button", name="Merge and publish …").click()
        page.get_by_role("dialog").get_by_role("button", name="Merge and publish").click()
    expect(publisher.get_by_text("To publish it without a signature needs project:override")).to_be_visible()
    expect(publisher.get_by_label("Reason for publishing")).to_have_count(0)
    publisher.close()  # it would ask whether the proposal is still there
    dialog = admin.get_by_role("dialog")
    reason, merge = dialog.get_by_label("Reason for publishing without a signature"), "Merge and publish"
    expect(reason).to_be_visible()
    expect(dialog.get_by_role("button", name=merge)).to_be_disabled()
    reason.fill("Kim has lost the key")
    assert violations(admin) == []
    dialog.get_by_role("button", name=merge).click()
    expect(admin.get_by_role("dialog", name="Published").get_by_text("This is publish")).to_be_visible()
    newest = place.get("/history")["items"][0]
    assert place.get(f"/history/{newest['publishNumber']}")["overrideReason"] == "Kim has lost the key"


def proposed(place: Place, source: str) -> Any:
    """Push a redirect as the branch team/sale."""
    place.add(source, "/offers")
    body = {"branch": "team/sale", "project": place.project}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    place.as_(place.world.root).ask("DELETE", "/draft", 204)
    return made


def published(place: Place, *sources: str) -> Any:
    """Publish redirects where a review is required; return them."""
    for source in sources:
        place.add(source)
    place.publish(override="The first rules")
    return place.get("/draft/redirects")["items"]


def say(place: Place, action: str) -> None:
    """Give a verdict on the draft."""
    place.ask("POST", "/draft/review", 200, json={"action": action, "head": place.get("/draft")["head"]})


def test_a_proposal_of_two_commits_lists_them_and_its_merge_begins_with_the_message_of_the_first(
    world: World, new_page: Opens, tmp_path: Path
) -> None:
    place = world.place()
    clone = Clone.of(place.repository, tmp_path / "clone")
    for source, message in (("/a", "The sale\n\nFor May."), ("/b", "Fix tests")):
        clone.write("shop/redirects.yaml", rules(source))
        clone.commit(message)
    clone.push("team/sale")
    [made] = place.root.get(f"{place.space}/proposals")["items"]
    page = new_page()
    sign_in(page, world.user("admin"), f"/dashboard/proposal/{place.namespace}/{made['id']}")
    expect(page.get_by_role("heading", name="The sale")).to_be_visible()
    expect(page.get_by_text("For May.")).to_be_visible()
    expect(page.get_by_text("Fix tests")).not_to_be_visible()
    page.get_by_text("2 commits", exact=True).click()
    expect(page.locator("header details li")).to_have_count(2)
    expect(page.locator("header details li").first).to_contain_text("Fix tests")
    assert violations(page) == []
    page.get_by_role("button", name="Merge and publish …").click()
    dialog = page.get_by_role("dialog", name="Merge and publish")
    expect(dialog.get_by_label("Message")).to_have_value("The sale\n\nFor May.\n\nMerge the branch team/sale.")
    expect(dialog.get_by_role("list", name="What is published")).to_contain_text("shop 1 redirect added")
    dialog.get_by_role("button", name="Merge and publish").click()
    expect(page.get_by_role("dialog", name="Published")).to_be_visible()
    assert place.get("/history/2")["message"] == "The sale\n\nFor May.\n\nMerge the branch team/sale."
