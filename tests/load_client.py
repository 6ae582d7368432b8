"""Many connections that each send one request and then wait: plain sockets, so that thousands fit into one process."""

import re
import selectors
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_READ = 65_536
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")
_END = b"\r\n\r\n"


class LoadClient:
    """A number of connections to a port of the loopback address, each with the same GET in progress."""

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
        """Return the whole answer to each request, in order of arrival; fail if one does not arrive in time."""
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
def load_client(port: int, path: str, headers: Mapping[str, str], count: int) -> Iterator[LoadClient]:
    """Open the connections, and close them at the end."""
    made = LoadClient(port, path, headers, count)
    try:
        yield made
    finally:
        made.close()


def _read(key: selectors.SelectorKey) -> bytes | None:
    """Return the answer once it is complete."""
    assert isinstance(key.fileobj, socket.socket)
    data = key.fileobj.recv(_READ)
    if not data:
        raise AssertionError(f"a connection was closed after {bytes(key.data)!r}")
    key.data.extend(data)
    head, end, body = bytes(key.data).partition(_END)
    length = _LENGTH.search(head)
    return bytes(key.data) if end and len(body) >= (int(length[1]) if length else 0) else None
