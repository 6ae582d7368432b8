"""A server of the tests that answers requests as it is told: the API of a Git host, behind its web server."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Asked(NamedTuple):
    """A request to a host's API."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


AnswerApi = Callable[[Asked], tuple[int, dict[str, str], bytes]]
"""Answers a request to the API of a host: its status, headers and body."""


@contextmanager
def answering_api(answer_api: AnswerApi) -> Iterator[int]:
    """Answer requests on a free port, which is yielded."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):
                return self._answer
            raise AttributeError(name)

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, content = answer_api(Asked(self.command, self.path, dict(self.headers), body))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
