"""Proposals over HTTP: pushed by C git, listed, previewed, reviewed, and merged into release, as far as each caller may."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from api.db.audit import AuditEvent, list_entries
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, check_repository, git, remove_hooks, rules
from tests.e2e.pusher import Pusher
from tests.e2e.world import Place, World
from tests.service import wait_until

JSON = {"Content-Type": "application/json"}


def id_of(branch: str) -> str:
    return sha256(branch.encode()).hexdigest()[:16]


def path_of(place: Place, branch: str, tail: str = "") -> str:
    return f"{place.space}/proposal/{id_of(branch)}{tail}"


Push = Callable[..., str]


@pytest.fixture
def push(place: Place, tmp_path: Path) -> Push:
    """Return a function that commits files on top of release, or of the branch, and pushes them to a branch."""
    clone = Clone.of(place.repository, tmp_path / "clone")

    def run(branch: str, files: dict[str, str], message: str = "By hand", *, onto: str = "release") -> str:
        git(clone.folder, "fetch", "-q", "origin")
        git(clone.folder, "checkout", "-q", "--detach", f"origin/{onto}")
        for path, text in files.items():
            clone.write(path, text)
        commit = clone.commit(message)
        clone.push(branch)
        return commit

    return run


@pytest.fixture
def blog(place: Place) -> Place:
    """Create a second project in the namespace."""
    return place.world.place(place.namespace, "blog")


BOTH = {"shop/redirects.yaml": rules("/shop"), "blog/redirects.yaml": rules("/blog")}


def test_a_pushed_branch_goes_from_the_list_to_release(place: Place, blog: Place, push: Push) -> None:
    """It is listed, shown, tested, linted, compared, approved and merged; then it is gone."""
    head = push("team/sale", BOTH, "The spring sale\n\nFor May.")
    found = place.root.get(f"{place.space}/proposals")
    assert (found["total"], found["limit"], found["offset"]) == (1, 50, 0)
    [item] = found["items"]
    assert (item["id"], item["branch"], item["title"]) == (id_of("team/sale"), "team/sale", "The spring sale")
    assert item["author"] == "Grace Hopper <grace@example.com>"
    assert [(each["name"], each["changes"]["redirects"]["added"]) for each in item["projects"]] == [
        ("blog", 1),
        ("shop", 1),
    ]
    assert (item["state"], item["stale"], item["withheld"]) == ("open", False, False)
    shown = place.root.get(path_of(place, "team/sale"))
    assert (shown["head"], shown["message"], shown["commits"]) == (head, "The spring sale\n\nFor May.", 1)

    at = f"proposal/{id_of('team/sale')}"
    [result] = place.ask("POST", "/test", 200, json={"urls": ["/shop"], "at": at}).json()["results"]
    assert (result["status"], result["location"]) == (301, "/new")
    assert place.get("/lint", at=at)["total"] == 0
    assert [each["source"] for each in blog.get("/diff", **{"from": "base", "to": at})["changes"]] == ["/blog"]
    assert "/shop" in place.ask("GET", f"/export?at={at}&format=tsv", 200).text

    said = place.root.ask("POST", path_of(place, "team/sale", "/review"), 200, json={"action": "approve", "head": head})
    assert {name: each["state"] for name, each in said.json()["reviews"].items()} == {
        "blog": "approved",
        "shop": "approved",
    }
    merged = place.root.ask("POST", path_of(place, "team/sale", "/merge"), 200, json={"head": head}).json()
    assert [(each["name"], each["publishNumber"]) for each in merged["projects"]] == [("blog", 2), ("shop", 2)]
    assert (place.sources(), blog.sources()) == (["/shop"], ["/blog"])
    assert place.get("/history")["items"][0]["message"].startswith("The spring sale")
    assert place.root.get(f"{place.space}/proposals")["total"] == 0
    place.root.refused("GET", path_of(place, "team/sale"), 404, "not_found")
    again = place.root.ask("POST", path_of(place, "team/sale", "/merge"), 200, json={"head": head}).json()
    assert again["version"] == merged["version"]
    check_repository(place.repository)


@pytest.mark.usefixtures("blog")
def test_the_list_has_pages_and_is_of_one_project_if_asked(place: Place, push: Push) -> None:
    for number in range(3):
        push(f"shop-{number}", {"shop/redirects.yaml": rules(f"/{number}")})
    push("blog", {"blog/redirects.yaml": rules("/b")})
    seen = [place.root.get(f"{place.space}/proposals", limit=2, offset=offset)["items"] for offset in (0, 2, 4)]
    assert [len(items) for items in seen] == [2, 2, 0]
    assert {item["branch"] for items in seen for item in items} == {"shop-0", "shop-1", "shop-2", "blog"}
    of_blog = place.root.get(f"{place.space}/proposals", project="blog")
    assert (of_blog["total"], of_blog["items"][0]["branch"]) == (1, "blog")
    place.root.refused("GET", f"{place.space}/proposals?project=0.5", 400, "bad_parameter")


@pytest.mark.usefixtures("blog")
def test_what_a_caller_may_not_read_is_not_shown(place: Place, push: Push) -> None:
    """Neither a hidden project's name nor its content nor a message that may name it; without any part: 404."""
    head = push("both", {**BOTH, "blog/pages.yaml": "pages: [\n"}, "Close the blog")
    push("only-blog", {"blog/redirects.yaml": rules("/b")}, "Blog")
    push("words", {"README.md": "Mine\n"}, "Words")
    reader = place.holder(("project", "read"), ("redirect", "read"))
    found = reader.root.get(f"{place.space}/proposals")
    assert [(each["branch"], each["title"], each["withheld"]) for each in found["items"]] == [("both", "both", True)]
    shown = reader.root.ask("GET", path_of(place, "both"), 200)
    assert "blog" not in shown.text
    assert [each["name"] for each in shown.json()["projects"]] == ["shop"]
    for branch in ("only-blog", "words", "none"):
        reader.root.refused("GET", path_of(place, branch), 404, "not_found")
        reader.root.refused("POST", path_of(place, branch, "/merge"), 404, "not_found")
        reader.root.refused("DELETE", path_of(place, branch), 404, "not_found")
    writer = place.holder(("project", "read"), ("project", "publish"), ("redirect", "write"))
    for caller in (reader, writer):
        for method, tail in (("POST", "/merge"), ("POST", "/update"), ("DELETE", "")):
            refused = caller.root.refused(method, path_of(place, "both", tail), 403, "forbidden")
            assert "blog" not in refused["message"]
    assert head == git(place.repository, "rev-parse", "both")
    other = place.world.holder(("project", "read"), namespace="elsewhere")
    other.refused("GET", f"{place.space}/proposals", 403, "forbidden")
    agent = place.holder(("redirect", "read"))
    assert agent.root.get(f"{place.space}/proposals")["total"] == 0
    agent.refused("GET", f"/lint?at=proposal/{id_of('both')}", 403, "forbidden")


