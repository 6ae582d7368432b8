"""Access control: every operation of the contract for every kind of token, on the running service."""

from collections.abc import Collection
from itertools import product

import pytest

import schemas
from api.auth.permissions.grants import ACTIONS, Grant
from schemas import Operation
from tests.e2e.caller import Caller
from tests.e2e.contract import describe, operations_at
from tests.e2e.world import Place, World

OPERATIONS = [each for each in schemas.operations() if each.scheme == "bearer"]  # Git's are in test_git_requests
GUARDED = [each for each in OPERATIONS if each.audience != "public"]
GRANTED = [each for each in OPERATIONS if each.audience == "grant"]
IN_PROJECT = [each for each in GRANTED if "{project}" in each.path]
IN_NAMESPACE = [each for each in GRANTED if "{namespace}" in each.path and "{project}" not in each.path]
# operations on one namespace that need a grant on every namespace
FOR_ALL_NAMESPACES = {"restoreNamespace"}
SERVER_WIDE = [each for each in GRANTED if "{namespace}" not in each.path or each.operation_id in FOR_ALL_NAMESPACES]
EVERYTHING = {(resource, action) for resource, actions in ACTIONS.items() for action in actions}
PROJECT_WIDE = {pair for pair in EVERYTHING if pair[0] in {"redirect", "page", "agent", "project"}}
ALSO_NEEDED = {
    "listDraftRedirects": {("redirect", "read")},
    "getDraftRedirect": {("redirect", "read")},
    "listDraftPages": {("page", "read")},
    "getDraftPage": {("page", "read")},
    "discardDraft": {("page", "write")},
    "reopenVersion": {("page", "write")},
    "exportRedirects": {("redirect", "read")},
    "updateProject": {("project", "publish")},
    "deleteProject": {("project", "publish")},
}
# actions that no API token may do, with any grants
FOR_PEOPLE = {"deleteToken", "rotateToken", "deleteRole", "deleteUser", "endUserSessions"}
# public calls whose only proof is a cookie: without one, 401
BY_COOKIE = {"refreshBrowserSession"}
AGENT = (("redirect", "read"), ("page", "read"), ("agent", "write"))
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    """Create a project that no test changes."""
    return world.place()


@pytest.fixture(scope="module")
def bad_tokens(world: World) -> list[str]:
    """Return malformed tokens, an expired one, a refresh token, and one with a single wrong character."""
    good = world.root.token
    mistyped = good[:-1] + ("0" if good[-1] != "0" else "1")
    refresh = world.session(world.user("admin"))["refreshToken"]
    return ["x", "a.b.c", "svc_", mistyped, "svc_" + "Z" * 49, world.expired(), refresh]


def by_id(operations: Collection[Operation]) -> pytest.MarkDecorator:
    """Parametrize a test by operation."""
    return pytest.mark.parametrize("operation", operations, ids=lambda each: each.operation_id)


def path_of(operation: Operation, shop: Place, project: str = "") -> str:
    """Return the operation's path with names in it; ids are those of missing records."""
    record = "999999" if operation.path.startswith(("/api/user/", "/api/token/")) else "0" * 16
    names = {"namespace": shop.namespace, "project": project or shop.project, "id": record}
    return operation.path.format(**names, name="edge", version="1", delivery="9", session="0" * 16, view="start")


@by_id(GUARDED)
def test_without_a_token_that_holds_nothing_is_answered(
    world: World, shop: Place, bad_tokens: list[str], operation: Operation
) -> None:
    path = path_of(operation, shop)
    headers = [
        {},
        *({"Authorization": f"Bearer {token}"} for token in bad_tokens),
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
    ]
    for header in headers:
        answer = world.nobody.send(operation.method, path, headers=header)
        assert answer.status_code == 401, describe(answer)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@by_id(GRANTED)
def test_all_other_permissions_together_do_not_help(world: World, shop: Place, operation: Operation) -> None:
    lacking = world.holder(*(EVERYTHING - set(operation.accepted)))
    projects = (shop.project, "no-such-project", "no.name") if "{project}" in operation.path else ("",)
    answers = [lacking.ask(operation.method, path_of(operation, shop, name), 403) for name in projects]
    assert len({answer.content for answer in answers}) == 1


@by_id(IN_PROJECT)
def test_a_token_of_another_project_or_namespace_does_not_help(world: World, shop: Place, operation: Operation) -> None:
    same_words = set()
    for namespace, project in ((shop.namespace, "other"), ("other", "shop"), ("other", "*")):
        stranger = world.holder(*PROJECT_WIDE, namespace=namespace, project=project)
        for name in (shop.project, "no-such-project"):
            same_words.add(stranger.ask(operation.method, path_of(operation, shop, name), 403).content)
    assert len(same_words) == 1


@by_id(IN_NAMESPACE)
def test_a_token_of_another_namespace_does_not_help_either(world: World, shop: Place, operation: Operation) -> None:
    for namespace, project in (("other", "*"), (shop.namespace, shop.project)):
        held = PROJECT_WIDE if project != "*" else PROJECT_WIDE | {("namespace", "read"), ("namespace", "write")}
        stranger = world.holder(*held, namespace=namespace, project=project)
        stranger.refused(operation.method, path_of(operation, shop), 403, "forbidden")


