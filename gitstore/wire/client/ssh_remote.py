"""A repository behind SSH, by the system's `ssh` as a child process: bounded in time, never asking, with known host keys only.

It connects to an address that was checked, under the name of the host.
"""

import math
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from select import select
from typing import BinaryIO, NamedTuple

from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.http_remote import Limits
from gitstore.wire.client.remote_addresses import resolve
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteRefused, quote_remote
from gitstore.wire.client.remote_url import RemoteUrl

_CONNECT_SECONDS = 10
_GRACE_SECONDS = 5.0
_PIECE = 1 << 16
_MOST_ERROR_BYTES = 4096
_OPTIONS = (
    "BatchMode=yes",  # it never asks
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "PasswordAuthentication=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ProxyCommand=none",
    "ControlMaster=no",
    "ControlPath=none",
    f"ConnectTimeout={_CONNECT_SECONDS}",
    "ServerAliveInterval=5",
    "LogLevel=ERROR",
)
_HOST_KEY = "Host key verification failed"
_REFUSALS = ("Permission denied", _HOST_KEY, "REMOTE HOST IDENTIFICATION HAS CHANGED")


class SshKeys(NamedTuple):
    """The private key of this service, and the lines of the host's public keys, as in `known_hosts`."""

    private: str = ""
    known_hosts: str = ""

    def __repr__(self) -> str:
        return "SshKeys(…)"


class SshRemote:
    """A repository by SSH."""

    def __init__(self, url: RemoteUrl, keys: SshKeys, policy: AddressPolicy, limits: Limits) -> None:
        self._url = url
        self._keys = keys
        self._policy = policy
        self._limits = limits

    @contextmanager
    def call(self, service: str) -> "Iterator[SshCall]":
        """Start a service there. Raises RemoteAway, RemoteRefused."""
        with (
            _in_memory("key", self._keys.private.strip() + "\n") as key,
            _in_memory("hosts", self._keys.known_hosts.strip() + "\n") as hosts,
            _start(self._command(service, _path(key), _path(hosts))) as child,
        ):
            yield SshCall(child, time.monotonic() + self._limits.seconds, self._limits.response_bytes)

    def _command(self, service: str, key: str, hosts: str) -> list[str]:
        url = self._url
        alias = url.host if url.port == SSH_PORT else f"[{url.host}]:{url.port}"
        options = (*_OPTIONS, f"UserKnownHostsFile={hosts}", f"HostKeyAlias={alias}")
        return [
            # It ends ssh also where this process was killed, and the host keeps the connection.
            *("timeout", "-s", "KILL", f"{math.ceil(self._limits.seconds + _GRACE_SECONDS)}"),
            *("ssh", "-F", "none", "-T", "-i", key, "-p", str(url.port), "-l", url.username),
            *(word for option in options for word in ("-o", option)),
            *("--", resolve(url, self._policy)[0][1], f"{service} {shlex.quote(url.path)}"),
        ]


SSH_PORT = 22


class SshCall:
    """A running service: what is written goes to it, what it answers is read within limits."""

    def __init__(self, child: "subprocess.Popen[bytes]", deadline: float, most: int) -> None:
        self._child = child
        self._deadline = deadline
        self._left = most
        self._errors = b""
        self._reader = threading.Thread(target=self._keep_errors, daemon=True)
        self._reader.start()

    def _keep_errors(self) -> None:
        """Read what ssh and the other side report as errors, and keep its end: nothing limits how much they send."""
        if self._child.stderr is None:
            return
        with self._child.stderr as stream, suppress(OSError):  # it ends with the child
            while piece := os.read(stream.fileno(), _PIECE):
                self._errors = (self._errors + piece)[-_MOST_ERROR_BYTES:]

    def write(self, body: BinaryIO) -> None:
        """Send a request. Raises RemoteAway."""
        body.seek(0)
        while piece := body.read(_PIECE):
            self._send(piece)

    def _send(self, data: bytes) -> None:
        handle, view = self._handle(self._child.stdin), memoryview(data)
        while view:
            _, ready, _ = select([], [handle], [], self._seconds_left())
            if not ready:
                raise RemoteAway("The upstream did not take the request in time (the setting upstream_timeout).")
            try:
                view = view[os.write(handle, view) :]
            except BlockingIOError:
                continue
            except OSError as ex:
                raise self._explain() from ex

    def finish(self) -> None:
        """End the requests."""
        if self._child.stdin:
            with suppress(OSError):
                self._child.stdin.close()

    def read(self, size: int, /) -> bytes:
        """Read exactly so many bytes, fewer only at the end. Raises RemoteAway, RemoteRefused, RemoteGarbage."""
        pieces, wanted, handle = list[bytes](), size, self._handle(self._child.stdout)
        while wanted > 0:
            ready, _, _ = select([handle], [], [], self._seconds_left())
            if not ready:
                raise RemoteAway("The upstream did not answer in time (the setting upstream_timeout).")
            piece = os.read(handle, min(wanted, _PIECE))
            if not piece:
                break
            pieces.append(piece)
            wanted -= len(piece)
            self._left -= len(piece)
            if self._left < 0:
                raise RemoteGarbage("The upstream sends more than is allowed (the setting push_limit).")
        if size and not pieces:
            self._require_success()
        return b"".join(pieces)

    def _require_success(self) -> None:
        """Raise the fault of a child that ended without an answer."""
        with suppress(subprocess.TimeoutExpired):
            if self._child.wait(max(self._seconds_left(), 0.1)) == 0:
                return
        raise self._explain()

    def _explain(self) -> RemoteAway | RemoteRefused:
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(1.0)
        self._reader.join(1.0)
        text = self._errors.decode(errors="replace").strip()
        last = quote_remote(text.splitlines()[-1]) if text else "no message"
        kind = RemoteRefused if any(each in text for each in _REFUSALS) else RemoteAway
        said = f"The upstream cannot be used by SSH: {last.rstrip('.')}."
        if _HOST_KEY in text:
            said += " Its key is unknown here, or has changed: compare it with what the host publishes, and set the known hosts."
        return kind(said)

    def _seconds_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise RemoteAway("The upstream did not answer in time (the setting upstream_timeout).")
        return left

    @staticmethod
    def _handle(stream: object) -> int:
        number: int = stream.fileno()  # type: ignore[attr-defined]  # both are pipes
        return number


@contextmanager
def _start(command: list[str]) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a child that ends with the block."""
    if shutil.which("ssh") is None:
        raise RemoteAway("This machine has no program ssh, which an upstream by SSH needs. Install openssh-client.")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        child = subprocess.Popen(  # noqa: S603 - a list of words; host, user and path are parsed strictly
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as ex:
        raise RemoteAway(
            "This machine has no program timeout, which an upstream by SSH needs. Install coreutils."
        ) from ex
    try:
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)
        yield child
    finally:
        if child.poll() is None:  # once it has ended, its number may be another one's
            os.killpg(child.pid, signal.SIGKILL)  # the program timeout, and ssh
        child.wait()
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):
                if stream:
                    stream.close()


@contextmanager
def _in_memory(name: str, text: str) -> Iterator[int]:
    """Make a file in memory, which ends with this process, whatever ends it: no key is left on a disk."""
    handle = os.memfd_create(f"waypost-{name}")
    try:
        os.fchmod(handle, 0o600)  # ssh refuses a key that others may read
        os.write(handle, text.encode())
        yield handle
    finally:
        os.close(handle)


def _path(handle: int) -> str:
    """Return a name by which another process of this user opens a file of this one."""
    return f"/proc/{os.getpid()}/fd/{handle}"