def test_the_state_is_that_of_a_merge_now(place: Place, push: Push) -> None:
    def state(branch: str) -> Any:
        return place.root.get(path_of(place, branch))["state"]

    place.published("/a")
    push("mine", {"shop/redirects.yaml": rules("/a").replace("/new", "/mine")})
    push("loop", {"shop/redirects.yaml": rules("/a").replace("/new", "/a")})
    place.root.ask("POST", path_of(place, "loop", "/merge"), 422)
    assert (state("mine"), state("loop")) == ("open", "invalid")
    push("release", {"shop/redirects.yaml": rules("/a").replace("/new", "/theirs")})
    assert state("mine") == "conflicts"
    refused = place.root.refused("POST", path_of(place, "mine", "/merge"), 409, "conflict")
    assert [(each["project"], each["source"], each["field"]) for each in refused["conflicts"]] == [
        ("shop", "/a", "target")
    ]
    assert place.root.get(path_of(place, "mine"))["projects"][0]["conflicts"] == refused["conflicts"]
    place.root.refused("POST", path_of(place, "mine", "/update"), 409, "conflict")


def test_conflicts_of_records_that_the_caller_may_not_read_have_no_values(place: Place, push: Push) -> None:
    place.published("/a")
    push("mine", {"shop/redirects.yaml": rules("/a").replace("/new", "/mine")})
    push("release", {"shop/redirects.yaml": rules("/a").replace("/new", "/theirs")})
    publisher = place.holder(("project", "read"), ("project", "publish"))
    refused = publisher.root.ask("POST", path_of(place, "mine", "/merge"), 409)
    assert "/theirs" not in refused.text
    assert [(each["project"], each["withheld"]) for each in refused.json()["conflicts"]] == [("shop", True)]