@by_id(SERVER_WIDE)
def test_a_token_of_one_namespace_rules_no_more_than_that(world: World, shop: Place, operation: Operation) -> None:
    held = PROJECT_WIDE | {("namespace", "read"), ("namespace", "write")}
    local = world.holder(*held, namespace=shop.namespace)
    local.refused(operation.method, path_of(operation, shop), 403, "forbidden")


@by_id([each for each in GRANTED if each.operation_id not in FOR_PEOPLE])
def test_each_permission_that_the_contract_names_is_enough(world: World, shop: Place, operation: Operation) -> None:
    for pair in operation.accepted:
        needed = {pair} | ALSO_NEEDED.get(operation.operation_id, set())
        project = shop.project if "{project}" in operation.path else "*"
        namespace = "*" if operation in SERVER_WIDE else shop.namespace
        holder = world.holder(*needed, namespace=namespace, project=project)
        answer = holder.send(operation.method, path_of(operation, shop))
        assert answer.status_code not in {401, 403}, describe(answer)


@by_id([each for each in OPERATIONS if each.audience == "public" and each.operation_id not in BY_COOKIE])
def test_what_is_public_asks_for_nothing(world: World, shop: Place, operation: Operation) -> None:
    path = path_of(operation, shop)
    for header in ({}, {"Authorization": "Bearer nonsense"}):
        answer = world.nobody.send(operation.method, path, headers=header)
        assert answer.status_code not in {401, 403}, describe(answer)


@by_id(IN_PROJECT)
def test_an_agents_token_can_do_only_what_an_agent_does(world: World, shop: Place, operation: Operation) -> None:
    agent = world.holder(*AGENT, namespace=shop.namespace, project=shop.project)
    can = bool(set(AGENT) & set(operation.accepted))
    answer = agent.send(operation.method, path_of(operation, shop))
    assert (answer.status_code != 403) is can, describe(answer)


def test_a_missing_project_is_404_for_a_caller_who_might_see_it(world: World, shop: Place) -> None:
    for operation in IN_PROJECT:
        if operation.method == "GET":
            world.root.refused("GET", path_of(operation, shop, "no-such-project"), 404, "not_found")


@pytest.mark.parametrize("path", sorted({each.path for each in OPERATIONS}))
def test_each_path_takes_the_methods_of_the_contract_and_no_other(world: World, shop: Place, path: str) -> None:
    """The client checks the Allow header of a 405 against the contract, so no further method is served."""
    concrete = path.format(
        namespace=shop.namespace,
        project=shop.project,
        id="0" * 16,
        name="edge",
        version="1",
        delivery="9",
        session="0",
        view="start",
    )
    known = operations_at(concrete)
    for method in METHODS:
        if method not in known and not (method == "HEAD" and "GET" in known):
            world.nobody.ask(method, concrete, 405)
    if path not in {"/dashboard", "/dashboard/{view}"}:  # a view's name may have slashes, which OpenAPI has no word for
        world.nobody.ask("GET", concrete + "/no/such/path", 404)


def test_the_contract_that_is_served_is_the_one_that_is_tested(world: World) -> None:
    assert world.nobody.ask("GET", "/openapi.json", 200).json() == schemas.openapi()


def test_lists_show_what_the_caller_may_see(world: World) -> None:
    mine, other = world.place(), world.place()
    world.place(mine.namespace, "second")
    local = mine.holder(("redirect", "read")).root
    assert [item["name"] for item in local.get("/api/namespaces")["items"]] == [mine.namespace]
    assert [item["name"] for item in local.get(f"{mine.space}/projects")["items"]] == [mine.project]
    local.refused("GET", f"{other.space}/projects", 403, "forbidden")
    local.refused("GET", "/api/namespace/no-such-namespace/projects", 403, "forbidden")


def test_no_one_grants_more_than_they_hold(world: World) -> None:
    editor = world.person("editor")
    editor.refused("POST", "/api/tokens", 403, "forbidden", json={"name": "x", "grants": []})
    admin = world.person("admin")
    grants = [{"resource": "redirect", "action": "read"}]
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "ci", "grants": grants}).json()
    assert Caller(world.http, made["token"]).get("/api/me")["grants"][0]["resource"] == "redirect"


def test_every_pair_of_a_permission_is_listed(world: World) -> None:
    listed = world.root.get("/api/permissions")["permissions"]
    found = {pair for each in listed for pair in product([each["resource"]], each["actions"])}
    assert found == EVERYTHING


def test_grants_of_tokens_are_shown_as_they_were_given(world: World) -> None:
    grant = Grant("acme", "shop", "redirect", "read")
    assert Caller(world.http, world.token([grant])).get("/api/me")["grants"] == [grant.wire()]


