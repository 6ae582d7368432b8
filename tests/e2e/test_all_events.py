"""The stream of all namespaces of the running service: a browser's session and its end, grants, a second start, edits."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.git import Clone, rules
from tests.e2e.stream import Follower, following
from tests.e2e.world import PASSWORD, Place, World
from tests.service import ROOT, wait_until

ALL = "/api/events"
PATIENCE = 60.0
FOLLOWERS = 6  # so that both workers have some


@contextmanager
def browser(world: World, user: str) -> Iterator[httpx.Client]:
    """Sign in as a browser does: cookies, and the token against forged requests."""
    with httpx.Client(base_url=world.service.url, timeout=60) as client:
        found = client.post("/auth/session", json={"username": user, "password": PASSWORD})
        assert found.status_code == httpx.codes.OK
        client.headers["X-CSRF-Token"] = client.cookies["waypost-csrf"]
        yield client


def seen(follower: Follower) -> list[tuple[str, int]]:
    """Return the namespaces and numbers of the publishes."""
    published = (data["data"] for _, kind, data in list(follower.seen) if kind == "published")
    return [(data["namespace"], data["publishNumber"]) for data in published]


def test_a_session_follows_all_of_its_namespaces_until_it_ends(world: World, place: Place) -> None:
    other = world.place()
    with (
        browser(world, world.user("viewer")) as client,
        following(place, again=False, path=ALL, cookies=client.cookies) as follower,
    ):
        place.published("/a")
        other.published("/b")
        mine = [(place.namespace, 2), (other.namespace, 2)]
        wait_until(lambda: set(mine) <= set(seen(follower)), PATIENCE, "both publishes")
        assert client.delete("/auth/session").is_success
        wait_until(lambda: follower.ends, PATIENCE, "the stream to end")
        refused = client.get(ALL, headers={"Accept": "text/event-stream"})
        assert refused.status_code == httpx.codes.UNAUTHORIZED


def test_a_role_that_changes_counts_from_the_next_event_on(world: World, place: Place) -> None:
    other, name = world.place(), f"role-{place.namespace}"

    def may_read(*namespaces: str) -> dict[str, object]:
        grants = [{"namespace": each, "project": "*", "resource": "project", "action": "read"} for each in namespaces]
        return {"description": "", "grants": grants}

    admin = world.person("admin")
    admin.ask("POST", "/api/roles", 201, json={"name": name, **may_read(place.namespace)})
    token = world.session(world.user(name))["accessToken"]
    with following(place, path=ALL, token=token) as follower:
        other.published("/hidden")
        place.published("/a")
        wait_until(lambda: seen(follower) == [(place.namespace, 2)], PATIENCE, "what may be read")
        admin.ask("PUT", f"/api/role/{name}", 200, json=may_read(other.namespace))
        place.published("/b")
        other.published("/c")
        expected = [(place.namespace, 2), (other.namespace, 3)]
        wait_until(lambda: seen(follower) == expected, PATIENCE, "what may be read now")


def test_a_reader_that_returns_misses_nothing(place: Place) -> None:
    with following(place, path=ALL) as follower:
        place.published("/a")
        wait_until(lambda: (place.namespace, 2) in seen(follower), PATIENCE, "the publish")
    place.published("/b")
    with following(place, path=ALL, after=follower.last_id) as again:
        wait_until(lambda: (place.namespace, 3) in seen(again), PATIENCE, "the publish that was missed")
    assert (place.namespace, 2) not in seen(again)


@pytest.mark.parametrize("text", ["x", "-1", "9" * 30])
def test_a_malformed_id_is_refused_before_the_stream_begins(world: World, text: str) -> None:
    world.root.refused("GET", ALL, 400, "bad_parameter", headers={"Last-Event-ID": text})
    world.nobody.refused("GET", ALL, 401, "unauthenticated")


def edits(follower: Follower) -> list[tuple[str, str, object, object]]:
    """Return the project, kind, draft or branch, and head of all edits that were sent."""
    found = [(kind, data["data"]) for kind, data in list(follower.edits)]
    return [(data["project"], kind, data.get("draft") or data.get("branch"), data["head"]) for kind, data in found]


def test_edits_by_api_push_and_command_are_sent_to_readers_on_both_workers(
    world: World, place: Place, tmp_path: Path
) -> None:
    hidden, other = world.place(place.namespace, "hidden"), world.place()
    reader = world.holder(("project", "read"), namespace=place.namespace, project=place.project).token
    blind = world.holder(("page", "read"), ("page", "write"), ("redirect", "read")).token
    webhooks = world.root.get(f"{place.space}/webhooks")["total"]
    with ExitStack() as stack:
        every = [stack.enter_context(following(place, path=ALL)) for _ in range(FOLLOWERS)]
        few = stack.enter_context(following(place, path=ALL, token=reader))
        one = stack.enter_context(following(place, token=reader))
        none = stack.enter_context(following(place, path=ALL, token=blind))

        def is_told(project: str, kind: str, name: str, head: str | None, followers: list[Follower]) -> None:
            wait_until(
                lambda: all((project, kind, name, head) in edits(each) for each in followers),
                PATIENCE,
                f"{kind} {name}",
            )

        other.add("/other")
        hidden.add("/hidden")
        is_told("hidden", "draft.changed", "main", hidden.get("/draft")["head"], every)
        place.add("/api")
        is_told("shop", "draft.changed", "main", place.get("/draft")["head"], [*every, few, one])
        clone = Clone.of(place.repository, tmp_path / "clone")
        clone.write("shop/redirects.yaml", rules("/pushed"))
        pushed = clone.commit()
        clone.push("feature/autumn")
        is_told("*", "proposal.changed", "feature/autumn", pushed, every)
        clone.push("draft/shop/pushed")
        is_told("shop", "draft.changed", "pushed", pushed, [*every, few, one])
        (tmp_path / "rules.tsv").write_text("type\tsource\ttarget\tstatus\nBASIC\t/by-command\t/new\tFOUND\n", "utf-8")
        words = ("import", place.namespace, place.project, str(tmp_path / "rules.tsv"), "--draft", "command")
        command = (sys.executable, "-m", "cli.main", *words, "--data", str(world.service.data))
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        head = place.get("/draft", draft="command")["head"]
        is_told("shop", "draft.changed", "command", head, [*every, few, one])
        place.ask("DELETE", "/draft?draft=command", 204)
        is_told("shop", "draft.changed", "command", None, [*every, few, one])
        for each in (few, one):
            assert {(project, kind) for project, kind, _, _ in edits(each)} == {("shop", "draft.changed")}
            assert {data["data"]["namespace"] for _, data in each.edits} == {place.namespace}
        assert none.edits == []
        before = every[0].last_id
        place.published("/later")
        wait_until(lambda: (place.namespace, 2) in seen(every[0]), PATIENCE, "the publish")
        assert not {kind for _, kind, _ in every[0].seen} & {"draft.changed", "proposal.changed"}
    assert webhooks == 0
    with following(place, path=ALL, after=before) as again:
        wait_until(lambda: (place.namespace, 2) in seen(again), PATIENCE, "the publish")
        assert again.edits == []


def test_edits_cannot_be_sent_to_webhooks(place: Place) -> None:
    body = {"url": "https://example.com/hook", "events": ["draft.changed"]}
    place.root.refused("POST", f"{place.space}/webhooks", 422, "invalid_body", json=body)
