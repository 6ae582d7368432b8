"""The audit trail over HTTP: complete, for readers with the grant, and without secrets."""

import hashlib
import json
import os
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api.app.data_directory import create_data
from api.app.services import open_services
from api.auth.accounts import NewUser
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.db.audit import Actor, AuditEntry, AuditEvent, record
from api.settings import Settings
from tests.api.signing import make_key
from tests.e2e.caller import Caller
from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.service import WAYPOST, running, wait_until

TRAIL = "/api/audit"
GRANT = {"namespace": "*", "project": "*", "resource": "page", "action": "read"}


@pytest.fixture(scope="module")
def reviewed(world: World) -> Place:
    """Return a place with a draft that another user approved, and a webhook."""
    place = world.place(review="required")
    for event in ("release_published", "project_created", "policy_changed"):
        wait_until_recorded(world, event, namespace=place.namespace)
    author, other = place.as_(world.person("editor")), place.as_(world.person("publisher"))
    author.add("/a")
    head = place.get("/draft")["head"]
    author.ask("POST", "/draft/review", 200, json={"action": "request", "head": head})
    other.ask("POST", "/draft/review", 200, json={"action": "approve", "head": head})
    place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/"})
    return place


def trail(world: World, **filters: Any) -> Any:
    return world.holder(("audit", "read")).get(TRAIL, **filters)


def wait_until_recorded(world: World, event: str, **filters: Any) -> list[Any]:
    """Return the entries of an event, once there are some: refusals are counted until their minute has passed."""
    return wait_until(lambda: trail(world, event=event, **filters)["items"] or None, 80, f"an entry {event}")


def events(found: Any) -> list[str]:
    return [entry["event"] for entry in found["items"]]


def test_it_lists_newest_first_who_did_what_from_where_and_when(world: World, reviewed: Place) -> None:
    found = trail(world, namespace=reviewed.namespace)
    assert events(found)[:3] == ["webhook_created", "draft_approved", "review_requested"]
    assert set(events(found)[3:6]) == {"release_published", "project_created", "policy_changed"}
    assert events(found)[6:] == ["namespace_created"]
    created = next(each for each in found["items"] if each["event"] == "project_created")
    assert (created["project"], created["subject"], created["detail"]) == (
        "shop",
        "shop",
        {"policy": {"review": "required"}},
    )
    approved = found["items"][1]
    assert (approved["project"], approved["subject"], approved["address"]) == ("shop", "main", "127.0.0.1")
    assert approved["actor"]["kind"] == "user"
    assert [entry["id"] for entry in found["items"]] == sorted((each["id"] for each in found["items"]), reverse=True)


def test_it_is_read_in_windows(world: World, reviewed: Place) -> None:
    whole = trail(world, namespace=reviewed.namespace)
    pages = [trail(world, namespace=reviewed.namespace, limit=1, offset=number) for number in range(8)]
    assert [page["items"] for page in pages] == [[entry] for entry in whole["items"]] + [[]]
    assert {page["total"] for page in pages} == {7}


def test_filters_narrow_it_together(world: World, reviewed: Place) -> None:
    within = {"namespace": reviewed.namespace}
    (approved,) = trail(world, event="draft_approved", **within)["items"]
    assert trail(world, actor=approved["actor"]["name"], **within)["items"] == [approved]
    assert trail(world, actor=approved["actor"]["name"], event="review_requested", **within)["total"] == 0
    asked = ["draft_approved", "review_requested"]
    assert [each for each in events(trail(world, project="shop", **within)) if each in asked] == asked
    assert trail(world, project="shop", **within)["total"] == 5
    assert trail(world, project="other", **within)["total"] == 0
    assert trail(world, since="2020-01-01T00:00:00Z", until="2999-01-01T02:00:00+02:00", **within)["total"] == 7
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
    admin, values = world.person("admin"), [PASSWORD, "a quite new long password"]
    grants = [{"namespace": "*", "project": "*", "resource": "page", "action": "read"}]
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "edge", "grants": grants}).json()
    place = world.place()
    hook = place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/?key=sesame"})
    name = world.user("viewer")
    session = world.session(name)
    number = next(each["id"] for each in admin.get("/api/users")["items"] if each["username"] == name)
    admin.ask("PATCH", f"/api/user/{number}", 200, json={"password": values[1]})
    shown = str(trail(world, limit=1_000_000))
    assert "authn_password_change" in shown
    values += [made["token"], hook.json()["secret"], "sesame", session["accessToken"], session["refreshToken"]]
    assert [value for value in values if value in shown] == []


def export(world: World) -> list[dict[str, Any]]:
    lines = world.holder(("audit", "read")).ask("GET", f"{TRAIL}/export", 200).text.splitlines()
    return [json.loads(line) for line in lines]


