"""The upstream's repository, behind HTTP or at a path: its tips, a fetch into a quarantine, a push."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol

from gitstore.errors import InvalidPush, LostRace, NotFound, StoreError
from gitstore.git import refs
from gitstore.git.lock import hold
from gitstore.git.quarantine import Quarantine, open_quarantine, sweep_quarantines
from gitstore.git.repository import Repository, open_repository
from gitstore.layout import BRANCH_PREFIX, CommitId
from gitstore.pushes.push import MIRROR_OPTION
from gitstore.upstream.followed_branches import find_pull
from gitstore.upstream.upstream_settings import UpstreamSettings
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.conversation import (
    FETCH,
    PUSH,
    PushedRef,
    RemoteRefs,
    read_fetch,
    read_http_refs,
    read_refs,
    read_report,
    write_fetch,
    write_push,
)
from gitstore.wire.client.http_remote import Credentials, HttpRemote, Limits
from gitstore.wire.client.remote_errors import (
    RemoteAway,
    RemoteBusy,
    RemoteGarbage,
    RemoteMoved,
    RemoteRefused,
    RemoteUnknown,
)
from gitstore.wire.client.remote_url import RemoteUrl, Transport, parse_url
from gitstore.wire.client.ssh_remote import SshKeys, SshRemote
from gitstore.wire.fetch.fetch_pack import PackOrder, make_pack
from gitstore.wire.packs.sent_pack import PackFormat
from gitstore.wire.push.pack_reader import PackReader
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

_HOOKS = ("pre-receive", "update", "reference-transaction")


class Remote(Protocol):
    """The other side of a sync."""

    @property
    def is_waypost(self) -> bool:
        """True if it says that it is a Waypost, once its tips are read."""
        ...

    def read_tips(self) -> Mapping[str, CommitId]:
        """Return the branches, and the heads of pull requests where the host shows them, by ref."""
        ...

    def translate(self, tip: CommitId) -> CommitId | None:
        """Return the commit here of a commit there: the same one, unless the upstream is a folder; None without it."""
        ...

    def list_folders(self) -> Sequence[str] | None:
        """Return the folders where the upstream's one should be, once its tips are read; None if the branch itself is missing."""
        ...

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        """Write the pack of a commit into a quarantine's request file."""
        ...

    def place(self, source: Path, commit: CommitId, base: CommitId | None, /) -> CommitId:
        """Return what is to be pushed for a draft that begins at a commit of release: the same, unless this is a folder."""
        ...

    def push(self, source: Path, move: PushedRef) -> None:
        """Move a branch to a commit of a repository. Raises RemoteMoved where it is not at the expected value."""
        ...


def open_remote(settings: UpstreamSettings) -> Remote:
    """Return the upstream's repository; nothing is connected yet. Raises RemoteRefused for a URL that is not allowed."""
    try:
        url = parse_url(settings.url)
    except ValueError as ex:
        raise RemoteRefused(f"The URL of the upstream cannot be used: {ex}") from ex
    if url.transport is Transport.PATH:
        return _PathRemote(url, settings)
    return _SshUpstream(url, settings) if url.transport is Transport.SSH else _HttpUpstream(url, settings)


class _Whole:
    """A whole repository, whose commits are the same here."""

    @staticmethod
    def translate(tip: CommitId) -> CommitId | None:
        return tip

    @staticmethod
    def list_folders() -> None:
        return None

    @staticmethod
    def place(_source: Path, commit: CommitId, _base: CommitId | None) -> CommitId:
        return commit