def test_an_approval_is_of_this_head_by_another_person(world: World, tmp_path: Path) -> None:
    """Each project that requires a review needs its own; a new commit voids it; the requester cannot give it."""
    shop = world.place(review="required")
    clone = Clone.of(shop.repository, tmp_path / "clone")
    clone.write("shop/redirects.yaml", rules("/a"))
    first = clone.commit()
    clone.push("sale")
    asker, kim = shop.as_(world.person("publisher")), shop.as_(world.person("publisher"))

    def say(who: Place, action: str, head: str, status: int = 200, **more: str) -> Any:
        body = {"action": action, "head": head, **more}
        return who.root.ask("POST", path_of(shop, "sale", "/review"), status, json=body).json()

    asker.root.refused("POST", path_of(shop, "sale", "/merge"), 403, "approval_required")
    assert say(asker, "request", first, note="Please")["reviews"]["shop"]["state"] == "requested"
    assert say(asker, "approve", first, 403)["error"] == "own_change"
    say(kim, "approve", first)
    second = _commit_on(clone, "sale")
    assert asker.root.get(path_of(shop, "sale"))["projects"][0]["review"]["state"] == "outdated"
    asker.root.refused("POST", path_of(shop, "sale", "/merge"), 403, "approval_required")
    assert say(kim, "approve", first, 409)["error"] == "stale_proposal"
    say(kim, "comment", second, note="Now fine", project="shop")
    say(kim, "approve", second)
    asker.root.refused("POST", path_of(shop, "sale", "/merge"), 409, "stale_proposal", json={"head": first})
    thread = asker.root.get(path_of(shop, "sale", "/review"))
    assert [(each["action"], each["projects"], each["current"]) for each in thread["items"]] == [
        ("request", ["shop"], False),
        ("approve", ["shop"], False),
        ("comment", ["shop"], True),
        ("approve", ["shop"], True),
    ]
    assert (thread["total"], thread["head"], thread["reviews"]["shop"]["state"]) == (4, second, "approved")
    asker.root.ask("POST", path_of(shop, "sale", "/merge"), 200, json={"head": second})
    assert shop.get("/history")["items"][0]["approvedBy"].startswith("Ada Lovelace")


def _commit_on(clone: Clone, branch: str) -> str:
    clone.write("shop/redirects.yaml", rules("/a", "/b"))
    commit = clone.commit()
    clone.push(branch)
    return commit


def test_the_pusher_of_a_head_cannot_approve_it(world: World, tmp_path: Path) -> None:
    """The authors of the commits may be others; the push is in the thread, once, and is no step of the review."""
    shop = world.place(review="required")
    clone = Pusher.of(shop, tmp_path / "clone")
    head = clone.commit("shop/redirects.yaml", rules("/a"))
    clone.pushed("origin", "HEAD:sale")
    pusher, review = Caller(world.http, clone.token), path_of(shop, "sale", "/review")
    pusher.refused("POST", review, 403, "own_change", json={"action": "approve", "head": head})
    thread = pusher.get(review)
    assert [(each["action"], each["by"]["kind"]) for each in thread["items"]] == [("push", "token")]
    assert thread["reviews"]["shop"]["state"] == "none"
    world.person("publisher").ask("POST", review, 200, json={"action": "approve", "head": head})
    pusher.ask("POST", path_of(shop, "sale", "/merge"), 200, json={"head": head})


def test_the_pusher_of_a_draft_cannot_approve_it(world: World, tmp_path: Path) -> None:
    shop = world.place(review="required")
    clone = Pusher.of(shop, tmp_path / "clone")
    head = clone.commit("shop/redirects.yaml", rules("/a"))
    clone.pushed("origin", "HEAD:draft/shop/main")
    pusher = shop.as_(Caller(world.http, clone.token))
    body = {"action": "approve", "head": head}
    pusher.refused("POST", "/draft/review", 403, "own_change", json=body)
    shop.as_(world.person("publisher")).ask("POST", "/draft/review", 200, json=body)
    pusher.publish(head=head)


