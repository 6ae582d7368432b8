"""First starts of the demo that are killed at many points, each followed by one that is left to its end.

Run as a program it takes a folder and prints one JSON object a point: what the second start found. Children are forked,
so that the libraries are loaded once.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from api.identity.login import Logins
from api.identity.service import open_services
from api.settings import Settings
from cli.sample import ADMIN, Secrets, made_sample
from gitstore.store import Store

_TOUCHING = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "sqlite3.connect"}
_SPREAD = 2


class Point(NamedTuple):
    """The `number`-th time that the process is about to do `event` to a file of this name; empty for any."""

    number: int
    event: str = ""
    name: str = ""


_NEVER = Point(-1)
LANDMARKS = (
    Point(1, "os.rename", "sample.git"),  # the namespace is built, and not in place
    Point(1, "os.rename", "compiled"),  # it is in place, its compiled files are not
    Point(1, "open", "generation"),  # the admin is made
    Point(2, "open", "generation"),  # the token is made
    Point(1, "os.remove", "demo.unfinished"),  # all is made and shown
)


class Clock:
    """Counts what the process does to files, and kills it at a point."""

    def __init__(self, root: Path, point: Point) -> None:
        self._root = str(root)
        self._point = point
        self._hits = 0
        self.steps = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook."""
        if event in _TOUCHING and arguments and str(arguments[0]).startswith(self._root):
            self.steps += 1
            self._hits += self._point.event in {"", event} and str(arguments[0]).endswith(self._point.name)
            if self._hits == self._point.number:
                os.kill(os.getpid(), signal.SIGKILL)


def main(root: Path) -> None:
    """Count the steps of a start that is not killed, then kill starts at the landmarks and spread over the steps."""
    steps = _fork(lambda: _start(root / "whole", _NEVER)[0])
    assert isinstance(steps, int), "the start that nobody kills did not end"
    spread = (Point(1 + number * steps // _SPREAD) for number in range(_SPREAD))
    for number, point in enumerate((*LANDMARKS, *spread)):
        _try(root / str(number), point)


def _try(data: Path, point: Point) -> None:
    killed = _fork(lambda: _start(data, point)[0]) is None
    found = _fork(lambda: _look(data, _start(data, _NEVER)[1]))
    print(json.dumps({"at": point, "killed": killed, "found": found}), flush=True)  # noqa: T201 - its output


def _start(data: Path, point: Point) -> tuple[int, Secrets | None]:
    clock = Clock(data, point)
    sys.addaudithook(clock)
    with made_sample(Settings(data=data)) as shown:
        pass
    return clock.steps, shown


def _look(data: Path, shown: Secrets | None) -> dict[str, object]:
    """What a person would see: the secrets work, every project is served, and a third start shows no secrets."""
    services = open_services(Settings(data=data))
    with made_sample(Settings(data=data)) as again:
        pass
    works = shown is not None and bool(shown.token) and _signs_in(services.logins, shown.password)
    tokens = services.tokens.window(100, 0)[0]
    services.close()
    store = Store(data)
    projects = {name: found.number for name, found in sorted(store.served("sample").projects.items())}
    return {
        "signs_in": works,
        "tokens": len(tokens),
        "projects": projects,
        "shown_again": again is not None,
        "failures": store.failures(),
    }


def _signs_in(logins: Logins, password: str) -> bool:
    return logins.login(ADMIN, password).user.username == ADMIN


def _fork(work: Callable[[], object]) -> object:
    """What `work` gives in a child of its own; None where the child was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, json.dumps(work()).encode())
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    assert os.WEXITSTATUS(status) == 0, "a start failed; its reason is above"
    found: object = json.loads(told)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
