"""Edits of drafts and pushes of proposals, sent to the event streams of one worker and recorded nowhere.

While streams are open, the worker looks about once a second at the branches of the namespaces that their callers may see. Such a
message has no id, and is not sent again: a client that was away reads what it shows once more.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from api import logs
from api.db.timestamps import Clock, dump_time, utc_now
from api.events.event_visibility import can_see_event
from api.interfaces import Principal
from api.runtime.jobs.background import run_in_thread
from content.records.names import is_name
from gitstore.errors import StoreError
from gitstore.git.branch_moves import BranchMoves
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, CommitId, proposal_id

_LOOK_INTERVAL = 1.0  # seconds
_MOST_SECONDS = 10.0  # between two looks
_SHARE = 0.007  # of a core that looks may take: those at many folders are less frequent
_MOST_SENT = 20  # edits of one look to one stream; more are one for each namespace
_MOST_PENDING = 1000  # for one stream, whose client reads slowly
_DRAFT_PARTS = 2
_EVERY = "*"
_SUFFIX = ".git"

_log = logs.logger("streams")


class EditType(StrEnum):
    """The types of edits. The values are part of the API and never change."""

    DRAFT_CHANGED = "draft.changed"
    PROPOSAL_CHANGED = "proposal.changed"
    DRAFTS_CHANGED = "drafts.changed"


@dataclass(frozen=True, slots=True)
class Edit:
    """A branch that has moved; `project` is `*` for a proposal, which may change several, and for many branches."""

    type: EditType
    namespace: str
    project: str
    body: Mapping[str, object]

    def wire(self, clock: Clock = utc_now) -> dict[str, object]:
        """Return the message for event streams."""
        data = {"namespace": self.namespace, "project": self.project, **self.body}
        return {"type": self.type.value, "timestamp": dump_time(clock()), "data": data}

    def is_visible(self, principal: Principal) -> bool:
        """Return whether a caller may know of it: as for an event of its project; for many, they were visible each."""
        if self.type is EditType.DRAFTS_CHANGED:
            return principal.can_see(self.namespace)
        return can_see_event(principal, self.namespace, self.project, self.type)


class Feed:
    """The edits that were not sent to one stream yet."""

    def __init__(self, namespace: str | None, principal: Principal, wake: Callable[[], None]) -> None:
        self.principal = principal
        self._namespace = namespace
        self._wake = wake
        self._pending = dict[tuple[str, str], Edit]()
        self._is_much = False
        self._seen: tuple[Principal, frozenset[str], frozenset[str]] | None = None

    def seen_among(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of the namespaces that the stream is about and its caller may see."""
        seen = self._seen
        if seen is None or seen[1] is not names or seen[0] != self.principal:
            wanted = names if self._namespace is None else names & {self._namespace}
            mine = frozenset(name for name in wanted if self.principal.can_see(name))
            self._seen = seen = self.principal, names, mine
        return seen[2]

    def put(self, namespace: str, edits: Mapping[str, Edit]) -> None:
        """Note edits by their branches; a later one of a branch replaces an earlier one."""
        self._pending.update({(namespace, branch): edit for branch, edit in edits.items()})
        if len(self._pending) > _MOST_PENDING:  # one of each project is enough to know who may see it
            self._is_much = True
            self._pending = {(edit.namespace, edit.project): edit for edit in self._pending.values()}
        self._wake()

    def take(self) -> list[Edit]:
        """Return what the caller may know of; too much of it as one for each namespace."""
        visible = [edit for edit in self._pending.values() if edit.is_visible(self.principal)]
        is_much, self._is_much = self._is_much or len(visible) > _MOST_SENT, False
        self._pending.clear()
        if not is_much:
            return visible
        return [
            Edit(EditType.DRAFTS_CHANGED, name, _EVERY, {}) for name in sorted({edit.namespace for edit in visible})
        ]


class BranchFeeds:
    """The feeds of one worker, and its looks at the branches while there are any."""

    def __init__(self, repositories: Path) -> None:
        """Create the feeds of a folder of repositories."""
        self._repositories = repositories
        self._feeds = set[Feed]()
        self._names = frozenset[str]()
        self._moves = dict[str, BranchMoves]()
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def open(self, namespace: str | None, principal: Principal, wake: Callable[[], None]) -> Feed:
        """Begin to note the edits in a namespace (None: in all) for a caller; `wake` is called after each look with any."""
        feed = Feed(namespace, principal, wake)
        self._feeds.add(feed)
        try:
            async with self._turn:
                await run_in_thread(self._look_first)
        except BaseException:
            self._feeds.discard(feed)
            raise
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return feed

    def close(self, feed: Feed) -> None:
        """Note nothing more; with the last feed, the looks end."""
        self._feeds.discard(feed)

    async def stop(self) -> None:
        """End the looks."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        cost = 0.0
        while self._feeds:
            await asyncio.sleep(min(max(_LOOK_INTERVAL, cost / _SHARE), _MOST_SECONDS))
            async with self._turn:
                found, cost = await run_in_thread(self._look)
            for feed in self._feeds if found else ():
                for namespace in found.keys() & feed.seen_among(self._names):
                    feed.put(namespace, found[namespace])
        self._moves.clear()
        self._task = None

    def _wanted(self) -> frozenset[str]:
        names = _list_names(self._repositories)
        if names != self._names:  # the same set while nothing changes: it is compared by its identity
            self._names = names
        return frozenset().union(*(feed.seen_among(self._names) for feed in tuple(self._feeds)))

    def _look_first(self) -> None:
        """Note where the branches of new namespaces are."""
        for name in self._wanted() - self._moves.keys():
            self._look_at(name)

    def _look(self) -> tuple[dict[str, dict[str, Edit]], float]:
        """Return the edits since the last look by their namespaces, and the processor time of this one in seconds."""
        begun = time.thread_time()
        wanted = self._wanted()
        for name in self._moves.keys() - wanted:
            del self._moves[name]
        found = {name: self._look_at(name) for name in wanted}
        return {name: edits for name, edits in found.items() if edits}, time.thread_time() - begun

    def _look_at(self, name: str) -> dict[str, Edit]:
        moves = self._moves.setdefault(name, BranchMoves(self._repositories / f"{name}{_SUFFIX}"))
        try:
            return dict(_edits(name, moves.look().items()))
        except (StoreError, OSError) as ex:
            _log.warning("branches_not_read", namespace=name, error=str(ex))
            return {}


def _list_names(repositories: Path) -> frozenset[str]:
    with suppress(OSError), os.scandir(repositories) as entries:
        names = (entry.name.removesuffix(_SUFFIX) for entry in entries if entry.name.endswith(_SUFFIX))
        return frozenset(name for name in names if is_name(name))
    return frozenset()


def _edits(namespace: str, moves: Iterable[tuple[str, CommitId | None]]) -> Iterable[tuple[str, Edit]]:
    """Yield the edit of each branch that has moved, with the branch."""
    for ref, head in moves:
        if not ref.startswith(DRAFT_PREFIX):
            body = {"proposal": proposal_id(ref), "branch": ref.removeprefix(BRANCH_PREFIX), "head": head}
            yield ref, Edit(EditType.PROPOSAL_CHANGED, namespace, _EVERY, body)
            continue
        parts = ref.removeprefix(DRAFT_PREFIX).split("/")
        if len(parts) == _DRAFT_PARTS and all(map(is_name, parts)):
            yield ref, Edit(EditType.DRAFT_CHANGED, namespace, parts[0], {"draft": parts[1], "head": head})
