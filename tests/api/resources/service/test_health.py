"""Liveness from memory; readiness in three states, with reasons that name only what the caller may read."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import schemas
from api.app.app import create_app
from api.readiness import Fault, FaultReport, ReadyCheck, ServedVersion, Status, worst
from tests.api.asgi import AsgiResponse, acall, call
from tests.api.fakes import FakeDirectory, FakePrincipal, dependencies

FULL = Fault(Status.DEGRADED, "disk_full", "The disk is full.", "Free some space.")
GONE = Fault(Status.UNAVAILABLE, "data_gone", "The data directory is missing.", "Mount it.")
ACME = Fault(
    Status.DEGRADED,
    "invalid_publish",
    "The newest publish of a project is invalid.",
    "Publish a valid state.",
    "acme",
    "shop",
    "publish 3 of shop: shop/redirects.yaml:3:5: unknown field",
    ServedVersion("a" * 40, 2),
)
TOKENS = {
    "root": FakePrincipal("root", (("*", "*", "*", "*"),)),
    "reader": FakePrincipal("reader", (("project", "read", "acme", "shop"),)),
    "holder": FakePrincipal("holder", (("namespace", "read", "acme", "*"),)),
    "agent": FakePrincipal("agent", (("redirect", "read", "acme", "shop"),)),
}


def fail() -> Sequence[Fault]:
    """Fail as a broken check does."""
    raise OSError("/srv/secret/path")


def ready(*faults: Fault, token: str = "") -> AsgiResponse:
    """Return the readiness with a check that finds these faults and one that finds none."""
    checks = (ReadyCheck("content", lambda: faults), ReadyCheck("state", lambda: ()))
    app = create_app(dependencies(directory=FakeDirectory(dict(TOKENS)), ready_checks=checks))
    answer = call(app, "GET", "/health/ready", headers={"Authorization": f"Bearer {token}"} if token else {})
    assert schemas.check("ready", answer.json()) == []
    return answer


def reasons(answer: AsgiResponse) -> list[dict[str, Any]]:
    """Return the reasons of the first check."""
    found: list[dict[str, Any]] = answer.json()["checks"][0]["reasons"]
    return found


def test_ping_is_204_without_a_body() -> None:
    answer = call(create_app(dependencies()), "GET", "/health/ping")
    assert (answer.status, answer.body) == (204, b"")


def test_it_is_ready_when_no_check_finds_anything() -> None:
    answer = ready()
    assert answer.status == 200
    assert answer.json() == {
        "status": "ready",
        "checks": [{"name": "content", "status": "ready"}, {"name": "state", "status": "ready"}],
    }


def test_a_degraded_node_stays_in_a_load_balancer_and_says_why() -> None:
    answer = ready(FULL)
    assert answer.status == 200
    assert answer.json() == {
        "status": "degraded",
        "checks": [
            {
                "name": "content",
                "status": "degraded",
                "reasons": [
                    {
                        "status": "degraded",
                        "code": "disk_full",
                        "message": "The disk is full.",
                        "action": "Free some space.",
                    }
                ],
            },
            {"name": "state", "status": "ready"},
        ],
    }


def test_only_an_unavailable_node_is_503_and_the_worst_state_counts() -> None:
    answer = ready(FULL, GONE, ACME)
    assert (answer.status, answer.json()["status"]) == (503, "unavailable")
    assert [found["code"] for found in reasons(answer)] == ["disk_full", "data_gone", "invalid_publish"]


@pytest.mark.parametrize("token", ["", "agent", "no-such-token"])
def test_a_caller_who_may_not_read_a_project_gets_a_count_without_names(token: str) -> None:
    other = replace(ACME, namespace="globex", detail="publish 9 of secret")
    answer = ready(ACME, other, token=token)
    assert reasons(answer) == [
        {
            "status": "degraded",
            "code": "invalid_publish",
            "message": "The newest publish of a project is invalid.",
            "action": "Publish a valid state.",
            "count": 2,
        }
    ]
    assert not any(name in answer.body for name in (b"acme", b"shop", b"globex", b"secret", b"redirects"))


@pytest.mark.parametrize("token", ["root", "reader", "holder"])
def test_a_caller_who_may_read_the_project_or_its_namespace_gets_the_cause(token: str) -> None:
    (found,) = reasons(ready(ACME, token=token))
    assert (found["namespace"], found["project"]) == ("acme", "shop")
    assert "redirects.yaml:3:5" in found["detail"]
    assert found["served"] == {"version": "a" * 40, "publishNumber": 2}
    assert "count" not in found


@pytest.mark.parametrize(("token", "count"), [("reader", 1), ("holder", 2)])
def test_a_fault_of_a_whole_namespace_needs_a_grant_for_all_of_it(token: str, count: int) -> None:
    whole = replace(ACME, project="", served=None)
    assert len([found for found in reasons(ready(ACME, whole, token=token)) if "namespace" in found]) == count


def test_a_check_that_breaks_counts_and_reveals_nothing_of_the_machine() -> None:
    answer = call(create_app(dependencies(ready_checks=(ReadyCheck("content", fail),))), "GET", "/health/ready")
    assert (answer.status, answer.json()["status"]) == (200, "degraded")
    assert reasons(answer)[0]["code"] == "check_failed"
    assert b"secret" not in answer.body


def test_many_who_ask_at_once_cost_one_look() -> None:
    looks: list[None] = []

    def look() -> Sequence[Fault]:
        looks.append(None)
        return ()

    app = create_app(dependencies(ready_checks=(ReadyCheck("content", look),)))

    async def ask() -> list[AsgiResponse]:
        return await asyncio.gather(*(acall(app, "GET", "/health/ready") for _ in range(20)))

    assert {answer.status for answer in asyncio.run(ask())} == {200}
    assert len(looks) == 1


def test_a_report_holds_the_faults_of_the_last_look() -> None:
    disk = FaultReport()
    assert list(disk.find()) == []
    disk.report([FULL])
    assert list(disk.find()) == [FULL]
    disk.report([])
    assert list(disk.find()) == []


def test_the_worst_state_is_the_least_able_one() -> None:
    assert worst([]) is Status.READY
    assert worst([Status.DEGRADED, Status.READY]) is Status.DEGRADED
    assert worst([Status.DEGRADED, Status.UNAVAILABLE, Status.READY]) is Status.UNAVAILABLE