def test_a_rejection_stops_the_merge(world: World, tmp_path: Path) -> None:
    shop = world.place(review="required")
    clone = Clone.of(shop.repository, tmp_path / "clone")
    clone.write("shop/redirects.yaml", rules("/a"))
    head = clone.commit()
    clone.push("sale")
    for action in ("approve", "reject"):
        who = world.person("publisher")
        who.ask("POST", path_of(shop, "sale", "/review"), 200, json={"action": action, "head": head})
    shop.root.refused("POST", path_of(shop, "sale", "/merge"), 403, "approval_required", json={"head": head})


def test_a_remark_on_several_projects_is_one_in_the_thread(place: Place, blog: Place, push: Push) -> None:
    """A caller sees it for the projects that they may read, and it can be on one rule."""
    head = push("both", BOTH)
    rule = blog.root.get(f"{blog.path}/diff", **{"from": "base", "to": f"proposal/{id_of('both')}"})
    record = {"kind": "redirect", "id": rule["changes"][0]["id"]}
    review = path_of(place, "both", "/review")
    place.root.ask("POST", review, 200, json={"action": "comment", "head": head, "note": "Both"})
    place.root.ask("POST", review, 200, json={"action": "comment", "head": head, "note": "One", "item": record})
    place.root.refused(
        "POST",
        review,
        404,
        "not_found",
        json={"action": "comment", "head": head, "note": "x", "item": {"kind": "page", "id": "0" * 16}},
    )
    place.root.refused(
        "POST", review, 404, "not_found", json={"action": "comment", "head": head, "note": "x", "project": "none"}
    )
    items = place.root.get(review)["items"]
    assert [(each["note"], each["projects"]) for each in items] == [("Both", ["blog", "shop"]), ("One", ["blog"])]
    assert items[1]["item"] == {**record, "source": "/blog"}
    reader = place.holder(("project", "read"))
    assert [each["projects"] for each in reader.root.get(review)["items"]] == [["shop"]]
    reader.root.refused("POST", review, 403, "forbidden", json={"action": "approve", "head": head})


def test_an_override_needs_its_grant_and_is_audited(world: World, tmp_path: Path) -> None:
    shop = world.place(review="required")
    clone = Clone.of(shop.repository, tmp_path / "clone")
    clone.write("shop/redirects.yaml", rules("/a"))
    clone.commit()
    clone.push("sale")
    publisher = shop.as_(world.person("publisher"))
    body = {"override": "outage"}
    publisher.root.refused("POST", path_of(shop, "sale", "/merge"), 403, "forbidden", json=body)
    shop.root.refused("POST", path_of(shop, "sale", "/merge"), 422, "invalid_body", json={"override": "--"})
    admin = shop.as_(world.person("admin"))
    admin.root.ask("POST", path_of(shop, "sale", "/merge"), 200, json=body)
    assert shop.get("/history")["items"][0]["overrideReason"] == "outage"
    with world.services.state.database.reading() as connection:
        entries, _ = list_entries(connection, 500, 0)
    events = [each.event for each in entries if each.namespace == shop.namespace]
    assert {AuditEvent.OVERRIDE_ASKED, AuditEvent.APPROVAL_OVERRIDDEN} <= set(events)


def test_an_override_for_files_beside_the_projects_is_audited(world: World, tmp_path: Path) -> None:
    shop = world.place()
    clone = Clone.of(shop.repository, tmp_path / "clone")
    clone.write("README.md", "Ours\n")
    clone.commit()
    clone.push("words")
    admin = shop.as_(world.person("admin"))
    admin.root.ask("POST", path_of(shop, "words", "/merge"), 200, json={"override": "outage"})
    with world.services.state.database.reading() as connection:
        entries, _ = list_entries(connection, 500, 0)
    found = [each for each in entries if each.namespace == shop.namespace and "overrid" in each.event]
    assert {each.event for each in found} == {AuditEvent.OVERRIDE_ASKED, AuditEvent.APPROVAL_OVERRIDDEN}
    assert {(each.project, each.detail["reason"]) for each in found} == {(None, "outage")}


def test_release_is_merged_into_the_branch(place: Place, push: Push) -> None:
    place.published("/a")
    head = push("sale", {"shop/redirects.yaml": rules("/a", "/mine")})
    place.root.refused("POST", path_of(place, "sale", "/update"), 409, "nothing_to_change")
    place.published("/theirs")
    place.root.refused("POST", path_of(place, "sale", "/update"), 409, "stale_proposal", json={"head": "0" * 40})
    shown = place.root.ask("POST", path_of(place, "sale", "/update"), 200, json={"head": head}).json()
    assert shown["base"] == git(place.repository, "rev-parse", "release")
    assert git(place.repository, "rev-list", "--parents", "-1", "sale").split() == [shown["head"], head, shown["base"]]
    assert shown["projects"][0]["changes"]["redirects"] == {"added": 1, "changed": 0, "removed": 0}
    check_repository(place.repository)


