"""The metrics of all workers in the text format of Prometheus."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from api.metrics.collector import JOB_SECONDS, JOBS, OPEN_JOBS
from api.metrics.counters import (
    AUDIT_LOST,
    BUCKET_BOUNDS,
    PUBLISHES,
    REJECTED,
    REQUESTS,
    SECONDS,
    SECONDS_SUM,
    UPSTREAM_SECONDS,
    UPSTREAM_SYNCS,
    WEBHOOK_ATTEMPTS,
    Counts,
    Key,
)
from api.metrics.metrics_store import Totals
from api.readiness import Fault, Status, worst

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
WAITING = "waypost_waiting_polls"
HEARTBEATS = "waypost_heartbeats_pending"
STREAMS = "waypost_event_streams"
DELIVERING = "waypost_webhook_attempts"
UPSTREAMS = "waypost_upstreams"
UPSTREAM_AGE = "waypost_upstream_oldest_sync_seconds"
SYNCING = "waypost_upstream_syncs"
SYNCS_DUE = "waypost_upstream_syncs_due"
AUDIT_ROWS = "waypost_audit_rows"
_AUDIT_HEAD = "waypost_audit_head_info"
_AUDIT_REMOVED = "waypost_audit_removed_info"
_WORKERS = "waypost_workers"
_FAULTS = "waypost_faults"
_STATUS = "waypost_degraded"
_BACKUP_AGE = "waypost_backup_age_seconds"


AuditEnds = tuple[tuple[int, str], tuple[int, str]]
"""The number and hash of the newest row of the audit trail, and of the newest one that was removed."""


class _Family(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()


_COUNTERS = (
    _Family(REQUESTS, "Requests with a response, by route, method and status.", ("route", "method", "status")),
    _Family(REJECTED, "Requests rejected as invalid HTTP, too large or too many, by status.", ("status",)),
    _Family(PUBLISHES, "Successful publishes and rollbacks over HTTP, by kind.", ("kind",)),
    _Family(WEBHOOK_ATTEMPTS, "Attempts to deliver a message to a webhook, by outcome.", ("outcome",)),
    _Family(AUDIT_LOST, "Entries of the audit trail that were lost, since the database could not be written."),
    _Family(UPSTREAM_SYNCS, "Syncs with upstreams, by kind and outcome.", ("kind", "outcome")),
    _Family(UPSTREAM_SECONDS, "Seconds that syncs with upstreams took, by kind.", ("kind",)),
    _Family(JOBS, "Jobs run in separate processes, by outcome.", ("outcome",)),
    _Family(JOB_SECONDS, "Seconds that jobs took, including their time in the queue."),
)
_GAUGES = (
    _Family(WAITING, "Long polls waiting for a publish."),
    _Family(HEARTBEATS, "Agents with a last heartbeat that is not in the database yet."),
    _Family(STREAMS, "Open event streams."),
    _Family(DELIVERING, "Running attempts to deliver to webhooks."),
    _Family(OPEN_JOBS, "Queued or running jobs."),
    _Family(UPSTREAMS, "Namespaces with an upstream, by state.", ("state",)),
    _Family(UPSTREAM_AGE, "Seconds since the good sync that is longest ago, of upstreams that are not suspended."),
    _Family(SYNCING, "Running syncs with upstreams."),
    _Family(SYNCS_DUE, "Syncs with upstreams that are due and wait for a process."),
)
_SECONDS = _Family(
    SECONDS, "Seconds until a response began, by route, without the waiting time of long polls.", ("route",)
)


def render(
    totals: Totals,
    faults: Mapping[str, Sequence[Fault]],
    backup_age: float | None = None,
    audit_ends: AuditEnds | None = None,
) -> bytes:
    """Return the text of all metrics; `faults` are those of readiness, by name of check, `backup_age` is in seconds."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_TotalsCollector(totals))
    registry.register(_FaultsCollector(faults))
    registry.register(_BackupCollector(backup_age))
    if audit_ends and audit_ends[0][0]:
        registry.register(_AuditCollector(audit_ends))
    return generate_latest(registry)


