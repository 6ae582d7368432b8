"""The whole service, two workers, with its state in a real PostgreSQL."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from api.db.database import LOCK_TIMEOUT
from api.db.namespaces.upstreams import StoredUpstream, put_upstream
from tests.e2e.caller import Caller
from tests.e2e.hooks import SETTINGS, create_webhook, detail, wait_for_deliveries, wait_until_relayed
from tests.e2e.receiver import receiving
from tests.e2e.stream import following
from tests.e2e.world import PASSWORD, Place, open_world
from tests.postgres import running_postgres
from tests.service import WAYPOST, running, wait_until

PATIENCE = 60.0
ROUNDS = 5
WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")


@pytest.mark.usefixtures("postgres_programs")
def test_a_service_on_postgresql_does_all_that_one_on_sqlite_does(tmp_path: Path) -> None:
    """That is accounts, sessions, reviews, publishes, agents, events, webhooks, the trail, and a second start."""
    data = tmp_path / "data"
    with running_postgres() as server, receiving() as receiver:
        settings = {**SETTINGS, "WAYPOST_DATABASE": server.database()}
        with (
            running(WAYPOST, data, settings) as service,
            open_world(service, database=settings["WAYPOST_DATABASE"]) as world,
        ):
            place = wait_until_relayed(world.place())
            editor, reviewer = world.person("editor"), world.person("publisher")
            made = create_webhook(place, receiver.url, events=["*"])
            with following(place) as follower:
                place.as_(editor).add("/a")
                head = place.get("/draft")["head"]
                record_statement = {"action": "approve", "head": head, "note": "Fine."}
                place.as_(reviewer).ask("POST", "/draft/review", 200, json=record_statement)
                place.as_(reviewer).publish()
                place.ask("POST", "/agents", 200, json={"name": "edge", "type": "default", "version": 2})
                place.ask("PATCH", "/agents/edge/hit", 200)
                assert [kind for _, kind, _ in follower.wait(2)] == ["review.approved", "published"]
            found = wait_for_deliveries(place, made, "delivered", 2)
            assert {detail(place, made, each)["attempts"][0]["status"] for each in found} == {204}
            assert place.get("/agents/edge")["current"] is True
            for name in ("after", "q"):  # PostgreSQL refuses the character
                place.get("/agents", **{name: "a\0"})
            assert world.root.get("/api/audit", actor="\0")["items"] == []
            assert world.root.get("/api/audit", namespace=place.namespace)["total"] >= 2
            name = world.user("viewer")
            assert world.nobody.send("POST", "/auth/login", json={"username": name, "password": "x"}).status_code == 401
            assert (
                world.nobody.send("POST", "/auth/login", json={"username": "a\0", "password": "x"}).status_code == 403
            )
            assert world.root.send("GET", "/health/ready").status_code == 200
            session = world.session(name)
            agents_wait_for_no_writer_of_the_trail(place)
            of_two_first_upstreams_one_is_set(place)
        assert not (data / "waypost.db").exists()
        with (
            running(WAYPOST, data, settings) as service,
            open_world(service, database=settings["WAYPOST_DATABASE"]) as world,
        ):
            caller = Caller(world.http, session["accessToken"])
            assert caller.get("/api/me")["roles"] == ["viewer"]
            new = {"currentPassword": PASSWORD, "newPassword": "a new horse battery"}
            caller.ask("PATCH", "/api/me", 200, json=new)
            caller.refused("GET", "/api/me", 401, "invalid_token")


def of_two_first_upstreams_one_is_set(place: Place) -> None:
    """Begin to set one in a transaction, and another by a request, which finds no row to lock."""
    path, root = f"{place.space}/upstream", place.root
    body, first = {"url": "https://second.example/a.git", "mode": "mirror"}, "https://first.example/a.git"
    with ThreadPoolExecutor(1) as pool:
        with place.world.services.state.database.writing() as connection:
            put_upstream(connection, StoredUpstream(place.namespace, first, "mirror", "release"), creates_only=True)
            late = pool.submit(root.send, "PUT", path, json=body, headers={"If-None-Match": "*"})
            wait_until(lambda: connection.scalar(WAITING), PATIENCE, "the request to wait for the first upstream")
        answer = late.result()
    assert (answer.status_code, answer.json()["error"]) == (412, "stale_upstream")
    assert root.get(path)["url"] == first
    root.ask("DELETE", path, 204)


def agents_wait_for_no_writer_of_the_trail(place: Place) -> None:
    """Hold the head of the chain: agents and refusals go on, and what they note is written later."""
    world, agent = place.world, place.holder(("redirect", "read"), ("agent", "write"))
    agent.get("/version")
    with world.services.state.database.writing() as connection:
        connection.execute(text("SELECT * FROM audit_head FOR UPDATE"))
        place.ask("PATCH", "", 200, json={"description": "new"})
        wait_until(lambda: connection.scalar(WAITING), PATIENCE, "the writer of the trail to wait for the head")
        begun = time.monotonic()
        for _ in range(ROUNDS):
            agent.get("/version")
            assert agent.get("/redirects")["total"] == 1
            agent.refused("GET", "/draft", 403, "forbidden")
        assert time.monotonic() - begun < ROUNDS * LOCK_TIMEOUT
        assert world.root.get("/api/audit", event="project_changed")["items"] == []
    wait_until(lambda: world.root.get("/api/audit", event="project_changed")["items"], PATIENCE, "the entry")
