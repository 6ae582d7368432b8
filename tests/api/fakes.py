"""Named fakes for the edges of the service skeleton: a directory of tokens, principals, and resources to probe with."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from falcon.asgi import Request, Response

from api import logs
from api.access import any_principal, grants, principal_of, public, reads_project
from api.background import in_thread, in_worker
from api.body import read_bytes, read_json
from api.collaborators import Collaborators, Companion, Principal, ReadyCheck
from api.errors import Unauthenticated
from api.parameters import read_number, read_window
from api.routing import Route
from api.settings import Settings

PROJECT = "/api/namespace/{namespace}/project/{project}"


@dataclass(frozen=True)
class FakePrincipal:
    """A caller whose grants are (resource, action, namespace, project), `*` for all."""

    name: str
    held: tuple[tuple[str, str, str, str], ...] = ()
    kind: str = "token"
    email: str = "token-1@waypost.invalid"

    @property
    def display_name(self) -> str:
        """The name."""
        return self.name

    def sees(self, namespace: str, project: str = "") -> bool:
        """Tell whether one grant is of this namespace, and of the project if one is asked for."""
        return any(held[2] in {"*", namespace} and (not project or held[3] in {"*", project}) for held in self.held)

    def may(self, resource: str, action: str, namespace: str = "*", project: str = "*") -> bool:
        """Tell whether one grant covers this."""
        asked = (resource, action, namespace, project)
        return any(all(have in {"*", want} for have, want in zip(grant, asked, strict=True)) for grant in self.held)


@dataclass
class FakeDirectory:
    """Tokens in a dictionary; `stale` counts how often it still says that it must be reloaded."""

    tokens: dict[str, Principal] = field(default_factory=dict)
    stale: int = 0
    reloads: int = 0

    def fresh(self) -> bool:
        """Fresh unless a test says otherwise."""
        return self.stale == 0

    def reload(self) -> None:
        """One reload, slow enough that requests meet in it."""
        time.sleep(0.02)
        self.reloads += 1
        self.stale -= 1

    def authenticate(self, bearer: str) -> Principal:
        """The principal of a known token."""
        if bearer not in self.tokens:
            raise Unauthenticated
        return self.tokens[bearer]


TOKENS = {
    "all": FakePrincipal("all", (("*", "*", "*", "*"),)),
    "shop": FakePrincipal("shop", (("redirect", "read", "acme", "shop"),)),
    "pages": FakePrincipal("pages", (("page", "read", "acme", "*"),)),
    "none": FakePrincipal("none"),
}


class Probe:
    """Responders that show what the skeleton does with requests."""

    @grants("redirect", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Who is calling, for which project, in which window."""
        window = read_window(req)
        resp.media = {
            "principal": principal_of(req).name,
            "project": f"{namespace}/{project}",
            "limit": window.limit,
            "offset": window.offset,
        }

    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """The body back again, if it is one of a login."""
        del namespace, project
        resp.media = await read_json(req, "login")

    @reads_project
    async def on_get_version(self, _req: Request, resp: Response, namespace: str, project: str) -> None:
        """Anything, for those who may read anything of the project."""
        resp.media = f"{namespace}/{project}"


def speak() -> int:
    """The process id of whoever runs this, also written to the log."""
    logs.logger("probe").warning("spoken", pid=os.getpid())
    return os.getpid()


class Process:
    """What runs where."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """The worker's process id."""
        resp.media = os.getpid()

    @public
    async def on_get_client(self, req: Request, resp: Response) -> None:
        """The client's address."""
        resp.media = req.remote_addr

    @public
    async def on_get_worker(self, _req: Request, resp: Response) -> None:
        """The process id of the worker's process for heavy work."""
        resp.media = await in_worker(speak)

    @public
    async def on_get_slow(self, req: Request, resp: Response) -> None:
        """An answer after `?ms=` milliseconds in a thread."""
        await in_thread(time.sleep, read_number(req, "ms", 0) / 1000)
        resp.media = os.getpid()

    @public
    async def on_get_wait(self, _req: Request, _resp: Response) -> None:
        """No answer, as a long poll that nothing ends."""
        await asyncio.Event().wait()

    @public
    async def on_get_large(self, req: Request, resp: Response) -> None:
        """`?bytes=` bytes."""
        resp.data = bytes(read_number(req, "bytes", 0))


class Sink:
    """A public place to send bodies to."""

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """How many bytes came, of at most 1000."""
        resp.media = len(await read_bytes(req, 1000))

    @any_principal
    async def on_put(self, req: Request, resp: Response) -> None:
        """The same, for callers with a token."""
        resp.media = len(await read_bytes(req, 2**26))


class Failing:
    """A responder that raises what a test hands it."""

    def __init__(self, ex: BaseException) -> None:
        self._ex = ex

    @public
    async def on_get(self, _req: Request, _resp: Response) -> None:
        """Never an answer."""
        raise self._ex


PROBES = (
    Route(f"{PROJECT}/probe", Probe()),
    Route(f"{PROJECT}/probe/version", Probe(), "version"),
    Route("/probe/pid", Process()),
    Route("/probe/client", Process(), "client"),
    Route("/probe/worker", Process(), "worker"),
    Route("/probe/slow", Process(), "slow"),
    Route("/probe/wait", Process(), "wait"),
    Route("/probe/large", Process(), "large"),
    Route("/probe/sink", Sink()),
)


class Diary:
    """A companion that writes down when it was started and stopped, in a file per process."""

    def __init__(self, data: Path) -> None:
        self._data = data

    async def start(self) -> None:
        """Note the start."""
        self._write("started")

    async def stop(self) -> None:
        """Note the stop."""
        self._write("stopped")

    def _write(self, word: str) -> None:
        with (self._data / f"diary.{os.getpid()}").open("a", encoding="ascii") as file:
            file.write(f"{word}\n")


def collaborators(
    settings: Settings | None = None,
    directory: FakeDirectory | None = None,
    ready_checks: tuple[ReadyCheck, ...] = (),
    companions: tuple[Companion, ...] = (),
) -> Collaborators:
    """Collaborators of an application without content."""
    return Collaborators(
        settings or Settings(body_timeout=1),
        directory or FakeDirectory(dict(TOKENS)),
        None,
        None,
        ready_checks,
        companions,
    )
