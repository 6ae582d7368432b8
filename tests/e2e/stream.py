"""A client of the event stream with the behaviour of browsers: it records events, and reconnects with the last id."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.e2e.world import Place
from tests.service import wait_until

PATIENCE = 60.0


@dataclass
class Follower:
    """The events of a stream so far, in order, with the last id, and the number of ended connections.

    `edits` has the edits, which have no id.
    """

    seen: list[tuple[int, str, Any]] = field(default_factory=list)
    edits: list[tuple[str, Any]] = field(default_factory=list)
    last_id: str = ""
    connections: int = 0
    ends: int = 0
    refused: int = 0

    def numbers(self, kind: str = "published") -> list[int]:
        """Return the publish numbers of the events."""
        return [data["data"]["publishNumber"] for _, event, data in list(self.seen) if event == kind]

    def wait(self, count: int) -> list[tuple[int, str, Any]]:
        """Wait for so many events, and return them."""
        wait_until(lambda: len(self.seen) >= count, PATIENCE, f"{count} events")
        return list(self.seen)


@contextmanager
def following(
    place: Place,
    *,
    again: bool = True,
    after: str = "",
    token: str = "",
    path: str = "",
    cookies: httpx.Cookies | None = None,
) -> Iterator[Follower]:
    """Follow the events of a place's namespace, or of a path, in a thread; reconnect with the last id if a connection ends.

    With cookies, it sends no token.
    """
    follower, ended, client = Follower(last_id=after), threading.Event(), httpx.Client(timeout=60, cookies=cookies)
    url = f"{place.world.service.url}{path or f'{place.space}/events'}"
    headers = {} if cookies is not None else {"Authorization": f"Bearer {token or place.root.token}"}

    def run() -> None:
        while not ended.is_set() and (again or not follower.connections):
            try:
                _follow(client, url, follower, headers)
            except (httpx.HTTPError, RuntimeError):  # RuntimeError: the test has closed the client
                if ended.is_set():
                    return
                follower.ends += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: follower.connections or follower.refused, PATIENCE, "the stream to begin")
        yield follower
    finally:
        ended.set()
        client.close()


def _follow(client: httpx.Client, url: str, follower: Follower, headers: dict[str, str]) -> None:
    seen = {"Last-Event-ID": follower.last_id} if follower.last_id else {}
    with client.stream("GET", url, headers={**headers, **seen}) as answer:
        if answer.status_code != httpx.codes.OK:
            follower.refused = answer.status_code
            raise httpx.HTTPError("refused")
        for block in _blocks(answer):
            _take(follower, block)
    follower.ends += 1


def _take(follower: Follower, block: dict[str, str]) -> None:
    if "id" in block:
        follower.last_id = block["id"]
    if "retry" in block:
        follower.connections += 1
    if "data" in block and "id" not in block:
        follower.edits.append((block["event"], json.loads(block["data"])))
    elif "data" in block:
        follower.seen.append((int(block["id"]), block["event"], json.loads(block["data"])))


def _blocks(answer: httpx.Response) -> Iterator[dict[str, str]]:
    block: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            block[name] = value
        else:
            yield block
            block = {}
