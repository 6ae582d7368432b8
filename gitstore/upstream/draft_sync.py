"""Drafts on the upstream: where a setting says so, each is pushed there as a branch of its name after an edit.

Nothing is overwritten there that this node has not pushed, unless it is the only writer (`mirror`).
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from gitstore.errors import Broken, Busy, OutOfSpace, StoreError
from gitstore.file_lock import hold_lock_file
from gitstore.git.atomic_io import replace_file
from gitstore.git.refs import list_refs
from gitstore.git.repository import open_repository
from gitstore.history.reached import find_base
from gitstore.layout import DRAFT_PREFIX, CommitId
from gitstore.upstream.synced_namespace import SyncedNamespace, open_upstream
from gitstore.upstream.upstream_settings import DraftsPlace
from gitstore.upstream.upstream_state import UpstreamFault
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import RemoteAway

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote

DRAFTS_FILE = "waypost-upstream-drafts"
MOVED = "upstream_draft_moved"
_LOCK_FILE = "waypost-upstream-drafts.lock"
_MOST_TRIED = 10  # pushes of a draft without an answer
_SECONDS = 60.0  # for the pushes of one sync; the next one goes on


@dataclass(frozen=True, slots=True)
class PushedDraft:
    """A draft on the upstream: the head that was tried last, the commit that this node pushed, and why they differ.

    `tried` is empty for a draft that is to be removed there. `trying` are commits whose push began and may have arrived, though
    its answer was lost.
    """

    ref: str
    tried: str = ""
    pushed: str = ""
    fault: UpstreamFault | None = None
    trying: tuple[str, ...] = ()

    @property
    def ours(self) -> set[str]:
        """The commits that this node has pushed, or may have."""
        return {self.pushed, *self.trying}


def read_pushed(repository: Path) -> tuple[PushedDraft, ...]:
    """Return the drafts that were pushed; none where the file is missing or damaged."""
    try:
        data = orjson.loads((repository / DRAFTS_FILE).read_bytes())
        return tuple(map(_load, data))
    except (OSError, ValueError, TypeError, KeyError):
        return ()


def _load(data: dict[str, Any]) -> PushedDraft:
    fault = UpstreamFault(**data["fault"]) if data["fault"] else None
    return PushedDraft(**{**data, "fault": fault, "trying": tuple(data.get("trying", ()))})


def _write(namespace: SyncedNamespace, drafts: Iterable[PushedDraft], *, sync: bool) -> None:
    """Write the drafts while the upstream's settings are these; with `sync`, they survive a power cut. Raises Superseded."""
    data = orjson.dumps([asdict(each) for each in drafts])
    with namespace.holding():
        replace_file(namespace.repository / DRAFTS_FILE, data, sync=sync)


def remove_pushed(repository: Path) -> None:
    """Remove the file, as of another upstream; what was pushed stays there."""
    (repository / DRAFTS_FILE).unlink(missing_ok=True)


def list_drafts(repository: Path) -> dict[str, CommitId]:
    """Return the heads of all drafts, by ref."""
    return {ref: head for ref, head in list_refs(repository, is_lenient=True).items() if ref.startswith(DRAFT_PREFIX)}


def has_unpushed(repository: Path) -> bool:
    """Tell whether a draft has moved or ended since the last attempt to push or remove it."""
    return {each.ref: each.tried for each in read_pushed(repository) if each.tried} != list_drafts(repository)


def push_drafts(
    namespace: SyncedNamespace, away: UpstreamFault | None = None, tips: Mapping[str, CommitId] | None = None
) -> None:
    """Bring the drafts on the upstream to where they are here; what fails is noted beside each.

    While the upstream is `away`, nothing is tried: the next successful sync does it. `tips` are those of the upstream if they
    were read just now.
    """
    before, here = read_pushed(namespace.repository), dict[str, CommitId]()
    if namespace.settings.drafts == DraftsPlace.PUSH:
        here = list_drafts(namespace.repository)
    if not before and not here:
        return
    with hold_lock_file(namespace.repository / _LOCK_FILE, 0) as is_held:
        if is_held:
            known = {each.ref: each for each in before}
            known |= {ref: PushedDraft(ref) for ref in here if ref not in known}
            work = _Drafts(namespace, here)
            done = work.put_off(known, away) if away else work.run(known, tips)
            if tuple(done) != read_pushed(namespace.repository):
                _write(namespace, done, sync=False)


