"""The reporter of one worker: tells the hosts of upstreams what became of their commits, and follows pull requests.

It sends commit statuses, again after a failure, and never the same one twice. No sync waits for it, or fails by it. Each
namespace has a task of its own, with a few requests at a time: a host that hangs holds up no other.
"""

import asyncio
import random
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from api import logs
from api.data.served_data import ServedData
from api.db.namespaces import commit_statuses, pull_requests, upstreams
from api.db.namespaces.commit_statuses import StoredStatus
from api.db.namespaces.pull_requests import StoredPull
from api.db.namespaces.upstreams import StoredUpstream
from api.db.repeated_read import RepeatedRead
from api.errors import Unavailable
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.jobs.background_task import TaskService
from api.upstreams.hosts.git_host import find_host, token_of
from api.upstreams.hosts.host_api import CommitStatus, PullState, StatusState
from api.upstreams.node_lock import WAIT_SECONDS, take_node_lock
from api.upstreams.pull_publishes import CLOSED, MERGED, OPEN, PullPublishes, open_api
from api.upstreams.status_texts import describe_proposal, describe_tip
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound, StoreError
from gitstore.git.refs import file_signature, read_ref, signature
from gitstore.layout import RELEASE_REF
from gitstore.upstream.followed_branches import BRANCHES_FILE
from gitstore.upstream.upstream_settings import SETTINGS_FILE
from gitstore.upstream.upstream_state import STATE_FILE, UpstreamState
from gitstore.wire.client.remote_errors import RemoteBusy, RemoteError

_ROUND_SECONDS = 1.0
_CLAIM_SECONDS = 120  # after which a status that a killed worker claimed is sent again
_MOST_AT_ONCE = 20  # namespaces; the others take their turns in order
_MOST_OF_ONE = 10  # requests of a namespace in its turn
_RETRIES = (5, 30, 120, 600, 1800, 3600, 7200, 14400, 28800)  # seconds; then it is given up
_AGAIN_SECONDS = 60.0  # after a failure to find the verdicts on proposals
_PULL_SECONDS = 60.0  # between two looks at an open pull request
_SOON_SECONDS = 1.0  # after release, the upstream or a request to sync has moved
_LOCK_FILE = ".hosts.lock"

_log = logs.logger("hosts")


class _Seen(NamedTuple):
    """The last look at a namespace: nothing is done until it differs."""

    repository: tuple[str, ...] = ()
    origin: str = ""
    tip: str = ""
    release: str = ""
    fault: str = ""


class _Round(NamedTuple):
    """The rows of the database that a round needs.

    The upstreams whose host has an API that this service may use; the pull requests of this node's drafts, since another
    node ends its own; and the namespaces with a status that is due.
    """

    hosted: dict[str, StoredUpstream]
    pulls: dict[str, list[StoredPull]]
    due: frozenset[str]


