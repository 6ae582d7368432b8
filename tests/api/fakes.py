"""Named fakes at the edges of the service skeleton: a directory of tokens, principals, and probe resources."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from falcon.asgi import Request, Response

from api import logs
from api.errors import Unauthenticated
from api.http.fast_path import CachedReply, Headers, PreparedResponse
from api.http.guard.access import any_principal, grants, principal_of, public, reads_project
from api.http.request.json_body import read_bytes, read_json
from api.http.request.parameters import read_number, read_window
from api.http.response.replies import Reply
from api.http.routing import Route
from api.http.walks import Walks
from api.interfaces import BackgroundService, Dependencies, Principal
from api.readiness import ReadyCheck
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.settings import Settings

PROJECT = "/api/namespace/{namespace}/project/{project}"
STREAM_SIZE = 100_000_000
_PIECE = 50_000


@dataclass(frozen=True)
class FakePrincipal:
    """A caller whose grants are (resource, action, namespace, project), `*` for all."""

    name: str
    held: tuple[tuple[str, str, str, str], ...] = ()
    kind: str = "token"
    email: str = "token-1@waypost.invalid"
    session: str = ""
    used_token: tuple[int, str] | None = None

    @property
    def display_name(self) -> str:
        """The name."""
        return self.name

    def can_see(self, namespace: str, project: str = "") -> bool:
        """Return whether one grant is of this namespace, and of the project if one is given."""
        return any(held[2] in {"*", namespace} and (not project or held[3] in {"*", project}) for held in self.held)

    def can(self, resource: str, action: str, namespace: str = "*", project: str = "*") -> bool:
        """Return whether one grant covers this."""
        asked = (resource, action, namespace, project)
        return any(all(have in {"*", want} for have, want in zip(grant, asked, strict=True)) for grant in self.held)


@dataclass
class FakeDirectory:
    """Tokens in a dictionary; `stale` is the number of further answers that a reload is needed."""

    tokens: dict[str, Principal] = field(default_factory=dict)
    stale: int = 0
    reloads: int = 0

    def is_fresh(self) -> bool:
        """Return true unless a test sets otherwise."""
        return self.stale == 0

    def reload(self) -> None:
        """Count a reload that is slow enough for requests to coincide with it."""
        time.sleep(0.02)
        self.reloads += 1
        self.stale -= 1

    def reload_locked(self) -> None:
        """Do nothing: there is no database."""

    @property
    def edition(self) -> int:
        """Return the number of reloads."""
        return self.reloads

    def authenticate(self, bearer: str) -> Principal:
        """Return the principal of a known token."""
        if bearer not in self.tokens:
            raise Unauthenticated
        return self.tokens[bearer]

    def learn(self, session: str) -> None:
        """Know no session."""


TOKENS = {
    "all": FakePrincipal("all", (("*", "*", "*", "*"),)),
    "shop": FakePrincipal("shop", (("redirect", "read", "acme", "shop"),)),
    "pages": FakePrincipal("pages", (("page", "read", "acme", "*"),)),
    "none": FakePrincipal("none"),
}


class Probe:
    """Responders that show the parts of a request after the skeleton."""

    @grants("redirect", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Return the caller, the project and the window."""
        window = read_window(req)
        resp.media = {
            "principal": principal_of(req).name,
            "project": f"{namespace}/{project}",
            "limit": window.limit,
            "offset": window.offset,
        }

    @grants("redirect", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Return the body, if it is a login."""
        del namespace, project
        resp.media = await read_json(req, "login")

    @reads_project
    async def on_get_version(self, _req: Request, resp: Response, namespace: str, project: str) -> None:
        """Answer any caller with any read grant in the project."""
        resp.media = f"{namespace}/{project}"


def report_pid() -> int:
    """Return the process id of the caller's process, and write it to the log."""
    logs.logger("probe").warning("spoken", pid=os.getpid())
    return os.getpid()


class Process:
    """Responders that show the process in which they run."""

    streamed = 0

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Return the worker's process id."""
        resp.media = os.getpid()

    @public
    async def on_get_client(self, req: Request, resp: Response) -> None:
        """Return the client's address."""
        resp.media = req.remote_addr

    @public
    async def on_get_worker(self, _req: Request, resp: Response) -> None:
        """Return the process id of the worker's process for heavy work."""
        resp.media = await run_in_process(report_pid)

    @public
    async def on_get_slow(self, req: Request, resp: Response) -> None:
        """Answer after `?ms=` milliseconds in a thread."""
        await run_in_thread(time.sleep, read_number(req, "ms", 0) / 1000)
        resp.media = os.getpid()

    @public
    async def on_get_blocked(self, req: Request, resp: Response) -> None:
        """Answer after `?ms=` milliseconds in which the event loop is blocked."""
        time.sleep(read_number(req, "ms", 0) / 1000)  # noqa: ASYNC251 - the defect that a test needs
        resp.media = os.getpid()

    @public
    async def on_get_wait(self, _req: Request, _resp: Response) -> None:
        """Never answer, like a long poll without an event; log the end of the wait."""
        try:
            await asyncio.Event().wait()
        finally:
            logs.logger("probe").warning("wait_ended")

    @public
    async def on_get_stream(self, _req: Request, resp: Response) -> None:
        """Answer with `STREAM_SIZE` bytes in pieces, each produced when the server asks for it."""
        resp.stream = self._pieces()

    async def _pieces(self) -> AsyncIterator[bytes]:
        for _ in range(STREAM_SIZE // _PIECE):
            self.streamed += _PIECE
            yield bytes(_PIECE)

    @public
    async def on_get_streamed(self, _req: Request, resp: Response) -> None:
        """Answer with the bytes that this worker has produced for streams."""
        resp.media = self.streamed

    @public
    async def on_get_large(self, req: Request, resp: Response) -> None:
        """Return `?bytes=` bytes."""
        resp.data = bytes(read_number(req, "bytes", 0))


class Sink:
    """A public resource that accepts bodies."""

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """Return the number of received bytes, at most 1000."""
        resp.media = len(await read_bytes(req, 1000))

    @any_principal
    async def on_put(self, req: Request, resp: Response) -> None:
        """Return the same, for callers with a token."""
        resp.media = len(await read_bytes(req, 2**26))


class Failing:
    """A responder that raises a given exception."""

    def __init__(self, ex: BaseException) -> None:
        self._ex = ex

    @public
    async def on_get(self, _req: Request, _resp: Response) -> None:
        """Raise the exception."""
        raise self._ex


_PROCESS = Process()

PROBES = (
    Route(f"{PROJECT}/probe", Probe()),
    Route(f"{PROJECT}/probe/version", Probe(), "version"),
    Route("/probe/pid", Process()),
    Route("/probe/client", Process(), "client"),
    Route("/probe/worker", Process(), "worker"),
    Route("/probe/slow", Process(), "slow"),
    Route("/probe/blocked", Process(), "blocked"),
    Route("/probe/wait", Process(), "wait"),
    Route("/probe/large", Process(), "large"),
    Route("/probe/stream", _PROCESS, "stream"),
    Route("/probe/streamed", _PROCESS, "streamed"),
    Route("/probe/sink", Sink()),
)


class FakeFastPath:
    """A fast path that answers `/probe/plain` with `?bytes=` bytes, and nothing else."""

    def answer(self, path: str, raw_path: bytes, query: str, headers: Headers, walks: Walks) -> PreparedResponse | None:
        """Return a prepared response that names its worker."""
        del raw_path, headers, walks
        if path != "/probe/plain":
            return None
        body = bytes(int(query.removeprefix("bytes=") or 0))
        head = b"HTTP/1.1 200 OK\r\nx-worker: %d\r\ncontent-length: %d\r\n" % (os.getpid(), len(body))
        found = CachedReply(Reply(200, (), (body,)), head, len(body), (body,))
        return PreparedResponse(found, b"x-request-id: plain\r\n")


class LifecycleRecorder:
    """A background service that records its start and stop in a file per process; it fails to start beside `unstartable`."""

    def __init__(self, data: Path) -> None:
        self._data = data

    async def start(self) -> None:
        """Note the start."""
        if (self._data / "unstartable").exists():
            raise RuntimeError("unstartable")
        self._write("started")

    async def stop(self) -> None:
        """Record the stop."""
        self._write("stopped")

    def _write(self, word: str) -> None:
        with (self._data / f"diary.{os.getpid()}").open("a", encoding="ascii") as file:
            file.write(f"{word}\n")


def dependencies(
    settings: Settings | None = None,
    directory: FakeDirectory | None = None,
    ready_checks: tuple[ReadyCheck, ...] = (),
    background_services: tuple[BackgroundService, ...] = (),
) -> Dependencies:
    """Return the collaborators of an application without content."""
    return Dependencies(
        settings or Settings(body_timeout=1),
        directory or FakeDirectory(dict(TOKENS)),
        ready_checks,
        background_services,
    )
