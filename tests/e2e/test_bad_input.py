"""Invalid input: refused in the one error shape, by the same workers, and never with a 5xx."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, quote_from_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import schemas
from schemas import Operation
from tests.e2e.caller import Caller
from tests.e2e.contract import check_shape, describe
from tests.e2e.wire import chunked, send_raw
from tests.e2e.world import Place, World, page, redirect

JSON = {"Content-Type": "application/json"}
BODIED = [each for each in schemas.operations() if each.request]
OF_A_LOGIN = {"createMyToken", "rotateMyToken"}
LATER = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
MALFORMED = [
    b"",
    b" ",
    b"{",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b"NaN",
    b'{"version": Infinity}',
    b'{"a": 1,}',
    b"{'a': 1}",
    b'{"name": "\xff\xfe"}',
    b'{"name": "\\ud800"}',
    b'{"name": "\xed\xa0\x80"}',
    b'{"a": 1} {"b": 2}',
    b'\xef\xbb\xbf{"a": 1}',
    b"\x00",
    b'{"a": "\x01"}',
    b"nul",
]
NUMBERS = [
    "-1",
    "+1",
    "1_0",
    "1.0",
    "1e3",
    "0x10",
    " 1",
    "1 ",
    "\u0661\u0662",
    "\uff11",
    "abc",
    "9" * 30,
    str(2**63),
    "1,2",
]


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[Place]:
    """Create a project for the module; at the end the same workers must still run."""
    before = world.service.workers()
    yield world.place()
    assert world.service.workers() == before


def path_of(operation: Operation, shop: Place) -> str:
    """Return the operation's path with names in it."""
    record = "999999" if operation.path.startswith(("/api/user/", "/api/token/")) else "0" * 16
    return operation.path.format(namespace=shop.namespace, project=shop.project, id=record, name="edge", version="1")


def asking(world: World, shop: Place, operation: Operation) -> tuple[Caller, str]:
    """Return who may call an operation, and its path.

    A token of a person is only for who signed in, and only one that exists is rotated.
    """
    path = path_of(operation, shop)
    if operation.operation_id not in OF_A_LOGIN:
        return world.root, path
    person = world.person("admin")
    made = person.ask(
        "POST", "/api/me/tokens", 201, json={"name": "laptop", "expiresAt": LATER, "role": "viewer"}
    ).json()
    return person, path.replace("0" * 16, str(made["id"]))


@pytest.mark.parametrize("operation", BODIED, ids=lambda each: each.operation_id)
def test_malformed_json_is_400_with_line_and_column(world: World, shop: Place, operation: Operation) -> None:
    caller, path = asking(world, shop, operation)
    for body in MALFORMED:
        if operation.operation_id == "publish" and not body:
            continue  # a publish needs no body
        answer = caller.send(operation.method, path, content=body, headers=JSON)
        assert (answer.status_code, answer.json()["error"]) == (400, "malformed_json"), (body[:40], describe(answer))
        assert not body.strip() or "line 1, column" in answer.json()["message"]


@pytest.mark.parametrize("operation", BODIED, ids=lambda each: each.operation_id)
def test_another_content_type_is_415(world: World, shop: Place, operation: Operation) -> None:
    caller, path = asking(world, shop, operation)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json5", "json", ""):
        headers = {"Content-Type": kind} if kind else {}
        caller.refused(operation.method, path, 415, "unsupported_media_type", content=b"{}", headers=headers)


@pytest.mark.parametrize("operation", BODIED, ids=lambda each: each.operation_id)
def test_json_of_another_type_is_422_with_problems(world: World, shop: Place, operation: Operation) -> None:
    bodies: list[Any] = [1, 1.5, "x", None, True, {"no such field": 1, "\u0000": {}}, [[]], [None], {"": ""}]
    caller, path = asking(world, shop, operation)
    for body in bodies:
        if operation.operation_id == "registerAgent" and isinstance(body, dict):
            continue  # an agent's unknown fields are ignored; missing ones are tested below
        content = json.dumps(body).encode()
        found = caller.refused(operation.method, path, 422, "invalid_body", content=content, headers=JSON)
        assert all(problem["message"] for problem in found["problems"])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_a_window_is_written_in_plain_digits(world: World, shop: Place, number: str, name: str) -> None:
    paths = (f"{shop.path}/redirects", f"{shop.path}/pages", f"{shop.path}/versions/1/redirects")
    more = (
        f"{shop.path}/draft/redirects",
        f"{shop.path}/history",
        f"{shop.path}/agents",
        "/api/namespaces",
        "/api/users",
    )
    for path in (*paths, *more, f"{shop.space}/projects", "/api/tokens", "/api/roles"):
        world.root.refused("GET", f"{path}?{name}={quote(number)}", 400, "bad_parameter")


