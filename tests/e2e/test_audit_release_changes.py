"""Changes of policies and signers that come with an upstream: in the audit trail once each, whatever ends in between.

The upstream is the oracle: each of its commits that changes a file of these has an entry, and no other has one.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.e2e.git import git, rules
from tests.e2e.nodes import Client
from tests.e2e.test_two_nodes import ask_for_sync, follow, two_nodes
from tests.e2e.test_upstreams import Upstream
from tests.e2e.world import Place, open_world
from tests.gitstore.wire.client.http_host import hosting
from tests.postgres import running_postgres
from tests.service import WAYPOST, running, wait_until
from tests.ssh_keys import Key, KeyMaker

SECONDS = 120.0
GRACE = {"kind": "commit", "id": None, "name": "Grace Hopper <grace@example.com>"}
FILES = {"policy_changed": "shop/project.yaml", "signers_changed": "allowed_signers"}
PLAIN = "project:\n  title: Shop\n"
REQUIRED = f"{PLAIN}  policy:\n    review: required\n"
ROUNDS = 6


@pytest.fixture
def keys(ssh_keygen: KeyMaker, tmp_path: Path) -> list[Key]:
    """Return the keys of two signers."""
    return [ssh_keygen(tmp_path, f"{name}@acme.example") for name in ("kim", "ada")]


def entries(place: Place, event: str) -> list[Any]:
    """Return the entries of an event, oldest first."""
    items = place.root.get("/api/audit", event=event, namespace=place.namespace, limit=1000)["items"]
    found: list[Any] = items[::-1]
    return found


def expected(upstream: Path, event: str) -> list[str]:
    """Return the commits of the upstream with a change of an event, oldest first."""
    commits, before, found = git(upstream, "rev-list", "--first-parent", "--reverse", "release"), "", list[str]()
    for commit in commits.split():
        state = read_state(upstream, commit, event)
        if state != before:
            found.append(commit)
        before = state
    return found


def read_state(upstream: Path, commit: str, event: str) -> str:
    """Return the signers, or the words of the policy that are no default; empty without any."""
    is_there = git(upstream, "ls-tree", "--name-only", commit, FILES[event])
    found = git(upstream, "show", f"{commit}:{FILES[event]}") if is_there else ""
    return found if event == "signers_changed" else " ".join(re.findall(r"\w+: (?:required|strict)\b", found))


def require_each_once(place: Place, upstream: Path) -> None:
    """Wait until each change has its entry, and fail for one with another."""
    for event in FILES:
        due = expected(upstream, event)

        def is_recorded(event: str = event, due: list[str] = due) -> bool:
            return set(due) <= {each["detail"]["version"] for each in entries(place, event)}

        wait_until(is_recorded, SECONDS, f"{event} of {due}")
        assert [each["detail"]["version"] for each in entries(place, event)] == due
        assert not any("rewoundFrom" in each["detail"] for each in entries(place, event))


def await_release(place: Place, commit: str) -> None:
    """Wait until release is at a commit."""
    wait_until(lambda: git(place.repository, "rev-parse", "release") == commit, SECONDS, f"release at {commit}")


@contextmanager
def following(folder: Path, database: str) -> Iterator[Upstream]:
    """Run a service with a namespace that follows nothing yet, and an upstream with a project."""
    settings = {"WAYPOST_UPSTREAM_FOLDERS": str(folder), **({"WAYPOST_DATABASE": database} if database else {})}
    with (
        running(WAYPOST, folder / "data", settings) as service,
        open_world(service, killed=True, database=database) as world,
    ):
        upstream = Upstream(Place(world, world.namespace(), "shop", world.root), folder)
        seed = folder / "seed"
        git(folder, "init", "-q", "--initial-branch=release", str(seed))
        (seed / "shop").mkdir()
        (seed / "shop" / "project.yaml").write_text(PLAIN, "utf-8")
        git(seed, "add", "-A")
        git(seed, "commit", "-q", "-m", "Begin")
        git(seed, "push", "-q", str(upstream.path), "HEAD:release")
        yield upstream


def test_what_comes_with_an_upstream_is_recorded_on_sqlite(tmp_path: Path, keys: list[Key]) -> None:
    with following(tmp_path, "") as upstream:
        check_changes(upstream, keys)


@pytest.mark.usefixtures("postgres_programs")
def test_what_comes_with_an_upstream_is_recorded_on_postgresql(tmp_path: Path, keys: list[Key]) -> None:
    with running_postgres() as server, following(tmp_path, server.database()) as upstream:
        check_changes(upstream, keys)


def check_changes(upstream: Upstream, keys: list[Key]) -> None:
    """Have changes come with the first sync, with later ones, by the service itself, and around a kill of the workers."""
    (kim, ada), place = keys, upstream.place
    first = [upstream.commit("allowed_signers", kim.line()), upstream.commit("shop/project.yaml", REQUIRED)]
    upstream.set("source", poll=5)
    await_release(place, first[-1])
    require_each_once(place, upstream.path)
    (signers,) = entries(place, "signers_changed")
    assert (signers["actor"], signers["project"]) == (GRACE, None)
    assert (signers["detail"]["added"], signers["detail"]["removed"]) == ([kim.name], [])
    newest = entries(place, "policy_changed")[-1]
    assert (newest["actor"], newest["project"], newest["detail"]["author"]) == (GRACE, "shop", GRACE["name"])
    assert [newest["detail"][when]["review"] for when in ("before", "after")] == ["optional", "required"]

    upstream.commit("allowed_signers", kim.line() + ada.line())
    upstream.commit("shop/project.yaml", PLAIN)
    upstream.commit("shop/redirects.yaml", rules("/plain"))
    last = upstream.commit("allowed_signers", ada.line())
    upstream.ask("POST", "/sync", 202)
    await_release(place, last)
    require_each_once(place, upstream.path)
    changes = [(each["detail"]["added"], each["detail"]["removed"]) for each in entries(place, "signers_changed")]
    assert changes == [([kim.name], []), ([ada.name], []), ([], [kim.name])]

    changed = place.ask("PATCH", "", 200, json={"review": "required"}).json()
    require_each_once(place, upstream.path)
    by_service = entries(place, "policy_changed")[-1]
    assert by_service["detail"]["account"] == place.root.get("/api/me")["name"]
    assert upstream.tip == by_service["detail"]["version"], changed

    check_kill(upstream, "allowed_signers", kim.line())
    check_kill(upstream, "shop/project.yaml", PLAIN)


def check_kill(upstream: Upstream, path: str, content: str) -> None:
    """Kill the workers when a sync has moved release, and the entry waits for the database."""
    place, service = upstream.place, upstream.place.world.service
    before = service.workers()
    known = {event: len(entries(place, event)) for event in FILES}
    with place.world.services.state.database.writing() as connection:
        if connection.dialect.name == "postgresql":  # a transaction for writing holds all of SQLite
            connection.execute(text("SELECT * FROM audit_head FOR UPDATE"))
        commit = upstream.commit(path, content)
        await_release(place, commit)  # by a poll: a request would wait for the database
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not before & service.workers(), SECONDS, "the workers to end")
        assert {event: len(entries(place, event)) for event in FILES} == known
    require_each_once(place, upstream.path)


@pytest.mark.usefixtures("postgres_programs", "web_server")
def test_two_nodes_with_one_database_record_each_change_once(tmp_path: Path, keys: list[Key]) -> None:
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=release", "up.git")
    upstream = tmp_path / "up.git"
    git(upstream, "config", "http.receivepack", "true")
    with two_nodes(tmp_path, "postgres") as nodes, hosting(tmp_path) as host:
        clients = follow(nodes, f"{host.url}/up.git")
        try:
            first, second = clients
            place = first.place
            require_each_once(place, upstream)
            with ThreadPoolExecutor(3) as pool:
                fields = zip(clients, ("review", "lint"), (("required", "optional"), ("strict", "normal")), strict=True)
                work: list[Callable[[], None]] = [lambda each=each: toggle(*each) for each in fields]  # type: ignore[misc]
                work.append(lambda: push_signers(upstream, tmp_path / "work", keys))
                for result in [pool.submit(each) for each in work]:
                    result.result()
            sync(clients, upstream)
            require_each_once(place, upstream)

            nodes[1].kill()  # it starts behind the other one, whose changes are in the trail
            for word in ("required", "optional", "required"):
                first.insist("PATCH", "", json={"review": word})
            require_each_once(place, upstream)
            nodes[1].start()
            sync(clients, upstream)
            second.insist("PATCH", "", json={"review": "optional"})
            sync(clients, upstream)
            require_each_once(place, upstream)
        finally:
            for client in clients:
                client.close()


def toggle(client: Client, field: str, words: tuple[str, str]) -> None:
    """Change a word of the policy to and fro."""
    for number in range(ROUNDS):
        answer = client.insist("PATCH", "", json={field: words[number % 2]})
        assert answer.status_code == 200, answer.text


def push_signers(upstream: Path, work: Path, keys: list[Key]) -> None:
    """Change the signers in the upstream, with C git."""
    git(work.parent, "clone", "-q", str(upstream), str(work))
    for number in range(ROUNDS):
        (work / "allowed_signers").write_text(keys[number % 2].line(), "utf-8")
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "Signers")
        wait_until(lambda: try_push(work), SECONDS, "a push before others")


def try_push(work: Path) -> bool:
    """Push on top of what is there; False where someone else was first."""
    git(work, "pull", "-q", "--rebase")
    try:
        git(work, "push", "-q", "origin", "HEAD:release")
    except AssertionError:
        return False
    return True


def sync(clients: list[Client], upstream: Path) -> None:
    """Wait until both nodes serve the newest commit of the upstream."""
    tip = git(upstream, "rev-parse", "release")
    for client in clients:
        ask_for_sync(client)
        await_release(client.place, tip)
