"""The memory of a worker after all sorts of requests that differ in everything a client can choose."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running

_MIB = 1024 * 1024
_CLIENTS = 12
"""More than the threads of a worker, so that all of them work at once."""


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[World]:
    """Run a service with one worker."""
    with running(WAYPOST, tmp_path / "data", {"WAYPOST_WORKERS": "1"}) as service, open_world(service) as world:
        yield world


def resident(world: World) -> int:
    """Return the bytes of the worker that are in memory and of no file."""
    (pid,) = world.service.workers()
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def in_parallel(work: Callable[[int], httpx.Response], count: int) -> set[int]:
    """Do the same many times at once; return the statuses of the responses."""
    with ThreadPoolExecutor(_CLIENTS) as pool:
        return {answer.status_code for answer in pool.map(work, range(count))}


def test_many_logins_at_once_leave_no_memory_behind(lone: World) -> None:
    """Each takes 19 MiB while its password is hashed."""
    url = f"{lone.service.url}/auth/login"

    def log_in(number: int) -> httpx.Response:
        return httpx.post(url, json={"username": f"user-{number}", "password": "correct horse"}, timeout=60)

    before = resident(lone)
    assert in_parallel(log_in, 5 * _CLIENTS) == {403}
    assert resident(lone) - before < 24 * _MIB


def test_requests_that_all_differ_leave_no_memory_behind(lone: World) -> None:
    place = lone.place()
    place.published("/a")
    with httpx.Client(base_url=lone.service.url, timeout=60) as client:
        assert {answer.status_code for answer in _ask_everything(client, place, 30)} == {200, 304, 400, 401, 404, 422}
        before = resident(lone)
        for answer in _ask_everything(client, place, 200):
            assert answer.status_code < 500
    assert resident(lone) - before < 16 * _MIB


def _ask_everything(client: httpx.Client, place: Place, count: int) -> Iterator[httpx.Response]:
    """Send requests with texts of 4 KB that were never sent before, wherever a client may put one."""
    own = {"Authorization": f"Bearer {place.root.token}"}
    for number in range(count):
        text = secrets.token_hex(2000)
        yield client.get(f"/{text}")
        yield client.get(f"/api/namespace/{text[:40]}/project/{text[:40]}/version", headers=own)
        yield client.get(f"{place.path}/redirects", params={"limit": number + 1, "offset": number}, headers=own)
        yield client.get(f"{place.path}/draft/redirects", params={"q": text}, headers=own)
        yield client.get(f"{place.path}/redirects", params={"version": text[:40]}, headers=own)
        yield client.get(f"{place.path}/draft", params={text[:40]: text}, headers=own)
        yield client.get(f"{place.path}/version", headers={"Authorization": f"Bearer svc_{text[:49]}"})
        yield client.get(f"{place.path}/version", headers={"Authorization": f"Bearer {text}"})
        for header in ("Accept", "Accept-Encoding", "If-None-Match", "Prefer", "Cookie", text[:40]):
            yield client.get(f"{place.path}/version", headers={**own, header: text})
        yield client.get(f"{place.path}/version", headers={**own, "If-None-Match": f'"{place.get("/version")}"'})
        yield client.post(f"{place.path}/test", json={"urls": [f"/{text}"]}, headers=own)
        yield client.post(f"{place.path}/draft/redirects", json={text: text, "source": text}, headers=own)
