"""The meter of one worker: its tally, what is looked at when it is read, and its page in the ledger of all workers."""

import asyncio
from collections.abc import Callable

from api import logs
from api.background import in_thread, jobs
from api.ledger import Ledger, Page, Totals, page_name
from api.routine import Routine
from api.tally import Counts, Tally

INTERVAL = 1.0
JOBS = "waypost_jobs_total"
JOB_SECONDS = "waypost_job_seconds_total"
OPEN_JOBS = "waypost_jobs"

_log = logs.logger("meter")


class Meter:
    """A companion of the service; a disk that takes no page costs the counts their freshness and nothing else."""

    def __init__(self, ledger: Ledger) -> None:
        self.tally = Tally()
        self._ledger = ledger
        self._name = page_name()
        self._levels: dict[str, Callable[[], int]] = {OPEN_JOBS: lambda: jobs.open}
        self._writing = asyncio.Lock()
        self._routine = Routine(self._run)
        self._failing = False

    def show(self, name: str, level: Callable[[], int]) -> None:
        """Show a number that goes up and down; all workers' numbers are added up."""
        self._levels[name] = level

    async def start(self) -> None:
        """Begin to write once a second."""
        self._routine.begin()

    async def stop(self) -> None:
        """End, with everything written."""
        await self._routine.end()
        await self._try()

    async def read(self) -> Totals:
        """What all workers tell: this one by now, others at most a second ago. Raises OSError."""
        await self._write()
        return await in_thread(self._ledger.read)

    async def _run(self) -> None:
        while True:
            await self._try()
            await asyncio.sleep(INTERVAL)

    async def _try(self) -> None:
        try:
            await self._write()
            self._failing = False
        except OSError as ex:
            if not self._failing:  # once, not once a second
                _log.warning("metrics_not_written", error=str(ex))
            self._failing = True

    async def _write(self) -> None:
        async with self._writing:
            await in_thread(self._ledger.write, self._name, self._page())

    def _page(self) -> Page:
        work: Counts = {(JOBS, outcome): count for outcome, count in jobs.ended.items()}
        counts = {**self.tally.counts(), **work, (JOB_SECONDS,): jobs.seconds}
        return Page(counts, {(name,): level() for name, level in self._levels.items()})