class _Drafts:
    """One push of the drafts."""

    def __init__(self, namespace: SyncedNamespace, here: Mapping[str, CommitId]) -> None:
        self._namespace = namespace
        self._here = here
        self._deadline = time.monotonic() + _SECONDS
        self._known = dict[str, PushedDraft]()

    def put_off(self, known: Mapping[str, PushedDraft], fault: UpstreamFault) -> list[PushedDraft]:
        """Return the drafts as they are, with a fault."""
        return [replace(each, tried=self._here.get(each.ref, ""), fault=fault) for each in known.values()]

    def run(self, known: Mapping[str, PushedDraft], tips: Mapping[str, CommitId] | None = None) -> list[PushedDraft]:
        """Push and remove, and return the drafts that are there, or should be."""
        try:
            remote = open_upstream(self._namespace.repository, self._namespace.settings)
            tips = remote.read_tips() if tips is None else tips
        except (Broken, Busy, OutOfSpace):
            raise
        except StoreError as ex:
            return self.put_off(known, UpstreamFault(ex.code, str(ex)))
        self._known = dict(known)
        for ref in sorted(known):
            found = self._bring(remote, known[ref], tips.get(ref))
            if found:
                self._known[ref] = found
            else:
                del self._known[ref]
        return list(self._known.values())

    def _bring(self, remote: "Remote", draft: PushedDraft, theirs: CommitId | None) -> PushedDraft | None:
        """Push or remove one draft; None for one that is on neither side."""
        head = self._here.get(draft.ref)
        try:
            if time.monotonic() > self._deadline:
                raise RemoteAway("Not pushed yet: the next sync goes on with it.")
            if head is None:
                if theirs is not None and theirs in draft.ours:
                    self._namespace.require_current()
                    remote.push(self._namespace.repository, PushedRef(draft.ref, theirs, None))
                return None
            if theirs and draft == PushedDraft(draft.ref, head, theirs):
                return draft  # as it was left
            made = remote.place(self._namespace.repository, head, self._find_base(head))
            if theirs != made:
                self._require_ours(draft, theirs, head)
                draft = self._note(draft, theirs, made)
                remote.push(self._namespace.repository, PushedRef(draft.ref, theirs, made))
            return PushedDraft(draft.ref, head, made)
        except (Busy, OutOfSpace):
            raise
        except StoreError as ex:
            code = MOVED if isinstance(ex, _Moved) else ex.code
            return replace(draft, tried=head or "", fault=UpstreamFault(code, str(ex)))

    def _note(self, draft: PushedDraft, theirs: CommitId | None, made: CommitId) -> PushedDraft:
        """Note a push that begins, with those before it: after a kill, or a lost answer, the branch there is still ours."""
        tried = dict.fromkeys([*draft.trying, made])
        noted = replace(draft, pushed=theirs or draft.pushed, trying=tuple(tried)[-_MOST_TRIED:])
        self._known[draft.ref] = noted
        _write(self._namespace, self._known.values(), sync=True)
        return noted

    def _find_base(self, head: CommitId) -> CommitId | None:
        with open_repository(self._namespace.repository) as repository:
            return find_base(repository, repository.release(), head)

    def _require_ours(self, draft: PushedDraft, theirs: CommitId | None, head: CommitId) -> None:
        """Raise _Moved unless the branch there is what this node pushed, or is in the history of the draft."""
        if theirs is None or theirs in draft.ours or not self._namespace.settings.is_source:
            return
        with open_repository(self._namespace.repository) as repository, suppress(Broken):
            if repository.has(theirs) and repository.merge_base(theirs, head) == theirs:
                return
        name = draft.ref.removeprefix("refs/heads/")
        raise _Moved(
            f"Others moved {name} on the upstream to {theirs[:12]}; it is not overwritten. Fetch it from there and push "
            "it to the draft here, then delete the branch there."
        )


class _Moved(StoreError):
    """A draft's branch on the upstream was moved by others."""
