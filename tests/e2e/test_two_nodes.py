"""Two nodes with one source, both taking edits and publishes, while one of them is killed now and then.

The oracle is a naive model of what was acknowledged: edits of a draft are in it on the node that took them, and each
acknowledged publish is a commit of the upstream, in the order in which its node acknowledged it. Replayed in the order of the
upstream's history, the publishes give the release of both nodes. `make soak` runs it with many more operations.
"""

import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.git import check_repository, git
from tests.e2e.nodes import Client, Node, leftovers, wait_for, wait_for_clean
from tests.e2e.world import redirect
from tests.gitstore.wire.client.http_host import PASSWORD, USER, hosting
from tests.postgres import running_postgres
from tests.seeds import first_seed

OPERATIONS = int(os.environ.get("SOAK_OPERATIONS", "48"))
PER_KILL = max(24, OPERATIONS // 20)
SHARED = 8
SPACE, PROJECT = "acme", "shop"
OPERATION_WEIGHTS = {"add": 5, "change": 3, "share": 3, "delete": 1, "publish": 6, "sync": 0.5}
Edits = dict[str, str | None]


@dataclass
class Editor:
    """A client of one node with the model of its draft, and of its acknowledged publishes by commit, oldest first."""

    name: str
    client: Client
    random: random.Random
    edits: Edits = field(default_factory=dict)
    published: dict[str, Edits] = field(default_factory=dict)
    done: int = 0
    made: int = 0
    journal: list[str] = field(default_factory=list)

    def run(self, count: int) -> None:
        """Do random operations."""
        names, weights = list(OPERATION_WEIGHTS), list(OPERATION_WEIGHTS.values())
        for _ in range(count):
            getattr(self, f"_{self.random.choices(names, weights)[0]}")()
            self.done += 1

    def _target(self) -> str:
        self.made += 1
        return f"/to/{self.name}/{self.made}"

    def _put(self, source: str) -> None:
        target = self._target()
        self._edit({"op": "put", "kind": "redirect", "item": redirect(source, target)})
        self.edits[source] = target

    def _edit(self, change: dict[str, Any]) -> None:
        answer = self.client.insist("POST", "/draft/changes", json=[change])
        self.journal.append(f"{change} {answer.status_code} {answer.text}")
        assert answer.status_code == httpx.codes.OK, answer.text

    def _add(self) -> None:
        self._put(f"/{self.name}/{self.made}")

    def _change(self) -> None:
        own = [source for each in (*self.published.values(), self.edits) for source in each]
        if own:
            self._put(self.random.choice(own))

    def _share(self) -> None:
        self._put(f"/shared/{self.random.randrange(SHARED)}")

    def _delete(self) -> None:
        found = sorted(self.client.targets("/draft/redirects"))
        if found:
            source = self.random.choice(found)
            change = {"op": "delete", "kind": "redirect", "source": source}
            answer = self.client.insist("POST", "/draft/changes", json=[change])
            self.journal.append(f"{change} {answer.status_code} {answer.text}")
            if (
                answer.status_code == httpx.codes.NOT_FOUND
            ):  # sent again after a lost answer, or the other node's publish
                assert source not in self.client.targets("/draft/redirects"), answer.text
            else:
                assert answer.status_code == httpx.codes.OK, answer.text
            self.edits[source] = None

    def _publish(self) -> None:
        head = self.client.get("/draft")["head"]
        if head is None:  # the edits left nothing to change
            self.check_draft()
            self.edits.clear()
            return
        answer = self.client.insist("POST", "/publish", json={"head": head})
        self.journal.append(f"publish {head} {answer.status_code} {answer.text}")
        if answer.status_code == httpx.codes.OK:
            version = answer.json()["version"]
            assert version not in self.published
            self.published[version] = dict(self.edits)
        else:
            assert answer.status_code == httpx.codes.CONFLICT, answer.text
            assert answer.json()["error"] in {"conflict", "nothing_to_publish"}, answer.text
            self.check_draft()
            self.client.insist("DELETE", "/draft")
        self.edits.clear()

    def _sync(self) -> None:
        with suppress(httpx.TransportError):
            ask_for_sync(self.client)

    def check_draft(self) -> None:
        """Fail unless each acknowledged edit is in the draft."""
        found = self.client.targets("/draft/redirects")
        assert {source: found.get(source) for source in self.edits} == self.edits, "\n".join(self.journal[-40:])


@contextmanager
def killing(nodes: list[Node], editors: list[Editor], kills: int, choice: random.Random) -> Iterator[None]:
    """Kill a random node after each so many operations, at a random moment, and start it again."""
    ended, faults = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            for number in range(kills):
                due = (number + 1) * PER_KILL
                wait_for(lambda: ended.is_set() or sum(each.done for each in editors) >= due, "some operations")  # noqa: B023 - called at once
                if ended.wait(choice.uniform(0.0, 0.3)):
                    return
                node = choice.choice(nodes)
                node.kill()
                node.start()
        except BaseException as ex:  # noqa: BLE001 - raised below, in the thread of the test
            faults.append(ex)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    for fault in faults:
        raise fault


@contextmanager
def two_nodes(folder: Path, kind: str) -> Iterator[list[Node]]:
    """Run two nodes; with databases of their own (`sqlite`), or one (`postgres`)."""
    settings = {"WAYPOST_UPSTREAM_NETWORKS": "127.0.0.0/8", "WAYPOST_UPSTREAM_FOLDERS": str(folder)}

    @contextmanager
    def run(database: str) -> Iterator[list[Node]]:
        nodes = [Node(folder / name, settings, database) for name in ("a", "b")]
        try:
            for node in nodes:
                node.start()
            yield nodes
        finally:
            for node in nodes:
                node.stop()

    if kind == "postgres":
        with running_postgres() as server, run(server.database()) as nodes:
            yield nodes
    else:
        with run("") as nodes:
            yield nodes


def follow(nodes: list[Node], url: str) -> list[Client]:
    """Have the nodes follow an upstream in the mode `source`, and create the project."""
    body = {"url": url, "mode": "source", "poll": 5, "username": USER, "password": PASSWORD}
    for node in nodes:
        node.world.root.ask("POST", "/api/namespaces", 201, json={"name": SPACE})
    for node in nodes:
        node.world.root.ask("PUT", f"/api/namespace/{SPACE}/upstream", 200, json=body)
    first, other = (Client(node, SPACE, PROJECT) for node in nodes)
    wait_for(lambda: is_synced(first), "the first sync")
    nodes[0].world.root.ask("POST", f"/api/namespace/{SPACE}/projects", 201, json={"name": PROJECT})
    for client in (first, other):
        ask_for_sync(client)
        wait_for(lambda: has_project(client), "the project")  # noqa: B023 - called at once
    return [first, other]


def is_synced(client: Client) -> bool:
    """Tell whether the last sync of a node went well."""
    found = client.place.root.get(f"/api/namespace/{SPACE}/upstream")
    return bool(found["status"] == "synced")


def ask_for_sync(client: Client) -> None:
    """Have the node sync now."""
    client.place.root.ask("POST", f"/api/namespace/{SPACE}/upstream/sync", 202)


def has_project(client: Client) -> bool:
    """Tell whether the node has the project."""
    return client.insist("GET", "/version").status_code == httpx.codes.OK


@pytest.mark.usefixtures("web_server")
def test_nodes_with_databases_of_their_own_lose_nothing_when_they_are_killed(tmp_path: Path) -> None:
    run_nodes(tmp_path, "sqlite")


@pytest.mark.usefixtures("postgres_programs", "web_server")
def test_nodes_on_one_database_lose_nothing_when_they_are_killed(tmp_path: Path) -> None:
    run_nodes(tmp_path, "postgres")


def run_nodes(tmp_path: Path, kind: str) -> None:
    """Have two nodes do random operations, and compare them with the model."""
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=release", "up.git")
    seed = int(os.environ.get("SOAK_SEED", first_seed()))
    upstream, choice = tmp_path / "up.git", random.Random(seed)  # noqa: S311 - test data
    git(upstream, "config", "http.receivepack", "true")
    with two_nodes(tmp_path, kind) as nodes, hosting(tmp_path) as host:
        clients = follow(nodes, f"{host.url}/up.git" if kind == "sqlite" else str(upstream))
        try:
            named = zip("ab", clients, strict=True)
            editors = [Editor(name, client, random.Random(f"{name}{seed}")) for name, client in named]  # noqa: S311 - test data
            before = git(upstream, "rev-list", "--first-parent", "release").split()
            kills = OPERATIONS // PER_KILL
            with ThreadPoolExecutor(2) as pool, killing(nodes, editors, kills, choice):
                for result in [pool.submit(each.run, OPERATIONS // 2) for each in editors]:
                    result.result()
            check(upstream, before, editors)
        finally:
            for client in clients:
                client.close()


def check(upstream: Path, before: list[str], editors: list[Editor]) -> None:
    """Compare both nodes and the upstream with the model."""
    history = git(upstream, "rev-list", "--first-parent", "--reverse", "release").split()[len(before) :]
    acknowledged = {version: edits for each in editors for version, edits in each.published.items()}
    assert set(history) == set(acknowledged), "every acknowledged publish, and nothing else"
    model = Edits()
    for version in history:
        model |= acknowledged[version]
    expected = {source: target for source, target in model.items() if target is not None}
    for editor in editors:
        own = [version for version in history if version in editor.published]
        assert own == list(editor.published), "in the order of the acknowledgements"
        editor.check_draft()
        ask_for_sync(editor.client)
        wait_for(lambda: editor.client.get("/version") == history[-1], "the same release")  # noqa: B023 - called at once
        assert editor.client.targets("/redirects") == expected
        assert editor.client.get("/history")["total"] == len(history) + 1
        repository = editor.client.place.repository
        check_repository(repository)
        wait_for_clean(repository)
    check_repository(upstream)
    assert leftovers(upstream) == []