def test_a_parameter_that_is_given_twice_is_400(shop: Place) -> None:
    for tail in ("/redirects?limit=1&limit=2", "/redirects?version=1&version=2", "/draft?draft=a&draft=b"):
        shop.refused("GET", tail, 400, "bad_parameter")


GOOD: dict[str, Any] = {"name": "edge", "type": "default", "version": 1}
WRONG: dict[str, list[Any]] = {
    "name": ["", "a b", "a/b", "a.b", "\u00e9", "x" * 101, "a\n", "\u0661", None, 1],
    "type": ["", "nginx", "DEFAULT", None, 1],
    "version": [-1, 2**63, 1.5, True, None, [], "x" * 101],
    "load_duration": [-1, 2**63, 0.5, "1", True],
    "status": ["ok", " ", None, 1],
    "error": [1, None, {}, "x" * 65_537],
}
BAD_AGENTS: list[tuple[dict[str, Any], str]] = [
    *(({**GOOD, name: value}, f"/{name}") for name, values in WRONG.items() for value in values),
    *(({name: value for name, value in GOOD.items() if name != gone}, f"/{gone}") for gone in GOOD),
]


@pytest.mark.parametrize(("body", "pointer"), BAD_AGENTS)
def test_an_invalid_agent_is_422_and_is_not_stored(shop: Place, body: Any, pointer: str) -> None:
    found = shop.refused("POST", "/agents", 422, "invalid_body", json=body)
    assert pointer in {problem.get("pointer", "") for problem in found["problems"]}, found
    assert shop.get("/agents")["total"] == 0


@pytest.mark.parametrize("name", ["a.b", "a b", "\u00e9", "x" * 101, "a\n", "\u0661"])
def test_a_heartbeat_with_an_invalid_name_is_422(shop: Place, name: str) -> None:
    for method, tail in (("PATCH", "/hit"), ("GET", ""), ("DELETE", "")):
        shop.refused(method, f"/agents/{quote(name)}{tail}", 422, "invalid_name")


def test_a_json_body_over_the_limit_is_413_announced_or_not(world: World, shop: Place) -> None:
    limits = {"/agents": 1, "/publish": 1, "/rollback": 1, "/test": 8}
    for tail, mebibytes in limits.items():
        body = b" " * (mebibytes * 1024 * 1024 + 1)
        shop.refused("POST", tail, 413, "body_too_large", content=body, headers=JSON)
        pieces = chunked(mebibytes * 16 + 1, 65536)
        shop.refused("POST", tail, 413, "body_too_large", content=pieces, headers=JSON)
    world.nobody.refused("POST", "/auth/login", 413, "body_too_large", content=chunked(33, 65536), headers=JSON)


def test_a_body_just_within_the_limit_is_read(shop: Place) -> None:
    agent = json.dumps({**GOOD, "padding": "x" * (1024 * 1024 - 200)}).encode()
    assert len(agent) <= 1024 * 1024
    shop.ask("POST", "/agents", 200, content=agent, headers=JSON)
    shop.ask("DELETE", "/agents/edge", 204)


def test_the_largest_page_goes_in_and_out(world: World) -> None:
    place = world.place()
    content = "\u00e9" * (1024 * 1024)
    place.add_page("/large.txt", content)
    place.publish()
    assert place.get("/pages")["items"] == [page("/large.txt", content)]
    place.ask("POST", "/draft/pages", 422, json=page("/larger.txt", content + "x"))


def test_a_body_that_lies_about_its_length_is_400_or_cut_off(world: World, shop: Place) -> None:
    headers = {**JSON, "Authorization": f"Bearer {world.root.token}", "Content-Length": "-5"}
    answer = send_raw(world.service, "POST", f"{shop.path}/agents".encode(), headers)
    assert answer.status_code == 400


