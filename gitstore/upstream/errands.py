"""Pushes and syncs that the background does for a publish: a request starts no child process, and SSH needs one.

The background listens on a socket beside the repositories. A connection is one errand: a line of JSON each way. An errand is
the same when it is done twice, so one whose answer is lost is handed over again.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from gitstore.layout import CommitId
from gitstore.wire.client.remote_errors import (
    RemoteAway,
    RemoteError,
    RemoteGarbage,
    RemoteMoved,
    RemoteRefused,
    RemoteUnknown,
)

SOCKET = ".upstreams.sock"
MOST_BYTES = 65_536
LATE = (
    "The upstream has moved, and its new commits did not arrive in time. Nothing was published; try again in a moment."
)
UNKNOWN = (
    "The upstream did not answer in time, so it may have this publish or not. The next sync shows it: look at the history, "
    "then publish again if it is missing."
)
_START_SECONDS = 6.0  # until a worker listens: another one takes over within a second
_POLL_SECONDS = 0.02
_KINDS: dict[str, type[RemoteError]] = {
    kind.__name__: kind for kind in (RemoteAway, RemoteRefused, RemoteGarbage, RemoteMoved, RemoteUnknown)
}


class Errand(NamedTuple):
    """A push of a commit to the upstream of a namespace, whose branch is expected at `old`; without `new`, a sync."""

    namespace: str
    old: CommitId | None = None
    new: CommitId | None = None

    def late(self) -> RemoteAway:
        """Return the fault where no answer comes in time: only a push may be done nevertheless."""
        return RemoteUnknown(UNKNOWN) if self.new else RemoteAway(LATE)

    def dump(self) -> bytes:
        """Return the line of the request."""
        return orjson.dumps(self._asdict(), option=orjson.OPT_APPEND_NEWLINE)


def load_errand(line: bytes) -> Errand:
    """Read a request. Raises ValueError, TypeError."""
    return Errand(**orjson.loads(line))


def dump_answer(fault: RemoteError | None) -> bytes:
    """Return the line of the answer; None: it is done."""
    named = {"fault": type(fault).__name__, "message": str(fault)} if fault else {"fault": ""}
    return orjson.dumps(named, option=orjson.OPT_APPEND_NEWLINE)


def listen(repositories: Path) -> socket.socket:
    """Return a socket for errands, in place of that of a dead process. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), 0o600)  # before `bind`, so that no other user can ever connect
        with _address(repositories) as address:
            (repositories / SOCKET).unlink(missing_ok=True)
            listener.bind(address)
        listener.listen()
        listener.setblocking(False)  # noqa: FBT003 - the method takes it by position alone
    except OSError:
        listener.close()
        raise
    return listener


def hand_over(repositories: Path, errand: Errand, seconds: float) -> None:
    """Have the background do an errand, and wait for its answer. Raises RemoteError."""
    begun, is_sent = time.monotonic(), False
    deadline = begun + seconds
    while time.monotonic() < (deadline if is_sent else begun + min(seconds, _START_SECONDS)):
        with suppress(FileNotFoundError, ConnectionError):
            answer = _ask(repositories, errand, deadline)
            is_sent = True
            if answer:
                return _raise_fault(answer)
        time.sleep(_POLL_SECONDS)
    if is_sent:
        raise errand.late()
    raise RemoteAway("No process of this node talks to upstreams now. Try again in a moment.")


def _ask(repositories: Path, errand: Errand, deadline: float) -> bytes:
    """Send the request and return the answer; empty where the background ended before it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, _address(repositories) as address:
        connection.connect(address)
        answer = b""
        try:
            connection.sendall(errand.dump())
            while not answer.endswith(b"\n"):
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                piece = connection.recv(MOST_BYTES)
                if not piece:
                    return b""
                answer += piece
        except TimeoutError as ex:
            raise errand.late() from ex
        except ConnectionError:
            return b""
        return answer


def _raise_fault(answer: bytes) -> None:
    found = orjson.loads(answer)
    if found["fault"]:
        raise _KINDS.get(found["fault"], RemoteAway)(found["message"])


@contextmanager
def _address(repositories: Path) -> Iterator[str]:
    """Yield a short name of the socket: https://man7.org/linux/man-pages/man7/unix.7.html allows 108 bytes."""
    handle = os.open(repositories, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