def disagree(push: Push) -> str:
    """Change two rules, a page, and a file beside the projects differently on the branch `sale` and on release."""
    pages = "pages:\n  - {type: BASIC, path: /p, contentType: TEXT_PLAIN, content: old}\n"
    push("release", {"shop/redirects.yaml": rules("/a", "/b"), "shop/pages.yaml": pages, "README.md": "Base\n"})

    def side(name: str) -> dict[str, str]:
        redirects = rules("/a", "/b").replace("/new", f"/{name}")
        return {"shop/redirects.yaml": redirects, "shop/pages.yaml": pages.replace("old", name), "README.md": name}

    head = push("sale", side("mine"))
    push("release", side("theirs"))
    return head


def chosen(found: Any, take: str = "draft") -> list[dict[str, Any]]:
    """Return a choice of a side for each conflict."""
    names = ("kind", "project", "id", "file", "field")
    return [{**{name: each[name] for name in names if name in each}, "take": take} for each in found]


def conflicts_of(shown: Any) -> list[Any]:
    return [*(each for project in shown["projects"] for each in project["conflicts"]), *shown["conflicts"]]


def test_conflicts_of_a_proposal_are_resolved_by_an_update(place: Place, push: Push) -> None:
    """All or none: with two parents, and each choice; an approval from before does not count any more."""
    head, path = disagree(push), path_of(place, "sale")
    shown = place.root.get(path)
    *some, beside = chosen(conflicts_of(shown))
    assert [each.get("project") for each in (*some, beside)] == [*("shop",) * 3, None]
    place.root.ask("POST", f"{path}/review", 200, json={"action": "approve", "head": head})
    body = {"head": head, "release": shown["release"], "choices": some}
    refused = place.root.refused("POST", f"{path}/update", 409, "conflict", json=body)
    [left] = shown["conflicts"]
    assert refused["conflicts"] == [{name: value for name, value in left.items() if name != "texts"}]
    third = {**{name: value for name, value in some[0].items() if name != "take"}, "value": "/third"}
    body["choices"] = [third, some[1] | {"take": "release"}, some[2], beside]
    updated = place.root.ask("POST", f"{path}/update", 200, json=body).json()
    assert (updated["state"], conflicts_of(updated), updated["base"]) == ("open", [], shown["release"])
    assert git(place.repository, "rev-list", "--parents", "-1", "sale").split() == [
        updated["head"],
        head,
        updated["base"],
    ]
    assert updated["projects"][0]["review"]["state"] == "outdated"
    place.root.ask("POST", f"{path}/merge", 200, json={"head": updated["head"]})
    assert [each["target"] for each in place.get("/redirects")["items"]] == ["/third", "/theirs"]
    assert [each["content"] for each in place.get("/pages")["items"]] == ["mine"]
    assert git(place.repository, "cat-file", "blob", "release:README.md") == "mine"
    check_repository(place.repository)


def test_a_wrong_choice_resolves_nothing(place: Place, push: Push) -> None:
    head, path = disagree(push), f"{path_of(place, 'sale')}/update"
    shown = place.root.get(path_of(place, "sale"))
    choices = chosen(conflicts_of(shown))
    first, rest = choices[0], choices[1:]
    bare = {name: value for name, value in first.items() if name != "take"}

    def refused(status: int, code: str, *added: dict[str, Any], **more: str) -> Any:
        return place.root.refused("POST", path, status, code, json={"choices": [*rest, *added], **more})

    for wrong in ({"id": "0" * 16}, {"field": "note"}, {"project": "none"}, {"kind": "page"}):
        refused(404, "not_found", {**first, **wrong})
    for value in (7, "no path", None):  # the second is a text, but no target
        found = refused(422, "invalid_content", {**bare, "value": value})
        assert {each["pointer"] for each in found["problems"]} == {"/choices/3/value"}
    assert refused(422, "invalid_content", first, first)["problems"][0]["pointer"] == "/choices/4"
    without = {name: value for name, value in first.items() if name != "project"}
    assert refused(422, "invalid_body", without)["problems"][0]["pointer"] == "/choices/3/project"
    refused(409, "stale_proposal", first, head=shown["release"])
    for release in ("0" * 40, git(place.repository, "rev-parse", "release:shop")):
        refused(409, "stale_version", first, release=release)
    assert git(place.repository, "rev-parse", "sale") == head