HOSTILE = [
    b"..",
    b"%2e%2e",
    b"..%2f..%2fetc%2fpasswd",
    b"%00",
    b"a%00b",
    b"%ff%fe",
    b"%",
    b"%zz",
    b"%c0%ae%c0%ae",
    b"%ed%a0%80",
    b"a" * 51,
    b"a" * 4000,
    b"{namespace}",
    b"%7Bnamespace%7D",
    b"-rf",
    b"--help",
    b"release.lock",
    b"%0d%0aX-Injected:%20yes",
    b"\xff\xfe",
    b"%f0%9f%92%a9",
    b"con",
    b".git",
    b"*",
    b"%2a",
    b"a;b",
    b"a%3Fb",
    b"%20",
    b"+",
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_a_hostile_name_finds_nothing_and_breaks_nothing(world: World, shop: Place, hostile: bytes) -> None:
    headers = {"Authorization": f"Bearer {world.root.token}"}
    for template in templates(shop):
        answer = send_raw(world.service, "GET", template % hostile, headers)
        assert answer.status_code in {400, 404, 405, 414, 422}, (template, describe(answer))
        assert "x-injected" not in answer.headers
        assert set(answer.json()) <= {"error", "message", "problems"}


def templates(shop: Place) -> list[bytes]:
    """Return path templates with a place for a name of each kind."""
    project = shop.path.encode()
    return [
        b"/api/namespace/%b",
        b"/api/namespace/%b/projects",
        b"/api/namespace/%b/project/shop/version",
        shop.space.encode() + b"/project/%b/version",
        shop.space.encode() + b"/project/%b/draft",
        project + b"/versions/%b/redirects",
        project + b"/history/%b",
        project + b"/agents/%b",
        project + b"/draft/redirects/%b",
        project + b"/draft/pages/%b",
        b"/schemas/%b",
        b"/api/user/%b",
        b"/api/token/%b",
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    segment=st.one_of(
        st.text(max_size=60).map(lambda text: quote(text, safe="").encode()),
        st.binary(max_size=60).map(lambda data: quote_from_bytes(data, safe="").encode()),
    ),
    at=st.integers(0, 12),
)
def test_any_text_in_a_path_gets_a_response_of_the_contract(world: World, shop: Place, segment: bytes, at: int) -> None:
    headers = {"Authorization": f"Bearer {world.root.token}"}
    answer = send_raw(world.service, "GET", templates(shop)[at] % segment, headers)
    assert answer.status_code < 500, describe(answer)
    check_shape(answer)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=40),
    name=st.sampled_from(
        ["q", "tag", "sort", "type", "status", "change", "draft", "version", "at", "format", "from", "to"]
    ),
)
def test_any_text_in_a_query_gets_a_response_of_the_contract(world: World, shop: Place, text: str, name: str) -> None:
    for tail in ("/draft/redirects", "/redirects", "/export", "/diff", "/lint"):
        answer = world.root.send("GET", f"{shop.path}{tail}?{name}={quote(text, safe='')}")
        assert answer.status_code in {200, 400, 404}, describe(answer)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=JSONISH, at=st.integers(0, len(BODIED) - 1))
def test_any_json_gets_a_response_of_the_contract(world: World, shop: Place, body: Any, at: int) -> None:
    operation = BODIED[at]
    answer = world.root.send(operation.method, path_of(operation, shop), json=body)
    assert answer.status_code < 500, describe(answer)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    source=st.text(max_size=60),
    target=st.text(max_size=60),
    kind=st.sampled_from(["BASIC", "BASIC_HOST", "REGEX", "REGEX_HOST"]),
)
def test_any_text_in_a_rule_is_refused_or_comes_out_as_it_went_in(
    shop: Place, source: str, target: str, kind: str
) -> None:
    """Accepted text is stored exactly, found again, and returned unchanged."""
    body = json.dumps(redirect(source, target, type=kind)).encode()
    answer = shop.root.send("POST", f"{shop.path}/draft/redirects?draft=fuzz", content=body, headers=JSON)
    assert answer.status_code in {201, 400, 422}, describe(answer)
    if answer.status_code == 201:
        made = answer.json()
        assert (made["source"], made["target"]) == (source, target)
        tail = f"/draft/redirects/{made['id']}?draft=fuzz"
        assert shop.get(tail) == made
        shop.ask("DELETE", tail, 204)


def test_no_response_reveals_internal_details(world: World, shop: Place) -> None:
    """No response contains a path of the machine or a line of the program."""
    for tail in ("/versions/zzz/redirects", "/draft/redirects/zzz", "/nothing", "/export?format=x", "/history/-"):
        text = world.root.send("GET", shop.path + tail).text
        assert str(world.service.data) not in text
        assert ".py" not in text


def test_a_target_in_absolute_form_is_served(world: World) -> None:
    """RFC 9112 3.2.2: every server accepts it, though only proxies are sent it."""
    assert send_raw(world.service, "GET", b"http://localhost/health/ping").status_code == 204
    assert send_raw(world.service, "GET", b"ftp://localhost/health/ping").status_code == 404
