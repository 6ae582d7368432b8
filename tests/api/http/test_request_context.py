"""Headers that every response has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.app.app import create_app
from tests.api.asgi import call
from tests.api.fakes import PROBES, dependencies

APP = create_app(dependencies(), PROBES)
PATHS = ["/health/ping", "/health/ready", "/nowhere", "/api/namespace/a/project/b/probe", "/openapi.json"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_an_id_and_is_not_sniffed(path: str) -> None:
    answers = [call(APP, "GET", path) for _ in range(2)]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 2
    assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}


@pytest.mark.parametrize("path", PATHS[:-1])
def test_nothing_is_stored_unless_a_responder_says_so(path: str) -> None:
    assert call(APP, "GET", path).headers["cache-control"] == "no-store"


def test_a_callers_id_comes_back() -> None:
    assert call(APP, "GET", "/health/ping", {"X-Request-Id": "trace-1.a_B"}).headers["x-request-id"] == "trace-1.a_B"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_an_id_that_could_do_harm_is_replaced(text: str) -> None:
    found = call(APP, "GET", "/health/ping", {"X-Request-Id": text}).headers["x-request-id"]
    assert 0 < len(found) <= 64
    assert found.isascii()
    assert all(character.isalnum() or character in "._-" for character in found)
