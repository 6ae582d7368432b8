"""A worker that is killed loses no entry on a change that it has answered."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx

from api.db.audit import AuditFilter, list_entries
from tests.e2e.git import git
from tests.e2e.pusher import Pusher
from tests.e2e.test_kills import kill
from tests.e2e.world import Place, open_world
from tests.service import WAYPOST, Service, running, wait_until

RULE = "redirects:\n  - {{type: BASIC, source: {}, target: /new, status: 301}}\n"


def changes(place: Place, pusher: Pusher) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each change that is noted in memory, with its event; what it needs is made before it is yielded."""
    root = place.root
    pusher.commit("shop/redirects.yaml", RULE.format("/pushed"))
    yield "push_requested", lambda: pusher.pushed("origin", "HEAD:release")
    place.add("/a")
    yield "publish_requested", place.publish
    yield "rollback_requested", lambda: place.ask("POST", "/rollback", 200, json={"version": 1})
    yield "project_changed", lambda: place.ask("PATCH", "", 200, json={"description": "new"})
    yield "namespace_changed", lambda: root.ask("PATCH", place.space, 200, json={"description": "new"})
    yield "project_created", lambda: root.ask("POST", f"{place.space}/projects", 201, json={"name": "other"})
    yield "project_deleted", lambda: root.ask("DELETE", f"{place.space}/project/other?confirm=other", 204)
    place.add("/unwanted")
    yield "draft_discarded", lambda: place.ask("DELETE", "/draft", 204)
    for event, end in (("merge_requested", ("POST", "/merge", 200)), ("proposal_deleted", ("DELETE", "", 204))):
        method, tail, status = end
        branch = event.replace("_", "-")
        git(pusher.folder, "fetch", "-q")
        git(pusher.folder, "reset", "-q", "--hard", "origin/release")
        pusher.commit("shop/redirects.yaml", RULE.format(f"/{branch}"))
        pusher.pushed("origin", f"HEAD:refs/heads/{branch}")
        [proposal] = root.get(f"{place.space}/proposals")["items"]
        path = f"{place.space}/proposal/{proposal['id']}{tail}"
        yield event, lambda: root.ask(method, path, status)  # noqa: B023 - called before the next round


def kill_workers(service: Service) -> None:
    """Kill all workers at once."""
    for worker in service.workers():
        kill(worker)


def answers(service: Service) -> bool:
    """Tell whether a new worker answers."""
    try:
        return httpx.get(f"{service.url}/health/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_workers_that_are_killed_after_their_answer_lose_no_entry(tmp_path: Path) -> None:
    with running(WAYPOST, tmp_path / "data") as service, open_world(service, killed=True) as world:
        place = world.place()
        pusher = Pusher.of(place, tmp_path / "clone")
        lost = []
        for event, change in changes(place, pusher):
            with world.services.state.database.reading() as connection:
                _, before = list_entries(connection, 1, 0, AuditFilter(event, namespace=place.namespace))
            change()
            kill_workers(service)
            with world.services.state.database.reading() as connection:
                _, after = list_entries(connection, 1, 0, AuditFilter(event, namespace=place.namespace))
            lost += [event] * (before + 1 - after)
            wait_until(lambda: answers(service), 30, "new workers")
        assert lost == []


def test_a_change_is_answered_while_the_trail_cannot_be_written(tmp_path: Path) -> None:
    """Its entry stays in memory until it can be."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        place = world.place()
        with closing(sqlite3.connect(service.data / "waypost.db", isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")  # readers go on
            place.root.ask("PATCH", place.space, 200, json={"description": "new"})
            database.execute("ROLLBACK")

        def entries() -> list[object]:
            found = place.root.get("/api/audit", event="namespace_changed", namespace=place.namespace)
            return list(found["items"])

        assert len(wait_until(entries, 20, "the entry")) == 1
