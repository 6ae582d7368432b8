"""Namespaces that are archived, created and restored by processes that are killed at every file event.

Run as a program it takes a folder and prints one JSON object a point: the findings after the operation was repeated.
Children are forked, so that the libraries are loaded once.
"""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from api.db import earlier_namespaces
from api.db.agents import agents
from api.db.agents.agents import Agent
from api.db.audit import Actor
from api.db.namespaces.namespace_records import StoredRecords
from api.db.state_store import open_state_store
from api.db.timestamps import utc_now
from gitstore.directory import DataDirectory
from gitstore.errors import StoreError
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile

_SPREAD = 8
NAME = "acme"
ADA = Author("Ada", "ada@acme.example")
_FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}
# The database, and the folders of loose objects: their number depends on the ids of commits, and so on the time.
_NOT_COUNTED = re.compile(r"\.db|/objects/[0-9a-f]{2}$")


class KillSwitch:
    """An audit hook that counts the changes of files below a folder, and kills the process at one of them."""

    def __init__(self, root: Path, point: int) -> None:
        self._root = str(root)
        self._point = point
        self.steps = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count an event, and kill the process at the point."""
        path = str(arguments[0]) if event in _FILE_EVENTS else ""
        if path.startswith(self._root) and not _NOT_COUNTED.search(path):
            self.steps += 1
            if self.steps == self._point:
                os.kill(os.getpid(), signal.SIGKILL)


def records(data: Path) -> StoredRecords:
    return StoredRecords(open_state_store(data), actor=Actor("operator", None, "ada"))


def delete(data: Path) -> None:
    Store(data).namespaces.delete(NAME, records(data))


def create(data: Path) -> None:
    Store(data).namespaces.create(NAME, "", ADA, records(data))


def restore(data: Path) -> None:
    Store(data).namespaces.restore(NAME, None, ADA, records(data))


def prepare(data: Path, *, archived: bool) -> None:
    """Make a namespace with two publishes and an agent, archived or not."""
    DataDirectory(data).create()
    create(data)
    store, now = Store(data), utc_now()
    store.projects.create(NAME, "shop", ProjectFile(title="Shop"), ADA)
    store.projects.change(NAME, "shop", {"title": "Our shop"}, ADA)
    with open_state_store(data).database.writing() as connection:
        agents.register(connection, Agent(NAME, "shop", "edge-1", "default", now, now))
    if archived:
        delete(data)


def inspect(data: Path, operation: Callable[[Path], None]) -> dict[str, object]:
    """Repeat the operation if it was not done, then return what is there; a new namespace gets its project."""
    store = Store(data)
    before = {"live": store.namespaces.names(), "archives": len(store.namespaces.archived(NAME))}
    with suppress(StoreError):
        operation(data)
    store = Store(data)
    live = NAME in store.namespaces.names()
    if not live:
        create(data)
    if "shop" not in store.releases.namespace(NAME).projects:
        store.projects.create(NAME, "shop", ProjectFile(title="Next"), ADA)
    else:
        store.projects.change(NAME, "shop", {"title": "Next"}, ADA)
    with open_state_store(data).database.reading() as connection:
        rows = agents.count_agents(connection, NAME, "shop")
        noted = earlier_namespaces.list_highest_numbers(connection, NAME)
    published, _ = store.publishes.history(NAME, "shop", 0, 10)
    left = [path.name for path in (data / "repos").iterdir() if path.name.startswith(".new-")]
    return {
        "before": before,
        "numbers": [each.number for each in published],
        "agents": rows,
        "noted": noted,
        "left": left,
        "archives": len(store.namespaces.archived(NAME)),
    }


def fork(work: Callable[[], object]) -> object:
    """Return the result of work in a child; None if it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(work(), pipe)
            pipe.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def run(data: Path, operation: Callable[[Path], None], point: int) -> int:
    switch = KillSwitch(data, point)
    sys.addaudithook(switch)
    operation(data)
    return switch.steps


def main(root: Path) -> None:
    """Kill each operation at file events that are spread over it, the last ones one by one."""
    for operation, archived in ((delete, False), (create, True), (restore, True)):
        ready = root / f"{operation.__name__}-ready"
        fork(lambda: prepare(ready, archived=archived))  # noqa: B023 - called at once
        whole = root / f"{operation.__name__}-whole"
        shutil.copytree(ready, whole, symlinks=True)
        steps = fork(lambda: run(whole, operation, -1))  # noqa: B023 - called at once
        assert isinstance(steps, int)
        stride = max(1, steps // _SPREAD)
        for point in (*range(1, steps - 5, stride), *range(steps - 5, steps + 1)):
            data = root / f"{operation.__name__}-{point}"
            shutil.copytree(ready, data, symlinks=True)
            killed = fork(lambda: run(data, operation, point)) is None  # noqa: B023 - called at once
            found = fork(lambda: inspect(data, operation))  # noqa: B023 - called at once
            said = {"operation": operation.__name__, "point": point, "steps": steps, "killed": killed, "found": found}
            print(json.dumps(said), flush=True)  # noqa: T201 - its output
            shutil.rmtree(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
