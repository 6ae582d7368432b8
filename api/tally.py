"""What one worker has counted: plain numbers that its event loop alone changes, so that counting costs half a microsecond."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from http import HTTPMethod

Key = tuple[str, ...]
"""A series: the name of its metric, then the values of its labels."""
Counts = dict[Key, float]

REQUESTS = "waypost_requests_total"
SECONDS = "waypost_request_seconds"
SECONDS_SUM = "waypost_request_seconds_sum"
UNREAD = "waypost_unread_requests_total"
PUBLISHES = "waypost_publishes_total"
WEBHOOK_ATTEMPTS = "waypost_webhook_attempts_total"

UNKNOWN_ROUTE = "unknown"
"""The route of every path that is none: a label per path would let anybody fill the memory."""
OTHER_METHOD = "other"

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of the histogram of seconds; what is above the last has a place of its own."""

_METHODS = frozenset(method.value for method in HTTPMethod)
_SUM = len(BOUNDS) + 1


class Tally:
    """The counts of one worker since it started."""

    __slots__ = ("_attempts", "_publishes", "_requests", "_seconds", "_unread")

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0] * (_SUM + 1))
        self._unread: defaultdict[int, int] = defaultdict(int)
        self._publishes: defaultdict[str, int] = defaultdict(int)
        self._attempts: defaultdict[str, int] = defaultdict(int)

    def add_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer; `route` is a template of the route table, never a path."""
        self._requests[route, method, status] += 1
        places = self._seconds[route]
        places[bisect_left(BOUNDS, seconds)] += 1
        places[_SUM] += seconds

    def add_unread(self, status: int) -> None:
        """Count a request that the server refused before the application saw it."""
        self._unread[status] += 1

    def add_publish(self, kind: str) -> None:
        """Count a `publish` or a `rollback` that was asked of this worker and succeeded."""
        self._publishes[kind] += 1

    def add_webhook_attempt(self, outcome: str) -> None:
        """Count an attempt to deliver a message to a webhook: `delivered`, `again` or `failed`."""
        self._attempts[outcome] += 1

    def counts(self) -> Counts:
        """Everything counted so far, by series."""
        return dict(self._series())

    def _series(self) -> Iterator[tuple[Key, float]]:
        for (route, method, status), count in self._requests.items():
            yield (REQUESTS, route, method, str(status)), count
        for route, places in self._seconds.items():
            yield (SECONDS_SUM, route), places[_SUM]
            within = ((SECONDS, route, str(place)) for place in range(_SUM))
            yield from ((key, count) for key, count in zip(within, places[:_SUM], strict=True) if count)
        for status, count in self._unread.items():
            yield (UNREAD, str(status)), count
        for kind, count in self._publishes.items():
            yield (PUBLISHES, kind), count
        for outcome, count in self._attempts.items():
            yield (WEBHOOK_ATTEMPTS, outcome), count


def method_label(method: str) -> str:
    """The label of a method; those that HTTP does not know share one."""
    return method if method in _METHODS else OTHER_METHOD
