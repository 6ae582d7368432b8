"""The changes of drafts as they were compared last: after an edit, only what moved is compared again."""

from collections.abc import Mapping
from typing import NamedTuple

from content.cache import LruCache
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.segments.snapshot_cache import BYTES_PER_RULE, CACHED_RULES, weigh
from gitstore.drafts.counts_cache import CountsCache
from gitstore.drafts.draft_changes import DraftChanges, draft_changes
from gitstore.drafts.drafts import DraftName, DraftState
from gitstore.drafts.listing import DraftView, count_changes
from gitstore.layout import TreeId

_CACHED_COUNTS = 500  # of drafts


class _Compared(NamedTuple):
    """The changes of one kind between two trees."""

    trees: tuple[TreeId | None, TreeId]
    changes: DraftChanges


def _weigh(compared: _Compared) -> int:
    """Return the memory that changes hold, as a number of rules: their states, and a byte for each record."""
    changes = compared.changes
    held = sum(weigh(side) for side in (changes.base, changes.working) if side)
    return 1 + held + sum(map(len, changes.codes.values())) // BYTES_PER_RULE


class Comparisons:
    """The last changes of drafts; states are those of the base and of the draft."""

    def __init__(self) -> None:
        self._changes: LruCache[tuple[str, DraftName, Kind], _Compared] = LruCache(CACHED_RULES, _weigh)
        self._counts: LruCache[tuple[str, DraftState], Mapping[Kind, Counts]] = LruCache(_CACHED_COUNTS)

    def view(
        self, namespace: str, state: DraftState, states: tuple[Snapshot | None, Snapshot], kind: Kind
    ) -> DraftView:
        """Return the records of a kind in a draft, with its changes."""
        before, working = states
        key, trees = (namespace, state.name, kind), (state.base_tree, working.tree)
        last = self._changes.find(key)
        if last is None or last.trees != trees:
            changes = draft_changes(kind, before, working, last.changes if last else None)
            last = self._changes.put(key, _Compared(trees, changes))
        return DraftView(kind, before, working, last.changes, state.head)

    def counts(
        self, namespace: str, state: DraftState, states: tuple[Snapshot | None, Snapshot], cache: CountsCache
    ) -> Mapping[Kind, Counts]:
        """Count the changes of a draft; cached until it or release moves, and in `cache` for other processes."""

        def count() -> Mapping[Kind, Counts]:
            found = {kind: count_changes(self.view(namespace, state, states, kind)) for kind in Kind}
            return cache.store(state.name, state.trees, found)

        return self._counts.get((namespace, state), count)
