"""Rate limits on the running service: counted over both workers, for callers and addresses; agents are never limited."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from api.auth.permissions.grants import everywhere
from api.http.guard.rate_limits import ADDRESS_SHARE
from tests.e2e.caller import Caller
from tests.e2e.world import Place, World, open_world, redirect
from tests.service import WAYPOST, running

LIMIT, HEAVY, INVALID = 40, 10, 15
TRIES = 150
SETTINGS = {
    "WAYPOST_WRITES_PER_MINUTE": str(LIMIT),
    "WAYPOST_HEAVY_CALLS_PER_MINUTE": str(HEAVY),
    "WAYPOST_INVALID_TOKENS_PER_MINUTE": str(INVALID),
}


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        running(WAYPOST, tmp_path_factory.mktemp("limits") / "data", SETTINGS) as service,
        open_world(service) as found,
    ):
        yield found


@pytest.fixture
def place(world: World) -> Place:
    return world.place()


def statuses(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def check_refusals(answers: list[httpx.Response], quota: str, most: int) -> None:
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    for answer in refused:
        assert answer.json()["error"] == "too_many_requests"
        assert 1 <= int(answer.headers["Retry-After"]) <= 60 / most + 1
        assert answer.headers["RateLimit-Policy"] == f'"{quota}";q={most};w=60'
        assert answer.headers["RateLimit"].startswith(f'"{quota}";r=0;t=')


def many(caller: Caller, method: str, path: str, tries: int, **request: Any) -> list[httpx.Response]:
    """Send requests at once, each over a new connection, which either worker may accept."""

    def send(_: int) -> httpx.Response:
        # A client for each: threads that share one may close each other's connections, since none is kept.
        with httpx.Client(base_url=caller.http.base_url, timeout=60, verify=False) as own:  # noqa: S501 - no TLS
            return Caller(own, caller.token).send(method, path, **request)

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(send, range(tries)))


def caller(place: Place) -> Caller:
    """Return a caller with a token of its own."""
    return Caller(place.world.http, place.world.token(everywhere("*:*")))


def test_writes_of_a_token_are_limited_over_both_workers_and_other_tokens_go_on(place: Place) -> None:
    writer, begun = caller(place), time.monotonic()
    answers = many(writer, "POST", f"{place.path}/draft/revert", TRIES, json={"ids": ["0" * 16]})
    refilled = int((time.monotonic() - begun) / (60 / LIMIT)) + 1
    assert LIMIT <= TRIES - statuses(answers)[429] <= LIMIT + refilled
    check_refusals(answers, "writes", LIMIT)
    other = caller(place).ask("POST", f"{place.path}/draft/redirects", 201, json=redirect("/other"))
    assert other.headers["RateLimit"].startswith(f'"writes";r={LIMIT - 1};t=')
    assert place.get("/draft/redirects")["total"] == 1


def test_an_address_is_limited_too_whatever_token_it_sends(place: Place) -> None:
    request = {"json": {"ids": ["0" * 16]}}
    path = f"{place.path}/draft/revert"
    answers = [many(caller(place), "POST", path, LIMIT, **request) for _ in range(ADDRESS_SHARE + 1)]
    assert statuses(answers[0])[429] == 0
    assert statuses(answers[-1])[429] > 0


def test_heavy_calls_have_a_limit_of_their_own(place: Place) -> None:
    tester = caller(place)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", f"{place.path}/test", {"json": {"urls": ["/a"]}}),
        *(("GET", path, {}) for path in (f"{place.path}/lint", f"{place.path}/export", "/api/audit/export")),
    ]
    answers = [tester.send(method, path, **request) for method, path, request in calls * HEAVY]
    assert HEAVY <= statuses(answers)[200] < len(answers)
    check_refusals(answers, "heavy", HEAVY)
    assert statuses(answers[len(calls) - 1 :: len(calls)])[429]
    tester.ask("POST", f"{place.path}/draft/redirects", 201, json=redirect("/a"))
    tester.get(f"{place.path}/draft/redirects")


def test_requests_with_invalid_tokens_are_limited_by_address_and_valid_ones_are_not(place: Place) -> None:
    guesser = Caller(place.world.http, "svc_guess")
    answers = many(guesser, "GET", f"{place.path}/version", TRIES)
    assert set(statuses(answers)) == {401, 429}
    assert INVALID <= statuses(answers)[401] < TRIES
    check_refusals(answers, "failures", INVALID)
    caller(place).get(f"{place.path}/version")


def test_reads_and_reports_of_agents_are_never_limited(place: Place) -> None:
    place.published("/a")
    agent = Caller(place.world.http, place.world.token([*everywhere("redirect:read"), *everywhere("agent:write")]))
    report = {
        "name": "edge",
        "type": "proxy",
        "version": place.get("/version"),
        "status": "success",
        "load_duration": 1,
    }
    for _ in range(LIMIT * 2):
        agent.ask("POST", f"{place.path}/agents", 200, json=report)
        agent.ask("PATCH", f"{place.path}/agents/edge/hit", 200)
    assert set(statuses(many(agent, "GET", f"{place.path}/redirects", 10 * HEAVY))) == {200}


def test_an_operator_may_limit_reads_or_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {"WAYPOST_READS_PER_MINUTE": "20", "WAYPOST_WRITES_PER_MINUTE": "0"}
    with running(WAYPOST, tmp_path_factory.mktemp("reads") / "data", settings) as service, open_world(service) as world:
        place = world.place()
        answers = many(caller(place), "GET", f"{place.path}/version", TRIES)
        assert 20 <= statuses(answers)[200] < TRIES
        check_refusals(answers, "reads", 20)
        written = caller(place).ask("POST", f"{place.path}/draft/redirects", 201, json=redirect("/a"))
        assert "RateLimit" not in written.headers
