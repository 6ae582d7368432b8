"""The yardstick *bare*: a function with one constant response, under the same gunicorn and options as the service.

python -m bench.bare FILE [--hold], where FILE comes from `dump_response`; settings by WAYPOST_… variables as for the
service. With --hold, responses wait until a request for /go.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, cast

from api.app.app import Application
from api.server.server import serve
from api.settings import Settings


class RecordedResponse(NamedTuple):
    """A complete response: status, headers and body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def dump_response(answer: RecordedResponse, path: Path) -> None:
    """Write a response for `load_response`."""
    head = json.dumps({"status": answer.status, "headers": answer.headers})
    path.write_bytes(head.encode() + b"\n" + answer.body)


def load_response(path: Path) -> RecordedResponse:
    """Read the output of `dump_response`."""
    head, _, body = path.read_bytes().partition(b"\n")
    fields = json.loads(head)
    return RecordedResponse(fields["status"], [(name, value) for name, value in fields["headers"]], body)


class StaticApp:
    """The application: two messages, prepared in advance."""

    fast_path = None
    shutdown_hooks = ()  # the server calls them when it ends

    def __init__(self, answer: RecordedResponse) -> None:
        headers = [(name.encode(), value.encode()) for name, value in answer.headers]
        self._start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        self._body = {"type": "http.response.body", "body": answer.body}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Send the response to every request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        await send(self._start)
        await send(self._body)


class HoldingApp(StaticApp):
    """The same application, but all responses wait for a request for /go."""

    def __init__(self, answer: RecordedResponse) -> None:
        super().__init__(answer)
        self._go = asyncio.Event()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Wait, and send the response."""
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
    given = load_response(Path(sys.argv[1]))
    kind = HoldingApp if "--hold" in sys.argv[2:] else StaticApp
    serve(Settings.read({}, os.environ), lambda: cast(Application, kind(given)))