def test_a_choice_needs_the_grant_of_its_kind(place: Place, push: Push) -> None:
    """And of all projects for a file beside them; what the caller may not read stays without its value in a refusal."""
    push("release", {"shop/redirects.yaml": rules("/a"), "README.md": "Base\n"})
    pages = "pages:\n  - {type: BASIC, path: /p, contentType: TEXT_PLAIN, content: secret %s}\n"
    head = push(
        "sale", {"shop/redirects.yaml": rules("/a").replace("/new", "/mine"), "shop/pages.yaml": pages % "mine"}
    )
    push(
        "release", {"shop/redirects.yaml": rules("/a").replace("/new", "/theirs"), "shop/pages.yaml": pages % "theirs"}
    )
    path = f"{path_of(place, 'sale')}/update"
    choices = chosen(conflicts_of(place.root.get(path_of(place, "sale"))))
    assert [each["kind"] for each in choices] == ["redirect", "page"]
    reads = (("project", "read"), ("redirect", "read"))
    writer = place.holder(*reads, ("redirect", "write"))
    refused = writer.root.refused("POST", path, 403, "forbidden", json={"choices": choices})
    assert "page:write in shop" in refused["message"]
    rest = writer.root.ask("POST", path, 409, json={"choices": choices[:1]})
    assert "secret" not in rest.text
    assert [(each["kind"], each["withheld"]) for each in rest.json()["conflicts"]] == [("page", True)]
    beside = {"kind": "file", "file": "README.md", "take": "draft"}
    both = place.holder(*reads, ("redirect", "write"), ("page", "write"))
    for wrong in (beside, {**beside, "project": "shop", "file": "shop/project.yaml"}):
        both.root.refused("POST", path, 403, "forbidden", json={"choices": [*choices, wrong]})
    reader = place.holder(*reads)
    reader.root.refused("POST", path, 403, "forbidden", json={"choices": choices})
    stranger = place.world.holder(("redirect", "write"), namespace="elsewhere")
    stranger.refused("POST", path, 403, "forbidden", json={"choices": choices})
    assert git(place.repository, "rev-parse", "sale") == head
    both.root.ask("POST", path, 200, json={"choices": choices})


def test_the_refusal_of_a_value_does_not_name_a_rule_that_the_caller_may_not_read(place: Place, push: Push) -> None:
    """A conflict of it has its id alone, and so has the refusal of a value with another source."""
    place.published("/secret")
    push("sale", {"shop/redirects.yaml": "redirects: []\n"})
    push("release", {"shop/redirects.yaml": rules("/secret").replace("/new", "/theirs")})
    writer = place.holder(("project", "read"), ("redirect", "write"))
    [conflict] = conflicts_of(writer.root.get(path_of(place, "sale")))
    value = {"type": "BASIC", "source": "/guess", "target": "/new", "status": "FOUND"}
    choice = {**{name: conflict[name] for name in ("kind", "project", "id", "field")}, "value": value}
    refused = writer.root.ask("POST", path_of(place, "sale", "/update"), 422, json={"choices": [choice]})
    assert refused.json()["problems"][0]["pointer"] == "/choices/0/value/source"
    assert "secret" not in refused.text


def test_a_wrong_body_of_an_update_tells_nothing_of_the_proposal(place: Place, push: Push) -> None:
    """It is refused as such whatever the address names, and not read from a stranger; a right one is 403 or 404."""
    push("sale", {"shop/redirects.yaml": rules("/a")})
    reader = place.holder(("project", "read"), ("redirect", "read"))
    agent = place.holder(("redirect", "read"))
    for caller, branch, status, code in (
        (reader, "sale", 403, "forbidden"),
        (reader, "none", 404, "not_found"),
        (agent, "sale", 404, "not_found"),
        (agent, "none", 404, "not_found"),
    ):
        path = path_of(place, branch, "/update")
        caller.root.refused("POST", path, 400, "malformed_json", content=b"{", headers=JSON)
        caller.root.refused("POST", path, status, code, json={})
    stranger = place.world.holder(("redirect", "write"), namespace="elsewhere")
    stranger.refused("POST", path_of(place, "sale", "/update"), 403, "forbidden", content=b"{", headers=JSON)


