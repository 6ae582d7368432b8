"""The sweeper of pushed commits: forgets who pushed a commit once release has it, or the repository has it no more."""

from collections.abc import Hashable, Mapping
from datetime import timedelta

from api.data.served_data import ServedData
from api.db.database import Database
from api.db.namespaces.pushed_commits import PushedCommits, keep_pushed, list_namespaces, list_pushed
from api.db.timestamps import Clock, utc_now
from api.runtime.upkeep.namespace_sweeper import NamespaceSweeper
from gitstore.git.refs import read_ref
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.store.store import Store

_ROUND_SECONDS = 300.0
# A commit whose branch was removed can be pushed again by another person, and is still of the first one.
_KEPT = timedelta(days=30)


class PushedCommitSweeper(NamespaceSweeper):
    """Looks at each namespace with pushed commits once release or the records have changed, and once a day."""

    subject = "pushed_commits"

    def __init__(
        self,
        store: Store,
        database: Database,
        data: ServedData,
        seconds: float = _ROUND_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__(data, seconds)
        self._store = store
        self._database = database
        self._clock = clock

    def _list(self) -> Mapping[str, Hashable]:
        """Return the namespaces with the number of the newest record of each."""
        with self._database.reading() as connection:
            return list_namespaces(connection)

    def _read_state(self, namespace: str) -> Hashable:
        repository = self._store.directory.namespace(namespace).repository
        return read_ref(repository, RELEASE_REF), self._clock().toordinal()

    def _sweep(self, namespace: str) -> None:
        with self._database.reading() as connection:
            rows = list_pushed(connection, namespace)
        changed = self._find_changed(namespace, rows)
        if changed:
            with self._database.writing() as connection:
                for number, kept in changed.items():
                    keep_pushed(connection, number, kept)

    def _find_changed(self, namespace: str, rows: list[PushedCommits]) -> dict[int, list[CommitId]]:
        """Return the commits to keep of each row that has others."""
        oldest = self._clock() - _KEPT
        commits = {commit for row in rows for commit in row.commits}
        old = {commit for row in rows if row.at < oldest for commit in row.commits}
        ended = self._store.pushes.find_ended(namespace, commits, old)
        kept = {row.id: [commit for commit in row.commits if commit not in ended] for row in rows}
        return {row.id: kept[row.id] for row in rows if len(kept[row.id]) < len(row.commits)}
