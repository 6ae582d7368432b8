"""One sync of a namespace with its upstream: a fetch and the move of release (`source`), or a push (`mirror`).

It holds a lock file of the namespace, so that one process of this node syncs at a time. What it found is its result, and
is in the state's file.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from gitstore.errors import Broken, Busy, InvalidPush, LostRace, OutOfSpace, StoreError, is_disk_full
from gitstore.file_lock import hold_lock_file
from gitstore.git.quarantine import open_quarantine, sweep_quarantines
from gitstore.git.repository import Repository, open_repository
from gitstore.history.pristine import is_pristine
from gitstore.layout import CommitId
from gitstore.upstream.ahead_behind import count_differences
from gitstore.upstream.arrival import DIVERGED, REWOUND, UPSTREAM_REF, FaultyTip, accept_tip, bring_in
from gitstore.upstream.attempts import clear_attempt, note_attempts
from gitstore.upstream.missing_places import find_missing
from gitstore.upstream.remotes.haves import choose_haves
from gitstore.upstream.synced_namespace import SyncedNamespace, open_upstream
from gitstore.upstream.upstream_settings import UpstreamSettings, remove_other_caches
from gitstore.upstream.upstream_state import (
    UpstreamFault,
    UpstreamState,
    next_due,
    read_state,
    write_state,
)
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import (
    RemoteAway,
    RemoteGarbage,
    RemoteMoved,
    RemoteUnknown,
)
from gitstore.wire.push.pack_reader import PackReader
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote

_LOCK_FILE = "waypost-upstream.lock"
_PRISTINE_BYTES = 1 << 20
_CHECK_SECONDS = 600.0  # until a refused tip is checked again, e.g. by a newer program


class SyncedTips(NamedTuple):
    """The state after a sync, and the tips of the upstream; None where they may be others by now, or are not known."""

    state: UpstreamState
    tips: Mapping[str, CommitId] | None = None


def sync(namespace: SyncedNamespace, *, wait: float = 0.0, requests: int = 0) -> SyncedTips | None:
    """Sync, and return the new state; None where another process syncs for longer than `wait` seconds.

    Faults of the upstream are in the state. Raises StoreError or OSError where this node fails, and Superseded.
    """
    with hold_lock_file(namespace.repository / _LOCK_FILE, wait) as is_held:
        if not is_held:
            return None
        namespace.require_current()
        sweep_quarantines(namespace.repository)
        remove_other_caches(namespace.repository, namespace.settings)
        before = read_state(namespace.repository)
        is_asked = requests != before.requests
        seen = dict[str, CommitId]()
        state = _sync(namespace, before, seen, is_asked=is_asked)
        failures = before.failures + 1 if _has_failed(before, state) else 0
        due = max(next_due(namespace.settings.poll, failures), state.due_at)
        good_at = before.good_at if state.fault else time.time()
        state = replace(state, failures=failures, due_at=due, requests=requests or before.requests, good_at=good_at)
        with namespace.holding():
            write_state(namespace.repository, state)
        if not state.fault:
            clear_attempt(namespace.repository)
        has_moved = (state.tip, state.release) != (before.tip, before.release)
        return SyncedTips(state, None if has_moved else seen or None)


def _has_failed(before: UpstreamState, state: UpstreamState) -> bool:
    """Tell whether the upstream itself is at fault, so that it is asked less often; not for content that it has."""
    return state.fault is not None and (
        state.reached_at == before.reached_at or state.fault.code in {RemoteAway.code, RemoteGarbage.code}
    )


def _sync(
    namespace: SyncedNamespace, before: UpstreamState, seen: dict[str, CommitId], *, is_asked: bool
) -> UpstreamState:
    """Sync, and return the state; the tips of the upstream are added to `seen`."""
    state = replace(before, synced_at=time.time(), fault=None, due_at=0.0, rests_until=0.0, checked_at=0.0, checked="")
    tip: CommitId | None = None
    remote: Remote | None = None
    try:
        with note_attempts(namespace.repository):
            remote = open_upstream(namespace.repository, namespace.settings)
            tips = remote.read_tips()
            seen |= tips
            tip = tips.get(namespace.settings.ref)
            state = replace(state, reached_at=time.time(), tip=tip or "")
            if tip is None:
                _require_place(namespace, remote, tips)
            elif not is_asked and _is_same_fault(namespace, before, tip):
                return replace(
                    before, synced_at=state.synced_at, reached_at=state.reached_at, due_at=0.0, rests_until=0.0
                )
            tip = (
                _fetch(namespace, remote, tip)
                if namespace.settings.is_source and tip
                else _push(namespace, remote, tip)
            )
    except FaultyTip as ex:
        reached = time.time()  # also of a folder that is missing at the tip, which `read_tips` finds
        checked = _describe_rules(namespace.settings)
        state = replace(state, fault=ex.fault, reached_at=reached, checked_at=reached, checked=checked)
    except (RemoteAway, RemoteGarbage, RemoteMoved, LostRace, StoreError) as ex:
        if isinstance(ex, Broken | Busy):
            raise
        rest = time.time() + ex.seconds if isinstance(ex, RemoteAway) else 0.0
        state = replace(state, fault=_explain(ex), due_at=rest, rests_until=rest)
    except OSError as ex:
        if not is_disk_full(ex):
            raise
        state = replace(
            state, fault=_explain(OutOfSpace())
        )  # a quarantine is no repository, whose writers translate it
    state = replace(state, tip=tip or state.tip)
    return _measure(namespace.repository, replace(state, origin=_find_origin(namespace.settings, remote, state)))


def _is_same_fault(namespace: SyncedNamespace, before: UpstreamState, tip: CommitId) -> bool:
    """Tell whether a tip was refused a moment ago, and neither release nor the rules have changed since."""
    with open_repository(namespace.repository) as repository:
        return (
            (before.tip, before.release, before.checked)
            == (tip, repository.release(), _describe_rules(namespace.settings))
            and before.fault is not None
            and 0 <= time.time() - before.checked_at < _CHECK_SECONDS
        )


def _describe_rules(settings: UpstreamSettings) -> str:
    """Return what the check of a tip depends on, beside the commits."""
    return orjson.dumps(list(settings.rules.allowed_files)).decode()


def _require_place(namespace: SyncedNamespace, remote: "Remote", tips: Mapping[str, CommitId]) -> None:
    """Raise FaultyTip for a branch or folder that the upstream does not have, and that is not to be created there."""
    folders = remote.list_folders()
    fault = find_missing(namespace.name, namespace.settings, tips, folders)
    if fault:
        raise FaultyTip(fault)


def _find_origin(settings: UpstreamSettings, remote: "Remote | None", state: UpstreamState) -> str:
    """Return the upstream's own commit of the tip."""
    if not settings.path:
        return state.tip
    from gitstore.upstream.remotes.folder_remote import FolderRemote  # noqa: PLC0415 - as above

    found = remote.origin if isinstance(remote, FolderRemote) else None
    return found or state.origin