def test_of_two_who_resolve_at_once_one_is_refused(place: Place, push: Push) -> None:
    """By two workers; the one who was first is not undone, and the other reads why."""
    head, path = disagree(push), path_of(place, "sale")
    shown = place.root.get(path)

    def run(take: str) -> Any:
        body = {"head": head, "release": shown["release"], "choices": chosen(conflicts_of(shown), take)}
        return place.root.send("POST", f"{path}/update", json=body)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(run, ["draft", "release"] * 2))
    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409]
    assert {each.json()["error"] for each in answers if each.status_code == 409} == {"stale_proposal"}
    won = ["mine", "theirs"][[each.status_code for each in answers].index(200) % 2]
    assert git(place.repository, "cat-file", "blob", "sale:README.md") == won
    assert git(place.repository, "rev-list", "--parents", "-1", "sale").split()[1:] == [head, shown["release"]]
    check_repository(place.repository)


def test_who_resolves_conflicts_cannot_approve_the_branch(world: World, tmp_path: Path) -> None:
    """Their choices are content of the branch, like a commit that they have pushed."""
    shop = world.place()
    clone = Clone.of(shop.repository, tmp_path / "clone")
    for branch, target in (("release", "/base"), ("sale", "/mine"), ("release", "/theirs")):
        git(clone.folder, "fetch", "-q", "origin")
        git(clone.folder, "checkout", "-q", "--detach", "origin/release")
        clone.write("shop/redirects.yaml", rules("/a").replace("/new", target))
        clone.commit()
        clone.push(branch)
    shop.ask("PATCH", "", 200, json={"review": "required"})
    ada, path = world.person("publisher"), path_of(shop, "sale")
    updated = ada.ask("POST", f"{path}/update", 200, json={"choices": chosen(conflicts_of(ada.get(path)))}).json()
    body = {"action": "approve", "head": updated["head"]}
    ada.refused("POST", f"{path}/review", 403, "own_change", json=body)
    world.person("publisher").ask("POST", f"{path}/review", 200, json=body)
    ada.ask("POST", f"{path}/merge", 200, json={"head": updated["head"]})


def test_a_draft_becomes_a_proposal_and_a_proposal_is_deleted(place: Place) -> None:
    place.add("/a")
    head = place.get("/draft")["head"]
    body = {"branch": "team/sale", "project": "shop", "head": head}
    made = place.root.ask("POST", f"{place.space}/proposals", 201, json=body)
    assert made.headers["Location"] == path_of(place, "team/sale")
    assert (made.json()["head"], made.json()["state"]) == (head, "open")
    taken = place.root.refused("POST", f"{place.space}/proposals", 409, "already_exists", json=body)
    assert taken["problems"][0]["pointer"] == "/branch"
    place.root.refused(
        "POST", f"{place.space}/proposals", 409, "stale_draft", json={**body, "branch": "x", "head": "0" * 40}
    )
    place.root.refused("POST", f"{place.space}/proposals", 400, "bad_request", json={**body, "branch": "release"})
    place.root.refused("POST", f"{place.space}/proposals", 404, "not_found", json={"branch": "x", "project": "none"})
    reader = place.holder(("project", "read"))
    reader.root.refused("POST", f"{place.space}/proposals", 403, "forbidden", json={**body, "branch": "x"})
    place.root.refused("DELETE", f"{path_of(place, 'team/sale')}?head={'0' * 40}", 409, "stale_proposal")
    editor = place.holder(("project", "read"), ("redirect", "write"))
    editor.root.ask("DELETE", f"{path_of(place, 'team/sale')}?head={head}", 204)
    assert place.get("/draft")["head"] == head
    assert place.root.get(f"{place.space}/proposals")["total"] == 0


