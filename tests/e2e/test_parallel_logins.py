"""Many logins at once: each gets its own right answer, polls go on, and the hashes are computed at a low priority."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from api.auth.logins.hash_process import NICENESS
from tests.e2e.contract import check_answer
from tests.e2e.world import PASSWORD, World, open_world
from tests.service import WAYPOST, child_pids, running, wait_until

PARALLEL = 64
CASES = (("right", 200, ""), ("wrong", 401, "invalid_credentials"), ("unknown", 403, "user_not_exist"))


def test_64_logins_at_once_all_get_the_right_answer_in_bounded_time(world: World) -> None:
    """A third each of right and wrong passwords and of unknown accounts, over connections of their own."""
    names = [world.user("viewer") for _ in range(4)]

    def log_in(number: int) -> tuple[str, int, str]:
        kind = CASES[number % len(CASES)][0]
        username = "nobody-at-all" if kind == "unknown" else names[number % len(names)]
        body = {"username": username, "password": "wrong horse" if kind == "wrong" else PASSWORD}
        answer = httpx.post(f"{world.service.url}/auth/login", json=body, timeout=240)
        check_answer("POST", "/auth/login", answer)
        if answer.status_code == 200:
            assert answer.json()["user"]["username"] == username
        return kind, answer.status_code, answer.json().get("error", "")

    with ThreadPoolExecutor(PARALLEL) as pool:
        found = Counter(pool.map(log_in, range(PARALLEL)))
    assert set(found) == set(CASES)
    assert found.total() == PARALLEL


def test_polls_go_on_while_no_hash_is_computed_at_all(tmp_path: Path) -> None:
    """With the processes that hash stopped, logins wait; every other call is answered, also those that read the database."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        place, name = world.place(), world.user("viewer")
        place.published("/a")
        hashers = _hash_processes(world, lambda: world.session(name))
        for pid in hashers:
            os.kill(pid, signal.SIGSTOP)
        body = {"username": name, "password": PASSWORD}
        try:
            with ThreadPoolExecutor(PARALLEL) as pool:
                waiting = [
                    pool.submit(httpx.post, f"{service.url}/auth/login", json=body, timeout=240)
                    for _ in range(PARALLEL)
                ]
                for _ in range(2):  # well within the patience with a process that hangs
                    assert place.get("/version")
                    assert world.root.get("/api/tokens")
                    assert place.get("/history")["total"] == 2
                assert not any(each.done() for each in waiting)
                for pid in hashers:
                    os.kill(pid, signal.SIGCONT)
                assert {each.result().status_code for each in waiting} == {200}
        finally:
            for pid in hashers:
                os.kill(pid, signal.SIGCONT)


def test_a_hash_process_that_is_killed_costs_no_login(tmp_path: Path) -> None:
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        name = world.user("viewer")
        for pid in _hash_processes(world, lambda: world.session(name)):
            os.kill(pid, signal.SIGKILL)
        for _ in range(8):
            world.session(name)
        left = _hash_processes(world, lambda: world.session(name))
    wait_until(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in left), 30, "the processes to end with the service"
    )


def _hash_processes(world: World, log_in: Callable[[], object]) -> set[int]:
    """Log in until each worker has its process that hashes; return their ids."""

    def found() -> set[int]:
        log_in()
        children = {worker: set(filter(_is_hasher, child_pids(worker))) for worker in world.service.workers()}
        return set().union(*children.values()) if all(children.values()) else set()

    hashers = wait_until(found, 60, "each worker to hash")
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in hashers} == {os.getpriority(os.PRIO_PROCESS, 0) + NICENESS}
    return hashers


def _is_hasher(pid: int) -> bool:
    try:
        return b"hash_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False