class _HttpUpstream(_Whole):
    """An upstream by HTTP or HTTPS."""

    def __init__(self, url: RemoteUrl, settings: UpstreamSettings) -> None:
        rules = settings.rules
        credentials = Credentials(settings.username or ("git" if settings.password else ""), settings.password)
        limits = Limits(rules.seconds, rules.most_bytes)
        self._remote = HttpRemote(url, credentials, AddressPolicy(rules.networks), limits)
        self._known: RemoteRefs | None = None

    @property
    def is_waypost(self) -> bool:
        return self._known is not None and self._known.is_waypost

    def read_tips(self) -> Mapping[str, CommitId]:
        self._known = self._ask(FETCH)
        return _tips(self._known.refs)

    def _ask(self, service: str) -> RemoteRefs:
        with self._remote.refs(service) as response:
            return read_http_refs(response, service)

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        remote = self._known or self._ask(FETCH)
        with TemporaryFile(dir=quarantine.path) as body, quarantine.request.open("xb") as pack:
            write_fetch(body, remote, want, haves)
            with self._remote.call(FETCH, body) as response:
                read_fetch(response, remote, pack)

    def push(self, source: Path, move: PushedRef) -> None:
        remote = self._ask(PUSH)
        if remote.refs.get(move.name) == move.new:
            return
        if remote.refs.get(move.name) != move.old:
            raise RemoteMoved(
                f"The upstream's branch {move.name.removeprefix(BRANCH_PREFIX)} has moved. Fetch in a moment, then try again."
            )
        options = (MIRROR_OPTION,) if remote.is_waypost and "push-options" in remote.capabilities else ()
        with open_quarantine(source) as quarantine, TemporaryFile(dir=quarantine.path) as body:
            pack = _make_pushed(source, quarantine, move, remote)
            write_push(body, remote, [move], pack, options)
            with _sending(), self._remote.call(PUSH, body) as response:
                read_report(response, remote, [move])


class _SshUpstream(_Whole):
    """An upstream by SSH; each call is a child process."""

    def __init__(self, url: RemoteUrl, settings: UpstreamSettings) -> None:
        rules = settings.rules
        keys = SshKeys(settings.ssh_key, settings.known_hosts)
        self._remote = SshRemote(url, keys, AddressPolicy(rules.networks), Limits(rules.seconds, rules.most_bytes))

    @property
    def is_waypost(self) -> bool:
        return False

    def read_tips(self) -> Mapping[str, CommitId]:
        with self._remote.call(FETCH) as call:
            return _tips(read_refs(call).refs)

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        with (
            self._remote.call(FETCH) as call,
            TemporaryFile(dir=quarantine.path) as body,
            quarantine.request.open("xb") as pack,
        ):
            remote = read_refs(call)
            write_fetch(body, remote, want, haves)
            call.write(body)
            call.finish()
            read_fetch(call, remote, pack)

    def push(self, source: Path, move: PushedRef) -> None:
        with open_quarantine(source) as quarantine, self._remote.call(PUSH) as call:
            remote = read_refs(call)
            if remote.refs.get(move.name) == move.new:
                return
            if remote.refs.get(move.name) != move.old:
                raise RemoteMoved(
                    f"The upstream's branch {move.name.removeprefix(BRANCH_PREFIX)} has moved. Fetch in a moment, then try again."
                )
            with TemporaryFile(dir=quarantine.path) as body:
                pack = _make_pushed(source, quarantine, move, remote)
                write_push(body, remote, [move], pack)
                with _sending():
                    call.write(body)
                    call.finish()
                    read_report(call, remote, [move])