def test_merges_publishes_and_pushes_at_once_lose_nothing(place: Place, blog: Place, push: Push) -> None:
    """Two merges of one proposal are one publish; a publish beside them lands too."""
    head = push("both", BOTH)
    place.add("/draft")

    def merge(_: int) -> Any:
        return place.root.ask("POST", path_of(place, "both", "/merge"), 200, json={"head": head}).json()["version"]

    with ThreadPoolExecutor(4) as pool:
        published = pool.submit(place.publish)
        versions = set(pool.map(merge, range(3)))
        published.result()
    assert len(versions) == 1
    assert sorted(place.sources()) == ["/draft", "/shop"]
    assert blog.sources() == ["/blog"]
    assert sorted(each["publishNumber"] for each in place.get("/history")["items"]) == [1, 2, 3]
    check_repository(place.repository)


@pytest.mark.parametrize("wanted", ["0" * 16, "x", "0" * 15, "%00", "release", "A" * 16])
def test_unknown_ids_are_not_found(place: Place, wanted: str) -> None:
    for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/merge"), ("POST", "/update"), ("GET", "/review")):
        answer = place.root.send(method, f"{place.space}/proposal/{wanted}{tail}")
        assert answer.status_code in {400, 404}, answer.text


def test_a_damaged_branch_is_listed_and_can_be_deleted(place: Place) -> None:
    folder = place.repository / "refs" / "heads"
    folder.joinpath("broken").write_text("1" * 40 + "\n")
    shown = place.root.get(path_of(place, "broken"))
    assert (shown["state"], shown["author"]) == ("invalid", None)
    assert shown["fault"]
    assert place.root.get(f"{place.space}/proposals")["items"][0]["branch"] == "broken"
    place.root.ask("POST", path_of(place, "broken", "/merge"), 503)
    place.root.ask("DELETE", path_of(place, "broken"), 204)
    assert not folder.joinpath("broken").exists()


def test_proposals_are_found_by_title_branch_and_author_and_by_no_title_that_is_withheld(
    place: Place, blog: Place, push: Push
) -> None:
    assert blog.namespace == place.namespace
    push("team/sale", {"shop/redirects.yaml": rules("/a")}, "The spring sale\n\nNot in the title.")
    push("team/both", BOTH, "Secret of the blog")

    def found(by: Place, text: str) -> list[str]:
        answer = by.root.get(f"{place.space}/proposals", q=text, limit=10)
        assert answer["total"] == len(answer["items"])
        return sorted(each["branch"] for each in answer["items"])

    assert found(place, "SPRING sale") == ["team/sale"]
    assert found(place, "both") == ["team/both"]
    assert found(place, "grace@example.com") == ["team/both", "team/sale"]
    assert found(place, "not in the title") == []
    assert found(place, "secret") == ["team/both"]
    reader = place.holder(("project", "read"), ("redirect", "read"), ("page", "read"))
    assert found(reader, "both") == ["team/both"]
    assert found(reader, "secret") == []
    of_blog = place.root.get(f"{place.space}/proposals", project="blog", q="sale")
    assert of_blog["total"] == 0


def test_the_texts_of_a_file_beside_the_projects_are_for_who_may_read_all_rules(
    place: Place, push: Push, tmp_path: Path
) -> None:
    """A rule can be quoted there. A link has none, nor has the list."""
    push("release", {"README.md": "Base\n", "LICENSE": "Old\n"})
    push("sale", {"README.md": "Mine\n", "LICENSE": "Mine\n"})
    remove_hooks(place.repository)  # which refuses a link
    clone = Clone.of(place.repository, tmp_path / "link", "release")
    clone.write("README.md", "Theirs\n")
    (clone.folder / "LICENSE").unlink()
    (clone.folder / "LICENSE").symlink_to("README.md")
    clone.commit()
    clone.push("release")
    wait_until(lambda: place.root.get(path_of(place, "sale"))["conflicts"] != [], 30, "the conflicts")
    found = place.root.get(path_of(place, "sale"))["conflicts"]
    assert [(each["file"], each.get("texts")) for each in found] == [
        ("LICENSE", None),
        ("README.md", {"base": "Base\n", "release": "Theirs\n", "draft": "Mine\n"}),
    ]
    for granted, shown in ((("redirect", "page"), True), (("redirect",), False)):
        grants = [("project", "read"), *((kind, "read") for kind in granted)]
        caller = place.world.holder(*grants, namespace=place.namespace)
        conflicts = caller.get(path_of(place, "sale"))["conflicts"]
        assert [each["file"] for each in conflicts] == ["LICENSE", "README.md"]
        assert ("texts" in conflicts[1]) is shown
