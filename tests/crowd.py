"""Many connections that each ask one thing and then wait: plain sockets, so that thousands fit into one process."""

import re
import selectors
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_READ = 65_536
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")
_END = b"\r\n\r\n"


class Crowd:
    """So many connections to a port of the loopback address, each with the same GET under way."""

    def __init__(self, port: int, path: str, headers: Mapping[str, str], count: int) -> None:
        fields = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items())
        request = f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode()
        self._sockets: list[socket.socket] = []
        try:
            for _ in range(count):
                self._sockets.append(socket.create_connection(("127.0.0.1", port), timeout=30))
                self._sockets[-1].sendall(request)
        except OSError:
            self.close()
            raise

    def answers(self, seconds: float) -> list[bytes]:
        """The whole answer to each request, as they come; fails where one does not come in time."""
        deadline = time.monotonic() + seconds
        found: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            for each in self._sockets:
                selector.register(each, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise AssertionError(f"{len(selector.get_map())} of {len(self._sockets)} have no answer")
                for key, _ in ready:
                    if answer := _read(key):
                        selector.unregister(key.fileobj)
                        found.append(answer)
        return found

    def close(self) -> None:
        """Close every connection."""
        for each in self._sockets:
            each.close()


@contextmanager
def crowd(port: int, path: str, headers: Mapping[str, str], count: int) -> Iterator[Crowd]:
    """A crowd whose connections are closed at the end."""
    made = Crowd(port, path, headers, count)
    try:
        yield made
    finally:
        made.close()


def _read(key: selectors.SelectorKey) -> bytes | None:
    """The answer once it is whole."""
    assert isinstance(key.fileobj, socket.socket)
    data = key.fileobj.recv(_READ)
    if not data:
        raise AssertionError(f"a connection was closed after {bytes(key.data)!r}")
    key.data.extend(data)
    head, end, body = bytes(key.data).partition(_END)
    length = _LENGTH.search(head)
    return bytes(key.data) if end and len(body) >= (int(length[1]) if length else 0) else None
