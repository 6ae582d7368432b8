"""Callers that lose their access while they wait: they learn nothing that a new request would not tell them."""

import secrets
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from tests.e2e.caller import Caller
from tests.e2e.stream import PATIENCE, following
from tests.e2e.test_convergence import report
from tests.e2e.world import PASSWORD, Place, World
from tests.metrics_text import read_metrics, total
from tests.service import wait_until

POLLS = 4
"""Enough connections for both workers to have some: the one that is asked for the end of an access knows of it first."""
WAIT = 120
AGENT = [{"namespace": "*", "project": "*", "resource": "*", "action": "read"}]

End = Callable[[], None]


class Access:
    """A caller, and the ways in which its access ends."""

    def __init__(self, world: World, role: str = "viewer") -> None:
        self._world = world
        self._role = role
        self._admin = world.person("admin")

    def of_token(self, **fields: Any) -> tuple[str, str]:
        """Create an API token; return its value and path."""
        answer = self._admin.ask("POST", "/api/tokens", 201, json={"name": "waiting", "grants": AGENT, **fields})
        return answer.json()["token"], answer.headers["Location"]

    def of_user(self, role: str = "") -> tuple[str, str]:
        """Create a user with a session; return the access token and the user's path."""
        name = f"user-{secrets.token_hex(4)}"
        user = self._world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, (role or self._role,)))
        return self._world.session(name)["accessToken"], f"/api/user/{user.id}"

    def removed(self) -> tuple[str, End, int]:
        """Remove an API token."""
        token, path = self.of_token()
        return token, lambda: self._ask("DELETE", path, 204), 401

    def rotated(self) -> tuple[str, End, int]:
        """Rotate an API token."""
        token, path = self.of_token()
        return token, lambda: self._ask("POST", f"{path}/rotate", 200), 401

    def expired(self) -> tuple[str, End, int]:
        """Let an API token expire."""
        until = datetime.now(UTC) + timedelta(seconds=8)
        token, _ = self.of_token(expiresAt=until.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))

        def wait() -> None:
            wait_until(lambda: datetime.now(UTC) > until, 30, "the token to expire")

        return token, wait, 401

    def deleted(self) -> tuple[str, End, int]:
        """Delete a user."""
        token, path = self.of_user()
        return token, lambda: self._ask("DELETE", path, 204), 401

    def deactivated(self) -> tuple[str, End, int]:
        """Deactivate a user."""
        token, path = self.of_user()
        return token, lambda: self._ask("PATCH", path, 200, json={"active": False}), 401

    def role_taken(self) -> tuple[str, End, int]:
        """Take the role of a user."""
        token, path = self.of_user()
        return token, lambda: self._ask("PATCH", path, 200, json={"roles": []}), 403

    def role_changed(self) -> tuple[str, End, int]:
        """Take the grants of a user's role."""
        role = f"role-{secrets.token_hex(4)}"
        self._ask("POST", "/api/roles", 201, json={"name": role, "grants": AGENT})
        token, _ = self.of_user(role)
        less = [{**AGENT[0], "resource": "audit"}]
        return token, lambda: self._ask("PUT", f"/api/role/{role}", 200, json={"grants": less}), 403

    def logged_out(self) -> tuple[str, End, int]:
        """Log a user out."""
        token, _ = self.of_user()

        def log_out() -> None:
            Caller(self._world.http, token).ask("POST", "/auth/logout", 204)

        return token, log_out, 401

    def password_changed(self) -> tuple[str, End, int]:
        """Give a user another password."""
        token, path = self.of_user()
        return token, lambda: self._ask("PATCH", path, 200, json={"password": "a new horse battery"}), 401

    def _ask(self, method: str, path: str, status: int, **request: Any) -> None:
        self._admin.ask(method, path, status, **request)


ENDS = [name for name in vars(Access) if not name.startswith(("_", "of_"))]


@pytest.fixture
def access(world: World) -> Access:
    return Access(world)


def count_waiting(place: Place) -> float:
    return total(read_metrics(place.world.http, place.root.token), "waypost_waiting_polls")


def begin(pool: ThreadPoolExecutor, place: Place, token: str) -> list[Future[httpx.Response]]:
    """Start long polls, and return when all wait."""
    wait_until(lambda: count_waiting(place) == 0, 60, "earlier polls to be gone")
    headers = {"If-None-Match": f'"{place.get("/version")}"', "Prefer": f"wait={WAIT}"}
    caller, path = Caller(place.world.http, token), f"{place.path}/version"
    polls = [pool.submit(caller.send, "GET", path, headers=headers, timeout=WAIT + 60) for _ in range(POLLS)]
    wait_until(lambda: count_waiting(place) == POLLS, 60, "all to wait")
    return polls


