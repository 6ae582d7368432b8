"""Single ASGI calls, event by event, with events that an HTTP client library would not send."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from falcon.asgi import App

DISCONNECT = {"type": "http.disconnect"}
NEVER = {"type": "never"}
_HOST = {"Host": "waypost.example"}


@dataclass(frozen=True)
class AsgiResponse:
    """A response of the application."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The code of an error, whose shape is checked here for all tests."""
        shape = self.json()
        assert set(shape) <= {"error", "message", "problems", "conflicts"}
        assert shape["message"].endswith(".")
        assert self.headers["content-type"] == "application/json"
        return str(shape["error"])


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    """Return the event of a piece of a body."""
    return {"type": "http.request", "body": body, "more_body": more}


def call(
    app: App[Any, Any],
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    events: Sequence[Mapping[str, Any]] = (part(b""),),
) -> AsgiResponse:
    """Return the response to one request with these body events; `NEVER` waits for an event that does not come."""
    return asyncio.run(acall(app, method, url, headers, events))


async def acall(
    app: App[Any, Any],
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    events: Sequence[Mapping[str, Any]] = (part(b""),),
    lines: list[tuple[bytes, bytes]] | None = None,
) -> AsgiResponse:
    """Do the same as `call`, within a running event loop; `lines` gets every header, also one that is repeated."""
    pending = list(events)
    sent: list[Mapping[str, Any]] = []
    answered = asyncio.Event()

    async def receive() -> Mapping[str, Any]:
        if pending and pending[0] is not NEVER:
            return pending.pop(0)
        await answered.wait()  # a client disconnects after the response
        return DISCONNECT

    async def send(event: Mapping[str, Any]) -> None:
        sent.append(event)
        if event["type"] == "http.response.body" and not event.get("more_body", False):
            answered.set()

    await app(_scope(method, url, headers or {}), receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    if lines is not None:
        lines.extend(sent[0]["headers"])
    return AsgiResponse(sent[0]["status"], head, b"".join(event.get("body", b"") for event in sent[1:]))


def _scope(method: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = url.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in {**_HOST, **headers}.items()],
        "server": ("127.0.0.1", 8080),
        "client": ("127.0.0.1", 50000),
    }
