"""The packer of a worker: keeps repositories small, in a process of low priority that runs only while there is work."""

import os
import time
from functools import partial

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background import ProcessLost, run_in_thread
from api.runtime.jobs.background_task import TaskService
from api.runtime.jobs.job_process import JobLimits, JobProcess
from api.runtime.jobs.pace import Pace
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import StoreError
from gitstore.history.upkeep.repository_upkeep import keep_up, needs_upkeep

_ROUND_SECONDS = 2.0
_LONGEST_ROUND = 40.0  # seconds with its rests
_MOST_REST = 400  # times the duration of a look, so that an idle node uses little of a core …
_LEAST_REST = 20  # … and a large one no more than a twentieth
_PACKED_REST = 4  # times the duration of a packing before the namespace is packed again
_IDLE_SECONDS = 60.0  # after which the process ends
_FAILURE_SECONDS = 600.0  # for which a namespace rests after a failure, such as a full disk
_NICENESS = 10  # a tenth of the time of other processes, where there is not enough for all
_LIMITS = JobLimits(seconds=86_400.0)

_log = logs.logger("packer")


class Packer(TaskService):
    """A background service that packs and prunes the repositories of all namespaces, one at a time.

    While `data` is lost, nothing is packed.
    """

    def __init__(self, directory: DataDirectory, data: ServedData) -> None:
        super().__init__()
        self._directory = directory
        self._data = data
        self._process: JobProcess | None = None
        self._used_at = 0.0
        self._resting: dict[str, float] = {}

    async def stop(self) -> None:
        """Stop the task, and kill its process: packing goes on after the next start."""
        await super().stop()
        await self._end_process()

    async def _run(self) -> None:
        pace = Pace(
            shortest=_ROUND_SECONDS, longest=_LONGEST_ROUND, most=_MOST_REST, least=_LEAST_REST, first=_LEAST_REST
        )
        while True:
            await pace.end_round(is_complete=self._data.fault is None)
            if self._data.fault is None:
                await self._look_at_all(pace)
            if self._process is not None and time.monotonic() - self._used_at > _IDLE_SECONDS:
                await self._end_process()

    async def _look_at_all(self, pace: Pace) -> None:
        try:
            async for step in pace.steps(self._directory.namespaces, self._look):
                for paths in filter(None, step):
                    if self._data.check() is not None:  # it may be lost while another namespace was packed
                        return
                    try:
                        await self._keep_up(paths)
                    except Exception as ex:  # noqa: BLE001 - noted; the packing of the others goes on
                        self._note_failure(paths.name, ex)
        except OSError as ex:  # such as a folder that cannot be listed
            _log.warning("namespaces_not_listed", error=str(ex))

    def _look(self, namespace: str) -> NamespacePaths | None:
        """Return the paths of a namespace that is due."""
        if self._resting.get(namespace, 0.0) > time.monotonic():
            return None
        try:
            paths = self._directory.namespace(namespace)
            return paths if self.is_due(paths) else None
        except Exception as ex:  # noqa: BLE001 - noted; the look at the others goes on
            self._note_failure(namespace, ex)
            return None

    def is_due(self, paths: NamespacePaths) -> bool:
        """Tell whether a namespace has to be packed or cleaned up now."""
        return self._data.check() is None and paths.repository.is_dir() and needs_upkeep(paths)

    def _note_failure(self, namespace: str, ex: Exception) -> None:
        """Log a failure, and let the namespace rest: what is pushed into one repository must not end the packing of the others."""
        if isinstance(ex, FileNotFoundError):
            # Another program packs, or the namespace is removed: the next round looks again.
            _log.info("packing_repeated", namespace=namespace, error=str(ex))
            return
        self._resting[namespace] = time.monotonic() + _FAILURE_SECONDS
        if isinstance(ex, StoreError | ProcessLost | OSError):
            _log.warning("packing_failed", namespace=namespace, error=str(ex))
        else:
            _log.error("packing_failed", namespace=namespace, exc_info=ex)

    async def _keep_up(self, paths: NamespacePaths) -> None:
        if self._process is None or not self._process.accepts():
            self._process = JobProcess()
        begun = self._used_at = time.monotonic()
        await self._process.run(partial(_keep_up_at_low_priority, paths), _LIMITS)
        self._used_at = time.monotonic()
        self._resting[paths.name] = self._used_at + _PACKED_REST * (self._used_at - begun)
        _log.info("packed", namespace=paths.name, seconds=round(self._used_at - begun, 3))

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await run_in_thread(partial(process.close, wait=True))


def _keep_up_at_low_priority(paths: NamespacePaths) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))  # only root may lower it
    keep_up(paths)
