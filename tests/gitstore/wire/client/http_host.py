"""A Git host on loopback: C git's `http-backend` behind a web server, and a server that answers with given bytes."""

import base64
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import NamedTuple

USER, PASSWORD = "robot", "s3cret-of-the-upstream"


@dataclass
class HttpHost:
    """The repositories below a folder, by HTTP with a password; `requests` are the lines of all requests."""

    folder: Path
    url: str
    requests: list[str] = field(default_factory=list)


class Asked(NamedTuple):
    """A request to a host's API."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


AnswerApi = Callable[[Asked], tuple[int, dict[str, str], bytes]]
"""Answers a request to the API of a host: its status, headers and body."""


class _QuietHandler(BaseHTTPRequestHandler):
    """A handler that answers every method alike, and prints nothing."""

    protocol_version = "HTTP/1.1"

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def answer(self) -> None:
        """Answer a request."""
        raise NotImplementedError

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def hosting(folder: Path, answer_api: AnswerApi | None = None) -> Iterator[HttpHost]:
    """Serve the repositories below a folder with `git http-backend`, and below `/api/` what is given."""
    host = HttpHost(folder, "")

    class Handler(_QuietHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            host.requests.append(f"{self.command} {self.path}")
            if answer_api and self.path.startswith("/api/"):
                self._send(*answer_api(Asked(self.command, self.path, dict(self.headers), body)))
                return
            pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if self.headers.get("Authorization") != f"Basic {pair}":
                self._send(401, {"WWW-Authenticate": 'Basic realm="host"'}, b"")
                return
            path, _, query = self.path.partition("?")
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_SYSTEM": os.devnull,
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "REMOTE_USER": USER,
                "REMOTE_ADDR": "127.0.0.1",
            }
            done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self._send(int(headers.pop("Status", "200").split()[0]), headers, content)

        def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def answering(answer: Callable[[socket], None]) -> Iterator[str]:
    """Run a server that reads the head of each request, then has `answer` write; yield its URL."""
    listener = socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    threads = list[threading.Thread]()

    def serve(connection: socket) -> None:
        with connection:
            try:
                data = b""
                while b"\r\n\r\n" not in data and (piece := connection.recv(65_536)):
                    data += piece
                answer(connection)
            except OSError:  # the client has closed it
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=serve, args=(connection,), daemon=True)
            thread.start()
            threads.append(thread)

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/repo.git"
    finally:
        listener.shutdown(2)
        listener.close()
        acceptor.join()
