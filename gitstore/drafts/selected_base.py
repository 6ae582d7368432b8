"""The base of a draft of which some changes were published, where release could not be merged into it afterwards.

A publish of some changes has a second parent: the draft's base with these changes. While the draft has not merged the
publish, because of a conflict of its other changes or an interruption, that commit is what its changes are compared
with. So published changes are not the draft's any more, and its author does not conflict with them.
"""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from content.cache import LruCache
from gitstore.git.repository import CommitInfo, Repository
from gitstore.history.messages import PUBLISHED_BY, SELECTED_FROM, load_message
from gitstore.history.reached import Selection, find_selections
from gitstore.layout import CommitId

_CACHED_BASES = 200  # bases of drafts whose publishes of some changes are known
_MAX_COMMITS = 10_000  # of a draft that are searched for the published head
_PARENTS = 2


class _Known(NamedTuple):
    """The selections between a base and a commit of release, newest first."""

    release: CommitId
    selections: Sequence[Selection]


_known: LruCache[tuple[Path, CommitId], _Known] = LruCache(_CACHED_BASES)


def find_selected_base(repository: Repository, head: CommitId, base: CommitId, release: CommitId) -> CommitId | None:
    """Return the draft's base with its published changes, where one of its commits was published in part since `base`."""
    selections = _find_selections(repository, base, release)
    if not selections:
        return None
    # A draft that has merged release begins before its base: there, its first parents lead to a publish of release.
    own = takewhile(lambda info: info.id != base and PUBLISHED_BY not in info.message, repository.first_parents(head))
    commits = {info.id for _, info in zip(range(_MAX_COMMITS), own, strict=False)}
    return next((each.base for each in selections if each.head in commits), None)


def _find_selections(repository: Repository, base: CommitId, release: CommitId) -> Sequence[Selection]:
    """Return the publishes of some changes since `base`; reads only the commits of release that are new."""
    recorded = find_selections(repository, base, release)
    if recorded is not None:
        return recorded
    key = (repository.path, base)
    known = _known.find(key) or _Known(base, ())
    found, reached = list[Selection](), base
    for info in repository.first_parents(release):
        if info.id in {base, known.release}:
            reached = info.id
            break
        found += _selection_of(info)
    selections = [*found, *(known.selections if reached == known.release else ())]
    _known.put(key, _Known(release, selections))
    return selections


def _selection_of(info: CommitInfo) -> list[Selection]:
    if SELECTED_FROM not in info.message or len(info.parents) != _PARENTS:
        return []
    head = load_message(info.message).trailers.get(SELECTED_FROM, "").partition(" ")[0]
    return [Selection(CommitId(head), info.parents[1])]
