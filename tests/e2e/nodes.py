"""Nodes: services that are killed as a whole and start again on the same data, and careful clients of them."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.caller import Caller
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, Service, child_pids, running, wait_until

PATIENCE = 120.0
_UNAVAILABLE = 503


class Node:
    """A service with a data directory of its own; `database` is empty for SQLite."""

    def __init__(self, data: Path, settings: Mapping[str, str], database: str = "") -> None:
        self._data = data
        self._settings = {**settings, **({"WAYPOST_DATABASE": database} if database else {})}
        self._database = database
        self._stack = ExitStack()
        self._world: World | None = None

    @property
    def world(self) -> World:
        """The running service; waits while it is down."""
        return wait_until(lambda: self._world, PATIENCE, f"the node {self._data.name} to run")

    def start(self) -> None:
        """Start the service, and wait until it answers."""
        service = self._stack.enter_context(running(WAYPOST, self._data, self._settings))
        self._world = self._stack.enter_context(open_world(service, killed=True, database=self._database))

    def kill(self) -> None:
        """Kill all its processes at once."""
        service, self._world = self.world.service, None
        kill_whole(service)
        self._stack.close()

    def stop(self) -> None:
        """Stop it in order."""
        self._world = None
        self._stack.close()


def kill_whole(service: Service) -> None:
    """Kill the master, the workers and all processes below them."""
    os.kill(service.process.pid, signal.SIGSTOP)  # it starts no more
    for pid in sorted(descendants(service.process.pid), reverse=True):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    service.process.wait(PATIENCE)


def descendants(pid: int) -> set[int]:
    """Return a process and all below it."""
    return {pid}.union(*(descendants(child) for child in child_pids(pid)))


class Client:
    """A careful client of a project on one node: a request without an answer, or with 503, is sent again."""

    def __init__(self, node: Node, namespace: str, project: str) -> None:
        self.node = node
        self._names = namespace, project
        self._token = node.world.root.token
        # Its own: a socket that another thread closes never wakes the one that reads it.
        self._http = httpx.Client(timeout=60)

    @property
    def place(self) -> Place:
        """The project, on the service as it runs now."""
        world = self.node.world
        self._http.base_url = world.service.url
        return Place(world, *self._names, Caller(self._http, self._token))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def insist(self, method: str, tail: str, **request: Any) -> httpx.Response:
        """Send a request below the project until it is answered."""
        refused = list[str]()
        try:
            return wait_until(
                lambda: self._try(method, tail, request, refused), PATIENCE, f"an answer to {method} {tail}"
            )
        except AssertionError as ex:
            raise AssertionError(f"{ex}; the last one: {refused[-1:]}") from ex

    def _try(self, method: str, tail: str, request: Mapping[str, Any], refused: list[str]) -> httpx.Response | None:
        place = self.place
        with suppress(httpx.TransportError):
            answer = place.root.send(method, place.path + tail, **request)
            if answer.status_code != _UNAVAILABLE:
                return answer
            refused.append(answer.text)
        return None

    def get(self, tail: str, **params: Any) -> Any:
        """Return the JSON of a GET."""
        answer = self.insist("GET", tail, params=params or None)
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()

    def targets(self, tail: str) -> dict[str, str]:
        """Return the target of each source in a list of redirects, without those that a draft removes."""
        items = self.get(tail, limit=1_000_000)["items"]
        return {item["source"]: item["target"] for item in items if item.get("change") != "removed"}


def leftovers(repository: Path) -> list[str]:
    """Return what a dead process may leave: lock files that block writers, quarantines, temporary files, keys.

    Files that are locked by the kernel alone stay, and block no writer; unfinished objects (`tmp_obj_…`) are removed a day later.
    """
    names = [path for path in repository.rglob("*") if not path.match("waypost*.lock")]
    return sorted(
        str(path.relative_to(repository))
        for path in names
        if path.suffix in {".lock", ".keep"} or path.name.startswith(("tmp_objdir", ".tmp", "incoming", "ssh-"))
    )


def wait_for(probe: Callable[[], bool], description: str) -> None:
    """Wait until something is true, for long."""
    wait_until(probe, PATIENCE, description)


def wait_for_clean(repository: Path) -> None:
    """Wait until a repository has no leftovers: a sync that runs now has a quarantine, which ends with it."""
    try:
        wait_for(lambda: not leftovers(repository), "the leftovers to be gone")
    except AssertionError as ex:
        raise AssertionError(f"{ex}: {leftovers(repository)}") from ex
