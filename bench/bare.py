"""The yardstick *bare*: a function that gives one constant answer, under the same gunicorn and options as the service.

python -m bench.bare FILE [--hold], where FILE is what `dump_answer` wrote; settings by WAYPOST_… variables as for the
service. With --hold the answer is held back until somebody asks for /go.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, cast

from api.app import Service
from api.server import serve
from api.settings import Settings


class Answer(NamedTuple):
    """A whole answer: status, headers and body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def dump_answer(answer: Answer, path: Path) -> None:
    """Write an answer for `load_answer`."""
    head = json.dumps({"status": answer.status, "headers": answer.headers})
    path.write_bytes(head.encode() + b"\n" + answer.body)


def load_answer(path: Path) -> Answer:
    """What `dump_answer` wrote."""
    head, _, body = path.read_bytes().partition(b"\n")
    fields = json.loads(head)
    return Answer(fields["status"], [(name, value) for name, value in fields["headers"]], body)


class Bare:
    """The application: two messages, made beforehand."""

    express = None
    leaving = ()
    """What our server calls when it ends: nothing waits here."""

    def __init__(self, answer: Answer) -> None:
        headers = [(name.encode(), value.encode()) for name, value in answer.headers]
        self._start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        self._body = {"type": "http.response.body", "body": answer.body}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Give the answer, whatever is asked."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        await send(self._start)
        await send(self._body)


class Holding(Bare):
    """The same, but everybody waits until /go was asked for."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._go = asyncio.Event()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Wait, and give the answer."""
        if scope["type"] == "http":
            if scope["path"] == "/go":
                self._go.set()
            await self._go.wait()
        await super().__call__(scope, receive, send)


async def _live(receive: Any, send: Any) -> None:
    for moment in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{moment}.complete"})


if __name__ == "__main__":
    given = load_answer(Path(sys.argv[1]))
    kind = Holding if "--hold" in sys.argv[2:] else Bare
    serve(Settings.read({}, os.environ), lambda: cast("Service", kind(given)))
