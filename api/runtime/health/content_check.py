"""The check that all content is served as it is on disk: in rounds over the namespaces, and at once where release moves.

It runs in the background and rests most of the time, so that readiness costs the same for any number of namespaces.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from api import logs
from api.data.served_data import ServedData
from api.readiness import Fault, FaultReport, ReadyCheck, Status
from api.runtime.health.content_faults import NodeContent, find_faults_of
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import BackgroundTask
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import StoreError
from gitstore.history.live import LiveNamespace
from gitstore.store.releases import NamespaceFaults
from gitstore.store.store import Store

ROUND_SECONDS = 2.0
"""The shortest time between the starts of two rounds."""
_PAUSE = 30  # times the processor time of a round until the next begins, so that an idle node uses little of a core …
_LONGEST_PAUSE = 10.0  # … but no more seconds than this, so that findings stay young
_STEP_SECONDS = 0.005  # of looking, before a rest
_REST = 10  # times the duration of a step, so that the check uses no more than a tenth of a core
_MOVED_SECONDS = 0.1  # between a move of release and a look at it: publishes come in bursts
_PATIENCE = 0.3  # seconds that readiness waits for the first round after the start
_PENDING = Fault(
    Status.DEGRADED,
    "check_pending",
    "The content has not been looked at completely since the start, so faults of it may be missing here.",
    "Wait for the end of the first round.",
)

_log = logs.logger("content_check")


_Finding = tuple[str, NamespaceFaults | None]


class _Step(NamedTuple):
    """The findings of a step, and the processor time that it took."""

    found: Sequence[_Finding]
    seconds: float


class ContentCheck:
    """A background service that looks at the content of all namespaces, and reports what is not served."""

    def __init__(self, store: Store, releases: ReleaseLoader, data: ServedData) -> None:
        self._store = store
        self._data = data
        self._content = NodeContent()
        self._report = FaultReport()
        self._first = threading.Event()
        self._moved: dict[str, None] = {}
        self._wakes = asyncio.Event()
        self._rounds = BackgroundTask(self._run)
        self._moves = BackgroundTask(self._follow)
        releases.listen(self._note_move)

    def ready_check(self) -> ReadyCheck:
        """Create the readiness check of the last findings; while the data directory is lost, it finds nothing."""
        return ReadyCheck("content", self._find, self._report.age)

    async def start(self) -> None:
        """Start; the first round does not rest."""
        self._rounds.begin()
        self._moves.begin()

    async def stop(self) -> None:
        """Stop both tasks."""
        await self._rounds.end()
        await self._moves.end()

    def _find(self) -> Sequence[Fault]:
        if self._data.fault is not None:
            return []
        is_complete = self._first.wait(_PATIENCE)
        found = self._report.find()
        return found if is_complete else (*found, _PENDING)

    async def _run(self) -> None:
        while True:
            begun, used = time.monotonic(), 0.0
            try:
                used = await self._look_at_all(begun)
            except (StoreError, OSError) as ex:  # such as a folder that cannot be listed; its age shows that it lasts
                _log.warning("content_not_checked", error=str(ex))
            pause = max(ROUND_SECONDS, min(_PAUSE * used, _LONGEST_PAUSE))
            await asyncio.sleep(max(0.0, pause - (time.monotonic() - begun)))

    async def _look_at_all(self, begun: float) -> float:
        """Look at all namespaces, and return the seconds of processor time that it took."""
        names = await run_in_thread(self._store.directory.namespaces)
        left, used = list(reversed(names)), 0.0
        while left and self._data.fault is None:
            step = await run_in_thread(self._look, left)
            used += step.seconds
            self._note(step.found)
            if self._first.is_set():
                await asyncio.sleep(_REST * step.seconds)
        if left:
            return used
        self._content.keep({*names, *await run_in_thread(self._store.directory.namespaces)})
        self._note(())
        self._report.end_round(begun)
        self._first.set()
        return used

    def _look(self, left: list[str]) -> _Step:
        """Look at the next namespaces, as many as a step has time for, and take them from the list."""
        found: list[_Finding] = []
        begun = time.thread_time()  # of the processor: on a busy machine a round must not take many times as long
        while left and self._data.check() is None:  # looking would write compiled files in the place of a lost folder
            name = left.pop()
            found.append((name, find_faults_of(self._store, name)))
            if time.thread_time() - begun >= _STEP_SECONDS:
                break
        return _Step(found, time.thread_time() - begun)

    def _note(self, found: Iterable[_Finding]) -> None:
        for name, state in found:
            self._content.note(name, state)
        self._report.report(self._content.faults())

    def _note_move(self, namespace: str, _before: LiveNamespace | None, _found: LiveNamespace) -> None:
        self._moved[namespace] = None
        self._wakes.set()

    async def _follow(self) -> None:
        """Look at each namespace that was read again, such as after a push."""
        while True:
            await self._wakes.wait()
            await asyncio.sleep(_MOVED_SECONDS)
            self._wakes.clear()
            left, self._moved = list(self._moved), {}
            while left and self._data.fault is None:
                self._note((await run_in_thread(self._look, left)).found)