class HostReporter(TaskService):
    """A background service. While `data` is lost, or the service is a paused copy, it waits."""

    def __init__(self, pulls: PullPublishes, data: ServedData, is_paused: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self._pulls = pulls
        self._store = pulls.store
        self._database = pulls.state.database
        self._upstreams = RepeatedRead(self._database, upstreams.list_upstreams)
        self._clock = pulls.clock
        self._links = pulls.links
        self._data = data
        self._is_paused = is_paused
        self._seen = dict[str, _Seen]()
        self._followed = dict[str, tuple[object, ...]]()  # the branches and release of the last look, by namespace
        self._signed = dict[str, tuple[object, ...]]()  # the files of namespaces whose statuses are all noted
        self._unreported = dict[str, tuple[tuple[object, ...], float]]()  # what failed, and until when it is left alone
        self._looked = dict[tuple[str, str, str], float]()  # the time of the next look at a pull request
        self._moved = dict[str, tuple[object, ...]]()
        self._resting = dict[str, tuple[tuple[str, ...], float]]()  # the repositories of namespaces, and until when
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)
        self._tasks = dict[str, asyncio.Task[None]]()

    async def stop(self) -> None:
        """Stop the task, and those of namespaces: a status that is being sent is sent again by the next reporter."""
        await super().stop()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            lock, is_elected = self._store.directory.repositories / _LOCK_FILE, False
            while True:
                if not is_elected:
                    is_elected = await take_node_lock(self._data, lock, stack)
                await asyncio.sleep(_ROUND_SECONDS if is_elected else WAIT_SECONDS)
                if is_elected and self._data.fault is None:
                    await self._round()

    async def _round(self) -> None:
        """Begin the turn of each namespace whose last one has ended."""
        try:
            hosted, pulls, due = await run_in_thread(self._read_round)
        except (StoreError, OSError) as ex:
            _log.warning("hosts_not_reached", error=str(ex))
            return
        self._forget_others(hosted)
        for namespace, upstream in hosted.items():
            if namespace not in self._tasks:
                task = asyncio.create_task(self._report(upstream, pulls.get(namespace, ()), is_due=namespace in due))
                self._tasks[namespace] = task
                task.add_done_callback(partial(self._forget_task, namespace))

    def _forget_task(self, namespace: str, _task: object) -> None:
        self._tasks.pop(namespace, None)

    def _forget_others(self, hosted: Collection[str]) -> None:
        """Forget what was seen of namespaces that have no host any more."""
        known: tuple[dict[str, Any], ...] = (
            self._seen,
            self._followed,
            self._signed,
            self._unreported,
            self._moved,
            self._resting,
        )
        for seen in known:
            for namespace in [each for each in seen if each not in hosted]:
                del seen[namespace]
        for key in [each for each in self._looked if each[0] not in hosted]:
            del self._looked[key]

    async def _report(self, upstream: StoredUpstream, pulls: Sequence[StoredPull], *, is_due: bool) -> None:
        """Do what is due for a namespace; a failure is logged, and its next turn tries again.

        While its host wants no request, none is sent, whatever changes or arrives meanwhile.
        """
        try:
            async with self._turns:
                await self._note_statuses(upstream)
                if self._is_resting(upstream):
                    return
                if is_due:
                    await self._send_due(upstream)
                if pulls:
                    await self._follow_pulls(upstream, pulls)
        except (StoreError, OSError) as ex:
            _log.warning("host_not_reached", namespace=upstream.namespace, error=str(ex))
        except Exception:  # noqa: BLE001 - otherwise it is not in the log
            _log.exception("host_not_reached", namespace=upstream.namespace)

    async def _note_statuses(self, upstream: StoredUpstream) -> None:
        """Note the statuses that a namespace should have on its host, if its files have changed since all were noted."""
        namespace = upstream.namespace
        signed = await run_in_thread(self._sign, upstream)
        if self._signed.get(namespace) == signed:
            return
        is_complete = await run_in_thread(self._note_tip, upstream)
        if await self._note_proposals(upstream) and is_complete:
            self._signed[namespace] = signed

    def _sign(self, upstream: StoredUpstream) -> tuple[object, ...]:
        """Return what all statuses of a namespace depend on, for four `stat` calls."""
        repository = self._store.directory.namespace(upstream.namespace).repository
        files = [file_signature(f"{repository}/{name}") for name in (SETTINGS_FILE, STATE_FILE, BRANCHES_FILE)]
        return upstream.repository, *files, signature(repository, RELEASE_REF)

    def _is_resting(self, upstream: StoredUpstream) -> bool:
        repository, until = self._resting.get(upstream.namespace, ((), 0.0))
        return repository == upstream.repository and until > time.monotonic()

    def _rest(self, upstream: StoredUpstream, ex: RemoteError) -> None:
        """Send nothing to a host that asks for it, for so many seconds."""
        if isinstance(ex, RemoteBusy) and ex.seconds:
            self._resting[upstream.namespace] = upstream.repository, time.monotonic() + ex.seconds

    def _read_round(self) -> _Round:
        """Return what a round needs of the database, for all namespaces at once."""
        if self._is_paused():
            return _Round({}, {}, frozenset())
        found = self._upstreams.get()
        hosted = {each.namespace: each for each in found if not each.suspended and _is_hosted(each)}
        if not hosted:
            return _Round({}, {}, frozenset())
        with self._database.reading() as connection:
            pulls = pull_requests.list_unfinished(connection, (OPEN, MERGED), self._pulls.node())
            return _Round(hosted, pulls, commit_statuses.list_due(connection, self._clock()))

    def _note_tip(self, upstream: StoredUpstream) -> bool:
        """Note the status of the upstream's tip, if it has changed; false where the next round has to look again."""
        namespace = upstream.namespace
        if upstream.mode != "source":
            return True
        try:
            if not self._is_applied(upstream):
                return True  # once it is, its file is another one
            state = self._store.upstreams.state(namespace)
            seen = _Seen(upstream.repository, state.origin, state.tip, state.release, _fault_text(state))
            if self._seen.get(namespace) == seen or not state.synced_at:
                return True
            status = describe_tip(namespace, state, self._store.live.refresh(namespace), self._links)
        except (StoreError, OSError):  # archived meanwhile, or being compiled
            return False
        if status is None and state.tip and not state.fault:
            return False  # it is not served yet
        if status:
            self._note(upstream, [status])
        self._seen[namespace] = seen
        return True

    async def _note_proposals(self, upstream: StoredUpstream) -> bool:
        """Note the statuses of the upstream's branches that are proposals here, if any or release has changed.

        False where a later round has to look again; after a failure, one that comes some time later, or once anything moves.
        """
        namespace = upstream.namespace
        seen = await run_in_thread(self._find_followed, upstream)
        if seen is None or self._followed.get(namespace) == seen:
            return True
        failed, until = self._unreported.get(namespace, ((), 0.0))
        if failed == seen and time.monotonic() < until:
            return False
        try:
            found = await run_in_process(self._store.upstreams.verdicts, namespace)
        except (StoreError, Unavailable, OSError) as ex:
            self._unreported[namespace] = seen, time.monotonic() + _AGAIN_SECONDS
            _log.warning("proposals_not_reported", namespace=namespace, error=str(ex))
            return False
        statuses = [describe_proposal(namespace, each, self._links) for each in found if not each.is_pending]
        await run_in_thread(self._note, upstream, statuses)
        self._followed[namespace] = seen
        return True

    def _is_applied(self, upstream: StoredUpstream) -> bool:
        """Tell whether this node's files are of the upstream: those of an earlier one name other commits."""
        settings = self._store.upstreams.settings(upstream.namespace)
        return settings is not None and (settings.url, settings.branch) == (upstream.url, upstream.branch)

    def _find_followed(self, upstream: StoredUpstream) -> tuple[object, ...] | None:
        """Return what decides the verdicts; None where nothing is followed."""
        namespace = upstream.namespace
        try:
            if not self._is_applied(upstream):
                return None
            found = self._store.upstreams.followed(namespace)
            release = read_ref(self._store.directory.namespace(namespace).repository, RELEASE_REF)
        except (StoreError, OSError):  # archived meanwhile
            return None
        return (upstream.repository, found, release) if found.branches else None

    def _note(self, upstream: StoredUpstream, statuses: Sequence[StoredStatus]) -> None:
        """Note the statuses that are not noted yet; no lock of the database is taken where all are."""
        with self._database.reading() as connection:
            new = [each for each in statuses if not commit_statuses.is_noted(connection, each)]
        if new:
            with self._database.writing() as connection:
                for each in new if upstreams.is_current(connection, upstream) else ():
                    commit_statuses.note_status(connection, each, self._clock())

    async def _send_due(self, upstream: StoredUpstream) -> None:
        claimed = await run_in_thread(self._claim, upstream.namespace)
        await asyncio.gather(*(self._send(upstream, each) for each in claimed))

    def _claim(self, namespace: str) -> list[StoredStatus]:
        now = self._clock()
        with self._database.writing() as connection:
            until = now + timedelta(seconds=_CLAIM_SECONDS)
            return commit_statuses.claim_statuses(connection, [namespace], now, until, _MOST_OF_ONE)

    async def _send(self, upstream: StoredUpstream, status: StoredStatus) -> None:
        error = ""
        try:
            api = open_api(upstream, self._pulls.network)
            state = StatusState(status.state)
            await api.post_status(CommitStatus(status.commit, status.context, state, status.text, status.target))
        except RemoteError as ex:
            error = str(ex)
            self._rest(upstream, ex)
            _log.warning("commit_status_not_sent", namespace=status.namespace, commit=status.commit, error=error)
        else:
            _log.info("commit_status_sent", namespace=status.namespace, commit=status.commit, state=status.state)
        await run_in_thread(self._record, upstream, status, error)

    def _record(self, upstream: StoredUpstream, status: StoredStatus, error: str) -> None:
        due = None
        if error and status.attempts < len(_RETRIES):
            seconds = _RETRIES[status.attempts] * random.uniform(1, 1.2)  # noqa: S311 - spreads load, not for security
            due = self._clock() + timedelta(seconds=seconds)
        with self._database.writing() as connection:
            if upstreams.is_current(connection, upstream):  # another repository has not got it
                commit_statuses.record_attempt(connection, status, error, due)

    async def _follow_pulls(self, upstream: StoredUpstream, found: Sequence[StoredPull]) -> None:
        """Look at the pull requests of a namespace that are due."""
        namespace = upstream.namespace
        state = await run_in_thread(self._store.upstreams.state, namespace)
        moved = (state.release, state.tip, upstream.requests)
        is_moved = self._moved.get(namespace) != moved
        self._moved[namespace] = moved
        due = list[StoredPull]()
        for pull in found:
            key = (namespace, pull.project, pull.draft)
            if is_moved:
                soon = time.monotonic() + _SOON_SECONDS
                self._looked[key] = min(self._looked.get(key, 0.0), soon)
            if pull.state == MERGED:
                await self._end_merged(pull, state)
            elif pull.state == OPEN and pull.number and self._looked.get(key, 0.0) <= time.monotonic():
                due.append(pull)
        due.sort(key=lambda pull: self._looked.get((namespace, pull.project, pull.draft), 0.0))
        for pull in due[:_MOST_OF_ONE]:
            pause = _PULL_SECONDS * random.uniform(0.8, 1.2)  # noqa: S311 - as above
            self._looked[namespace, pull.project, pull.draft] = time.monotonic() + pause
        await asyncio.gather(*(self._look(upstream, pull) for pull in due[:_MOST_OF_ONE]))

    async def _look(self, upstream: StoredUpstream, pull: StoredPull) -> None:
        try:
            found = await open_api(upstream, self._pulls.network).read_pull_request(pull.number)
        except RemoteError as ex:
            self._rest(upstream, ex)
            _log.warning("pull_request_not_read", namespace=pull.namespace, url=pull.url, error=str(ex))
            return
        if found.state is PullState.OPEN:
            return
        is_merged = found.state is PullState.MERGED
        _log.info("pull_request_ended", namespace=pull.namespace, url=pull.url, state=found.state.value)
        await run_in_thread(self._note_end, upstream, pull, MERGED if is_merged else CLOSED)

    def _note_end(self, upstream: StoredUpstream, pull: StoredPull, state: str) -> None:
        """Note the end of a pull request; after a merge, have the upstream synced."""
        with self._database.writing() as connection:
            if not upstreams.is_current(connection, upstream):
                return
            if pull_requests.set_state(connection, pull, state) and state == MERGED:
                upstreams.request_sync(connection, pull.namespace)

    async def _end_merged(self, pull: StoredPull, state: UpstreamState) -> None:
        """End the draft of a merged pull request, once a sync has brought the merge in."""
        requests = await run_in_thread(self._count_requests, pull.namespace)
        if state.fault or state.requests != requests or state.tip != state.release:
            return
        name = DraftName(pull.project, pull.draft)
        try:
            is_ended = await run_in_process(self._store.publishes.follow_merged_pull, pull.namespace, name)
        except NotFound:  # the merge removed the project
            is_ended = True
        await run_in_thread(self._forget, pull)
        _log.info("pull_request_followed", namespace=pull.namespace, url=pull.url, draft_ended=is_ended)

    def _count_requests(self, namespace: str) -> int:
        with self._database.reading() as connection:
            found = upstreams.find_upstream(connection, namespace)
        return found.requests if found else 0

    def _forget(self, pull: StoredPull) -> None:
        with self._database.writing() as connection:
            pull_requests.remove_pull(connection, pull)


def _is_hosted(upstream: StoredUpstream) -> bool:
    try:
        return bool(token_of(upstream)) and find_host(upstream) is not None
    except ValueError:
        return False


def _fault_text(state: UpstreamState) -> str:
    return f"{state.fault.code} {state.fault.message} {state.fault.problems}" if state.fault else ""
