"""The tests that differ between two contents of tests.yaml, each by its URL."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from content.changes.diff import ChangeType
from content.checks.expectations import Expectation
from gitstore.layout import TESTS_FILE
from gitstore.yamlfiles.project_file import load_tests

MAX_SHOWN = 1000  # tests of a file that an answer lists; its counts are of all


class ExpectedAnswer(NamedTuple):
    """The answer that a test expects: a status, and a location or none."""

    status: int
    location: str | None

    def __str__(self) -> str:
        return f"{self.status} {self.location}" if self.location else str(self.status)


class ExpectationChange(NamedTuple):
    """A test that differs, with what it expects on each side; None on a side without it."""

    url: str
    old: ExpectedAnswer | None
    new: ExpectedAnswer | None

    @property
    def change(self) -> ChangeType:
        """The kind of change."""
        if self.old is None:
            return ChangeType.ADDED
        return ChangeType.CHANGED if self.new else ChangeType.REMOVED

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API."""
        old, new = (side._asdict() if side else None for side in (self.old, self.new))
        return {"url": self.url, "change": self.change.value, "old": old, "new": new}


def wire_tests(changes: Sequence[ExpectationChange]) -> dict[str, object]:
    """Return the JSON shape of the API: the counts, and the first of the tests."""
    numbers = Counter(each.change for each in changes)
    counts = {change.value: numbers[change] for change in ChangeType}
    return {**counts, "items": [each.wire() for each in changes[:MAX_SHOWN]]}


def compare_tests(old: bytes | None, new: bytes | None) -> list[ExpectationChange]:
    """List the tests that differ between two contents of tests.yaml, None for no file; none if one is unreadable.

    Tests of one URL are a pair, and equal ones none, wherever in the file they are.
    """
    before, after = (_read(data) if data is not None else [] for data in (old, new))
    return list(_compare(before, after)) if before is not None and after is not None else []


def _compare(before: Sequence[Expectation], after: Sequence[Expectation]) -> Iterator[ExpectationChange]:
    was, now = (Counter(map(_meaning, side)) for side in (before, after))
    sides = [_by_url(was - now), _by_url(now - was)]
    for url in dict.fromkeys(test.url for test in (*after, *before)):
        yield from (ExpectationChange(url, *pair) for pair in zip_longest(*(side.get(url, ()) for side in sides)))


def _by_url(tests: Counter[tuple[str, ExpectedAnswer]]) -> dict[str, list[ExpectedAnswer]]:
    found: dict[str, list[ExpectedAnswer]] = {}
    for url, answer in tests.elements():
        found.setdefault(url, []).append(answer)
    return found


def _meaning(test: Expectation) -> tuple[str, ExpectedAnswer]:
    return test.url, ExpectedAnswer(test.status, test.location or None)


def _read(data: bytes) -> list[Expectation] | None:
    """Read the tests in a file; None if it cannot be read."""
    tests, problems = load_tests(data, TESTS_FILE)
    return None if problems else tests
