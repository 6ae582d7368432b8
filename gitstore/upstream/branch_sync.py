"""A sync of the upstream's other branches and pull requests with the proposals that follow them.

Each is fetched and checked by itself, within limits of its own, so that a bad one stops neither another nor release.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitstore.errors import Broken, Busy, InvalidPush, LostRace, OutOfSpace, StoreError
from gitstore.file_lock import hold_lock_file
from gitstore.git.branch_names import BranchNames
from gitstore.git.quarantine import Quarantine, open_quarantine
from gitstore.git.refs import list_proposals
from gitstore.git.repository import Repository, open_repository
from gitstore.git.transaction import Transaction
from gitstore.history.reached import find_base
from gitstore.layout import CommitId, is_followed_ref
from gitstore.pushes.answer import Refused
from gitstore.pushes.pushed_files import FileCheck
from gitstore.pushes.ref_names import require_no_tag, require_ref_name
from gitstore.upstream.arrival import Opened
from gitstore.upstream.followed_branches import (
    BRANCH_REFUSED,
    FollowedBranch,
    FollowedBranches,
    is_following,
    list_candidates,
    read_followed,
    remove_followed,
    write_followed,
)
from gitstore.upstream.remotes.haves import choose_haves
from gitstore.upstream.synced_namespace import SyncedNamespace, open_upstream
from gitstore.upstream.upstream_state import UpstreamFault, UpstreamState, shorten
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteMissing, RemoteRefused
from gitstore.wire.push.connectivity import COMMITS, Connectivity
from gitstore.wire.push.installation import install
from gitstore.wire.push.pack_reader import PackReader, ReceivedPack
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote

_LOCK_FILE = "waypost-upstream-branches.lock"
_MOST_BRANCHES = 200
_MOST_BYTES = 64 << 20  # of the pack of one branch
_LIMITS = PushLimits(objects=100_000, inflated_bytes=512 << 20)
_SECONDS = 60.0  # for the branches that one sync fetches; the next one goes on
TOO_MANY = "upstream_too_many_branches"
_NOT_YET = UpstreamFault(RemoteAway.code, "Not fetched yet: the syncs that follow go on with it.")


class _RefusedBranch(StoreError):
    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.fault = UpstreamFault(BRANCH_REFUSED, message, shorten(tuple(problems)))


def sync_branches(namespace: SyncedNamespace, tips: Mapping[str, CommitId] | None = None) -> FollowedBranches | None:
    """Bring the proposals to where the upstream's branches are; None where another process does it.

    `tips` are those of the upstream if they were read just now.

    Raises RemoteError where the upstream fails: then every proposal stays as it is.
    """
    with hold_lock_file(namespace.repository / _LOCK_FILE, 0) as is_held:
        if not is_held:
            return None
        if not is_following(namespace.settings):
            with namespace.open(None).writing() as (_, transaction):
                drop_branches(transaction)
            return FollowedBranches()
        rules = namespace.settings.rules
        bounded = replace(namespace.settings, rules=replace(rules, most_bytes=min(rules.most_bytes, _MOST_BYTES)))
        remote = open_upstream(namespace.repository, bounded)
        candidates = list_candidates(bounded, remote.read_tips() if tips is None else tips)
        followed = _BranchSync(replace(namespace, settings=bounded), remote).run(candidates)
        with namespace.holding():
            write_followed(namespace.repository, followed)
        return followed


def follow_branches(
    namespace: SyncedNamespace, state: UpstreamState, tips: Mapping[str, CommitId] | None = None
) -> None:
    """Bring the proposals up to date after a sync of release; what fails is noted beside them."""
    if state.fault and state.fault.code in {
        each.code for each in (RemoteAway, RemoteRefused, RemoteGarbage, RemoteMissing)
    }:
        return
    try:
        sync_branches(namespace, tips)
    except (Broken, Busy, OutOfSpace):
        raise
    except StoreError as ex:
        before = read_followed(namespace.repository)
        with namespace.holding():
            write_followed(namespace.repository, replace(before, fault=UpstreamFault(ex.code, str(ex))))


def drop_branches(transaction: Transaction) -> None:
    """Remove all proposals that follow the upstream."""
    for ref in list_proposals(transaction.path):
        if is_followed_ref(ref):
            transaction.remove(ref, None)
    remove_followed(transaction.path)


def _remove(opened: Opened, refs: Sequence[str]) -> None:
    if not refs:
        return
    with opened.writing() as (_, transaction):
        for ref in refs:
            transaction.remove(ref, None)


class _BranchSync:
    """One sync of the branches."""

    def __init__(self, namespace: SyncedNamespace, remote: "Remote") -> None:
        self._namespace = namespace
        self._remote = remote
        self._before = read_followed(namespace.repository)
        self._known = {each.ref: each for each in self._before.branches}
        self._deadline = time.monotonic() + _SECONDS

    def run(self, candidates: Sequence[FollowedBranch]) -> FollowedBranches:
        """Follow them, and return what is followed."""
        merged, chosen = list[str](), list[FollowedBranch]()
        for each in candidates:
            if len(chosen) >= _MOST_BRANCHES:
                break
            if self._is_merged(each):
                merged.append(each.tip)
            else:
                chosen.append(each)
        wanted = {each.ref for each in chosen}
        here = [ref for ref in list_proposals(self._namespace.repository) if is_followed_ref(ref)]
        _remove(self._namespace.open(None), [ref for ref in here if ref not in wanted])
        more = len(candidates) - len(chosen) - len(merged)
        fault = _too_many(len(candidates), len(chosen)) if more else None
        followed = list[FollowedBranch]()
        results = {each.ref: self._follow(each) for each in sorted(chosen, key=self._has_failed)}
        for each in chosen:
            found = results[each.ref]
            if found:
                followed.append(found)
            else:
                merged.append(each.tip)
        return FollowedBranches(tuple(followed), tuple(merged), fault)

    def _has_failed(self, branch: FollowedBranch) -> bool:
        """Tell whether a branch could not be fetched last time: it waits for the others, whose time it would take."""
        known = self._known.get(branch.ref)
        return known is not None and _is_passing(known.fault) and known.fault != _NOT_YET

    def _is_merged(self, branch: FollowedBranch) -> bool:
        """Tell whether release has a tip; of a folder's branch, that shows once its commit here is known."""
        if branch.tip in self._before.merged:
            return True
        known = self._known.get(branch.ref)
        head = known.head if known and known.tip == branch.tip else branch.tip
        with open_repository(self._namespace.repository) as repository, suppress(Broken):
            found = CommitId(head)
            return bool(head) and repository.has(head) and find_base(repository, repository.release(), found) == head
        return False

    def _follow(self, branch: FollowedBranch) -> FollowedBranch | None:
        """Have the proposal at the newest commit; None where release has it."""
        known = self._known.get(branch.ref)
        with open_repository(self._namespace.repository) as repository, suppress(Broken):
            at = repository.ref(branch.ref)
            if known and known.tip == branch.tip and (known.head or "") == (at or "") and not _is_passing(known.fault):
                return replace(branch, head=known.head, fault=known.fault)
        try:
            if time.monotonic() > self._deadline:
                raise RemoteAway(_NOT_YET.message)  # noqa: TRY301 - one way for all
            head = self._bring(branch)
            return replace(branch, head=head) if head else None
        except (Busy, OutOfSpace):
            raise
        except _RefusedBranch as ex:
            fault = ex.fault
        except InvalidPush as ex:
            fault = UpstreamFault(BRANCH_REFUSED, f"What the upstream sends for it cannot be accepted: {ex}.")
        except (RemoteAway, RemoteRefused, LostRace, Broken) as ex:  # the proposal stays where it was
            fault = UpstreamFault(ex.code, str(ex))
            return replace(branch, head=known.head if known else "", fault=fault)
        except StoreError as ex:
            fault = UpstreamFault(BRANCH_REFUSED, str(ex))
        _remove(
            self._namespace.open(None), self._list_here(branch)
        )  # what is not at the newest commit would be taken for it
        return replace(branch, fault=fault)

    def _list_here(self, branch: FollowedBranch) -> list[str]:
        return [ref for ref in list_proposals(self._namespace.repository) if ref == branch.ref]

    def _bring(self, branch: FollowedBranch) -> CommitId | None:
        """Bring the commit of a branch in, and have its proposal there; return the commit here, None if release has it."""
        require_followable(branch.ref)
        tip = self._remote.translate(CommitId(branch.tip))
        if tip is None:
            raise _RefusedBranch("It does not have the folder of the upstream.")
        if self._is_complete(tip):
            return None if self._has_released(tip) else self._accept(branch, tip, None, None)
        with open_repository(self._namespace.repository) as repository:
            haves = choose_haves(repository, repository.release())
            haves += [CommitId(each.head) for each in self._known.values() if each.head and repository.has(each.head)]
        with open_quarantine(self._namespace.repository) as quarantine:
            self._remote.fetch(quarantine, tip, haves)
            return self._accept(branch, tip, quarantine, self._read_pack(quarantine, tip))

    def _is_complete(self, tip: CommitId) -> bool:
        with open_repository(self._namespace.repository) as repository, suppress(InvalidPush, Broken):
            if repository.has(tip):
                Connectivity(repository, {}).require_tip(tip, COMMITS)
                return True
        return False

    def _has_released(self, tip: CommitId) -> bool:
        with open_repository(self._namespace.repository) as repository:
            return find_base(repository, repository.release(), tip) == tip

    def _read_pack(self, quarantine: Quarantine, tip: CommitId) -> ReceivedPack:
        limits = _LIMITS._replace(request_bytes=self._namespace.settings.rules.most_bytes)
        if quarantine.request.stat().st_size > limits.request_bytes:  # from a path, where the response has no limit
            raise InvalidPush(f"its pack has more than {limits.request_bytes:,} bytes")
        with (
            self._namespace.open(quarantine).reading() as compiler,
            References(quarantine.path) as references,
            quarantine.request.open("rb", buffering=0) as file,
        ):
            repository = compiler.repository
            pack = PackReader(file, quarantine.packs, repository, references, limits).read(lambda _done, _total: None)
            repository.reopen()
            connectivity = Connectivity(repository, pack.kinds)
            connectivity.require(lambda: references.outside(pack.kinds))
            connectivity.require_tip(tip, COMMITS)
            return pack

    def _accept(
        self, branch: FollowedBranch, tip: CommitId, quarantine: Quarantine | None, pack: ReceivedPack | None
    ) -> CommitId:
        with self._namespace.open(quarantine).writing() as (_, transaction):
            self._require_acceptable(transaction, branch.ref, tip)
            if quarantine and pack:
                install(transaction, quarantine, pack, [tip], all_accepted=True)
            at = transaction.ref(branch.ref)
            if at != tip:
                transaction.move(branch.ref, at, tip)
            if quarantine:
                quarantine.release()
        return tip

    def _require_acceptable(self, transaction: Transaction, ref: str, tip: CommitId) -> None:
        """Raise _RefusedBranch for a commit that no push could make a proposal."""
        base = find_base(transaction, transaction.release(), tip)
        if base is None:
            raise _RefusedBranch("It shares no history with release, so it cannot be a proposal.")
        with closing(Repository(transaction.path)) as known:
            files = FileCheck(
                transaction, known, self._namespace.settings.rules.allowed_files, self._namespace.find_token
            )
            problems = files.find_problems(transaction.commit(tip)._replace(parents=(base,)))
        if problems:
            message = f"Its commit {tip[:12]} has files that no proposal may have. Remove them there."
            raise _RefusedBranch(message, [each.text() for each in problems])
        lookalike = BranchNames(transaction.path).find_lookalike(ref)
        if lookalike:
            raise _RefusedBranch(
                "Another branch differs only in case or Unicode form from it. Rename one of them there."
            )
        try:
            require_no_tag(transaction, ref)
        except Refused as ex:
            raise _RefusedBranch(" ".join(ex.lines)) from ex


def require_followable(ref: str) -> None:
    """Raise _RefusedBranch for a name that no proposal can have."""
    try:
        require_ref_name(ref)
    except Refused as ex:
        raise _RefusedBranch("Its name cannot be that of a proposal. Rename the branch there.") from ex


def _is_passing(fault: UpstreamFault | None) -> bool:
    """Tell whether a fault may be gone at the next sync, though the branch has not moved."""
    return fault is not None and fault.code != BRANCH_REFUSED


def _too_many(found: int, followed: int) -> UpstreamFault:
    return UpstreamFault(
        TOO_MANY,
        f"The upstream has {found:,} branches or pull requests that could be proposals; {followed:,} are followed. Delete "
        "there what is done, or set proposals to none.",
    )
