"""The counters of a worker: each count shows in the next reading, and what is read twice is counted up once."""

from collections.abc import Callable

import pytest

from api.metrics.counters import Counters


@pytest.mark.parametrize(
    "add",
    [
        lambda counters: counters.add_request("/api/me", "GET", 200, 0.001),
        lambda counters: counters.add_rejected(400),
        lambda counters: counters.add_publish("publish"),
        lambda counters: counters.add_webhook_attempt("delivered"),
        lambda counters: counters.add_lost_entries(1),
        lambda counters: counters.add_sync("sync", "done", 1.0),
    ],
)
def test_each_count_shows_in_the_next_reading(add: Callable[[Counters], None]) -> None:
    counters = Counters()
    readings = []
    for _ in range(3):
        add(counters)
        readings.append(sum(counters.counts().values()))
    assert readings[0] > 0
    assert readings[1:] == [pytest.approx(2 * readings[0]), pytest.approx(3 * readings[0])]
    assert counters.counts() is counters.counts()
