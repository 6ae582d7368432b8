"""Bodies: counted, limited in time, strict JSON, checked by a schema; never silently cut short."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.app.app import create_app
from api.settings import Settings
from tests.api.asgi import DISCONNECT, NEVER, AsgiResponse, call, part
from tests.api.fakes import PROBES, dependencies

APP = create_app(dependencies(), PROBES)
LOGIN = {"username": "ada", "password": "s3cret-words"}
JSON = {"Content-Type": "application/json", "Authorization": "Bearer all"}


def post(body: bytes, headers: Mapping[str, str] = JSON) -> AsgiResponse:
    """Return the response to a login body sent to the probe."""
    length = {"Content-Length": str(len(body))}
    return call(APP, "POST", "/api/namespace/a/project/b/probe", {**headers, **length}, (part(body),))


def sink(events: Sequence[Mapping[str, Any]], length: int | None = None) -> AsgiResponse:
    """Return the response of the sink, which accepts 1000 bytes within a second."""
    return call(APP, "POST", "/probe/sink", {} if length is None else {"Content-Length": str(length)}, events)


def test_a_right_body_arrives_as_data() -> None:
    assert post(json.dumps(LOGIN).encode()).json() == LOGIN


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"])
def test_only_json_counts_as_json(kind: str | None) -> None:
    headers = {"Authorization": "Bearer all", **({"Content-Type": kind} if kind else {})}
    assert (post(b"{}", headers).status, post(b"{}", headers).error) == (415, "unsupported_media_type")


@pytest.mark.parametrize("coding", ["gzip", "br, gzip", "GZIP", "identity, deflate", "x"])
def test_a_compressed_body_is_refused_with_the_accepted_coding(coding: str) -> None:
    answer = post(json.dumps(LOGIN).encode(), {**JSON, "Content-Encoding": coding})
    assert (answer.status, answer.error) == (415, "unsupported_media_type")
    assert answer.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("coding", ["identity", "", "Identity"])
def test_an_uncompressed_body_may_say_so(coding: str) -> None:
    assert post(json.dumps(LOGIN).encode(), {**JSON, "Content-Encoding": coding}).status == 200


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_media_type_is_read_as_http_writes_it(kind: str) -> None:
    assert post(json.dumps(LOGIN).encode(), {**JSON, "Content-Type": kind}).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b'{"username": NaN}',
        b'{"username": Infinity}',
        b'{"username": "\xff"}',
        b'{"username": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"{'username': 'ada'}",
        b'{"username": "ada"} x',
        b"\xef\xbb\xbf{}",
        b'{"username": "a\x00"}',
    ],
)
def test_what_is_not_json_is_400_and_says_where(body: bytes) -> None:
    answer = post(body)
    assert (answer.status, answer.error) == (400, "malformed_json")
    assert not body.strip() or "line 1, column " in answer.json()["message"]


def test_the_place_of_a_json_error_is_the_editors_place() -> None:
    message = post(b'{\n  "username": "\xc3\xa4",\n  "password": ?\n}').json()["message"]
    assert "line 3, column 15" in message


@pytest.mark.parametrize("body", [[], None, 1, "x", {}, {"username": 1, "password": "x"}, {**LOGIN, "admin": True}])
def test_json_that_the_schema_refuses_is_422_with_problems(body: object) -> None:
    answer = post(json.dumps(body).encode())
    assert (answer.status, answer.error) == (422, "invalid_body")
    assert answer.json()["problems"]


@given(st.binary(max_size=200))
def test_no_bytes_whatever_make_a_server_error(body: bytes) -> None:
    assert post(body).status in {200, 400, 422}


def test_a_body_over_the_limit_is_413_without_a_look_at_it() -> None:
    assert sink((NEVER,), length=1001).error == "body_too_large"
    assert sink((part(b"x" * 1000),), length=1000).json() == 1000


def test_a_body_without_a_length_is_counted_as_it_comes() -> None:
    chunks = [part(b"x" * 100, more=True)] * 10
    assert sink([*chunks, part(b"")]).json() == 1000
    assert sink([*chunks, part(b"x", more=True), DISCONNECT]).error == "body_too_large"


@pytest.mark.parametrize("length", [None, 30])
def test_a_body_that_breaks_off_is_never_taken_for_a_whole_one(length: int | None) -> None:
    answer = sink([part(b"x" * 10, more=True), DISCONNECT], length)
    assert (answer.status, answer.error) == (400, "truncated_body")


def test_a_body_shorter_than_announced_is_refused() -> None:
    assert sink([part(b"x" * 10)], length=30).error == "truncated_body"


def test_a_body_that_takes_too_long_is_408() -> None:
    answer = sink([part(b"x", more=True), NEVER], length=30)
    assert (answer.status, answer.error) == (408, "body_timeout")
    assert answer.json()["message"] == "The body did not arrive within 1 second. Send it again."


def test_the_limit_of_json_bodies_is_a_setting() -> None:
    app = create_app(dependencies(Settings(json_limit=1024)), PROBES)
    body = json.dumps({**LOGIN, "username": "a" * 1024}).encode()
    assert call(app, "POST", "/api/namespace/a/project/b/probe", JSON, (part(body),)).error == "body_too_large"


def test_the_problems_of_a_large_body_are_reported_too() -> None:
    answer = post(json.dumps({**LOGIN, "more": ["x"] * 30_000}).encode())
    assert (answer.status, answer.error) == (422, "invalid_body")


def test_a_caller_is_refused_before_their_body_is_asked_for() -> None:
    answer = call(APP, "PUT", "/probe/sink", {"Content-Length": "5"}, (part(b"hello"),))
    assert answer.status == 401
