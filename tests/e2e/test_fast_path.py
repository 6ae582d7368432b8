"""The fast path answers plain reads exactly as the framework does, and leaves all other requests to it."""

import gzip
import re
import socket
from collections.abc import Mapping
from contextlib import closing

import httpx
import pytest

from api.http.compat import BASE
from tests.e2e.wire import parse_answer, send_raw
from tests.e2e.world import Place
from tests.service import wait_until

OWN = {"x-request-id", "date"}
BY_THE_FRAMEWORK = {"X-Request-Id": "by-the-framework"}
"""A request that names its id is no plain one."""


@pytest.fixture(scope="module")
def shop(request: pytest.FixtureRequest) -> Place:
    """Publish a project of sixty redirects and a page."""
    place: Place = request.getfixturevalue("world").place()
    place.add_page("/größe.txt")
    place.published(*(f"/{'ä' if number % 7 == 3 else 'a'}{number}" for number in range(60)))
    return place


def shown(answer: httpx.Response) -> tuple[int, Mapping[str, str], bytes]:
    """Return the parts of a response that must be equal."""
    headers = {name: value for name, value in answer.headers.items() if name not in OWN}
    return answer.status_code, headers, answer.content


@pytest.mark.parametrize("base", ["", BASE])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize(
    "tail",
    [
        "/version",
        "/redirects",
        "/pages",
        "/redirects?limit=7",
        "/redirects?limit=7&offset=50",
        "/redirects?limit=0",
        "/redirects?offset=60",
        "/redirects?offset=1000&limit=3",
        "/redirects?limit=-1",
        "/redirects?limit=1&limit=2",
        "/redirects?limit=",
        "/redirects?limit=1_0",
        "/version?x=1",
    ],
)
def test_both_ways_give_the_same_answer(shop: Place, base: str, tail: str, encoding: str) -> None:
    accepting = {"Accept-Encoding": encoding}
    for _ in range(2):  # the first answer in gzip is the framework's, which compresses; the second is not
        plain = shop.root.send("GET", base + shop.path + tail, headers=accepting)
    other = shop.root.send("GET", base + shop.path + tail, headers={**accepting, **BY_THE_FRAMEWORK})
    assert shown(plain) == shown(other)
    assert other.headers["X-Request-Id"] == "by-the-framework"


@pytest.mark.parametrize("tail", ["/version", "/redirects", "/redirects?limit=2"])
def test_both_ways_know_what_the_caller_has(shop: Place, tail: str) -> None:
    etag = shop.ask("GET", tail, 200).headers["ETag"]
    for known in (etag, f"W/{etag}", "*", f'"x", {etag}', '"x"'):
        having = {"If-None-Match": known}
        plain = shop.root.send("GET", shop.path + tail, headers=having)
        other = shop.root.send("GET", shop.path + tail, headers={**having, **BY_THE_FRAMEWORK})
        assert shown(plain) == shown(other)


@pytest.mark.parametrize("base", ["", BASE])
@pytest.mark.parametrize(
    "tail", ["agents/edge-1/hit", "agents/edge-1/hit?x=1", "agents/edge+1/hit", "agents/edge%2D1/hit", "agents//hit"]
)
def test_both_ways_give_the_same_answer_to_a_heartbeat(shop: Place, base: str, tail: str) -> None:
    sender = shop.holder(("agent", "write")).root
    plain = sender.send("PATCH", f"{base}{shop.path}/{tail}")
    other = sender.send("PATCH", f"{base}{shop.path}/{tail}", headers=BY_THE_FRAMEWORK)
    assert _without_request_id(plain) == _without_request_id(other)
    assert (plain.status_code == 200) is (tail not in {"agents/edge+1/hit", "agents//hit"})


def _without_request_id(answer: httpx.Response) -> tuple[int, Mapping[str, str], bytes]:
    status, headers, body = shown(answer)
    return status, headers, body.replace(answer.headers["X-Request-Id"].encode(), b"")


