"""Passwords: only the right one passes, and response times do not reveal whether an account exists."""

from statistics import median
from time import process_time

import pytest

from api.auth.logins import passwords
from api.auth.logins.passwords import (
    hash_password,
    is_outdated,
    password_problems,
    verify_dummy,
    verify_password,
)

STORED = hash_password("correct horse battery")
OLDER = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$hDxqZdYmLTk"


def test_only_the_very_password_passes() -> None:
    assert verify_password("correct horse battery", STORED)
    for other in ("", "correct horse", "Correct horse battery", "correct horse battery ", "correct horse battery\x00"):
        assert not verify_password(other, STORED)


@pytest.mark.parametrize("stored", ["", "plain", "$argon2id$", "$argon2id$v=19$m=1,t=1,p=1$$"])
def test_an_invalid_stored_hash_matches_no_password(stored: str) -> None:
    assert not verify_password("plain", stored)


@pytest.mark.parametrize("password", ["x" * 1025, "\ud800" * 8, "é" * 600])
def test_a_password_that_cannot_be_is_refused_and_not_an_error(password: str) -> None:
    assert not verify_password(password, STORED)


def test_two_hashes_of_one_password_differ() -> None:
    assert hash_password("correct horse battery") != STORED


def test_hashes_have_the_parameters_that_were_chosen() -> None:
    assert STORED.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert not is_outdated(STORED)
    assert is_outdated(OLDER)


def test_the_dummy_hash_costs_as_much_as_a_real_one() -> None:
    assert not is_outdated(passwords._DUMMY_HASH)

    def seconds(unknown: bool) -> float:  # noqa: FBT001 - the two cases of this test
        begun = process_time()
        if unknown:
            verify_dummy("wrong horse battery")
        else:
            verify_password("wrong horse battery", STORED)
        return process_time() - begun

    # The processor's time, which a busy machine hardly changes; far below this bound means a response without hashing.
    pairs = [(seconds(unknown=True), seconds(unknown=False)) for _ in range(15)]
    assert median(one for one, _ in pairs) == pytest.approx(median(two for _, two in pairs), rel=0.5)


@pytest.mark.parametrize(
    ("password", "codes"),
    [
        ("short77", ["too_short"]),
        ("eightlen", []),
        ("x" * 1024, []),
        ("x" * 1025, ["too_long"]),
        ("é" * 513, ["too_long"]),
    ],
)
def test_a_password_has_eight_characters_and_at_most_1024_bytes(password: str, codes: list[str]) -> None:
    assert [problem.code for problem in password_problems(password)] == codes
    assert {problem.pointer for problem in password_problems(password, "/newPassword")} <= {"/newPassword"}


def test_longest_password_that_may_be_set_can_be_used() -> None:
    """Guard: the two limits are one."""
    longest = "é" * 512
    assert password_problems(longest) == []
    assert verify_password(longest, hash_password(longest))
