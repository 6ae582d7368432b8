"""A TCP proxy of the tests that cuts connections off: after so many bytes of one direction."""

import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from select import select
from socket import SHUT_WR, SO_LINGER, SOL_SOCKET, create_connection, socket

UP, DOWN = "up", "down"
_RESET = struct.pack("ii", 1, 0)  # closed with a reset: https://man7.org/linux/man-pages/man7/socket.7.html
_PIECE = 4096


class CuttingProxy:
    """Forwards to a port; once armed, everything that is connected is cut off at a byte, and later connections pass."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self.port: int = self._listener.getsockname()[1]
        self.carried = {UP: 0, DOWN: 0}
        self._cut: tuple[str, int, Callable[[], None]] | None = None
        self._is_reset = False
        self._is_kept = False
        self._lock = threading.Lock()
        self._threads = list[threading.Thread]()

    def arm(
        self, direction: str, after: int, *, is_reset: bool = False, action: Callable[[], None] = lambda: None
    ) -> None:
        """Cut off after so many bytes from now on; `action` is called right before, once."""
        with self._lock:
            self.carried = {UP: 0, DOWN: 0}
            self._cut, self._is_reset, self._is_kept = (direction, after, action), is_reset, False

    def interrupt(self, action: Callable[[], None]) -> None:
        """Call an action before the next byte of an answer is forwarded, once, and cut nothing off."""
        self.arm(DOWN, 1, action=action)
        with self._lock:
            self._is_kept = True

    def disarm(self) -> bool:
        """Cut nothing off any more; return whether it was done."""
        with self._lock:
            was_cut = self._cut is None
            self._cut = None
            return was_cut

    def run(self) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(near,), daemon=True)
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Accept no more."""
        self._listener.shutdown(2)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _serve(self, near: socket) -> None:
        with suppress(OSError), near, create_connection(("127.0.0.1", self._target)) as far:
            ways = {near: (far, UP), far: (near, DOWN)}
            while ways:
                for source in select(list(ways), [], [], 60)[0]:
                    target, direction = ways[source]
                    data = source.recv(_PIECE)
                    passed, is_cut = self._take(direction, data)
                    target.sendall(passed)
                    if is_cut:
                        self._reset(near, far)
                        return
                    if not data:
                        del ways[source]
                        target.shutdown(SHUT_WR)

    def _reset(self, *ends: socket) -> None:
        for end in ends if self._is_reset else ():
            end.setsockopt(SOL_SOCKET, SO_LINGER, _RESET)

    def _take(self, direction: str, data: bytes) -> tuple[bytes, bool]:
        """Return the bytes to forward, and whether that was all."""
        with self._lock:
            before = self.carried[direction]
            self.carried[direction] += len(data)
            if self._cut is None or self._cut[0] != direction or before + len(data) < self._cut[1]:
                return data, False
            _, after, action = self._cut
            self._cut = None
        action()
        if self._is_kept:
            return data, False
        return data[: max(after - before, 0)], True


@contextmanager
def cutting(port: int) -> Iterator[CuttingProxy]:
    """Run a proxy in front of a port."""
    proxy = CuttingProxy(port)
    thread = threading.Thread(target=proxy.run, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
