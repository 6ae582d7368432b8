"""The syncer of one worker: syncs the namespaces that are due with their upstreams, in processes of its own.

One worker of a node does it, and another takes over when that one ends.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from api import logs
from api.auth.tokens.leaked_tokens import LeakedTokens
from api.data.served_data import ServedData
from api.db.database import Database
from api.db.namespaces.upstreams import StoredUpstream, list_upstreams
from api.db.repeated_read import RepeatedRead
from api.readiness import Fault, ReadyCheck
from api.runtime.jobs.background import ProcessLost, run_in_thread
from api.runtime.jobs.background_task import TaskService
from api.runtime.jobs.job_process import JobLimits, JobProcess, JobTimeout
from api.upstreams.errand_desk import ErrandDesk
from api.upstreams.node_lock import WAIT_SECONDS, take_node_lock
from api.upstreams.upstream_faults import UpstreamFaults
from api.upstreams.upstream_levels import UpstreamLevels
from api.upstreams.upstream_looks import UpstreamLooks
from api.upstreams.upstreams import to_settings
from gitstore.errors import Busy, NotFound, StoreError
from gitstore.store.store import Store
from gitstore.upstream.upstream_rules import UpstreamRules
from gitstore.upstream.upstream_settings import SETTINGS_FILE, DraftsPlace, UpstreamMode
from gitstore.upstream.upstream_state import UpstreamFault, UpstreamState
from gitstore.wire.client.remote_errors import RemoteError

_ROUND_SECONDS = 0.5
_IDLE_SECONDS = 60.0  # after which a process ends
_MOST_AT_ONCE = 3
_REQUESTS_OF_A_SYNC = 4  # each with its own time limit
_CHECK_SECONDS = 600.0  # for what arrives, beside the network
_REST_SECONDS = 30.0  # after a failure of this node
_APPLY_SECONDS = 0.2  # for the lock of a repository; after that, the next round tries again
_DONE = "done"
_KINDS = {UpstreamMode.SOURCE.value: "fetch", UpstreamMode.MIRROR.value: "push"}
_LOCK_FILE = ".upstreams.lock"

_log = logs.logger("upstreams")


class UpstreamSyncer(TaskService):
    """A background service that syncs. While `data` is lost, it waits; while `is_paused`, all upstreams count as suspended."""

    def __init__(
        self,
        store: Store,
        database: Database,
        rules: UpstreamRules,
        data: ServedData,
        tokens: LeakedTokens,
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__()
        self._is_paused = is_paused
        self._tokens = tokens
        self._store = store
        self._upstreams = RepeatedRead(database, list_upstreams)
        self._rules = rules
        self._data = data
        self._syncs: dict[str, asyncio.Task[None]] = {}
        self._idle: list[JobProcess] = []
        self._used_at = 0.0
        self._resting: dict[str, tuple[float, int]] = {}  # until when, and the requests to sync so far
        self._looks = UpstreamLooks(store)
        self._faults = UpstreamFaults(store.directory.repositories)
        self._failing: dict[str, UpstreamFault | None] = {}  # the fault of each, as this worker saw it last
        self.levels = UpstreamLevels()
        self.count: Callable[[str, str, float], None] = lambda _kind, _outcome, _seconds: None
        self._begun: dict[str, float] = {}  # the time of the last sync, by namespace: the longest ago is the next
        self._named: set[str] | None = None  # the namespaces with an upstream in the last round
        self._desk_fault = ""
        self._desk = ErrandDesk(store, data, tokens.find, self._run_errand)

    def ready_check(self) -> ReadyCheck:
        """Create the readiness check of all upstreams of this node."""
        return ReadyCheck("upstreams", self._find_faults)

    async def stop(self) -> None:
        """Stop the task, and kill its processes: each sync is repeated after the next start."""
        await super().stop()
        await self._desk.close()
        for task in self._syncs.values():
            task.cancel()
        await asyncio.gather(*self._syncs.values(), return_exceptions=True)
        await self._end_processes()

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            lock, is_elected = self._store.directory.repositories / _LOCK_FILE, False
            while True:
                if not is_elected:
                    is_elected = await take_node_lock(self._data, lock, stack)
                if is_elected and self._data.check() is None:  # the round writes beside the repositories
                    await self._open_desk()
                    await self._round()
                await asyncio.sleep(_ROUND_SECONDS if is_elected else WAIT_SECONDS)

    async def _open_desk(self) -> None:
        """Open the desk for publishes, if it is not open; a failure is logged when it changes, and tried again."""
        fault = ""
        try:
            await self._desk.open()
        except OSError as ex:  # syncs go on
            fault = str(ex)
        if fault and fault != self._desk_fault:
            _log.warning("errand_desk_not_open", error=fault)
        self._desk_fault = fault

    async def _run_errand(self, kind: str, work: Callable[[], object]) -> None:
        process, begun, outcome = self._take_process(), time.monotonic(), "failed"
        try:
            await process.run(work, JobLimits(_REQUESTS_OF_A_SYNC * self._rules.seconds + _CHECK_SECONDS))
            outcome = _DONE
        except RemoteError as ex:
            outcome = ex.code
            raise
        except asyncio.CancelledError:
            process.kill()
            raise
        finally:
            self._keep(process)
            self.count(kind, outcome, time.monotonic() - begun)

    async def _round(self) -> None:
        try:
            found = await run_in_thread(self._list)
            named = {each.namespace for each in found}
            if named != self._named:
                self._named = named if await run_in_thread(self._remove_others, named) else None
        except (StoreError, OSError) as ex:
            _log.warning("upstreams_not_read", error=str(ex))
            return
        self.levels.keep(named)
        self._looks.keep(named)
        self._failing = {name: self._failing[name] for name in named.intersection(self._failing)}
        self._begun = {each.namespace: self._begun.get(each.namespace, 0.0) for each in found}
        self._resting = {name: self._resting[name] for name in named.intersection(self._resting)}
        idle = [each for each in found if each.namespace not in self._syncs]
        due = list[StoredUpstream]()
        if found:
            due = await run_in_thread(self._find_due, sorted(idle, key=lambda each: self._begun[each.namespace]))
        free = _MOST_AT_ONCE - len(self._syncs)
        for upstream in due[:free]:
            self._begin(upstream)
        self.levels.due, self.levels.running = max(len(due) - free, 0), len(self._syncs)
        if not self._syncs and self._idle and time.monotonic() - self._used_at > _IDLE_SECONDS:
            await self._end_processes()

    def _list(self) -> list[StoredUpstream]:
        found = self._upstreams.get()
        if not found:
            self._faults.note({})
        return found

    def _remove_others(self, named: set[str]) -> bool:
        """Remove the settings of namespaces whose upstream was removed; false where a locked one is left for the next round."""
        is_complete = True
        for namespace in self._store.directory.namespaces():
            if namespace not in named:
                path = self._store.directory.namespace(namespace).repository / SETTINGS_FILE
                try:
                    if path.exists():
                        self._store.upstreams.configure(namespace, None, _APPLY_SECONDS)
                except Busy:
                    is_complete = False
        return is_complete

    def _find_due(self, found: Sequence[StoredUpstream]) -> list[StoredUpstream]:
        is_paused = self._is_paused()
        due = [each for each in found if self._is_due(each, is_paused=is_paused)]
        self._faults.note({namespace: fault for namespace, fault in sorted(self._failing.items()) if fault})
        return due

    def _is_due(self, upstream: StoredUpstream, *, is_paused: bool) -> bool:
        """Have the jobs of this node work by the row, and tell whether a sync is due."""
        namespace = upstream.namespace
        try:
            settings = to_settings(upstream, self._rules, is_paused=is_paused)
            found = self._looks.look(namespace)
            if found.settings != settings:
                self._store.upstreams.configure(namespace, settings, _APPLY_SECONDS)
                found = self._looks.look(namespace)
            state = found.state
            self._note_fault(namespace, state)  # of a sync by a command too
            until, requests = self._resting.get(namespace, (0.0, 0))
            if until > time.monotonic() and requests == upstream.requests:
                return False
            self.levels.note(namespace, _name_state(state, is_suspended=settings.is_suspended), state.good_at)
            if settings.is_suspended or state.is_resting(time.time()):  # a rest comes before all that has moved
                return False
            is_moved = state.release != found.require_release()
            if is_moved or state.is_due(upstream.poll, upstream.requests, time.time()):
                return True
            return settings.drafts == DraftsPlace.PUSH and self._store.upstreams.has_unpushed_drafts(namespace)
        except (NotFound, Busy):  # archived meanwhile; or locked, so the settings are not applied yet
            return False
        except (StoreError, OSError) as ex:
            self._rest(upstream, ex)
            return False

    def _note_fault(self, namespace: str, state: UpstreamState) -> None:
        """Keep the fault for readiness, and log it when it begins or changes, and its end."""
        before, now = self._failing.get(namespace), state.fault
        self._failing[namespace] = now
        if now and (before is None or before.code != now.code):
            problems = list(now.problems)
            _log.warning("upstream_fault", namespace=namespace, fault=now.code, error=now.message, problems=problems)
        elif before and not now:
            _log.info("upstream_recovered", namespace=namespace, tip=state.tip)

    def _begin(self, upstream: StoredUpstream) -> None:
        self._begun[upstream.namespace] = time.monotonic()
        task = asyncio.create_task(self._sync(upstream))
        self._syncs[upstream.namespace] = task
        task.add_done_callback(lambda _: self._syncs.pop(upstream.namespace, None))

    async def _sync(self, upstream: StoredUpstream) -> None:
        before = await run_in_thread(self._store.upstreams.state, upstream.namespace)
        process, begun, outcome = self._take_process(), time.monotonic(), "failed"
        try:
            work = partial(
                self._store.upstreams.sync,
                upstream.namespace,
                requests=upstream.requests,
                find_token=self._tokens.find,
            )
            seconds = _REQUESTS_OF_A_SYNC * self._rules.seconds + _CHECK_SECONDS
            state = await process.run(work, JobLimits(seconds))
        except asyncio.CancelledError:
            process.kill()
            raise
        except NotFound:
            return
        except (StoreError, ProcessLost, JobTimeout, OSError) as ex:
            self._rest(upstream, ex)
        except Exception:  # noqa: BLE001 - what one upstream sends must not end the syncs of the others
            self._rest(upstream)
            _log.exception("upstream_not_synced", namespace=upstream.namespace)
        else:
            outcome = _DONE
            if state:
                outcome = state.fault.code if state.fault else _DONE
                self._note_fault(upstream.namespace, state)
                _report(upstream.namespace, before, state)
        finally:
            self._keep(process)
            self.count(_KINDS[upstream.mode], outcome, time.monotonic() - begun)

    def _rest(self, upstream: StoredUpstream, ex: Exception | None = None) -> None:
        """Leave a namespace alone for a while after a failure of this node, unless a sync is asked for."""
        self._resting[upstream.namespace] = time.monotonic() + _REST_SECONDS, upstream.requests
        if ex:
            _log.warning("upstream_not_synced", namespace=upstream.namespace, error=str(ex))

    def _keep(self, process: JobProcess) -> None:
        self._used_at = time.monotonic()
        if process.is_usable:
            self._idle.append(process)

    def _take_process(self) -> JobProcess:
        while self._idle:
            process = self._idle.pop()
            if process.accepts():
                return process
        return JobProcess()

    async def _end_processes(self) -> None:
        idle, self._idle = self._idle, []
        for process in idle:
            process.kill()
            await run_in_thread(partial(process.close, wait=True))

    def _find_faults(self) -> Sequence[Fault]:
        return [] if self._data.fault is not None else self._faults.find()


def _name_state(state: UpstreamState, *, is_suspended: bool) -> str:
    if is_suspended:
        return "suspended"
    if state.fault:
        return "failing"
    return "synced" if state.good_at else "pending"


def _report(namespace: str, before: UpstreamState, state: UpstreamState) -> None:
    """Log a sync that moved anything."""
    if not state.fault and (before.tip, before.release) != (state.tip, state.release):
        _log.info("upstream_synced", namespace=namespace, tip=state.tip, release=state.release)
