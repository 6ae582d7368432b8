"""First starts of the demo that are killed at many points, each followed by a complete start.

Run as a program it takes a folder and prints one JSON object a point: the findings of the second start. Children are
forked, so that the libraries are loaded once.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from api.app.services import open_services
from api.auth.logins.login import Logins
from api.settings import Settings
from cli.server.administrator import ADMIN
from cli.server.sample import Secrets, create_sample
from gitstore.store.store import Store

_FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "sqlite3.connect"}
_SPREAD = 2


class KillPoint(NamedTuple):
    """The `number`-th time that the process is about to do `event` to a file of this name; empty for any."""

    number: int
    event: str = ""
    name: str = ""


_NEVER = KillPoint(-1)
LANDMARKS = (
    KillPoint(1, "os.rename", "sample.git"),  # the namespace is built, but not in place
    KillPoint(1, "os.rename", "compiled"),  # it is in place, its compiled files are not
    KillPoint(3, "open", "generation"),  # the admin is created
    KillPoint(4, "open", "generation"),  # the token is created
    KillPoint(1, "os.remove", "demo.unfinished"),  # all is created and shown
)


class KillSwitch:
    """An audit hook that counts the file events of the process, and kills it at a point."""

    def __init__(self, root: Path, point: KillPoint) -> None:
        self._root = str(root)
        self._point = point
        self._hits = 0
        self.steps = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count an event, and kill the process at the point."""
        if event in _FILE_EVENTS and arguments and str(arguments[0]).startswith(self._root):
            self.steps += 1
            self._hits += self._point.event in {"", event} and str(arguments[0]).endswith(self._point.name)
            if self._hits == self._point.number:
                os.kill(os.getpid(), signal.SIGKILL)


def main(root: Path) -> None:
    """Count the events of a start that is not killed, then kill starts at the landmarks and spread over the events."""
    steps = _fork(lambda: _start(root / "whole", _NEVER)[0])
    assert isinstance(steps, int), "the start without a kill did not end"
    spread = (KillPoint(1 + number * steps // _SPREAD) for number in range(_SPREAD))
    for number, point in enumerate((*LANDMARKS, *spread)):
        _run_point(root / str(number), point)


def _run_point(data: Path, point: KillPoint) -> None:
    killed = _fork(lambda: _start(data, point)[0]) is None
    found = _fork(lambda: _inspect(data, _start(data, _NEVER)[1]))
    print(json.dumps({"at": point, "killed": killed, "found": found}), flush=True)  # noqa: T201 - its output


def _start(data: Path, point: KillPoint) -> tuple[int, Secrets | None]:
    kill_switch = KillSwitch(data, point)
    sys.addaudithook(kill_switch)
    with create_sample(Settings(data=data)) as shown:
        pass
    return kill_switch.steps, shown


def _inspect(data: Path, shown: Secrets | None) -> dict[str, object]:
    """Return the findings of a user: the secrets work, every project is served, and a third start shows no secrets."""
    services = open_services(Settings(data=data))
    with create_sample(Settings(data=data)) as again:
        pass
    works = shown is not None and bool(shown.token) and _signs_in(services.logins, shown.password)
    tokens = services.tokens.window(100, 0)[0]
    services.close()
    store = Store(data)
    projects = {name: found.number for name, found in sorted(store.releases.namespace("sample").projects.items())}
    return {
        "signs_in": works,
        "tokens": len(tokens),
        "projects": projects,
        "shown_again": again is not None,
        "failures": store.releases.failures(),
    }


def _signs_in(logins: Logins, password: str) -> bool:
    return logins.login(ADMIN, password).user.username == ADMIN


def _fork(work: Callable[[], object]) -> object:
    """Return the result of `work` in a child process; None if the child was killed."""
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
        reported = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    assert os.WEXITSTATUS(status) == 0, "a start failed; see its output above"
    found: object = json.loads(reported)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
