"""The counts of all workers in the text format that Prometheus reads."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from api.ledger import Totals
from api.meter import JOB_SECONDS, JOBS, OPEN_JOBS
from api.tally import BOUNDS, PUBLISHES, REQUESTS, SECONDS, SECONDS_SUM, UNREAD, WEBHOOK_ATTEMPTS, Counts, Key

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
WAITING = "waypost_waiting_polls"
HEARTBEATS = "waypost_heartbeats_pending"
STREAMS = "waypost_event_streams"
DELIVERING = "waypost_webhook_attempts"
_WORKERS = "waypost_workers"


class _Family(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()


_COUNTERS = (
    _Family(REQUESTS, "Requests that were answered, by route, method and status.", ("route", "method", "status")),
    _Family(UNREAD, "Requests refused because they were no HTTP, too large or too many, by status.", ("status",)),
    _Family(PUBLISHES, "Publishes and rollbacks that were asked for over HTTP and succeeded, by kind.", ("kind",)),
    _Family(WEBHOOK_ATTEMPTS, "Attempts to deliver a message to a webhook, by how they ended.", ("outcome",)),
    _Family(JOBS, "Work that was given to processes of their own, by how it ended.", ("outcome",)),
    _Family(JOB_SECONDS, "Seconds that such work took, with the time that it waited."),
)
_LEVELS = (
    _Family(WAITING, "Polls that wait for a publish."),
    _Family(HEARTBEATS, "Agents whose last heartbeat is not in the database yet."),
    _Family(STREAMS, "Clients that follow events."),
    _Family(DELIVERING, "Attempts to deliver to webhooks that go on."),
    _Family(OPEN_JOBS, "Work for processes of their own that waits or goes on."),
)
_SECONDS = _Family(
    SECONDS, "Seconds until an answer began, by route, without those that a poll asked to wait.", ("route",)
)


def render(totals: Totals) -> bytes:
    """The text of all metrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Found(totals))
    return generate_latest(registry)


class _Found(Collector):
    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        counts, levels = _by_name(self._totals.counts), _by_name(self._totals.levels)
        for family in _COUNTERS:
            yield _counter(family, counts[family.name])
        yield _histogram(counts[SECONDS], counts[SECONDS_SUM])
        for family in _LEVELS:
            yield GaugeMetricFamily(family.name, family.about, value=levels[family.name].get((), 0))
        yield GaugeMetricFamily(_WORKERS, "Worker processes that serve.", value=self._totals.workers)


def _by_name(counts: Counts) -> Mapping[str, Mapping[Key, float]]:
    """By name of the metric and then by the labels."""
    found: defaultdict[str, dict[Key, float]] = defaultdict(dict)
    for (name, *labels), number in sorted(counts.items()):
        found[name][tuple(labels)] = number
    return found


def _counter(family: _Family, counts: Mapping[Key, float]) -> Metric:
    metric = CounterMetricFamily(family.name, family.about, labels=family.labels)
    for labels, number in (counts or ({} if family.labels else {(): 0.0})).items():
        metric.add_metric(labels, number)
    return metric


def _histogram(places: Mapping[Key, float], sums: Mapping[Key, float]) -> Metric:
    metric = HistogramMetricFamily(_SECONDS.name, _SECONDS.about, labels=_SECONDS.labels)
    for (route,), seconds in sums.items():
        within = [places.get((route, str(place)), 0) for place in range(len(BOUNDS) + 1)]
        metric.add_metric([route], list(zip(map(str, [*BOUNDS, "+Inf"]), _grown(within), strict=True)), seconds)
    return metric


def _grown(counts: Iterable[float]) -> Iterator[float]:
    """Each count with all before it."""
    total = 0.0
    for count in counts:
        total += count
        yield total
