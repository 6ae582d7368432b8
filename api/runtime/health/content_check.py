"""The check that all content is served as it is on disk: in rounds over the namespaces, and at once where release moves.

It runs in the background and rests most of the time, so that readiness costs the same for any number of namespaces.
"""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress

from api import logs
from api.data.served_data import ServedData
from api.readiness import Fault, FaultReport, ReadyCheck, Status
from api.runtime.health.content_faults import NodeContent, find_faults_of
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import BackgroundTask
from api.runtime.jobs.pace import Pace
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import StoreError
from gitstore.history.live import LiveNamespace
from gitstore.store.releases import NamespaceFaults
from gitstore.store.store import Store

ROUND_SECONDS = 2.0
"""The shortest time between the starts of two rounds."""
_LONGEST_ROUND = 40.0  # seconds with its rests, so that findings stay young
_MOST_REST = 200  # times the duration of a step, so that an idle node uses little of a core …
_LEAST_REST = 10  # … and a large one no more than a tenth, even if its rounds take longer
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


class _DataLost(Exception):
    """The data directory is lost."""


class ContentCheck:
    """A background service that looks at the content of all namespaces, and reports what is not served."""

    def __init__(self, store: Store, releases: ReleaseLoader, data: ServedData) -> None:
        self._store = store
        self._data = data
        self._content = NodeContent()
        self._report = FaultReport()
        self._first = threading.Event()
        self._moved: dict[str, None] = {}
        self._since = set[str]()  # namespaces that were read again since the round began, such as new ones
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
        # The first round does not rest: until its end, the node is not called ready.
        pace = Pace(shortest=ROUND_SECONDS, longest=_LONGEST_ROUND, most=_MOST_REST, least=_LEAST_REST, first=0)
        while True:
            is_complete = False
            try:
                is_complete = await self._look_at_all(pace)
            except (StoreError, OSError) as ex:  # such as a folder that cannot be listed; its age shows that it lasts
                _log.warning("content_not_checked", error=str(ex))
            await pace.end_round(is_complete=is_complete)

    async def _look_at_all(self, pace: Pace) -> bool:
        """Look at all namespaces; False if the data is lost meanwhile."""
        known, self._since = set[str](), set()
        try:
            async for step in pace.steps(self._list, self._look):
                self._note(step)
                known.update(name for name, _ in step)
        except _DataLost:  # also for a moment: what was found before stays
            self._report.wait_again()
            return False
        self._content.keep(known | self._since)
        self._note(())
        self._report.end_round(pace.begun)
        self._first.set()
        return True

    def _list(self) -> Sequence[str]:
        self._require_data()
        found = self._store.directory.namespaces()
        self._require_data()  # again: an empty folder in the place of the repositories is not a list without namespaces
        return found

    def _look(self, namespace: str) -> _Finding:
        """Look at a namespace; not while the data is lost, when looking would write compiled files in its place."""
        self._require_data()
        return namespace, find_faults_of(self._store, namespace)

    def _require_data(self) -> None:
        if self._data.check() is not None:
            raise _DataLost

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
                with suppress(_DataLost):
                    found = await run_in_thread(self._look, left.pop())
                    self._since.add(found[0])
                    self._note([found])
