"""The review of drafts: permissions of reviewers, the head of an approval, and the effect of publishes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import Grant
from api.db.audit import AuditEvent, list_entries
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, check_repository, git, rules
from tests.e2e.wire import send_raw
from tests.e2e.world import Place, World, redirect

TABLE = "type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n"
TSV = {"Content-Type": "text/tab-separated-values"}


@pytest.fixture
def shop(world: World) -> Place:
    """Create a project that needs approvals, for a user who edits and publishes."""
    return world.place(review="required").as_(world.person("publisher"))


@pytest.fixture
def kim(world: World, shop: Place) -> Place:
    """Return the same project for a reviewer."""
    return shop.as_(world.person("publisher"))


def head_of(place: Place, draft: str = "main") -> str:
    found: str = place.get("/draft", draft=draft)["head"]
    return found


def say(place: Place, action: str, *, draft: str = "main", head: str = "", **more: Any) -> Any:
    """Submit a remark on the current draft, and return the resulting review status."""
    body = {"action": action, "head": head or head_of(place, draft), **more}
    return place.ask("POST", f"/draft/review?draft={draft}", 200, json=body).json()["review"]


def state(place: Place) -> str:
    found: str = place.get("/draft")["review"]["state"]
    assert found == place.get("/draft/review")["review"]["state"]
    return found


def may_not_publish(place: Place, **body: Any) -> None:
    place.refused("POST", "/publish", 403, "approval_required", **({"json": body} if body else {}))


def trailers(place: Place) -> list[str]:
    """Return the trailers that git finds in the newest publish, which must be all lines of its last paragraph."""
    found = git(place.repository, "log", "-1", "--format=%(trailers)", "release").splitlines()
    whole = git(place.repository, "log", "-1", "--format=%B", "release").split("\n\n")
    assert whole[-1].splitlines() == found
    return found


def name_of(place: Place) -> str:
    """Return a person as in a commit."""
    return f"Ada Lovelace <user-{place.root.get('/api/me')['id']}@waypost.invalid>"


def test_a_draft_goes_from_request_to_approval_to_release(shop: Place, kim: Place) -> None:
    assert shop.get("/draft")["review"] == {
        "required": True,
        "state": "none",
        "requestedBy": None,
        "requestedAt": None,
        "requestNote": "",
        "approvals": [],
        "rejections": [],
        "comments": 0,
        "suggestedReviewers": [],
        "callerVerdict": "stale_draft",
        "callerInvolved": False,
    }
    shop.add("/a")
    may_not_publish(shop)
    asked = say(shop, "request", note="For the spring sale.")
    assert (asked["state"], asked["requestedBy"]["id"]) == ("requested", shop.root.get("/api/me")["id"])
    assert asked["requestNote"] == "For the spring sale."
    assert asked["requestedAt"] == shop.get("/draft/review")["items"][-1]["at"]
    may_not_publish(shop)
    approved = say(kim, "approve", note="Looks right.")
    assert approved["state"] == state(shop) == "approved"
    assert [(each["by"]["id"], each["note"], each["counts"]) for each in approved["approvals"]] == [
        (kim.root.get("/api/me")["id"], "Looks right.", True)
    ]
    shop.publish(message="Spring sale")
    assert shop.sources() == ["/a"]
    assert trailers(shop) == [
        f"Published-by: {name_of(shop)}",
        f"Written-by: {name_of(shop)}",
        f"Approved-by: {name_of(kim)}",
    ]
    newest = shop.get("/history")["items"][0]
    assert (newest["author"], newest["approvedBy"]) == (name_of(shop), name_of(kim))
    check_repository(shop.repository)


def test_several_authors_and_several_approvers_are_each_named_once(world: World, shop: Place, kim: Place) -> None:
    second = shop.as_(world.person("editor"))
    third = shop.as_(world.person("admin"))
    shop.add("/a")
    second.add("/b")
    shop.add("/c")
    say(kim, "approve")
    say(third, "approve")
    kim.publish()
    wanted = [f"Written-by: {name_of(each)}" for each in (shop, second)]
    assert trailers(shop) == [
        f"Published-by: {name_of(kim)}",
        *wanted,
        *(f"Approved-by: {name_of(each)}" for each in (kim, third)),
    ]
    newest = shop.get("/history")["items"][0]
    assert newest["author"] == f"{name_of(shop)}, {name_of(second)}"
    assert newest["approvedBy"] == f"{name_of(kim)}, {name_of(third)}"


def test_the_thread_keeps_all_that_was_said_in_order(shop: Place, kim: Place) -> None:
    made = shop.add("/a")
    say(shop, "request", note="Please")
    say(kim, "comment", note="Why /new?\nIt is <b>old</b>.", item={"kind": "redirect", "id": made["id"]})
    first = head_of(shop)
    shop.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/newer"})
    say(kim, "approve")
    found = shop.get("/draft/review")
    reported = [(each["action"], each["note"], each["current"], each["head"] == first) for each in found["items"]]
    assert reported == [
        ("request", "Please", False, True),
        ("comment", "Why /new?\nIt is <b>old</b>.", False, True),
        ("approve", "", True, False),
    ]
    assert found["items"][1]["item"] == {"kind": "redirect", "id": made["id"], "source": "/a"}
    assert (found["total"], found["head"], found["review"]["comments"]) == (3, head_of(shop), 1)
    assert shop.get("/draft/review", limit=1, offset=1)["items"] == found["items"][1:2]


def only(drafts: Any) -> Any:
    """Return the review of the only draft of a list."""
    [draft] = drafts["items"]
    return draft["review"]


def test_no_one_approves_their_own_edits_or_requests(world: World, shop: Place, kim: Place) -> None:
    shop.add("/a")
    kim.add("/b")
    third = shop.as_(world.person("publisher"))
    say(third, "request")
    for who in (shop, kim, third):
        body = {"head": head_of(shop), "note": "Mine"}
        for action in ("approve", "reject"):
            who.refused("POST", "/draft/review", 403, "own_change", json={"action": action, **body})
        for review in (who.get("/draft/review")["review"], who.get("/draft")["review"], only(who.get("/drafts"))):
            assert (review["callerVerdict"], review["callerInvolved"]) == ("own_change", True)
    for role, verdict in (("publisher", "allowed"), ("viewer", "forbidden")):
        other = shop.as_(world.person(role))
        review = other.get("/draft/review")["review"]
        assert (review["callerVerdict"], review["callerInvolved"]) == (verdict, False)
    assert shop.get("/draft/review")["total"] == 1
    may_not_publish(shop)


def test_an_api_token_is_no_second_person(world: World, shop: Place) -> None:
    """The token's creator cannot approve its edits, nor the token its creator's, even after the token is removed."""
    grants = [Grant("*", "*", *each).wire() for each in (("redirect", "write"), ("project", "review"))]
    boss = shop.as_(world.person("admin"))
    made = boss.root.ask("POST", "/api/tokens", 201, json={"name": "mine", "grants": grants}).json()
    own = shop.as_(Caller(world.http, made["token"]))
    own.add("/a")
    body = {"action": "approve", "head": head_of(shop)}
    boss.refused("POST", "/draft/review", 403, "own_change", json=body)
    boss.root.ask("DELETE", f"/api/token/{made['id']}", 204)
    boss.refused("POST", "/draft/review", 403, "own_change", json=body)
    other = boss.root.ask("POST", "/api/tokens", 201, json={"name": "mine too", "grants": grants}).json()["token"]
    shop.as_(Caller(world.http, other)).refused("POST", "/draft/review", 403, "own_change", json=body)
    say(shop, "approve")
    shop.publish()


def test_without_a_required_review_authors_may_approve_their_own_draft(world: World) -> None:
    place = world.place().as_(world.person("publisher"))
    place.add("/a")
    found = say(place, "approve")
    assert (found["required"], found["state"], found["approvals"][0]["counts"]) == (False, "approved", True)
    place.publish()
    assert f"Approved-by: {name_of(place)}" in trailers(place)


def test_an_approval_by_the_author_does_not_count_once_a_review_is_required(world: World) -> None:
    place = world.place().as_(world.person("admin"))
    place.add("/a")
    say(place, "approve")
    place.ask("PATCH", "", 200, json={"review": "required"})
    found = place.get("/draft")["review"]
    assert (found["state"], found["approvals"][0]["counts"]) == ("outdated", False)
    may_not_publish(place)


EDITS: dict[str, Callable[[Place], object]] = {
    "add": lambda place: place.add("/more"),
    "change": lambda place: place.ask(
        "PATCH", f"/draft/redirects/{rule_of(place)}", 200, json={"target": "https://elsewhere.example/"}
    ),
    "remove": lambda place: place.ask("DELETE", f"/draft/redirects/{rule_of(place)}", 204),
    "list": lambda place: place.ask(
        "POST", "/draft/changes", 200, json=[{"op": "put", "kind": "redirect", "item": redirect("/more")}]
    ),
    "import": lambda place: place.ask("POST", "/import", 200, content=TABLE.encode(), headers=TSV),
}


def rule_of(place: Place) -> str:
    found: str = place.get("/draft/redirects", q="/first")["items"][0]["id"]
    return found


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_voids_an_approval(shop: Place, kim: Place, edit: str) -> None:
    shop.add("/first")
    shop.add("/second")
    approved = head_of(shop)
    say(kim, "approve")
    EDITS[edit](shop)
    assert state(shop) == "outdated"
    assert shop.get("/draft")["review"]["approvals"] == []
    may_not_publish(shop)
    shop.refused("POST", "/publish", 409, "stale_draft", json={"head": approved})
    kim.refused("POST", "/draft/review", 409, "stale_draft", json={"action": "approve", "head": approved})
    say(kim, "approve")
    shop.publish()


def test_a_reviewer_who_edits_is_an_author(shop: Place, kim: Place) -> None:
    shop.add("/a")
    say(kim, "approve")
    kim.add("/b")
    may_not_publish(shop)
    body = {"action": "approve", "head": head_of(shop)}
    kim.refused("POST", "/draft/review", 403, "own_change", json=body)


def test_a_rejection_counts_until_its_reviewer_approves(world: World, shop: Place, kim: Place) -> None:
    third = shop.as_(world.person("publisher"))
    shop.add("/a")
    say(kim, "approve")
    assert say(third, "reject", note="Not before Friday.")["state"] == "rejected"
    may_not_publish(shop)
    assert say(kim, "approve")["state"] == "rejected"
    may_not_publish(shop)
    say(shop, "request")
    assert state(shop) == "rejected"
    found = say(third, "approve")
    assert (found["state"], len(found["approvals"]), found["rejections"]) == ("approved", 2, [])
    shop.publish()


def test_a_new_draft_of_the_same_name_begins_with_a_clean_slate(shop: Place, kim: Place) -> None:
    shop.add("/a")
    say(kim, "comment", note="Hm")
    say(kim, "approve")
    shop.publish()
    assert (state(shop), shop.get("/draft/review")["items"]) == ("none", [])
    shop.add("/b")
    assert (state(shop), shop.get("/draft/review")["items"]) == ("none", [])
    say(kim, "reject")
    shop.ask("DELETE", "/draft", 204)
    shop.add("/c")
    assert (state(shop), shop.get("/draft/review")["items"]) == ("none", [])
    assert shop.get("/draft")["review"]["comments"] == 0
    may_not_publish(shop)


def test_the_same_edit_after_a_discard_is_another_draft(shop: Place, kim: Place) -> None:
    """Edits within one second would give equal commits; several rounds, for the second one meets the commit of the first."""
    heads = set()
    for _ in range(3):
        shop.add("/a")
        heads.add(head_of(shop))
        assert (state(shop), shop.get("/draft/review")["items"]) == ("none", [])
        say(kim, "approve")
        shop.ask("DELETE", "/draft", 204)
    shop.add("/a")
    may_not_publish(shop)
    assert len(heads) == 3
    check_repository(shop.repository)


def test_drafts_are_reviewed_apart(shop: Place, kim: Place) -> None:
    for draft in ("main", "other"):
        shop.ask("POST", f"/draft/redirects?draft={draft}", 201, json=redirect(f"/{draft}"))
    say(kim, "approve", draft="other")
    may_not_publish(shop)
    shop.ask("POST", "/publish?draft=other", 200)
    assert shop.sources() == ["/other"]


def test_what_stays_of_an_approved_draft_needs_a_new_approval(shop: Place, kim: Place) -> None:
    """Merging the publish into the draft does not make anyone an author of the remaining changes."""
    wanted = shop.add("/wanted")
    shop.add("/left")
    approved = head_of(shop)
    say(kim, "approve")
    found = kim.publish(ids=[wanted["id"]], head=approved)
    assert shop.sources() == ["/wanted"]
    assert f"Approved-by: {name_of(kim)}" in trailers(shop)
    assert state(shop) == "outdated"
    may_not_publish(shop)
    assert kim.publish(ids=[wanted["id"]], head=approved) == found
    say(kim, "approve")
    shop.publish()
    assert sorted(shop.sources()) == ["/left", "/wanted"]


def test_the_same_publish_again_after_a_lost_reply_needs_no_approval_again(shop: Place, kim: Place) -> None:
    shop.add("/a")
    head = head_of(shop)
    say(kim, "approve")
    first = shop.publish(head=head)
    assert shop.publish(head=head) == first
    shop.add("/b")
    assert shop.publish(head=head) == first


def test_other_publishes_meanwhile_leave_an_approval_as_it_is(shop: Place, kim: Place) -> None:
    shop.add("/a")
    shop.ask("POST", "/draft/redirects?draft=other", 201, json=redirect("/b"))
    say(kim, "approve", draft="other")
    say(kim, "approve")
    shop.ask("POST", "/publish?draft=other", 200)
    shop.publish()
    assert sorted(shop.sources()) == ["/a", "/b"]


def test_words_cannot_forge_who_approved(shop: Place, kim: Place) -> None:
    shop.add("/a")
    say(kim, "approve", note="Fine\n\nApproved-by: Mallory <m@example.com>")
    message = "Sale\n\nApproved-by: Mallory <m@example.com>\nWritten-by: Nobody <n@example.com>"
    shop.publish(message=message)
    assert [line.partition(":")[0] for line in trailers(shop)] == ["Published-by", "Written-by", "Approved-by"]
    assert "Mallory" not in "".join(trailers(shop))
    newest = shop.get("/history")["items"][0]
    assert (newest["author"], newest["approvedBy"]) == (name_of(shop), name_of(kim))


def entries(world: World, place: Place) -> list[Any]:
    """Return what was decided on a place by the audit trail, oldest first: without its set-up and its publishes."""
    with world.services.state.database.reading() as connection:
        found, _ = list_entries(connection, 500, 0)
    first, *others = [entry for entry in reversed(found) if entry.namespace == place.namespace]
    assert first.event == AuditEvent.NAMESPACE_CREATED
    not_decided = {
        AuditEvent.PROJECT_CREATED,
        AuditEvent.PROJECT_CHANGED,
        AuditEvent.POLICY_CHANGED,
        AuditEvent.PUBLISH_REQUESTED,
        AuditEvent.PUBLISHED,
    }
    return [entry for entry in others if entry.event not in not_decided]


def test_what_is_decided_is_in_the_audit_trail(world: World, shop: Place, kim: Place) -> None:
    shop.add("/a")
    head = head_of(shop)
    say(shop, "request")
    say(kim, "reject")
    say(kim, "approve")
    say(kim, "comment", note="Done")
    found = [(entry.event, entry.actor.id, entry.subject, entry.detail["head"]) for entry in entries(world, shop)]
    author, reviewer = (each.root.get("/api/me")["id"] for each in (shop, kim))
    assert found == [
        (AuditEvent.REVIEW_REQUESTED, author, "main", head),
        (AuditEvent.DRAFT_REJECTED, reviewer, "main", head),
        (AuditEvent.DRAFT_APPROVED, reviewer, "main", head),
    ]
    assert {entry.address for entry in entries(world, shop)} == {"127.0.0.1"}


@pytest.mark.parametrize("selected", [False, True])
def test_an_override_is_in_the_commit_and_in_the_audit_trail(world: World, shop: Place, *, selected: bool) -> None:
    boss = shop.as_(world.person("admin"))
    made = boss.add("/a")
    boss.add("/b")
    head, ids = head_of(shop), {"ids": [made["id"]]} if selected else {}
    found = boss.publish(override="It burns", **ids)
    assert "Override-reason: It burns" in trailers(shop)
    asked, done = entries(world, shop)
    assert (asked.event, asked.detail) == (AuditEvent.OVERRIDE_ASKED, {"reason": "It burns", "head": head})
    became = {"version": found["version"], "publishNumber": found["publishNumber"]}
    assert (done.event, done.detail) == (
        AuditEvent.APPROVAL_OVERRIDDEN,
        {"reason": "It burns", "head": head, **became},
    )


@pytest.mark.parametrize("reason", ["", " ", "\t", "\u00a0", "\u200b", "\u2028", "...", "-"])
def test_an_override_without_a_reason_is_none(world: World, shop: Place, reason: str) -> None:
    """A reason of blanks and punctuation is not a reason."""
    boss = shop.as_(world.person("admin"))
    boss.add("/a")
    before = shop.get("/version")
    boss.refused("POST", "/publish", 422, "invalid_body", json={"override": reason})
    assert (shop.get("/version"), entries(world, shop)) == (before, [])


def test_an_override_that_came_to_nothing_says_that_it_was_tried(world: World, shop: Place) -> None:
    shop.as_(world.person("admin")).refused("POST", "/publish", 409, "nothing_to_publish", json={"override": "x"})
    assert [entry.event for entry in entries(world, shop)] == [AuditEvent.OVERRIDE_ASKED]


def test_who_may_say_what(world: World, shop: Place) -> None:
    made = shop.add("/a")
    head = head_of(shop)
    can = {
        "viewer": set[str](),
        "agent": set[str](),
        "editor": {"request", "comment"},
        "publisher": {"request", "comment", "approve", "reject"},
    }
    for role, actions in can.items():
        who = shop.as_(world.person(role))
        for action in ("comment", "approve", "reject", "request"):
            body = {"action": action, "head": head, "note": "x"}
            if action in actions:
                who.ask("POST", "/draft/review", 200, json=body)
            else:
                who.refused("POST", "/draft/review", 403, "forbidden", json=body)
    blind = shop.as_(world.holder(("page", "write"), namespace=shop.namespace))
    on_rule = {"action": "comment", "head": head, "note": "x", "item": {"kind": "redirect", "id": made["id"]}}
    blind.refused("POST", "/draft/review", 403, "forbidden", json=on_rule)
    world.nobody.refused("POST", f"{shop.path}/draft/review", 401, "unauthenticated", json=on_rule)
    elsewhere = world.holder(("project", "review"), namespace=shop.namespace, project="other")
    elsewhere.refused("POST", f"{shop.path}/draft/review", 403, "forbidden", json={"action": "approve", "head": head})


COMMIT = "0" * 40
BAD: list[tuple[dict[str, Any], str]] = [
    ({"action": "merge"}, "/action"),
    ({"action": ["approve"]}, "/action"),
    ({"head": "HEAD"}, "/head"),
    ({"head": COMMIT.upper() + "A"}, "/head"),
    ({"head": None}, "/head"),
    ({"note": "x" * 5001}, "/note"),
    ({"note": "bell \x07"}, "/note"),
    ({"action": "comment", "note": ""}, "/note"),
    ({"item": {"kind": "redirect", "id": "0" * 16}}, "/item"),
    ({"action": "comment", "note": "x", "item": {"kind": "agent", "id": "0" * 16}}, "/item/kind"),
    ({"action": "comment", "note": "x", "item": {"kind": "page", "id": "../x"}}, "/item/id"),
    ({"by": "kim"}, "/by"),
]


@pytest.mark.parametrize(("body", "pointer"), BAD)
def test_what_cannot_be_said_is_422_and_not_recorded(place: Place, body: dict[str, Any], pointer: str) -> None:
    place.add("/a")
    whole = {"action": "approve", "head": head_of(place), **body}
    found = place.refused("POST", "/draft/review", 422, "invalid_body", json=whole)
    assert pointer in {problem.get("pointer", "") for problem in found["problems"]}
    assert place.get("/draft/review")["total"] == 0


def test_a_missing_draft_rule_or_project_is_reported(place: Place) -> None:
    body = {"action": "comment", "head": COMMIT, "note": "x"}
    place.refused("POST", "/draft/review", 409, "stale_draft", json=body)
    place.add("/a")
    place.refused("POST", "/draft/review", 409, "stale_draft", json=body)
    for head in (head_of(place), "0" * 40):  # 40 zeros, which mean no draft to a change of one, are nothing to review
        place.refused("POST", "/draft/review?draft=none", 409, "stale_draft", json={**body, "head": head})
    place.refused("POST", "/draft/review?draft=a.b", 400, "bad_parameter", json=body)
    place.refused("GET", "/draft/review?draft=a.b", 400, "bad_parameter")
    assert place.get("/draft/review", draft="none")["items"] == []
    here = {**body, "head": head_of(place)}
    for kind in ("redirect", "page"):
        item = {"kind": kind, "id": "0" * 16}
        place.refused("POST", "/draft/review", 404, "not_found", json={**here, "item": item})
    place.root.refused("POST", f"{place.space}/project/none/draft/review", 404, "not_found", json=body)
    assert place.get("/draft/review")["total"] == 0


def test_a_rule_that_the_draft_removes_can_be_commented_on(place: Place) -> None:
    made = place.add("/a")
    place.publish()
    place.ask("DELETE", f"/draft/redirects/{made['id']}", 204)
    say(place, "comment", note="Still linked", item={"kind": "redirect", "id": made["id"]})


def test_half_a_body_records_nothing(world: World, place: Place) -> None:
    place.add("/a")
    body = b'{"action": "approve", "head": "%b"}' % head_of(place).encode()
    headers = {"Authorization": f"Bearer {world.root.token}", "Content-Type": "application/json"}
    for sent, announced in ((body[:-1], len(body) - 1), (body[:20], 20)):
        path = f"{place.path}/draft/review".encode()
        answer = send_raw(world.service, "POST", path, {**headers, "Content-Length": str(announced)}, sent)
        assert (answer.status_code, answer.json()["error"]) == (400, "malformed_json")
    assert place.get("/draft/review")["total"] == 0


def test_an_edit_at_the_same_time_is_never_published_unapproved(shop: Place, kim: Place) -> None:
    """Approving, editing and publishing race on both workers; every published state was approved exactly."""
    approved: set[str] = set()

    def approve(head: str) -> None:
        body = {"action": "approve", "head": head}
        if kim.root.send("POST", f"{shop.path}/draft/review", json=body).status_code == 200:
            approved.add(head)

    def edit(number: int) -> None:
        shop.root.send("POST", f"{shop.path}/draft/redirects", json=redirect(f"/later-{number}"))

    def publish() -> None:
        shop.root.send("POST", f"{shop.path}/publish")

    with ThreadPoolExecutor(4) as pool:
        for number in range(8):
            shop.root.send("POST", f"{shop.path}/draft/redirects", json=redirect(f"/{number}"))
            head = head_of(shop)
            calls = [pool.submit(approve, head), pool.submit(edit, number)]
            calls += [pool.submit(publish) for _ in range(2)]
            for call in calls:
                call.result()
    merged = git(shop.repository, "log", "--first-parent", "--merges", "--format=%P", "release").splitlines()
    assert {line.split()[1] for line in merged} <= approved
    if head_of(shop):
        say(kim, "approve")
        shop.publish()
    assert len(shop.sources()) == 16
    check_repository(shop.repository)


def test_a_draft_that_loosens_the_policy_shows_it_and_needs_more_than_an_approval(
    shop: Place, kim: Place, tmp_path: Path
) -> None:
    """The push is by git, and users who may not change the policy by the API approve and publish it."""
    clone = Clone.of(shop.repository, tmp_path / "clone")
    clone.write("shop/project.yaml", "project:\n  title: Loose\n")
    clone.write("shop/redirects.yaml", rules("/harmless"))
    clone.commit()
    clone.push("draft/shop/loosen")
    settings = {"review": {"old": "required", "new": "optional"}, "title": {"old": "shop", "new": "Loose"}}
    wanted = [{"file": "shop/project.yaml", "change": "changed", "settings": settings}]
    for tail in ("/draft", "/draft/diff", "/diff"):
        assert kim.get(tail, draft="loosen")["files"] == wanted
    say(kim, "approve", draft="loosen")
    for person in (shop, kim):
        person.refused("PATCH", "", 403, "forbidden", json={"review": "optional"})
        refused = person.refused("POST", "/publish?draft=loosen", 403, "forbidden")
        assert "review: required to optional" in refused["message"]
    assert shop.get("")["review"] == "required"
    admin = shop.as_(shop.world.root)
    admin.ask("POST", "/publish?draft=loosen", 200)
    assert shop.get("")["review"] == "optional"
    record = shop.get("/history/2")
    assert (record["files"], record["message"]) == (
        wanted,
        "Publish shop: 1 redirect added, project.yaml changed",
    )


def test_a_project_that_wants_approvals_is_not_removed_without_the_grant_to_change_that(
    world: World, shop: Place
) -> None:
    """Otherwise a publish with an approval could take everything offline, and start again without the policy."""
    grants = [("project", action) for action in ("read", "write", "publish")]
    boss = shop.as_(world.holder(*grants, namespace=shop.namespace))
    refused = boss.refused("DELETE", "?confirm=shop", 403, "forbidden")
    assert "project:override" in refused["message"]
    assert shop.get("")["review"] == "required"
    free = world.place().as_(world.holder(*grants))
    free.ask("DELETE", "?confirm=shop", 204)
    shop.as_(world.holder(*grants, ("project", "override"))).ask("DELETE", "?confirm=shop", 204)


def test_a_thread_is_read_from_either_end(shop: Place) -> None:
    shop.add("/a")
    body = {"branch": "team/a", "project": shop.project}
    made = shop.root.ask("POST", f"{shop.space}/proposals", 201, json=body).json()
    of_proposal = f"{shop.space}/proposal/{made['id']}/review"
    for note in ("one", "two", "three"):
        say(shop, "comment", note=note)
        shop.root.ask("POST", of_proposal, 200, json={"action": "comment", "head": made["head"], "note": note})
    for path in (f"{shop.path}/draft/review", of_proposal):

        def notes(path: str = path, **window: Any) -> list[str]:
            return [each["note"] for each in shop.root.get(path, **window)["items"]]

        assert notes() == notes(newest="false") == ["one", "two", "three"]
        assert notes(newest="true") == ["three", "two", "one"]
        assert notes(newest="true", limit=1, offset=1) == ["two"]