class _PathRemote(_Whole):
    """An upstream on this machine. Its own hooks do not run, so one that checks pushes by a hook takes none."""

    def __init__(self, url: RemoteUrl, settings: UpstreamSettings) -> None:
        self._path = _find_folder(Path(url.path), settings.rules.folders)

    @property
    def is_waypost(self) -> bool:
        return False

    def read_tips(self) -> Mapping[str, CommitId]:
        try:
            return _tips(refs.list_refs(self._path, is_lenient=True))
        except (OSError, StoreError) as ex:
            raise RemoteAway("The upstream's repository cannot be read.") from ex

    def fetch(self, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
        write_fetched(self._path, quarantine, want, haves)

    def push(self, source: Path, move: PushedRef) -> None:
        self._require_no_hooks()
        sweep_quarantines(self._path)
        try:
            if move.new is None:
                self._remove(move)
            else:
                with open_quarantine(self._path) as quarantine:
                    self._install(source, quarantine, move.name, move.old, move.new)
        except NotFound as ex:
            raise RemoteAway("The upstream's repository cannot be read.") from ex
        except InvalidPush as ex:
            raise RemoteRefused(f"The upstream cannot take the push: {ex}.") from ex
        except LostRace as ex:
            raise RemoteMoved(
                f"The upstream's branch {move.name.removeprefix(BRANCH_PREFIX)} has moved. Fetch in a moment, then try again."
            ) from ex
        except OSError as ex:
            raise RemoteAway(f"The upstream's repository cannot be written ({ex.strerror}).") from ex

    def _remove(self, move: PushedRef) -> None:
        with hold(self._path) as lock:
            if refs.read_ref(self._path, move.name):
                refs.remove_ref(self._path, lock, move.name, move.old)

    def _install(self, source: Path, quarantine: Quarantine, ref: str, old: CommitId | None, new: CommitId) -> None:
        known = tuple(self.read_tips().values())
        made = make_pack_for(source, quarantine, new, known, is_thin=False)
        limits = PushLimits(object_bytes=1 << 30)
        with (
            open_repository(self._path, quarantine.path) as theirs,
            made.open("rb", buffering=0) as file,
            References(quarantine.path) as references,
        ):
            pack = PackReader(file, quarantine.packs, theirs, references, limits).read(lambda _done, _total: None)
        with hold(self._path) as lock:
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

    def _require_no_hooks(self) -> None:
        found = [name for name in _HOOKS if os.access(self._path / "hooks" / name, os.X_OK)]
        if found:
            raise RemoteRefused(
                f"The upstream's repository checks pushes by the hook {found[0]}, which does not run for an upstream at a "
                "path. Use its HTTP address."
            )


def write_fetched(path: Path, quarantine: Quarantine, want: CommitId, haves: Sequence[CommitId]) -> None:
    """Write the pack of a commit of a repository on this machine into a quarantine's request file."""
    with open_repository(path) as theirs:
        common = tuple(bytes.fromhex(have) for have in haves if theirs.has(have))
    try:
        made = make_pack(path, quarantine.path / "made", PackOrder((bytes.fromhex(want),), common))
        made.path.rename(quarantine.request)
    except (OSError, StoreError) as ex:
        raise RemoteGarbage("The upstream's repository is damaged, or cannot be read.") from ex


def _find_folder(path: Path, allowed: Sequence[str]) -> Path:
    """Return the folder of a repository, with links resolved. Raises RemoteRefused unless it is below an allowed folder."""
    found = path.resolve()
    if not any(found.is_relative_to(Path(folder).resolve()) for folder in allowed):
        raise RemoteRefused(
            "The path of the upstream is not below a folder that the operator allows with the setting upstream_folders."
        )
    for folder in (found, found / ".git"):
        if (folder / "objects").is_dir() and (folder / "HEAD").is_file():
            return folder
    raise RemoteAway("There is no Git repository at the path of the upstream.")


@contextmanager
def _sending() -> Iterator[None]:
    """Raise RemoteUnknown where a push fails that was sent, in whole or in part."""
    try:
        yield
    except RemoteBusy:  # it has not read the push
        raise
    except RemoteAway as ex:
        raise RemoteUnknown(
            f"{ex} It may have this publish or not. The next sync shows it: look at the history, then publish again if it "
            "is missing."
        ) from ex


def _tips(found: Mapping[str, CommitId]) -> Mapping[str, CommitId]:
    return {name: tip for name, tip in found.items() if name.startswith(BRANCH_PREFIX) or find_pull(name)}


def _make_pushed(source: Path, quarantine: Quarantine, move: PushedRef, remote: RemoteRefs) -> Path | None:
    if move.new is None:
        return None
    return make_pack_for(source, quarantine, move.new, tuple(remote.refs.values()), is_thin=True)


def make_pack_for(
    source: Path, quarantine: Quarantine, want: CommitId, theirs: Sequence[CommitId], *, is_thin: bool
) -> Path:
    """Make the pack of a commit of a repository for another one that has others, of which this one may not have all."""
    with open_repository(source) as own:
        common = tuple(bytes.fromhex(each) for each in dict.fromkeys(theirs) if _is_commit(own, each))
    order = PackOrder((bytes.fromhex(want),), common, format=PackFormat(is_thin=is_thin))
    return make_pack(source, quarantine.path / "made", order).path


def _is_commit(repository: Repository, commit: CommitId) -> bool:
    with suppress(StoreError):
        return repository.has(commit) and bool(repository.commit(commit).tree)
    return False