def test_an_agents_token_sees_nothing_that_is_not_published(world: World) -> None:
    """This holds for drafts and branches, in every call; content that was published once is readable."""
    place = world.place()
    place.add_page("/robots.txt")
    old = place.published("/a")["version"]
    place.published("/b")
    (kept, *_) = place.get("/redirects")["items"]
    place.add("/secret")
    repository = place.repository / "refs" / "heads"
    (repository / "abcdef0").write_bytes((repository / "draft" / place.project / "main").read_bytes())
    agent = place.holder(*AGENT)
    item = place.get("/draft/redirects")["items"][0]["id"]
    assert agent.get("/redirects")["items"][0] == kept
    for tail in (
        "/draft/redirects",
        f"/draft/redirects/{item}",
        "/draft/pages",
        "/draft",
        "/draft/diff",
        "/draft/changes",
    ):
        agent.refused("GET", tail, 403, "forbidden")
    body = {"find": "a", "replace": "b", "fields": ["target"]}
    agent.refused("POST", "/draft/replace?dryRun=true", 403, "forbidden", json=body)
    hidden = ("draft", f"branch:draft/{place.project}/main", "abcdef0", "branch:release", "99", "nothing")
    for at in hidden:
        agent.refused("GET", f"/export?at={at}", 403, "forbidden")
        agent.refused("GET", f"/export?format=json&at={at}", 403, "forbidden")
        agent.refused("POST", "/test", 403, "forbidden", json={"urls": ["/secret"], "at": at})
    for at, found in (("published", b"/b"), ("2", b"/a"), (old[:9], b"/a")):
        assert found in agent.ask("GET", f"/export?at={at}", 200).content
        assert found in agent.ask("GET", f"/export?format=json&at={at}", 200).content
    (answer,) = agent.ask("POST", "/test", 200, json={"urls": ["/b"], "at": "2"}).json()["results"]
    assert answer["status"] is None


@pytest.mark.parametrize("more", [("project", "read"), ("redirect", "write")])
def test_those_who_see_a_projects_work_or_work_on_it_see_its_drafts(world: World, more: tuple[str, str]) -> None:
    place = world.place()
    made = place.add("/secret")
    reader = place.holder(("redirect", "read"), more)
    assert [item["source"] for item in reader.get("/draft/redirects")["items"]] == ["/secret"]
    assert reader.get(f"/draft/redirects/{made['id']}")["etag"] == made["etag"]
    assert b"/secret" in reader.ask("GET", "/export?at=draft", 200).content
    reader.refused("GET", "/draft/pages", 403, "forbidden")
    reader.refused("GET", "/export?at=draft&format=json", 403, "forbidden")


def test_of_mixed_answers_a_caller_sees_the_kinds_that_they_may_read(world: World) -> None:
    """The diff, the changes of a publish and their counts have no path and no content of the other kind."""
    place = world.place()
    place.add_page("/secret.txt", "hidden words")
    place.published("/public")
    place.add_page("/second-secret.txt", "more words")
    place.add("/second-public")
    for tail in ("/diff?from=1&to=2", "/diff?from=published&to=draft", "/history/2"):
        whole, redirects, pages = (
            place.holder(("project", "read"), *((kind, "read") for kind in kinds)).ask("GET", tail, 200).text
            for kinds in (("redirect", "page"), ("redirect",), ("page",))
        )
        assert ("public" in whole, "secret" in whole, "words" in whole) == (True, True, True), tail
        assert ("public" in redirects, "secret" in redirects, "words" in redirects) == (True, False, False), tail
        assert ("public" in pages, "secret" in pages, "words" in pages) == (False, True, True), tail


def test_problems_of_rules_are_not_shown_without_the_grant_to_read_them(place: Place) -> None:
    """The answer names the code, file and line of a problem, but no text of the rules."""
    place.add("/secret-a", "/secret-b")
    place.add("/secret-b", "/secret-a")
    blind = place.holder(("project", "read"), ("project", "publish"))
    draft, lint = blind.get("/draft"), blind.get("/lint?at=draft")
    refused = blind.refused("POST", "/publish", 422, "invalid_content", json={})
    for told_of, items in ((draft, "problems"), (lint, "items"), (refused, "problems")):
        assert {(each["code"], each["file"]) for each in told_of[items]} == {("redirect_loop", "shop/redirects.yaml")}
        assert "secret" not in str(told_of)
    seeing = place.holder(("project", "read"), ("redirect", "read"), ("page", "read"))
    assert "/secret-a" in str(seeing.get("/draft")["problems"])
    assert "/secret-a" in str(seeing.get("/lint?at=draft")["items"])


def test_a_comment_on_a_rule_names_it_to_who_may_read_it(place: Place) -> None:
    made = place.add("/secret")
    remark = {"action": "comment", "head": place.get("/draft")["head"], "note": "Why?"}
    place.ask("POST", "/draft/review", 200, json={**remark, "item": {"kind": "redirect", "id": made["id"]}})
    shown = place.holder(("project", "read")).get("/draft/review")["items"][0]["item"]
    assert (shown["id"], shown["source"]) == (made["id"], None)
    assert (
        place.holder(("project", "read"), ("redirect", "read")).get("/draft/review")["items"][0]["item"]["source"]
        == "/secret"
    )