def test_the_export_can_be_checked_without_waypost(world: World, reviewed: Place) -> None:
    *rows, last = export(world)
    assert {row["namespace"] for row in rows} >= {reviewed.namespace}
    before = "0" * 64
    for row in rows:
        digest = row.pop("hash")
        assert row["previous"] == before
        before = hashlib.sha256(json.dumps(row, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        assert digest == before
    assert last == {"head": {"number": rows[-1]["id"], "hash": before}}


def test_the_metrics_have_the_head_of_the_chain(world: World, reviewed: Place) -> None:
    del reviewed
    (*_, last) = export(world)
    number = last["head"]["number"]

    def newest() -> int | None:
        text = world.person("viewer").ask("GET", "/metrics", 200).text
        found = re.search(r'^waypost_audit_head_info{hash="([0-9a-f]{64})"} ([0-9.]+)', text, re.MULTILINE)
        return found and float(found[2]) >= number

    wait_until(newest, 10, "the head in the metrics")


def test_a_publish_has_the_caller_the_address_the_session_and_the_version(world: World) -> None:
    place = world.place()
    place.add("/a")
    version = place.publish()["version"]
    (asked,) = wait_until_recorded(world, "publish_requested", namespace=place.namespace)
    assert (asked["address"], asked["project"], asked["detail"]) == ("127.0.0.1", "shop", {"version": version})
    assert (asked["actor"]["kind"], asked["session"]) == ("token", None)

    def published() -> Any:
        found = trail(world, event="release_published", namespace=place.namespace)["items"]
        return next((each for each in found if each["detail"]["version"] == version), None)

    assert wait_until(published, 10, "the publish in the trail")["actor"]["kind"] == "commit"


def test_the_publishes_of_an_account_are_found_by_its_name(world: World, reviewed: Place) -> None:
    place, name = world.place(), world.user("publisher")
    person = Caller(world.http, world.session(name)["accessToken"])
    place.as_(person).add("/a")
    version = place.as_(person).publish()["version"]

    def published() -> Any:
        found = trail(world, actor=name, event="release_published")["items"]
        return [each for each in found if each["detail"]["version"] == version]

    (entry,) = wait_until(published, 10, "the publish in the trail")
    assert entry["actor"]["kind"] == "commit"
    assert entry["detail"]["account"] == name
    by_token = trail(world, actor="e2e", event="release_published", namespace=reviewed.namespace)["items"]
    assert {each["detail"]["account"] for each in by_token} == {"e2e"}
    assert trail(world, actor="nobody", event="release_published")["total"] == 0


def test_publishes_recorded_before_their_accounts_were_are_found_too(world: World) -> None:
    place, at, name = world.place(), datetime.now(UTC), world.user("publisher")
    number = Caller(world.http, world.session(name)["accessToken"]).get("/api/me")["id"]
    others = (f"user-{number}0@waypost.invalid", f"token-{number}@waypost.invalid", "kim@waypost.invalid")
    with world.services.state.database.writing() as connection:
        for address in (f"user-{number}@waypost.invalid", *others):
            actor = Actor("commit", None, f"Kim <{address}>")
            record(connection, AuditEntry(at, AuditEvent.PUBLISHED, actor, "shop", namespace=place.namespace))
    found = trail(world, actor=name, namespace=place.namespace, event="release_published")["items"]
    assert [each["actor"]["name"] for each in found] == [f"Kim <user-{number}@waypost.invalid>"]


def test_an_entry_has_the_request_and_the_session_of_the_caller(world: World) -> None:
    person = world.person("admin")
    made = person.ask("POST", "/api/tokens", 201, json={"name": "traced", "grants": [GRANT]})
    created = next(each for each in trail(world, event="authn_token_created")["items"] if each["subject"] == "traced")
    assert created["request"] == made.headers["X-Request-Id"]
    assert (created["address"], len(created["session"])) == ("127.0.0.1", 32)


def test_like_refusals_are_counted_and_hold_no_secret_of_their_requests(world: World) -> None:
    name = world.user("viewer")
    canaries = [f"canary{number}{secrets.token_hex(8)}" for number in range(9)]
    user, password, header, agent, query, body, refresh, cookie, path = canaries
    tries = 3
    for _ in range(tries):
        world.nobody.ask("POST", "/auth/login", 401, json={"username": name, "password": password})
    world.nobody.ask("POST", "/auth/login", 403, json={"username": user, "password": password})
    headers = {"Authorization": f"Bearer {header}", "User-Agent": agent, "Cookie": f"waypost_session={cookie}"}
    world.nobody.ask("GET", f"/api/audit?x={query}", 401, headers=headers)
    world.nobody.ask("POST", "/auth/refresh", 401, json={"refreshToken": refresh})
    world.person("admin").ask("POST", "/api/tokens", 422, json={"name": body, "grants": [{body: body}]})
    viewer = world.person("viewer")
    viewer.ask("GET", f"/api/token/{path}", 403)
    weak, place = Caller(world.http, world.token([Grant("other", "*", "agent", "read")])), world.place()
    me = {"kind": "token", "id": weak.get("/api/me")["id"], "name": "e2e"}
    weak.ask("GET", "/api/audit", 403)
    (current,) = viewer.get("/api/me/sessions")["items"]
    fetch = f"/git/{place.namespace}.git/info/refs?service=git-upload-pack"
    assert world.http.get(fetch, auth=("x", weak.token)).status_code == 404
    for url, status in ((fetch, 200), (fetch.replace(place.namespace, "none"), 404)):
        assert world.http.get(url, auth=(name, PASSWORD)).status_code == status, "it is a login all the same"
    assert world.http.request("BREW", f"/api/audit/{path}").status_code == 404
    assert world.http.request("BREW", "/api/audit").status_code == 405

    def failed() -> list[Any]:
        found = trail(world, event="authn_login_fail", limit=1000)["items"]
        entries = [each for each in found if each["subject"] == name]
        return entries if sum(each["count"] for each in entries) == tries else []

    entries = wait_until(failed, 80, "the failed logins in the trail")
    assert len(entries) < tries  # the end of a minute may lie between them
    assert {each["address"] for each in entries} == {"127.0.0.1"}
    assert entries[0]["actor"] == {"kind": "anonymous", "id": None, "name": ""}
    refused = wait_until_recorded(world, "authz_fail")
    assert "GET" in {each["detail"].get("method") for each in refused}  # refs of pushes have none
    # A grant that was missing: whose it was is known, also where Git gets a 404.
    routes = {"/api/audit", "/git/{namespace}.git/info/refs"}

    def denied() -> bool:
        found = [each for each in trail(world, event="authz_fail", limit=1000)["items"] if each["actor"] == me]
        return {each["detail"]["route"] for each in found if each["token"]["id"] == me["id"]} == routes

    wait_until(denied, 80, "the refusals of a token in the trail")
    mine = trail(world, actor=viewer.get("/api/me")["name"], event="authz_fail")["items"]
    assert {each["session"] for each in mine} == {current["id"]}
    by_git = {"route": "/git/{namespace}.git"}
    logins = [
        each for each in trail(world, actor=name, event="authn_login_success")["items"] if each["detail"] == by_git
    ]
    assert {(each["subject"], each["address"]) for each in logins} == {(name, "127.0.0.1")}
    shown = json.dumps(export(world)) + world.person("viewer").ask("GET", "/metrics", 200).text
    assert [canary for canary in canaries if canary in shown] == []


def test_entries_beyond_their_lifetime_are_removed_and_leave_a_signed_checkpoint(tmp_path: Path) -> None:
    data, key = tmp_path / "data", make_key(tmp_path / "signing_key")
    create_data(Settings(data=data))
    past = open_services(Settings(data=data), lambda: datetime.now(UTC) - timedelta(days=40))
    past.accounts.create(OPERATOR, NewUser("root", PASSWORD, ["admin"]))
    past.close()
    settings = {"WAYPOST_AUDIT_LIFETIME_DAYS": "30", "WAYPOST_SIGNING_KEY": str(key)}
    with running(WAYPOST, data, settings) as service, open_world(service) as world:
        found = wait_until(lambda: trail(world)["checkpoint"], 30, "a checkpoint")
        kid = world.nobody.ask("GET", "/.well-known/waypost-keys", 200).json()["keys"][0]["kid"]
        assert (found["number"], found["count"], found["key"]) == (1, 1, kid)
        assert "user_created" not in events({"items": trail(world, until=found["at"])["items"]})
        checkpoint, first, *_ = export(world)
        assert checkpoint["checkpoint"]["hash"] == found["hash"] == first["previous"]
        sample = f'waypost_audit_removed_info{{hash="{found["hash"]}"}} 1.0'
        wait_until(lambda: sample in world.person("viewer").ask("GET", "/metrics", 200).text, 10, "it in the metrics")
        for method in ("DELETE", "POST", "PUT", "PATCH"):
            world.person("admin").refused(method, f"{TRAIL}/export", 405, "method_not_allowed")
        command = (sys.executable, "-m", "cli.main", "audit", "verify", "--data", str(data))
        own = {name: text for name, text in os.environ.items() if not name.startswith("WAYPOST_")}
        for more, code in (({"WAYPOST_SIGNING_KEY": str(key)}, 0), ({}, 1)):
            done = subprocess.run(command, env={**own, **more}, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stdout + done.stderr
            assert ("It begins after row 1: 1 older rows were removed" in done.stdout) is (code == 0)
