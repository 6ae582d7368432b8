"""A folder of the upstream's repository, as a repository of its own: what is fetched is projected, what is pushed is put back.

The upstream's objects, and the projected commits, are in a bare repository beside the namespace's. It is a cache.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from gitstore.errors import Broken, InvalidPush
from gitstore.git.after_commit import after_commit
from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.git.refs import list_refs
from gitstore.git.repository import CommitInfo, Repository, open_repository
from gitstore.git.transaction import Transaction, update
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.upstream.arrival import INVALID, FaultyTip
from gitstore.upstream.remotes.cache_upkeep import create_cache, keep_small, note_first_size
from gitstore.upstream.remotes.haves import choose_haves
from gitstore.upstream.remotes.projection import MIRRORED, CommitMap, Folder, find_newest, project, write_like
from gitstore.upstream.remotes.remote import Remote
from gitstore.upstream.remotes.remote_packs import make_pack_for, write_fetched
from gitstore.upstream.upstream_settings import UpstreamSettings
from gitstore.upstream.upstream_state import UpstreamFault
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteMoved, RemoteRefused
from gitstore.wire.push.connectivity import COMMITS, Connectivity
from gitstore.wire.push.installation import install
from gitstore.wire.push.pack_reader import PackReader
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

_MAP_FILE = "waypost-projection"
_OTHERS = "refs/heads/other/"  # commits of other branches, which are kept by a ref for each
_PUSHED, _MADE = "refs/heads/pushed", "refs/heads/made"
_MADE_OTHER, _MADE_DRAFT = "refs/heads/made-other", "refs/heads/made-draft"
_OWN = frozenset({_PUSHED, _MADE, _MADE_OTHER, _MADE_DRAFT})  # commits that the upstream may not have
_MOST_OTHERS = 1_000
_MOST_HAVES = 64  # the newest commits: more would be read back to the first one
_MOST_PUSHED = 10_000  # commits


class FolderRemote:
    """The folder; `cache` is the bare repository, made when it is first needed."""

    def __init__(self, remote: Remote, settings: UpstreamSettings, cache: Path) -> None:
        self._remote = remote
        self._ref = settings.ref
        self._folder = Folder(settings.path, is_mirrored=not settings.is_source)
        self._most_bytes = settings.rules.most_bytes
        self._cache = cache
        self.origin: CommitId | None = None
        """The commit of the upstream's branch itself, once its tips are read."""

    @property
    def is_waypost(self) -> bool:
        """False: even a Waypost has the whole repository there."""
        return False

    def read_tips(self) -> Mapping[str, CommitId]:
        """Return the tips of the upstream, that of the branch as the commit here; it is missing where the folder is."""
        tips = dict(self._remote.read_tips())
        keep_small(self._cache)
        self.origin = tip = tips.pop(self._ref, None)
        here = self._translate(tip, _MADE) if tip else None
        if tip and here:
            self._require_folder(tip)
            tips[self._ref] = here
        return tips

    def translate(self, tip: CommitId) -> CommitId | None:
        """Fetch a commit of the upstream, unless it is here, and return its projection; None where the folder is missing."""
        return self._translate(tip, _MADE_OTHER)

    def _translate(self, tip: CommitId, ref: str) -> CommitId | None:
        """Translate a commit, and keep the projection by a ref."""
        create_cache(self._cache)
        sweep_quarantines(self._cache)
        with self._using_cache():
            found = find_newest(self._cache / _MAP_FILE, tip)
            if found and self._is_kept(found.here, ref):
                return found.here
            known = CommitMap(self._cache / _MAP_FILE)
            if not known.has(tip) and tip not in list_refs(self._cache, is_lenient=True).values():
                self._bring(tip)
            with update(self._cache) as transaction:
                known.refresh()
                return self._project(transaction, known, tip, ref)

    def _is_kept(self, here: CommitId | None, ref: str) -> bool:
        """Tell whether a known projection is as `_project` leaves it. Raises Broken if a power cut took its commit."""
        if here is None:
            return True
        with open_repository(self._cache) as repository:
            if self._folder.is_mirrored and not repository.has(here):
                return True  # the namespace alone has it
            repository.commit(here)
            return repository.ref(ref) == here

    @contextmanager
    def _using_cache(self) -> Iterator[None]:
        """Remove a cache that turns out to be damaged, and raise RemoteAway: the next sync makes it again."""
        try:
            yield
        except Broken as ex:
            raise self._forget() from ex

    def _forget(self) -> RemoteAway:
        """Remove the damaged cache, and return the error for that."""
        shutil.rmtree(self._cache, ignore_errors=True)
        return RemoteAway(
            "The copy of the upstream's repository on this node was damaged. The next sync makes it again."
        )

    def _project(self, transaction: Transaction, known: CommitMap, tip: CommitId, ref: str) -> CommitId | None:
        here, new = project(transaction, known, tip, self._folder)
        at = transaction.ref(ref)
        if here and (transaction.has(here) or not self._folder.is_mirrored):
            transaction.commit(here)  # Broken if a power cut took it; of a mirror, the namespace alone may have it
            if here != at:
                transaction.move(ref, at, here)
        if new:
            known.add(new)
        return here

    def _bring(self, tip: CommitId) -> None:
        """Fetch a commit with its history, and keep it by a ref."""
        known = list_refs(self._cache, is_lenient=True)
        others = [commit for ref, commit in known.items() if ref not in _OWN]
        with open_repository(self._cache) as repository:
            first = known.get(RELEASE_REF)
            haves = [*(choose_haves(repository, first, _MOST_HAVES) if first else ()), *others[:_MOST_HAVES]]
        with open_quarantine(self._cache) as quarantine:
            self._remote.fetch(quarantine, tip, list(dict.fromkeys(haves)))
            if quarantine.request.stat().st_size > self._most_bytes:
                raise RemoteGarbage(
                    "The upstream's repository is larger than is allowed (the setting push_limit), though only its folder "
                    f"{self._folder.path} is needed. Raise the limit, or keep the content in a repository of its own."
                )
            self._keep(quarantine, tip, is_first=not first)

    def _keep(self, quarantine: Quarantine, tip: CommitId, *, is_first: bool) -> None:
        limits = PushLimits(self._most_bytes, objects=2_000_000, object_bytes=256 << 20)
        with (
            open_repository(self._cache, quarantine.path) as repository,
            References(quarantine.path) as references,
            quarantine.request.open("rb", buffering=0) as file,
        ):
            pack = PackReader(file, quarantine.packs, repository, references, limits).read(lambda _done, _total: None)
            repository.reopen()
            connectivity = Connectivity(repository, pack.kinds)
            connectivity.require(lambda: references.outside(pack.kinds))
            connectivity.require_tip(tip, COMMITS)
        with update(self._cache, quarantine.path) as transaction:
            install(transaction, quarantine, pack, [tip], all_accepted=True)
            _forget_others(transaction)
            at = transaction.ref(RELEASE_REF)
            if is_first or (at and any(info.id == at for info in islice(transaction.first_parents(tip), 10_000))):
                transaction.move(RELEASE_REF, at, tip)
            else:
                transaction.move(f"{_OTHERS}{tip}", None, tip)
            quarantine.release()
        if is_first:
            note_first_size(self._cache)

    def _require_folder(self, tip: CommitId) -> None:
        """Raise FaultyTip for a tip without the folder: it was moved there, and nothing would be served."""
        with open_repository(self._cache) as repository:
            if self._folder.tree(repository, tip) is None:
                raise FaultyTip(
                    UpstreamFault(
                        INVALID,
                        f"The upstream's commit {tip[:12]} has no folder {self._folder.path}. The last valid one is served. "
                        "Bring the folder back there, or set another path.",
                    )
                )

    def list_folders(self) -> Sequence[str] | None:
        """Return the paths of the folders where this one should be; None if the branch is missing."""
        if self.origin is None:
            return None
        with self._using_cache(), open_repository(self._cache) as repository:
            return self._folder.list_siblings(repository, self.origin)

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        """Write the pack of a commit of `read_tips` or `translate` into a quarantine's request file."""
        try:
            write_fetched(self._cache, quarantine, want, haves)
        except RemoteGarbage as ex:
            raise self._forget() from ex

    def push(self, source: Path, move: PushedRef) -> None:
        """Put commits of a repository back into the folder, on top of the upstream's tip, and push them."""
        if move.name != self._ref or move.new is None:  # a draft, which `place` has made
            self._remote.push(self._cache, move)
            return
        tip = self._remote.read_tips().get(move.name)
        here = self._translate(tip, _MADE) if tip else None
        if here == move.new:
            return
        if here != move.old:
            raise RemoteMoved(f"The folder {self._folder.path} of the upstream has moved.")
        create_cache(self._cache)
        self._import(source, move.new, _MADE)
        with self._using_cache(), update(self._cache) as transaction:
            made = self._put_back(transaction, tip, move.old, move.new)
            transaction.move(_PUSHED, transaction.ref(_PUSHED), made)
        self._remote.push(self._cache, PushedRef(move.name, tip, made))
        with after_commit("the record of a push into a folder of the upstream"), update(self._cache) as transaction:
            CommitMap(self._cache / _MAP_FILE).add({made: move.new})
            transaction.move(RELEASE_REF, transaction.ref(RELEASE_REF), made)

    def outgoing(self, source: Path, release: CommitId, commit: CommitId) -> tuple[Remote, Path, CommitId]:
        """Return a commit on release as the upstream has it, with its whole repository, and the repository that has it.

        Raises RemoteMoved where the folder there is not at release.
        """
        tip = self._remote.read_tips().get(self._ref)
        if tip is None or self._translate(tip, _MADE) != release:
            raise RemoteMoved(f"The folder {self._folder.path} of the upstream has moved.")
        self._import(source, commit, _MADE_DRAFT)
        with self._using_cache(), update(self._cache) as transaction:
            made = self._put_back(transaction, tip, release, commit)
            transaction.move(_PUSHED, transaction.ref(_PUSHED), made)
        return self._remote, self._cache, made

    def _import(self, source: Path, commit: CommitId, ref: str) -> None:
        """Bring the objects of a commit of the namespace into the cache."""
        known = tuple(list_refs(self._cache, is_lenient=True).values())
        with open_quarantine(self._cache) as quarantine:
            made = make_pack_for(source, quarantine, commit, known, is_thin=False)
            with (
                open_repository(self._cache, quarantine.path) as repository,
                made.open("rb", buffering=0) as file,
                References(quarantine.path) as references,
            ):
                limits = PushLimits(object_bytes=1 << 30)
                try:
                    pack = PackReader(file, quarantine.packs, repository, references, limits).read(lambda _a, _b: None)
                except InvalidPush as ex:
                    raise RemoteRefused(f"The folder of the upstream cannot take the push: {ex}.") from ex
            with update(self._cache, quarantine.path) as transaction:
                install(transaction, quarantine, pack, [commit], all_accepted=True)
                transaction.move(ref, transaction.ref(ref), commit)
                quarantine.release()

    def _put_back(
        self, transaction: Transaction, tip: CommitId | None, old: CommitId | None, new: CommitId
    ) -> CommitId:
        """Write a commit of the upstream for each new one of release; return the last."""
        made, parent = tip, old
        for info in _list_new(transaction, old, new):
            if not info.parents[1:] and not self._folder.is_mirrored:
                self._require_same(transaction, info, parent)
            elif not self._folder.is_mirrored:
                raise _not_flat(info.id, self._folder)
            tree = self._put(transaction, info.tree, made)
            trailer = f"{MIRRORED}: {info.id}" if self._folder.is_mirrored else ""
            made, parent = write_like(transaction, info.id, tree, made, trailer), info.id
        if made is None:
            raise RemoteMoved(f"The folder {self._folder.path} of the upstream has moved.")
        return made

    def _put(self, transaction: Transaction, tree: TreeId, onto: CommitId | None) -> TreeId:
        """Write the tree of a commit of the upstream with the folder replaced."""
        if not transaction.entries(tree):
            raise RemoteRefused("Release or a draft is empty, and Git cannot have an empty folder. Keep one file.")
        return self._folder.put(transaction, transaction.commit(onto).tree if onto else None, tree)

    def place(self, source: Path, commit: CommitId, base: CommitId | None, /) -> CommitId:
        """Write a draft as one commit of the upstream, on the commit that its base is there; return it."""
        create_cache(self._cache)
        self._import(source, commit, _MADE_DRAFT)
        with self._using_cache(), update(self._cache) as transaction:
            onto = CommitMap(self._cache / _MAP_FILE).find_original(base) if base else None
            if onto is None:
                raise RemoteAway("The upstream does not have the commit yet that the draft begins from.")
            tree = self._put(transaction, transaction.commit(commit).tree, onto)
            made = write_like(transaction, commit, tree, onto)
            transaction.move(_PUSHED, transaction.ref(_PUSHED), made)
            return made

    def _require_same(self, transaction: Transaction, info: CommitInfo, parent: CommitId | None) -> None:
        """Raise RemoteRefused where the projection of what would be pushed is another commit: nodes would differ."""
        if write_like(transaction, info.id, info.tree, parent) != info.id:
            raise _not_flat(info.id, self._folder)


def _list_new(repository: Repository, old: CommitId | None, new: CommitId) -> list[CommitInfo]:
    """List the commits of release that are new, oldest first."""
    found = list[CommitInfo]()
    for info in islice(repository.first_parents(new), _MOST_PUSHED):
        if info.id == old:
            return found[::-1]
        found.append(info)
    if old is None:
        return found[::-1]
    raise RemoteMoved("The folder of the upstream is at a commit that release does not continue from.")


def _not_flat(commit: CommitId, folder: Folder) -> RemoteRefused:
    return RemoteRefused(
        f"Release has the commit {commit[:12]}, from before the upstream was set, which a folder of another repository cannot "
        f"carry: merges and signatures are lost there. Put the content into the folder {folder.path} with Git, and follow it "
        "with an empty namespace."
    )


def _forget_others(transaction: Transaction) -> None:
    """Remove the refs of other branches once they are many; what is needed is fetched again."""
    others = [ref for ref in list_refs(transaction.path, is_lenient=True) if ref.startswith(_OTHERS)]
    for ref in others if len(others) >= _MOST_OTHERS else ():
        transaction.remove(ref, None)