class _FaultsCollector(Collector):
    def __init__(self, faults: Mapping[str, Sequence[Fault]]) -> None:
        self._faults = faults

    def collect(self) -> Iterator[Metric]:
        about = "Present faults of readiness, by check and code; of content, one for each namespace or project."
        family = GaugeMetricFamily(_FAULTS, about, labels=("check", "code"))
        found = Counter((check, fault.code) for check, faults in self._faults.items() for fault in faults)
        for labels, count in sorted(found.items()):
            family.add_metric(labels, count)
        yield family
        status = worst(fault.status for faults in self._faults.values() for fault in faults)
        yield GaugeMetricFamily(
            _STATUS, "0 if the node is ready, 1 if degraded, 2 if unavailable.", list(Status).index(status)
        )


class _BackupCollector(Collector):
    def __init__(self, age: float | None) -> None:
        self._age = age

    def collect(self) -> Iterator[Metric]:
        # Without a backup there is no sample: any number would look like an age.
        yield GaugeMetricFamily(_BACKUP_AGE, "Seconds since the last good backup began.", value=self._age)


class _AuditCollector(Collector):
    def __init__(self, ends: AuditEnds) -> None:
        self._head, self._removed = ends

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(AUDIT_ROWS, "The number of the newest row of the audit trail.", value=self._head[0])
        # A new series for each hash, so that the monitoring keeps the earlier ones.
        yield _link(_AUDIT_HEAD, "The number of the newest row, by its hash.", self._head)
        about = "The number of the newest row that was removed with age, by its hash; the trail begins after it."
        yield _link(_AUDIT_REMOVED, about, self._removed)


def _link(name: str, about: str, link: tuple[int, str]) -> GaugeMetricFamily:
    """Return the metric of a row of the audit trail; without a sample for number 0, which no row has."""
    family = GaugeMetricFamily(name, about, labels=("hash",))
    if link[0]:
        family.add_metric((link[1],), link[0])
    return family


class _TotalsCollector(Collector):
    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        counts, gauges = _by_name(self._totals.counts), _by_name(self._totals.gauges)
        for family in _COUNTERS:
            yield _counter(family, counts[family.name])
        yield _histogram(counts[SECONDS], counts[SECONDS_SUM])
        for family in _GAUGES:
            yield _gauge(family, gauges[family.name])
        yield GaugeMetricFamily(_WORKERS, "Running worker processes.", value=self._totals.workers)


def _by_name(counts: Counts) -> Mapping[str, Mapping[Key, float]]:
    """Group series by the name of the metric and then by the labels."""
    found: defaultdict[str, dict[Key, float]] = defaultdict(dict)
    for (name, *labels), number in sorted(counts.items()):
        found[name][tuple(labels)] = number
    return found


def _counter(family: _Family, counts: Mapping[Key, float]) -> Metric:
    metric = CounterMetricFamily(family.name, family.about, labels=family.labels)
    for labels, number in (counts or ({} if family.labels else {(): 0.0})).items():
        metric.add_metric(labels, number)
    return metric


def _gauge(family: _Family, levels: Mapping[Key, float]) -> Metric:
    if not family.labels:
        return GaugeMetricFamily(family.name, family.about, value=levels.get((), 0))
    metric = GaugeMetricFamily(family.name, family.about, labels=family.labels)
    for labels, number in levels.items():
        metric.add_metric(labels, number)
    return metric


def _histogram(buckets: Mapping[Key, float], sums: Mapping[Key, float]) -> Metric:
    metric = HistogramMetricFamily(_SECONDS.name, _SECONDS.about, labels=_SECONDS.labels)
    for (route,), seconds in sums.items():
        within = [buckets.get((route, str(bucket)), 0) for bucket in range(len(BUCKET_BOUNDS) + 1)]
        metric.add_metric(
            [route], list(zip(map(str, [*BUCKET_BOUNDS, "+Inf"]), _cumulate(within), strict=True)), seconds
        )
    return metric


def _cumulate(counts: Iterable[float]) -> Iterator[float]:
    """Yield the running totals of counts."""
    total = 0.0
    for count in counts:
        total += count
        yield total