def test_gzip_is_for_those_who_ask(shop: Place) -> None:
    plain = shop.ask("GET", "/redirects", 200, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    with shop.root.http.stream(
        "GET",
        shop.path + "/redirects",
        headers={"Authorization": f"Bearer {shop.root.token}", "Accept-Encoding": "br, gzip;q=0.5"},
    ) as squeezed:
        raw = b"".join(squeezed.iter_raw())
    assert squeezed.headers["Content-Encoding"] == "gzip"
    assert squeezed.headers["ETag"] != plain.headers["ETag"]
    assert "Accept-Encoding" in squeezed.headers["Vary"]
    assert gzip.decompress(raw) == plain.content
    refused = shop.ask("GET", "/redirects", 200, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


def test_a_publish_is_seen_by_the_lane_at_once(shop: Place) -> None:
    for number in range(5):
        version = shop.published(f"/later{number}")["version"]
        for _ in range(4):
            assert shop.get("/version") == version


def test_a_token_that_may_not_read_is_refused_by_both(shop: Place) -> None:
    pages = shop.world.holder(("page", "read"))
    assert pages.send("GET", shop.path + "/pages").status_code == 200
    pages.refused("GET", shop.path + "/redirects", 403, "forbidden")
    elsewhere = shop.world.holder(("redirect", "read"), namespace=shop.namespace, project="other")
    elsewhere.refused("GET", shop.path + "/redirects", 403, "forbidden")


@pytest.mark.parametrize("old", ["/namespace/", "/project/", "/version"])
@pytest.mark.parametrize("new", ["%2F", "%2f", "//"])
def test_a_slash_that_is_encoded_or_doubled_is_none(shop: Place, old: str, new: str) -> None:
    """The path is a different one, without a resource; for plain reads and for all other requests."""
    target = (shop.path + "/version").replace(old, old.replace("/", new)).encode()
    headers = {"Authorization": f"Bearer {shop.root.token}"}
    assert send_raw(shop.world.service, "GET", shop.path.encode() + b"/version", headers).status_code == 200
    assert [send_raw(shop.world.service, method, target, headers).status_code for method in ("GET", "POST")] == [
        404,
        404,
    ]


@pytest.mark.parametrize("target", [b"//health/ping", b"/health//ping", b"/health%2Fping", b"//health//ping"])
def test_health_has_one_path(shop: Place, target: bytes) -> None:
    answer = send_raw(shop.world.service, "GET", target)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("twice", ["Authorization", "Accept-Encoding", "If-None-Match"])
@pytest.mark.parametrize("second", ["", "*", "identity", "Bearer svc_none", "gzip"])
def test_a_header_that_comes_twice_is_answered_the_same_by_both(shop: Place, twice: str, second: str) -> None:
    """One of two headers counts, the same one for the guard and the fast path: no caller passes with the other."""
    given = {"Authorization": f"Bearer {shop.root.token}", "Accept-Encoding": "gzip", "If-None-Match": '"x"'}[twice]
    doubled = f"{given}\r\n{twice}: {second}"
    headers = {"Authorization": f"Bearer {shop.root.token}", twice: doubled}
    target = f"{shop.path}/redirects?limit=3".encode()
    plain = send_raw(shop.world.service, "GET", target, headers)
    other = send_raw(shop.world.service, "GET", target, {**headers, **BY_THE_FRAMEWORK})
    assert shown(plain) == shown(other)
    assert plain.status_code in {200, 400, 401, 304}


def test_requests_that_are_sent_without_waiting_are_answered_in_turn(shop: Place) -> None:
    """Requests for the fast path and for the framework share a connection; the last one closes it."""
    tails = ["/redirects?limit=0", "/redirects", "/redirects?limit=7", "/pages", "/draft", "/version"] * 20
    common = f"Host: localhost\r\nAuthorization: Bearer {shop.root.token}\r\n"
    lines = [f"GET {shop.path}{tail} HTTP/1.1\r\n{common}" for tail in tails]
    lines[-1] += "Connection: close\r\n"
    expected = [send_raw(shop.world.service, "GET", f"{shop.path}{tail}".encode(), _bearer(shop)) for tail in tails[:6]]
    with closing(socket.create_connection(("127.0.0.1", shop.world.service.port), timeout=60)) as connection:
        connection.sendall("\r\n".join([*lines, ""]).encode())
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    for turn, tail in enumerate(tails):
        head, _, rest = data.partition(b"\r\n\r\n")
        size = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
        found, data = parse_answer("GET", tail.encode(), head + b"\r\n\r\n" + rest[:size]), rest[size:]
        assert (found.status_code, found.content) == (expected[turn % 6].status_code, expected[turn % 6].content)
        assert ("close" in found.headers.get("connection", "")) is (turn == len(tails) - 1)
    assert data == b""


def _bearer(shop: Place) -> dict[str, str]:
    return {"Authorization": f"Bearer {shop.root.token}"}


@pytest.mark.parametrize("base", ["", BASE])
@pytest.mark.parametrize("accepted", ["gzip", "identity"])
@pytest.mark.parametrize("tail", ["/version", "/redirects?limit=3", "/pages"])
def test_plain_reads_do_not_reach_the_framework(shop: Place, base: str, tail: str, accepted: str) -> None:
    """The framework draws a random id for each request; the fast path counts on from one random id of the worker.

    One request a second does reach it, which looks whether tokens have changed elsewhere.
    """
    with httpx.Client(base_url=shop.world.service.url, headers=_bearer(shop), timeout=60) as client:
        asked = {"Accept-Encoding": accepted}
        known = {**asked, "If-None-Match": client.get(shop.path + tail, headers=asked).headers["ETag"]}
        statuses = [200, 200 if base else 304, 200]

        def are_counted() -> bool:
            answers = [client.get(base + shop.path + tail, headers=headers) for headers in (asked, known, asked)]
            assert [answer.status_code for answer in answers] == statuses
            return len({answer.headers["X-Request-Id"][:8] for answer in answers}) == 1

        wait_until(are_counted, 30, "three requests that the lane answers")
