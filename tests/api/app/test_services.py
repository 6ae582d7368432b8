"""Identity on the real server: a change in one worker is visible in every worker."""

import asyncio
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from sqlalchemy import event

from api.db.agents.agents import AgentKey
from api.db.agents.heartbeats import Heartbeats
from api.db.database import Database, default_url
from api.runtime.upkeep.repository_upkeep import Maintenance
from tests.api.world import AGENTS, PASSWORD, world
from tests.e2e.wire import pinned_pair
from tests.service import Service, running, wait_until

IDENTIFIED = (sys.executable, "-m", "tests.api.identified")
ROOT = {"username": "root", "password": PASSWORD}
WORKERS = 2


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(
        IDENTIFIED, tmp_path_factory.mktemp("identified") / "data", {"WAYPOST_WORKERS": str(WORKERS)}
    ) as found:
        yield found


def statuses(service: Service, method: str, url: str, token: str) -> set[int]:
    """Return the statuses from each worker."""
    with ExitStack() as stack:
        headers = {"Authorization": f"Bearer {token}"}
        return {each.http.request(method, url, headers=headers).status_code for each in pinned_pair(service, stack)}


def login(service: Service) -> dict[str, str]:
    answer = service.client.post("/auth/login", json=ROOT)
    assert answer.status_code == 200, answer.text
    found: dict[str, str] = answer.json()["tokens"]
    return found


def make_token(service: Service, *permissions: tuple[str, str]) -> tuple[str, str]:
    """Create a token; return its address and its value."""
    grants = [{"resource": resource, "action": action} for resource, action in permissions]
    with service.as_token(login(service)["accessToken"]) as client:
        answer = client.post("/api/tokens", json={"name": "ci", "grants": grants})
    assert answer.status_code == 201, answer.text
    return answer.headers["location"], answer.json()["token"]


