"""The audit trail over HTTP: complete, for readers with the grant, and without secrets."""

from datetime import UTC, datetime
from typing import Any

import pytest

from api.db.audit import Actor, AuditEntry, AuditEvent, record
from tests.e2e.world import PASSWORD, Place, World

TRAIL = "/api/audit"


@pytest.fixture(scope="module")
def reviewed(world: World) -> Place:
    """Return a place with a draft that another user approved, and a webhook."""
    place = world.place(review="required")
    author, other = place.as_(world.person("editor")), place.as_(world.person("publisher"))
    author.add("/a")
    head = place.get("/draft")["head"]
    author.ask("POST", "/draft/review", 200, json={"action": "request", "head": head})
    other.ask("POST", "/draft/review", 200, json={"action": "approve", "head": head})
    place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/"})
    return place


def trail(world: World, **filters: Any) -> Any:
    return world.holder(("audit", "read")).get(TRAIL, **filters)


def events(found: Any) -> list[str]:
    return [entry["event"] for entry in found["items"]]


def test_it_lists_newest_first_who_did_what_from_where_and_when(world: World, reviewed: Place) -> None:
    found = trail(world, namespace=reviewed.namespace)
    assert events(found) == ["webhook_created", "draft_approved", "review_requested", "namespace_created"]
    approved = found["items"][1]
    assert (approved["project"], approved["subject"], approved["address"]) == ("shop", "main", "127.0.0.1")
    assert approved["actor"]["kind"] == "user"
    assert [entry["id"] for entry in found["items"]] == sorted((each["id"] for each in found["items"]), reverse=True)


def test_it_is_read_in_windows(world: World, reviewed: Place) -> None:
    whole = trail(world, namespace=reviewed.namespace)
    pages = [trail(world, namespace=reviewed.namespace, limit=1, offset=number) for number in range(5)]
    assert [page["items"] for page in pages] == [[entry] for entry in whole["items"]] + [[]]
    assert {page["total"] for page in pages} == {4}


def test_filters_narrow_it_together(world: World, reviewed: Place) -> None:
    within = {"namespace": reviewed.namespace}
    (approved,) = trail(world, event="draft_approved", **within)["items"]
    assert trail(world, actor=approved["actor"]["name"], **within)["items"] == [approved]
    assert trail(world, actor=approved["actor"]["name"], event="review_requested", **within)["total"] == 0
    assert events(trail(world, project="shop", **within)) == ["draft_approved", "review_requested"]
    assert trail(world, project="other", **within)["total"] == 0
    assert trail(world, since="2020-01-01T00:00:00Z", until="2999-01-01T02:00:00+02:00", **within)["total"] == 4
    assert trail(world, since="2999-01-01T00:00:00Z", **within)["total"] == 0
    assert trail(world, until="2020-01-01T00:00:00Z", **within)["total"] == 0


def test_operator_is_every_user_of_the_command_line_and_any_account_of_that_name(world: World) -> None:
    place, at = world.place(), datetime.now(UTC)
    actors = [Actor("operator", None, "operator"), Actor("operator", None, "Grace"), Actor("token", 7, "operator")]
    with world.services.state.database.writing() as connection:
        for actor in (*actors, Actor("user", 9, "Grace")):
            record(connection, AuditEntry(at, AuditEvent.APPROVAL_OVERRIDDEN, actor, "main", namespace=place.namespace))
    found = trail(world, actor="operator", event="approval_overridden", namespace=place.namespace)["items"]
    assert [(each["actor"]["kind"], each["actor"]["name"]) for each in found] == [
        (each.kind, each.name) for each in reversed(actors)
    ]
    named = trail(world, actor="Grace", namespace=place.namespace)["items"]
    assert [each["actor"]["kind"] for each in named] == ["user", "operator"]


@pytest.mark.parametrize(
    "query",
    [
        "event=born",
        "event=",
        "actor=",
        "namespace=a/b",
        "project=..",
        "since=yesterday",
        "since=2026-01-01",
        "since=2026-01-01T00:00:00",
        "until=2026-02-30T00:00:00Z",
        "until=0001-01-01T00:00:00%2B02:00",
        "limit=-1",
        "actr=ada",
        "event=user_created&event=user_deleted",
    ],
)
def test_an_invalid_filter_is_400_and_named(world: World, query: str) -> None:
    found = world.root.refused("GET", f"{TRAIL}?{query}", 400, "bad_parameter")
    assert f"'{query.partition('=')[0]}'" in found["message"]


def test_only_who_may_read_it_everywhere_does(world: World, reviewed: Place) -> None:
    for held in (("audit", "write"), ("project", "*"), ("namespace", "*"), ("user", "*"), ("token", "*")):
        world.holder(held).refused("GET", TRAIL, 403, "forbidden")
    reviewed.holder(("*", "*")).root.refused("GET", TRAIL, 403, "forbidden")
    world.person("publisher").refused("GET", TRAIL, 403, "forbidden")
    world.nobody.refused("GET", TRAIL, 401, "unauthenticated")
    assert world.person("admin").get(TRAIL)["total"] > 0


def test_no_call_changes_or_deletes_it(world: World) -> None:
    for method in ("DELETE", "POST", "PUT", "PATCH"):
        world.person("admin").refused(method, TRAIL, 405, "method_not_allowed")


def test_it_holds_no_secret(world: World) -> None:
    admin, secrets = world.person("admin"), [PASSWORD, "a quite new long password"]
    grants = [{"namespace": "*", "project": "*", "resource": "page", "action": "read"}]
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "edge", "grants": grants}).json()
    place = world.place()
    hook = place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/?key=sesame"})
    name = world.user("viewer")
    session = world.session(name)
    number = next(each["id"] for each in admin.get("/api/users")["items"] if each["username"] == name)
    admin.ask("PATCH", f"/api/user/{number}", 200, json={"password": secrets[1]})
    shown = str(trail(world, limit=1_000_000))
    assert "authn_password_change" in shown
    secrets += [made["token"], hook.json()["secret"], "sesame", session["accessToken"], session["refreshToken"]]
    assert [secret for secret in secrets if secret in shown] == []
