"""The upstream's repository, behind HTTP or at a path: its tips, a fetch into a quarantine, a push."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol

from gitstore.git.quarantine import Quarantine, open_quarantine
from gitstore.layout import BRANCH_PREFIX, CommitId
from gitstore.pushes.push import MIRROR_OPTION
from gitstore.upstream.remotes.path_remote import PathRemote
from gitstore.upstream.remotes.remote_packs import make_pack_for
from gitstore.upstream.remotes.whole_remote import WholeRemote, keep_branches
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
    RemoteMoved,
    RemoteRefused,
    RemoteUnknown,
)
from gitstore.wire.client.remote_url import RemoteUrl, Transport, parse_url
from gitstore.wire.client.ssh_remote import SshKeys, SshRemote

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
        return PathRemote(url, settings)
    return _SshUpstream(url, settings) if url.transport is Transport.SSH else _HttpUpstream(url, settings)


class _HttpUpstream(WholeRemote):
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
        return keep_branches(self._known.refs)

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


class _SshUpstream(WholeRemote):
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
            return keep_branches(read_refs(call).refs)

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


@contextmanager
def _sending() -> Iterator[None]:
    """Raise RemoteUnknown where a push fails that was sent, in whole or in part."""
    try:
        yield
    except RemoteAway as ex:  # also RemoteBusy: a proxy answers 503 for a server that has read the push
        raise RemoteUnknown(
            f"{ex} It may have this publish or not. The next sync shows it: look at the history, then publish again if it "
            "is missing.",
            ex.seconds,
        ) from ex


def _make_pushed(source: Path, quarantine: Quarantine, move: PushedRef, remote: RemoteRefs) -> Path | None:
    if move.new is None:
        return None
    return make_pack_for(source, quarantine, move.new, tuple(remote.refs.values()), is_thin=True)
