"""Failed logins on the running service: counted over all workers, without effect on other clients."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.e2e.contract import check_answer
from tests.service import WAYPOST, Service, running

TRIES = 40
ALLOWED = 6
PAID_EACH = 300 / ALLOWED


def login(service: Service) -> httpx.Response:
    """Send a failing login over a new connection, which any worker may accept; return the response."""
    answer = httpx.post(f"{service.url}/auth/login", json={"username": "nobody", "password": "x"}, timeout=120)
    check_answer("POST", "/auth/login", answer)
    return answer


def test_of_many_failing_logins_at_once_only_the_allowed_ones_pass(tmp_path: Path) -> None:
    """There are three workers and one address; the other logins get the time to retry."""
    settings = {"WAYPOST_WORKERS": "3", "WAYPOST_LOGIN_ATTEMPTS": str(ALLOWED)}
    with running(WAYPOST, tmp_path / "data", settings) as service, ThreadPoolExecutor(8) as pool:
        begun = time.monotonic()
        answers = list(pool.map(lambda _: login(service), range(TRIES)))
        paid = int((time.monotonic() - begun) / PAID_EACH) + 1
        found = Counter(answer.status_code for answer in answers)
        refused = [answer for answer in answers if answer.status_code == 429]
        assert set(found) == {403, 429}
        assert ALLOWED <= found[403] < ALLOWED + paid
        assert {answer.json()["error"] for answer in refused} == {"too_many_attempts"}
        assert all(1 <= int(answer.headers["Retry-After"]) <= PAID_EACH for answer in refused)
        assert service.client.get("/health/ready").status_code == 200
