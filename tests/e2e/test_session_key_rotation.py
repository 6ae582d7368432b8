"""The key of sessions rotates under polls with access tokens, in two workers: no token is refused that was valid."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import jwt
import pytest

from tests.e2e.wire import PinnedClient, pinned_pair
from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.service import WAYPOST, running, wait_until

AHEAD = 6  # seconds; each worker reads the keys again every second
LEAST = 40  # polls of each client after the rotation
SECONDS = 60.0


class Polls:
    """Clients that poll one worker each, half of them with a token of a new session each time."""

    def __init__(self, place: Place, pairs: Sequence[Sequence[PinnedClient]]) -> None:
        self.place = place
        self.name = place.world.user("publisher")
        self.old = place.world.session(self.name)["accessToken"]
        self.statuses = Counter[int]()
        self.counts = [Counter[str]() for _ in pairs]
        self.ended = Event()
        self._pairs = pairs

    def run(self, number: int) -> None:
        """Poll one worker until the end: with the old token, and with one that the other worker signed a moment ago."""
        pair = self._pairs[number]
        worker, other = pair[number].http, pair[1 - number].http
        while not self.ended.is_set():
            body = {"username": self.name, "password": PASSWORD}
            tokens = other.post("/auth/login", json=body).json()["tokens"]
            refreshed = other.post("/auth/refresh", json={"refreshToken": tokens["refreshToken"]}).json()["tokens"]
            for token in (self.old, tokens["accessToken"], refreshed["accessToken"]):
                for path in ("/api/me", f"{self.place.path}/version"):
                    headers = {"Authorization": f"Bearer {token}"}
                    self.statuses[worker.get(path, headers=headers).status_code] += 1
            self.counts[number][jwt.get_unverified_header(refreshed["accessToken"])["kid"]] += 1


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as found:
        yield found


def keys(world: World) -> list[Path]:
    """Return the files of the keys, in the order in which they sign."""
    found = (world.service.data / "keys").glob("[!.]*.json")
    return sorted(found, key=lambda path: int(json.loads(path.read_bytes())["notBefore"]))


def bring_forward(path: Path, seconds: int) -> None:
    """Let the next key sign after some seconds, as if its time had come."""
    key = json.loads(path.read_bytes()) | {"notBefore": int(time.time()) + seconds}
    copy = path.with_name(f".{path.name}")
    copy.touch(0o600)
    copy.write_text(json.dumps(key), "ascii")
    copy.replace(path)


def test_no_poll_is_refused_while_the_key_of_sessions_rotates(world: World) -> None:
    place = world.place()
    with ExitStack() as stack:
        polls = Polls(place, [pinned_pair(world.service, stack) for _ in range(2)])
        browser = world.http
        opened = browser.post("/auth/session", json={"username": polls.name, "password": PASSWORD})
        first, second = keys(world)
        pool = stack.enter_context(ThreadPoolExecutor(2))
        jobs = [pool.submit(polls.run, number) for number in range(2)]
        stack.callback(polls.ended.set)

        def reached(kid: str) -> bool:
            for job in jobs:
                assert not job.done() or job.result() is None
            return all(count[kid] * 6 >= LEAST for count in polls.counts)

        wait_until(lambda: reached(first.stem), SECONDS, "polls with the first key")
        bring_forward(second, AHEAD)
        wait_until(lambda: reached(second.stem), SECONDS, "polls with the next key")
        polls.ended.set()
        for job in jobs:
            job.result()
        assert set(polls.statuses) == {200}, polls.statuses
        assert [path.stem for path in keys(world)][:2] == [first.stem, second.stem]
        assert len(keys(world)) == 3, "the key after the next one was made"
        ended = browser.delete("/auth/session", headers={"X-CSRF-Token": opened.json()["csrfToken"]})
        assert ended.status_code == 204, "a browser of before can still change something"
