"""The counters of one worker: plain numbers, changed only on its event loop, so that one count costs 0.5 µs."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from http import HTTPMethod

Key = tuple[str, ...]  # a series: the name of its metric, then the values of its labels
Counts = dict[Key, float]

REQUESTS = "waypost_requests_total"
SECONDS = "waypost_request_seconds"
SECONDS_SUM = "waypost_request_seconds_sum"
REJECTED = "waypost_unread_requests_total"
PUBLISHES = "waypost_publishes_total"
WEBHOOK_ATTEMPTS = "waypost_webhook_attempts_total"
AUDIT_LOST = "waypost_audit_entries_lost_total"
UPSTREAM_SYNCS = "waypost_upstream_syncs_total"
UPSTREAM_SECONDS = "waypost_upstream_sync_seconds_total"

UNKNOWN_ROUTE = "unknown"  # of every path without a route: with a label per path, any client could fill the memory
OTHER_METHOD = "other"

# The upper bounds of the histogram, in seconds; larger values are in one more bucket.
BUCKET_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_METHODS = frozenset(method.value for method in HTTPMethod)
_SUM = len(BUCKET_BOUNDS) + 1


class Counters:
    """The counters of one worker since it started."""

    __slots__ = (
        "_attempts",
        "_counted",
        "_lost_entries",
        "_publishes",
        "_requests",
        "_seconds",
        "_sync_seconds",
        "_syncs",
        "_unread",
    )

    def __init__(self) -> None:
        self._counted: Counts | None = None  # all series, until the next count
        self._requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0] * (_SUM + 1))
        self._unread: defaultdict[int, int] = defaultdict(int)
        self._publishes: defaultdict[str, int] = defaultdict(int)
        self._attempts: defaultdict[str, int] = defaultdict(int)
        self._lost_entries = 0
        self._syncs: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._sync_seconds: defaultdict[str, float] = defaultdict(float)

    def add_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a response; `route` is a template of the route table, never a path."""
        self._counted = None
        self._requests[route, method, status] += 1
        buckets = self._seconds[route]
        buckets[bisect_left(BUCKET_BOUNDS, seconds)] += 1
        buckets[_SUM] += seconds

    def add_rejected(self, status: int) -> None:
        """Count a request that the server rejected before the application saw it."""
        self._counted = None
        self._unread[status] += 1

    def add_publish(self, kind: str) -> None:
        """Count a successful `publish` or `rollback` of this worker."""
        self._counted = None
        self._publishes[kind] += 1

    def add_webhook_attempt(self, outcome: str) -> None:
        """Count an attempt to deliver a message to a webhook: `delivered`, `again` or `failed`."""
        self._counted = None
        self._attempts[outcome] += 1

    def add_lost_entries(self, count: int) -> None:
        """Count entries of the audit trail that could not be kept until the database could be written."""
        self._counted = None
        self._lost_entries += count

    def add_sync(self, kind: str, outcome: str, seconds: float) -> None:
        """Count a sync with an upstream; `outcome` is `done`, or the code of its fault."""
        self._counted = None
        self._syncs[kind, outcome] += 1
        self._sync_seconds[kind] += seconds

    def counts(self) -> Mapping[Key, float]:
        """Return all counts so far, by series; the same ones as before where nothing was counted since."""
        if self._counted is None:
            self._counted = dict(self._series())
        return self._counted

    def _series(self) -> Iterator[tuple[Key, float]]:
        for (route, method, status), count in self._requests.items():
            yield (REQUESTS, route, method, str(status)), count
        for route, buckets in self._seconds.items():
            yield (SECONDS_SUM, route), buckets[_SUM]
            within = ((SECONDS, route, str(bucket)) for bucket in range(_SUM))
            yield from ((key, count) for key, count in zip(within, buckets[:_SUM], strict=True) if count)
        for status, count in self._unread.items():
            yield (REJECTED, str(status)), count
        for kind, count in self._publishes.items():
            yield (PUBLISHES, kind), count
        for outcome, count in self._attempts.items():
            yield (WEBHOOK_ATTEMPTS, outcome), count
        if self._lost_entries:
            yield (AUDIT_LOST,), self._lost_entries
        for (kind, outcome), count in self._syncs.items():
            yield (UPSTREAM_SYNCS, kind, outcome), count
        for kind, seconds in self._sync_seconds.items():
            yield (UPSTREAM_SECONDS, kind), seconds


def method_label(method: str) -> str:
    """Return the label of a method; methods unknown to HTTP share one."""
    return method if method in _METHODS else OTHER_METHOD
