"""An upstream at a path of this machine, which is read and written without a child process."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitstore.errors import Broken, Busy, InvalidPush, LostRace, NotFound, StoreError
from gitstore.git import refs
from gitstore.git.foreign_repository import find_unknown_format, find_way_out, is_below, is_checked_out
from gitstore.git.lock import hold
from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.git.repository import open_repository
from gitstore.layout import BRANCH_PREFIX, CommitId
from gitstore.upstream.remotes.remote_packs import make_pack_for, write_fetched
from gitstore.upstream.remotes.whole_remote import WholeRemote, keep_branches
from gitstore.upstream.upstream_settings import UpstreamSettings
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteMoved, RemoteRefused, quote_remote
from gitstore.wire.client.remote_url import RemoteUrl
from gitstore.wire.push.pack_reader import PackReader
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

_HOOKS = ("pre-receive", "update", "reference-transaction")


class PathRemote(WholeRemote):
    """An upstream on this machine. Its own hooks do not run, so one that checks pushes by a hook takes none."""

    def __init__(self, url: RemoteUrl, settings: UpstreamSettings) -> None:
        with _reading_theirs():
            self._path = _find_folder(Path(url.path), settings.rules.folders)
        self._ref = settings.ref

    @property
    def is_waypost(self) -> bool:
        """False: a Waypost's repositories are not upstreams by their path."""
        return False

    def read_tips(self) -> Mapping[str, CommitId]:
        """Return the branches and the heads of pull requests. Raises RemoteAway, and RemoteGarbage for a damaged repository.

        Other damaged branches are left out; the upstream's own one must not seem to be missing.
        """
        with _reading_theirs():
            refs.read_ref(self._path, self._ref)
            return keep_branches(refs.list_refs(self._path, is_lenient=True))

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        """Write the pack of a commit into a quarantine's request file. Raises RemoteGarbage."""
        with _reading_theirs():
            write_fetched(self._path, quarantine, want, haves)

    def push(self, source: Path, move: PushedRef) -> None:
        """Move a branch, or remove it. Raises RemoteRefused, RemoteMoved, RemoteAway, RemoteGarbage."""
        self._require_no_hooks()
        self._require_not_checked_out(move.name)
        with _reading_theirs():
            sweep_quarantines(self._path)
        try:
            if move.new is None:
                self._remove(move)
            else:
                with open_quarantine(self._path) as quarantine:
                    self._install(source, quarantine, move.name, move.old, move.new)
        except InvalidPush as ex:
            raise RemoteRefused(f"The upstream cannot take the push: {ex}.") from ex
        except LostRace as ex:
            raise RemoteMoved(
                f"The upstream's branch {move.name.removeprefix(BRANCH_PREFIX)} has moved. Fetch in a moment, then try again."
            ) from ex

    def _remove(self, move: PushedRef) -> None:
        with _reading_theirs(), hold(self._path) as lock:
            if refs.read_ref(self._path, move.name):
                refs.remove_ref(self._path, lock, move.name, move.old)

    def _install(self, source: Path, quarantine: Quarantine, ref: str, old: CommitId | None, new: CommitId) -> None:
        known = tuple(self.read_tips().values())
        made = make_pack_for(source, quarantine, new, known, is_thin=False)
        limits = PushLimits(object_bytes=1 << 30)
        with (
            _reading_theirs(),
            open_repository(self._path, quarantine.path) as theirs,
            made.open("rb", buffering=0) as file,
            References(quarantine.path) as references,
        ):
            pack = PackReader(file, quarantine.packs, theirs, references, limits).read(lambda _done, _total: None)
        with _reading_theirs(), hold(self._path) as lock:
            if refs.read_ref(self._path, ref) == new:
                return
            if pack.kinds:
                quarantine.install(pack.path.name)
            try:
                refs.move_ref(self._path, lock, ref, old, new)
            except StoreError:
                quarantine.withdraw()
                raise
            quarantine.release()

    def _require_not_checked_out(self, ref: str) -> None:
        if is_checked_out(self._path, ref):
            branch = ref.removeprefix(BRANCH_PREFIX)
            raise RemoteRefused(
                f"The upstream's branch {branch} is checked out there, and a push would not change its working tree. Push "
                "to a bare repository, or check out another branch there."
            )

    def _require_no_hooks(self) -> None:
        found = [name for name in _HOOKS if os.access(self._path / "hooks" / name, os.X_OK)]
        if found:
            raise RemoteRefused(
                f"The upstream's repository checks pushes by the hook {found[0]}, which does not run for an upstream at a "
                "path. Use its HTTP address."
            )


@contextmanager
def _reading_theirs() -> Iterator[None]:
    """Raise a fault of the upstream for what fails in its repository: it is no damage of the namespace's."""
    try:
        yield
    except Broken as ex:
        raise RemoteGarbage(
            f"The upstream's repository is damaged: {quote_remote(str(ex))} Repair it there; git fsck shows the damage."
        ) from ex
    except Busy as ex:
        raise RemoteAway("Another writer holds the upstream's repository. It is tried again.") from ex
    except NotFound as ex:
        raise RemoteAway("The upstream's repository cannot be read.") from ex
    except OSError as ex:
        raise RemoteAway(f"The upstream's repository cannot be read or written ({ex.strerror}).") from ex


def _find_folder(path: Path, allowed: Sequence[str]) -> Path:
    """Return the folder of a repository, with links resolved.

    Raises RemoteRefused unless all of it is below allowed folders, and its format is one that this program writes.
    """
    found = path.resolve()
    if not is_below(found, allowed):
        raise _outside("The path of the upstream")
    for folder in (found, found / ".git"):
        if (folder / "objects").is_dir() and (folder / "HEAD").is_file():
            break
    else:
        raise RemoteAway("There is no Git repository at the path of the upstream.")
    if not is_below(folder, allowed):
        raise _outside("The repository of the upstream")
    folder = folder.resolve()
    way_out = find_way_out(folder, allowed)
    if way_out:
        raise RemoteRefused(
            f"The upstream's repository leads elsewhere by {quote_remote(way_out)}. All of it must be in the folders of the "
            "setting upstream_folders, without links. Make it a repository of its own, or use its HTTP address."
        )
    unknown = find_unknown_format(folder)
    if unknown:
        raise RemoteRefused(
            f"The upstream's repository has a format that cannot be an upstream ({quote_remote(unknown)}). Make one with "
            "SHA-1: git init --bare --object-format=sha1"
        )
    return folder


def _outside(subject: str) -> RemoteRefused:
    return RemoteRefused(f"{subject} is not below a folder that the operator allows with the setting upstream_folders.")