def _explain(ex: StoreError) -> UpstreamFault:
    if isinstance(ex, InvalidPush):
        return UpstreamFault("upstream_garbage", f"What the upstream sends cannot be accepted: {ex}.")
    return UpstreamFault(RemoteAway.code if isinstance(ex, RemoteUnknown) else ex.code, str(ex))


def _fetch(namespace: SyncedNamespace, remote: "Remote", tip: CommitId) -> CommitId:
    """Bring the upstream's tip in; return it."""
    with open_repository(namespace.repository) as repository:
        if tip == repository.release():
            return tip
        is_here = repository.has(tip)
    settings = namespace.settings
    if is_here and _is_complete(namespace, tip):
        with namespace.open(None).writing() as (compiler, transaction):
            transaction.around_release = None
            accept_tip(compiler, transaction, tip, settings.rules.allowed_files, namespace.find_token)
        return tip
    with open_quarantine(namespace.repository) as quarantine:
        with open_repository(namespace.repository) as repository:
            haves = choose_haves(repository, repository.release())
        remote.fetch(quarantine, tip, haves)
        limits = PushLimits(request_bytes=settings.rules.most_bytes)
        opened = namespace.open(quarantine)
        bring_in(opened, quarantine, tip, settings.rules.allowed_files, limits, namespace.find_token)
    return tip


def _is_complete(namespace: SyncedNamespace, tip: CommitId) -> bool:
    """Tell whether a commit is here with all that it reaches: it is what was fetched last, or in the history of release."""
    with open_repository(namespace.repository) as repository:
        fetched = repository.ref(UPSTREAM_REF)
        return tip == fetched or repository.merge_base(repository.release(), tip) == tip


def _push(namespace: SyncedNamespace, remote: "Remote", tip: CommitId | None) -> CommitId:
    """Push release to the upstream's branch, which gets no other history by force; return its new tip."""
    with open_repository(namespace.repository) as repository:
        release = repository.release()
        if tip == release:
            return release
        if tip is not None and (repository.has(tip) or not _takes_history(namespace, remote, tip)):
            _require_behind(repository, release, tip)
    namespace.require_current()
    remote.push(namespace.repository, PushedRef(namespace.settings.ref, tip, release))
    return release


def _takes_history(namespace: SyncedNamespace, remote: "Remote", tip: CommitId) -> bool:
    """Tell whether the upstream is a Waypost whose namespace has published nothing: its gate then takes our history."""
    if not remote.is_waypost:
        return False
    with open_quarantine(namespace.repository) as quarantine:
        remote.fetch(quarantine, tip, [])
        limits = PushLimits(request_bytes=_PRISTINE_BYTES, objects=10, inflated_bytes=_PRISTINE_BYTES)
        with (
            open_repository(namespace.repository, quarantine.path) as repository,
            quarantine.request.open("rb", buffering=0) as file,
            References(quarantine.path) as references,
            suppress(InvalidPush),  # more than the first commit of a namespace
        ):
            PackReader(file, quarantine.packs, repository, references, limits).read(lambda _done, _total: None)
            repository.reopen()
            return is_pristine(repository, tip)
    return False


def _require_behind(repository: Repository, release: CommitId, tip: CommitId) -> None:
    """Raise FaultyTip unless the upstream's tip is in the history of release."""
    if repository.has(tip):
        with suppress(Broken):  # an object of a refused fetch may be incomplete
            base = repository.merge_base(release, tip)
            if base == tip:
                return
            if base == release:
                raise FaultyTip(
                    UpstreamFault(
                        REWOUND,
                        f"The upstream is ahead of release: it is at {tip[:12]}, release at {release[:12]}. This node is the "
                        "only writer of a mirror, so nothing was pushed. Was an older backup restored here?",
                    )
                )
    raise FaultyTip(
        UpstreamFault(
            DIVERGED,
            f"The upstream's branch is at {tip[:12]}, which is not in the history of release ({release[:12]}). This node is "
            "the only writer of a mirror, and overwrites nothing. Move that branch away on the upstream, or set it back.",
        )
    )


def _measure(repository: Path, state: UpstreamState) -> UpstreamState:
    """Return the state with release and the commits that only one side has; -1 where the upstream's are not known here."""
    with open_repository(repository) as opened:
        release = opened.release()
        ahead, behind = count_differences(opened, release, CommitId(state.tip) if state.tip else None)
    return replace(state, release=release, ahead=ahead, behind=behind)
