"""The metrics collector of one worker: its counters, its gauges, and its page in the metrics store of all workers."""

import asyncio
import time
from collections.abc import Callable, Mapping

from api import logs
from api.metrics.counters import Counters, Counts
from api.metrics.metrics_store import MetricsStore, Totals, WorkerMetrics, create_file_name
from api.runtime.jobs.background import jobs, run_in_thread
from api.runtime.jobs.background_task import TaskService

INTERVAL = 1.0
_AGAIN_SECONDS = 10.0  # after which an unchanged page is written again: it may have gone with its folder
JOBS = "waypost_jobs_total"
JOB_SECONDS = "waypost_job_seconds_total"
OPEN_JOBS = "waypost_jobs"

_log = logs.logger("metrics")


class MetricsCollector(TaskService):
    """A background service that writes the metrics; if the disk rejects a write, they only become out of date."""

    def __init__(self, metrics_store: MetricsStore) -> None:
        super().__init__()
        self.counters = Counters()
        self._store = metrics_store
        self._name = create_file_name()
        self._gauges: dict[str, Callable[[], float]] = {OPEN_JOBS: lambda: jobs.open}
        self._labelled: dict[str, Callable[[], Mapping[str, float]]] = {}
        self._writing = asyncio.Lock()
        self._failing = False
        self._written: WorkerMetrics | None = None
        self._written_at = 0.0

    def show(self, name: str, level: Callable[[], float]) -> None:
        """Add a gauge; the values of all workers are added up."""
        self._gauges[name] = level

    def show_each(self, name: str, levels: Callable[[], Mapping[str, float]]) -> None:
        """Add a gauge with a label, whose values are few; those of all workers are added up."""
        self._labelled[name] = levels

    async def stop(self) -> None:
        """Stop after a last write."""
        await super().stop()
        await self._try()

    async def read(self) -> Totals:
        """Return the totals of all workers: this one's are current, others' at most a second old. Raises OSError."""
        await self._write()
        return await run_in_thread(self._store.read)

    async def _run(self) -> None:
        while True:
            await self._try(even_unchanged=False)
            await asyncio.sleep(INTERVAL)

    async def _try(self, *, even_unchanged: bool = True) -> None:
        try:
            await self._write(even_unchanged=even_unchanged)
            self._failing = False
        except OSError as ex:
            if not self._failing:  # once, not once a second
                _log.warning("metrics_not_written", error=str(ex))
            self._failing = True

    async def _write(self, *, even_unchanged: bool = True) -> None:
        async with self._writing:
            page, now = self._page(), time.monotonic()
            if even_unchanged or page != self._written or now - self._written_at >= _AGAIN_SECONDS:
                self._written = None
                await run_in_thread(self._store.write, self._name, page)
                self._written, self._written_at = page, now

    def _page(self) -> WorkerMetrics:
        work: Counts = {(JOBS, outcome): count for outcome, count in jobs.ended.items()}
        counts = {**self.counters.counts(), **work, (JOB_SECONDS,): jobs.seconds}
        gauges: Counts = {(name,): level() for name, level in self._gauges.items()}
        for name, levels in self._labelled.items():
            gauges |= {(name, label): value for label, value in levels().items()}
        return WorkerMetrics(counts, gauges)
