"""The outcomes of the reviews of publishes, from the remarks on the commits that they merged. All calls block: run them in threads."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from api import logs
from api.db.database import Database
from api.db.errors import StateBroken, StateBusy
from api.db.namespaces.reviews import Remark, find_remarks, has_verdicts
from api.reviews.review import ReviewStatus, outcome_of, outdated_verdicts
from gitstore.layout import CommitId
from gitstore.store.store import Store

_UNDECIDED = frozenset({ReviewStatus.NONE, ReviewStatus.REQUESTED})

_log = logs.logger("reviews")


class Outcome(NamedTuple):
    """The state of the review of a publish, and the latest verdicts before the last change of what it merged."""

    status: ReviewStatus
    outdated: Sequence[Remark] = ()


def find_outcomes(
    database: Database, store: Store, namespace: str, project: str, merged: Mapping[CommitId, str]
) -> dict[CommitId, Outcome]:
    """Return how the review of each publish ended, by version; none while the database is unavailable.

    `merged` has the head that each publish merged.
    """
    try:
        statuses = dict(_find_statuses(database, namespace, project, merged))
        undecided = [version for version, status in statuses.items() if status in _UNDECIDED]
        outdated = _find_outdated(database, store, namespace, project, undecided)
    except (StateBusy, StateBroken) as ex:
        _log.warning("reviews_not_read", exc_info=ex)
        return {}
    return {version: Outcome(status, outdated.get(version, ())) for version, status in statuses.items()}


def _find_statuses(
    database: Database, namespace: str, project: str, merged: Mapping[CommitId, str]
) -> Iterator[tuple[CommitId, ReviewStatus]]:
    remarks = _read(database, namespace, project, set(merged.values()))
    for version, head in merged.items():
        yield version, outcome_of([each for each in remarks if each.head == head])


def _find_outdated(
    database: Database, store: Store, namespace: str, project: str, versions: Collection[CommitId]
) -> dict[CommitId, list[Remark]]:
    """Return the verdicts on earlier commits of these publishes; of a project without verdicts no commits are read."""
    with database.reading() as connection:
        if not versions or not has_verdicts(connection, namespace, project):
            return {}
    branches = store.publishes.list_merged_commits(namespace, versions)
    remarks = _read(database, namespace, project, frozenset().union(*(each.commits for each in branches.values())))
    return {
        version: outdated_verdicts([each for each in remarks if each.head in branch.commits], branch.head)
        for version, branch in branches.items()
    }


def _read(database: Database, namespace: str, project: str, commits: Collection[str]) -> list[Remark]:
    if not commits:
        return []
    with database.reading() as connection:
        return find_remarks(connection, namespace, project, commits)