def check_refused(answer: httpx.Response, status: int, version: str) -> None:
    """Check that a response is the one that a new request would get."""
    assert answer.status_code == status
    assert answer.json()["error"] == {401: "invalid_token", 403: "forbidden"}[status]
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    reported = {"ETag", "X-Project-Version", "X-Publish-Number", "Preference-Applied", "Link"}
    assert not reported & set(answer.headers)
    assert version not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("how", ENDS)
def test_a_long_poll_ends_with_the_access_and_never_tells_the_next_version(
    place: Place, access: Access, how: str
) -> None:
    token, end, status = getattr(access, how)()
    place.add("/a")
    with ThreadPoolExecutor(POLLS) as pool:
        polls = begin(pool, place, token)
        end()
        version = place.publish()["version"]
        for each in polls:
            check_refused(each.result(WAIT), status, version)


@pytest.mark.parametrize("how", ["removed", "expired", "role_taken", "logged_out"])
def test_a_long_poll_ends_soon_without_a_publish(place: Place, access: Access, how: str) -> None:
    token, end, status = getattr(access, how)()
    with ThreadPoolExecutor(POLLS) as pool:
        polls = begin(pool, place, token)
        end()
        begun = time.monotonic()
        for each in polls:
            check_refused(each.result(WAIT + 60), status, place.get("/version"))
    assert time.monotonic() - begun < WAIT / 2


@pytest.mark.parametrize("how", ["removed", "expired", "role_changed", "logged_out"])
def test_an_event_stream_ends_with_the_access(place: Place, access: Access, how: str) -> None:
    token, end, _ = getattr(access, how)()
    place.add("/a")
    with following(place, again=False, token=token) as follower:
        end()
        place.publish()
        wait_until(lambda: follower.ends, PATIENCE, "the stream to end")
        assert follower.numbers() == []


@pytest.mark.parametrize("how", ["deleted", "role_taken", "logged_out"])
def test_a_publish_that_waits_for_agents_is_reported_without_them(place: Place, how: str) -> None:
    """The publish is done, and its author knows what it is; the agents are no longer for him."""
    access = Access(place.world, "admin")
    token, end, _ = getattr(access, how)()
    report(place, "edge-1", 1)
    place.add("/a")
    before = place.get("/version")
    with ThreadPoolExecutor(1) as pool:
        query = {"wait": "converged", "timeout": str(WAIT)}
        held = pool.submit(
            Caller(place.world.http, token).send, "POST", f"{place.path}/publish", params=query, timeout=WAIT + 60
        )
        wait_until(lambda: place.get("/version") != before, 60, "the publish")
        end()
        begun = time.monotonic()
        answer = held.result(WAIT + 60)
    assert time.monotonic() - begun < WAIT / 2
    assert answer.status_code == 200
    assert (answer.json()["publishNumber"], answer.json()["convergence"]) == (2, None)


@pytest.mark.parametrize("how", ["removed", "role_taken"])
def test_a_body_that_takes_long_changes_nothing_after_the_end_of_the_access(place: Place, how: str) -> None:
    access = Access(place.world, "admin")
    token, end, status = getattr(access, how)()
    body = b'{"name": "slow"}'

    def pieces() -> Iterator[bytes]:
        yield body[:5]
        end()
        time.sleep(0.3)  # longer than an answer about access is good for
        yield body[5:]

    headers = {"Content-Type": "application/json"}
    answer = Caller(place.world.http, token).send("POST", f"{place.space}/projects", content=pieces(), headers=headers)
    assert answer.status_code in {status, 403}
    assert [item["name"] for item in place.root.get(f"{place.space}/projects")["items"]] == [place.project]


def test_a_client_that_has_closed_its_side_waits_for_nothing_and_gets_its_answer(place: Place) -> None:
    version = place.get("/version")
    lines = f'Host: x\r\nAuthorization: Bearer {place.root.token}\r\nIf-None-Match: "{version}"\r\nPrefer: wait={WAIT}'
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", place.world.service.port), timeout=WAIT) as client:
        client.sendall(f"GET {place.path}/version HTTP/1.1\r\n{lines}\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 304 ")
    assert time.monotonic() - begun < WAIT / 2
    wait_until(lambda: count_waiting(place) == 0, 30, "no one to be left waiting")