def test_a_logout_and_a_removed_token_hold_in_every_worker_at_once(service: Service) -> None:
    tokens = login(service)
    location, value = make_token(service, ("page", "read"))
    assert statuses(service, "GET", "/api/me", tokens["accessToken"]) == {200}
    assert statuses(service, "GET", "/api/me", value) == {200}
    with service.as_token(login(service)["accessToken"]) as client:
        assert client.delete(location).status_code == 204
    assert statuses(service, "GET", "/api/me", value) == {401}
    with service.as_token(tokens["accessToken"]) as client:
        assert client.post("/auth/logout").status_code == 204
    assert statuses(service, "GET", "/api/me", tokens["accessToken"]) == {401}
    for _ in range(20):
        answer = service.client.post("/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
        assert answer.status_code == 401


def test_two_tabs_that_refresh_at_once_get_one_successor(service: Service) -> None:
    first = login(service)["refreshToken"]

    async def both() -> list[dict[str, str]]:
        async with httpx.AsyncClient(base_url=service.url, timeout=30) as client:
            calls = [client.post("/auth/refresh", json={"refreshToken": first}) for _ in range(12)]
            return [answer.json()["tokens"] for answer in await asyncio.gather(*calls)]

    answers = asyncio.run(both())
    assert answers == [answers[0]] * 12


def test_heartbeats_of_all_workers_are_seen_within_a_moment(service: Service) -> None:
    _, value = make_token(service, ("agent", "write"), ("agent", "read"))
    assert statuses(service, "PATCH", f"{AGENTS}/edge-1/hit", value) == {200}
    with service.as_token(value) as client:
        wait_until(lambda: client.get(f"{AGENTS}/edge-1").status_code == 200, 15, "the heartbeat to be written")
        assert client.get(f"{AGENTS}/edge-1").json()["online"] is True


def test_pending_writes_are_written_when_the_service_stops(tmp_path: Path) -> None:
    """The last use of a token and the latest heartbeats are written at the stop."""
    with running(IDENTIFIED, tmp_path / "data") as service:
        _, value = make_token(service, ("agent", "write"))
        with service.as_token(value) as client:
            for number in range(20):
                assert client.patch(f"{AGENTS}/edge-{number}/hit").status_code == 200
    services = world(tmp_path / "data").services
    assert len(services.fleet.page("acme", "shop", 100, 0)) == 20
    assert services.tokens.find(1).last_used_at is not None


def test_a_locked_database_stops_no_reader_and_no_500_comes_of_it(tmp_path: Path) -> None:
    with running(IDENTIFIED, tmp_path / "data", {"WAYPOST_WORKERS": "1"}) as service:
        _, value = make_token(service, ("page", "read"))
        with service.as_token(value) as client:
            assert client.get("/api/permissions").status_code == 200
            lock = sqlite3.connect(tmp_path / "data" / "waypost.db", isolation_level=None)
            wait_until(lambda: taken(lock), 15, "the lock")
            slowest, answers = 0.0, set()
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                begun = time.monotonic()
                answers.add(client.get("/api/permissions").status_code)
                slowest = max(slowest, time.monotonic() - begun)
            assert answers == {200}
            assert slowest < 10, "a reader waited as long as a writer"
            locked = client.get("/health/ready")
            assert (locked.status_code, locked.json()["status"]) == (200, "degraded")
            assert locked.json()["checks"][0]["reasons"][0]["code"] == "database_unavailable"
            answer = client.post("/auth/login", json=ROOT)
            assert (answer.status_code, answer.json()["error"]) == (503, "state_busy")
            assert answer.headers["retry-after"]
            lock.execute("ROLLBACK")
            lock.close()
            wait_until(
                lambda: client.get("/health/ready").json()["status"] == "ready", 15, "the service to be ready again"
            )
            assert client.post("/auth/login", json=ROOT).status_code == 200


def taken(lock: sqlite3.Connection) -> bool:
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        return False
    return True


def test_no_secret_is_in_the_log(service: Service) -> None:
    tokens = login(service)
    _, value = make_token(service, ("page", "read"))
    service.client.post("/auth/login", json={"username": "root", "password": "sesame open now"})
    service.client.post("/auth/login", json={"username": "sesame open now", "password": "x"})
    service.client.post("/auth/refresh", json={"refreshToken": tokens["refreshToken"] + "x"})
    statuses(service, "GET", "/api/me", value)
    text = service.log.read_text(encoding="utf-8")
    assert "authn_login_fail" in text
    for secret in (value, tokens["accessToken"], tokens["refreshToken"], PASSWORD, "sesame open now"):
        assert secret not in text


def test_a_round_of_upkeep_that_fails_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    services = world(tmp_path).services
    heartbeats = Heartbeats(Database(default_url(tmp_path), lock_timeout=0.05))
    upkeep = Maintenance(services.directory, heartbeats, services.logins)
    asyncio.run(started_and_stopped(upkeep))
    services.close()
    lock = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    heartbeats.note(AgentKey("acme", "shop", "edge-1"))
    upkeep.round()
    lock.close()
    assert services.fleet.page("acme", "shop", 100, 0) == []
    upkeep.round()
    assert [agent.name for agent in services.fleet.page("acme", "shop", 100, 0)] == ["edge-1"]


async def started_and_stopped(upkeep: Maintenance) -> None:
    await upkeep.start()
    await upkeep.stop()


def test_a_round_of_upkeep_writes_once_or_not_at_all(tmp_path: Path) -> None:
    """A heartbeat and the use of its token are written in one transaction."""
    found = world(tmp_path)
    services, token = found.services, found.token("agent:write")
    upkeep = services.upkeep()
    upkeep.round()
    begun: list[str] = []
    event.listen(services.state.database._engine, "commit", lambda _: begun.append("commit"))
    upkeep.round()
    assert begun == []
    assert found.call("PATCH", f"{AGENTS}/edge-1/hit", token).status == 200
    upkeep.round()
    assert begun == ["commit"]
    assert [agent.name for agent in services.fleet.page("acme", "shop", 100, 0)] == ["edge-1"]
    assert [each.last_used_at for each in services.tokens.window(1, 0)[0]] == [found.clock()]
