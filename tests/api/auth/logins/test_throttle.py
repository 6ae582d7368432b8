"""Failed logins count for an address, for an account from a network, and in total; successful ones do not count."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest
from sqlalchemy import event, select

from api.auth.logins.browser import Client
from api.auth.logins.throttle import Throttle
from api.db.state_store import open_state_store
from api.db.tables import login_attempts
from api.errors import ApiError
from tests.api.world import PASSWORD, ManualClock, World, world
from tests.processes import FORKED

HERE, NEIGHBOUR, ELSEWHERE = "192.0.2.7", "192.0.2.8", "198.51.100.1"


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path, login_attempts=3, login_attempts_total=8)
    found.user("ada")
    return found


def status(here: World, username: str, password: str, address: str | None) -> int:
    """Return the status of the response to a login."""
    try:
        here.services.logins.login(username, password, Client(address))
    except ApiError as ex:
        return ex.status
    return 200


def fail(here: World, times: int, username: str = "ada", address: str = HERE) -> list[int]:
    return [status(here, username, "wrong", address) for _ in range(times)]


def test_after_so_many_that_failed_an_address_has_to_wait_whatever_it_sends(here: World) -> None:
    assert fail(here, 4) == [401, 401, 401, 429]
    assert status(here, "ada", PASSWORD, HERE) == 429
    assert status(here, "nobody", "x", HERE) == 429
    here.clock.advance(seconds=99)
    assert status(here, "ada", PASSWORD, HERE) == 429
    here.clock.advance(seconds=1)
    assert status(here, "ada", PASSWORD, HERE) == 200


def test_unknown_accounts_count_as_wrong_passwords_do(here: World) -> None:
    assert [status(here, f"nobody{number}", "x", HERE) for number in range(4)] == [403, 403, 403, 429]


def test_an_account_is_guarded_from_a_whole_network_but_its_owner_elsewhere_is_not_locked_out(here: World) -> None:
    assert fail(here, 3) == [401] * 3
    assert status(here, "ADA", PASSWORD, NEIGHBOUR) == 429
    assert status(here, "nobody", "x", NEIGHBOUR) == 403
    assert status(here, "ada", PASSWORD, ELSEWHERE) == 200


def test_a_client_of_ipv6_is_known_by_its_64_bits(here: World) -> None:
    assert [status(here, f"nobody{number}", "x", f"2001:db8::{number}") for number in range(4)] == [403, 403, 403, 429]
    assert status(here, "nobody", "x", "2001:db8:0:1::1") == 403


def test_in_all_only_so_many_fail(here: World) -> None:
    answers = [status(here, f"nobody{number}", "x", f"203.0.113.{number}") for number in range(9)]
    assert answers == [403] * 8 + [429]


def test_logins_that_succeed_count_for_nothing(here: World) -> None:
    assert fail(here, 2) == [401, 401]
    assert [status(here, "ada", PASSWORD, HERE) for _ in range(9)] == [200] * 9
    assert fail(here, 2) == [401, 429]


def test_without_an_address_nothing_is_counted(here: World) -> None:
    assert [status(here, "ada", "wrong", None) for _ in range(9)] == [401] * 9


def test_what_is_refused_is_not_looked_up_and_takes_no_lock_and_no_hash(here: World) -> None:
    """Refusals are equally fast for any name, and reveal nothing about accounts."""
    fail(here, 3)
    asked: list[str] = []
    event.listen(here.services.state.database._engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    begun = perf_counter()
    with here.services.state.database.writing():
        assert [status(here, name, "x", HERE) for name in ("ada", "nobody")] == [429, 429]
    assert perf_counter() - begun < 5, "the refusal waited for the lock"
    assert [statement for statement in asked if "users" in statement or "INSERT" in statement] == []


def test_the_answer_says_when_to_come_again(here: World) -> None:
    answers = [here.call("POST", "/auth/login", body={"username": "ada", "password": "wrong"}) for _ in range(4)]
    assert [answer.status for answer in answers] == [401, 401, 401, 429]
    assert (answers[3].error, answers[3].headers["retry-after"]) == ("too_many_attempts", "100")


def test_a_stolen_access_token_is_no_way_to_guess_the_password_faster(here: World) -> None:
    """Wrong guesses count together with failed logins; right ones, and other changes, do not count."""
    access, new = here.access("ada"), {"newPassword": "another good one"}

    def guess(current: str, **body: str) -> tuple[int, str]:
        answer = here.call("PATCH", "/api/me", access, {**new, "currentPassword": current, **body})
        return answer.status, "" if answer.status == 200 else answer.error

    assert guess("wrong") == (403, "wrong_password")
    assert here.call("POST", "/auth/login", body={"username": "ada", "password": "wrong"}).status == 401
    assert [guess("x", newPassword="é" * 600)[0] for _ in range(3)] == [422] * 3, (
        "a request with an invalid new password counted as a try"
    )
    assert guess("wrong") == (403, "wrong_password")
    assert guess("wrong") == (429, "too_many_attempts")
    assert guess(PASSWORD) == (429, "too_many_attempts")
    assert here.call("POST", "/auth/login", body={"username": "ada", "password": PASSWORD}).status == 429
    assert here.call("PATCH", "/api/me", access, {"firstname": "Augusta"}).status == 200
    here.clock.advance(seconds=100)
    assert guess(PASSWORD)[0] == 200
    assert status(here, "ada", "wrong", "127.0.0.1") == 401, "the try with the right password still counts"


def test_keys_reveal_nothing_and_expire(here: World) -> None:
    """Keys with a time far in the future, from a clock that was set incorrectly, are also removed."""
    fail(here, 1, "my-secret-password")
    here.clock.advance(days=300)
    fail(here, 1)
    here.clock.advance(days=-300, seconds=100)

    def keys() -> list[str]:
        with here.services.state.database.reading() as connection:
            return list(connection.execute(select(login_attempts.c.key)).scalars())

    assert len(keys()) == 4
    assert all(len(key) == 64 for key in keys())
    here.services.logins.sweep()
    assert keys() == []


def take_all(folder: Path, tries: int) -> Counter[int]:
    """Return the outcomes of one process that tries concurrently with others."""
    state = open_state_store(folder)
    throttle = Throttle(state, ManualClock(), tries=50)
    found = Counter(_outcome(lambda: throttle.take("ada", HERE)) for _ in range(tries))
    state.close()
    return found


def _outcome(work: Callable[[], object]) -> int:
    try:
        work()
    except ApiError as ex:
        return ex.status
    return 200


def test_of_many_processes_at_once_exactly_as_many_pass_as_may(tmp_path: Path) -> None:
    open_state_store(tmp_path).close()
    with ProcessPoolExecutor(4, FORKED) as pool:
        found = sum(pool.map(take_all, [tmp_path] * 4, [40] * 4), Counter[int]())
    assert found == {200: 50, 429: 110}


def test_a_person_whose_logins_by_the_provider_fail_locks_no_one_else_in_the_office_out(here: World) -> None:
    throttle = here.services.logins.throttle
    for _ in range(3):
        throttle.take_callback(HERE)
        throttle.take_person("ada-1", HERE)
    with pytest.raises(ApiError, match="Too many failed logins"):
        throttle.take_person("ada-1", NEIGHBOUR)
    throttle.take_person("bob-1", HERE)
    throttle.take_callback(HERE)
    assert status(here, "ada", PASSWORD, HERE) == 200
    for _ in range(4):
        throttle.take_callback(HERE)
    with pytest.raises(ApiError, match="Too many failed logins"):  # in total
        throttle.take_callback(ELSEWHERE)


def test_clients_with_ipv4_are_told_apart_behind_a_socket_of_both_versions(here: World) -> None:
    assert fail(here, 4, address=f"::ffff:{HERE}") == [401, 401, 401, 429]
    assert status(here, "bob", PASSWORD, f"::ffff:{ELSEWHERE}") == 403
