"""Liveness from memory; readiness with reasons."""

import asyncio

from api.app.app import create_app
from api.interfaces import ReadyCheck
from tests.api.asgi import AsgiResponse, acall, call
from tests.api.fakes import dependencies


def fail() -> str | None:
    """Fail as a broken check does."""
    raise OSError("/srv/secret/path")


def ready(*checks: ReadyCheck) -> AsgiResponse:
    """Return the readiness with these checks."""
    return call(create_app(dependencies(ready_checks=checks)), "GET", "/health/ready")


def test_ping_is_204_without_a_body() -> None:
    answer = call(create_app(dependencies()), "GET", "/health/ping")
    assert (answer.status, answer.body) == (204, b"")


def test_it_is_ready_when_no_check_finds_anything() -> None:
    answer = ready(ReadyCheck("content", lambda: None), ReadyCheck("state", lambda: None))
    assert answer.status == 200
    assert answer.json() == {
        "ready": True,
        "checks": [{"name": "content", "ok": True}, {"name": "state", "ok": True}],
    }


def test_one_check_turns_it_red_and_says_why() -> None:
    answer = ready(
        ReadyCheck("content", lambda: "The repository sample is damaged."), ReadyCheck("state", lambda: None)
    )
    assert answer.status == 503
    assert answer.json() == {
        "ready": False,
        "checks": [
            {"name": "content", "ok": False, "reason": "The repository sample is damaged."},
            {"name": "state", "ok": True},
        ],
    }


def test_a_check_that_breaks_counts_and_reveals_nothing_of_the_machine() -> None:
    answer = ready(ReadyCheck("content", fail))
    assert answer.status == 503
    assert b"secret" not in answer.body


def test_many_who_ask_at_once_cost_one_look() -> None:
    looks: list[None] = []
    app = create_app(dependencies(ready_checks=(ReadyCheck("content", lambda: looks.append(None)),)))

    async def ask() -> list[AsgiResponse]:
        return await asyncio.gather(*(acall(app, "GET", "/health/ready") for _ in range(20)))

    assert {answer.status for answer in asyncio.run(ask())} == {200}
    assert len(looks) == 1
