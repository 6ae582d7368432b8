"""A receiver of webhooks: a small HTTP server on loopback that records messages, and sends the replies of a test."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.service import wait_until

PATIENCE = 60.0


@dataclass(frozen=True)
class Message:
    """A received request."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def id(self) -> str:
        """Its webhook-id."""
        return self.headers["webhook-id"]

    @property
    def body(self) -> Any:
        """Its JSON."""
        return json.loads(self.raw)


# status, headers and body for the nth message, counted from 0; it may block, or raise to cut the connection
Reply = Callable[[Message, int], tuple[int, dict[str, str], bytes]]


@dataclass
class Receiver:
    """A running receiver; `reply` may be changed at any time."""

    port: int = 0
    reply: Reply = lambda _message, _number: (204, {}, b"")
    messages: list[Message] = field(default_factory=list)

    @property
    def url(self) -> str:
        """A URL for webhooks."""
        return f"http://127.0.0.1:{self.port}/hook"

    def of(self, kind: str) -> list[Message]:
        """Return the messages of a type, in order of arrival."""
        return [message for message in list(self.messages) if message.body["type"] == kind]

    def wait(self, count: int, kind: str = "") -> list[Message]:
        """Wait for so many messages, and return them."""

        def found() -> list[Message]:
            return self.of(kind) if kind else list(self.messages)

        wait_until(lambda: len(found()) >= count, PATIENCE, f"{count} messages {kind}")
        return found()


def always(status: int, body: bytes = b"", **headers: str) -> Reply:
    """Return a reply that is the same for every message."""
    return lambda _message, _number: (status, headers, body)


def in_turn(*statuses: int) -> Reply:
    """Return a reply that gives one status after another, and then repeats the last one."""
    return lambda _message, number: (statuses[min(number, len(statuses) - 1)], {}, b"")


@contextmanager
def receiving(host: str = "127.0.0.1") -> Iterator[Receiver]:
    """Run a receiver on a free port, until the end of the block."""
    receiver = Receiver()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            message = Message(self.path, {name.lower(): value for name, value in self.headers.items()}, raw)
            with lock:
                number = len(receiver.messages)
                receiver.messages.append(message)
            try:
                status, headers, body = receiver.reply(message, number)
            except ConnectionError:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore errors: clients that time out are part of the tests."""

    server = Server((host, 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
