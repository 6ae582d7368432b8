"""The sweeper of pushed commits: forgets who pushed a commit once release has it, or the repository has it no more."""

import asyncio
from datetime import timedelta

from api import logs
from api.data.served_data import ServedData
from api.db.database import Database
from api.db.namespaces.pushed_commits import PushedCommits, keep_pushed, list_namespaces, list_pushed
from api.db.timestamps import Clock, utc_now
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError
from gitstore.git.refs import read_ref
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.store.store import Store

_ROUND_SECONDS = 300.0
# A commit whose branch was removed can be pushed again by another person, and is still of the first one.
_KEPT = timedelta(days=30)

_log = logs.logger("pushes")

# What was swept last in a namespace: its release, the newest row, and the day.
_Seen = tuple[CommitId | None, int, int]


class PushedCommitSweeper(TaskService):
    """A background service that looks at each namespace with pushed commits once it has changed, and once a day.

    While `data` is lost, it waits.
    """

    def __init__(
        self,
        store: Store,
        database: Database,
        data: ServedData,
        seconds: float = _ROUND_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__()
        self._store = store
        self._database = database
        self._data = data
        self._seconds = seconds
        self._clock = clock
        self._seen = dict[str, _Seen]()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self._data.fault is None:
                await run_in_thread(self.sweep)

    def sweep(self) -> None:
        """Look at each namespace; a failure is logged, and the next round tries again."""
        try:
            with self._database.reading() as connection:
                newest = list_namespaces(connection)
        except (StoreError, OSError) as ex:
            _log.warning("pushed_commits_not_read", error=str(ex))
            return
        for namespace, number in newest.items():
            try:
                self._sweep(namespace, number)
            except (StoreError, OSError) as ex:
                _log.warning("pushed_commits_not_swept", namespace=namespace, error=str(ex))

    def _sweep(self, namespace: str, newest: int) -> None:
        repository = self._store.directory.namespace(namespace).repository
        seen = (read_ref(repository, RELEASE_REF), newest, self._clock().toordinal())
        if self._seen.get(namespace) == seen:
            return
        with self._database.reading() as connection:
            rows = list_pushed(connection, namespace)
        changed = self._find_changed(namespace, rows)
        if changed:
            with self._database.writing() as connection:
                for number, kept in changed.items():
                    keep_pushed(connection, number, kept)
        self._seen[namespace] = seen

    def _find_changed(self, namespace: str, rows: list[PushedCommits]) -> dict[int, list[CommitId]]:
        """Return the commits to keep of each row that has others."""
        oldest = self._clock() - _KEPT
        commits = {commit for row in rows for commit in row.commits}
        old = {commit for row in rows if row.at < oldest for commit in row.commits}
        settled = self._store.pushes.find_settled(namespace, commits, old)
        kept = {row.id: [commit for commit in row.commits if commit not in settled] for row in rows}
        return {row.id: kept[row.id] for row in rows if len(kept[row.id]) < len(row.commits)}
