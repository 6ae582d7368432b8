"""Logins: the slowest 1% of version polls during 64 parallel ones, and the time of those that fail."""

import json
import secrets
import time
from collections.abc import Iterator
from statistics import median

import httpx

from api.app.services import open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from bench.figure import Figure, at_most
from bench.groups.polling import Polls, compare, during
from bench.load import Load, run_load
from bench.workbench import Site, Workbench, bearer
from tests.service import Service

_PARALLEL = 64
_SECONDS = 8
_SETTLING = 6  # logins over new connections, which reach both workers
_SAMPLES = 200
_FEW = 50
_PASSWORD = "correct horse battery"  # noqa: S105 - of an account that lives as long as the measurement


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure of polls during logins, and one of the times of failed logins."""
    site = bench.plain
    username = _make_user(site)
    with site.serving(workers=2) as service:
        rounds = [_turn(service, site, username) for _ in bench.rounds(5, 60)]
        yield _polls(rounds)
        yield from _failures(bench, service, username)


def _make_user(site: Site) -> str:
    services = open_services(Settings(data=site.data))
    try:
        username = f"bench-{secrets.token_hex(4)}"
        return services.accounts.create(OPERATOR, NewUser(username, _PASSWORD, ("viewer",))).username
    finally:
        services.close()


def _turn(service: Service, site: Site, username: str) -> tuple[Polls, Polls, Load]:
    """Measure polls of an idle service, then during logins, and the logins."""
    body = json.dumps({"username": username, "password": _PASSWORD})
    loads: list[Load] = []

    def log_in() -> None:
        loads.append(run_load(f"{service.url}/auth/login", {}, _SECONDS, _PARALLEL, body))

    _settle(service, body)
    headers = bearer(site.agent)
    idle = during(service, headers, lambda: time.sleep(_SECONDS))
    return idle, during(service, headers, log_in), loads[0]


def _settle(service: Service, body: str) -> None:
    """Start the processes that hash, and wait for the logins that the last round has left."""
    for _ in range(_SETTLING):
        httpx.post(f"{service.url}/auth/login", json=json.loads(body), timeout=60).raise_for_status()


def _polls(rounds: list[tuple[Polls, Polls, Load]]) -> Figure:
    idle = min((turn[0] for turn in rounds), key=_slow)
    busy = min((turn[1] for turn in rounds), key=_slow)
    found = compare(f"during {_PARALLEL} parallel logins", idle, busy, at_most(3))
    rate = median(logins.rate for *_, logins in rounds)
    slowest = max(logins.slowest for *_, logins in rounds) / 1e6
    ratios = ", ".join(f"{busy.load.slow / idle.load.slow:.1f}" for idle, busy, _ in rounds)
    detail = f"{found.detail}; in each round {ratios}; {rate:.0f} logins a second, the slowest {slowest:.1f} s"
    return Figure(found.label, found.value, found.unit, found.target, detail)


def _slow(polls: Polls) -> int:
    return polls.load.slow


def _failures(bench: Workbench, service: Service, username: str) -> Iterator[Figure]:
    """Compare the times of a wrong password and of an unknown account, sent in turns."""
    times: dict[str, list[float]] = {username: [], f"{username}-unknown": []}
    with httpx.Client(base_url=service.url, timeout=60) as client:
        for _ in range(_FEW if bench.quick else _SAMPLES):
            for name, taken in times.items():
                begun = time.perf_counter()
                answer = client.post("/auth/login", json={"username": name, "password": "incorrect horse"})
                taken.append(1000 * (time.perf_counter() - begun))
                if answer.status_code not in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
                    raise AssertionError(answer.text)
    wrong, unknown = (median(taken) for taken in times.values())
    detail = f"{unknown:.1f} ms against {wrong:.1f} ms; medians of {len(times[username])} each, in turns"
    yield Figure(
        "login with an unknown account, against a wrong password",
        100 * abs(unknown - wrong) / wrong,
        "% apart",
        at_most(10),
        detail,
    )
