"""Two tenants of one service: the heaviest regular expressions that one may have do not hold up the other."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from content.matching.pattern import facts_of
from tests.e2e.world import Place, World, open_world, redirect
from tests.service import WAYPOST, running

BUDGET = 600_000
_GENEROUS = 30.0  # seconds that a busy machine may add to a short publish


def _changes(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"op": "put", "kind": "redirect", "item": item} for item in items]


def _regex(number: int, copies: int) -> dict[str, Any]:
    return redirect(f"(?i)^/{number}[a-zà-ž]{{{copies}}}", "/t", type="REGEX")


def _heaviest() -> list[dict[str, Any]]:
    """Return as many of the costliest rules as the budget allows."""
    cost = facts_of(_regex(9999, 480)["source"]).cost
    return [_regex(number, 480) for number in range(BUDGET // cost)]


@pytest.fixture(scope="module")
def budgeted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with budgets that a slow machine compiles in seconds."""
    settings = {"WAYPOST_REGEX_PROJECT_LIMIT": str(BUDGET), "WAYPOST_REGEX_CALL_LIMIT": str(BUDGET)}
    data: Path = tmp_path_factory.mktemp("tenants") / "data"
    with running(WAYPOST, data, settings) as service, open_world(service) as world:
        yield world


def _publish_seconds(place: Place, source: str) -> float:
    begun = time.monotonic()
    place.ask("POST", "/draft/changes", 200, json=_changes(redirect(source)))
    place.publish()
    return time.monotonic() - begun


def test_a_call_beyond_the_budget_is_refused_quickly_with_its_costliest_rules(budgeted: World) -> None:
    place = budgeted.place()
    begun = time.thread_time()
    items = [_regex(number, 900) for number in range(2_000)]
    found = place.refused("POST", "/draft/changes", 422, "invalid_content", json=_changes(*items))
    assert {each["code"] for each in found["problems"]} == {"regex_too_costly"}
    assert items[0]["source"] in found["problems"][0]["message"]
    assert time.thread_time() - begun < _GENEROUS
    found = place.refused("POST", "/draft/changes", 422, "invalid_content", json=_changes(*_heaviest(), _regex(0, 490)))
    assert {each["code"] for each in found["problems"]} == {"regex_budget"}


def test_the_heaviest_publishes_of_one_tenant_do_not_hold_up_another(budgeted: World) -> None:
    heavy, light = budgeted.place(), budgeted.place()
    quiet = _publish_seconds(light, "/quiet")
    heavy.ask("POST", "/draft/changes", 200, json=_changes(*_heaviest()))
    done: list[int] = []
    work = [threading.Thread(target=_keep_busy, args=(heavy, done, number)) for number in range(6)]
    for each in work:
        each.start()
    beside = [_publish_seconds(light, f"/beside{number}") for number in range(3)]
    for each in work:
        each.join()
    assert sorted(done) == [200] * 6
    assert min(beside) < quiet * 20 + _GENEROUS
    assert len(light.sources()) == 4
    assert len(heavy.sources()) == len(_heaviest())


def _keep_busy(place: Place, done: list[int], number: int) -> None:
    """Send one of the requests that compile everything."""
    headers = {"Authorization": f"Bearer {place.root.token}"}
    with httpx.Client(base_url=place.world.service.url, timeout=280, headers=headers) as http:
        answer = http.post(f"{place.path}/publish") if number == 0 else http.get(f"{place.path}/lint")
        done.append(answer.status_code)
