"""A proxy that lies: it passes reads on to a service, and changes what a test names."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx


class LyingProxy:
    """The proxy; `paths` has texts of paths to replace, `bodies` those of bodies. It serves HTTP on loopback at `url`."""

    def __init__(self, service: str, port: int) -> None:
        self.service, self.url = service, f"http://127.0.0.1:{port}"
        self.paths: dict[str, str] = {}
        self.bodies: dict[str, str] = {}

    def read(self, path: str, token: str) -> httpx.Response:
        """Return the response of the service, to the path that is read in place of this one."""
        return httpx.get(self.service + _replaced(path, self.paths), headers={"Authorization": token})

    def body(self, answer: httpx.Response) -> bytes:
        """Return the changed body of a response."""
        return _replaced(answer.text, self.bodies).encode()


def _replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


@contextmanager
def lying_proxy(service: str) -> Iterator[LyingProxy]:
    """Run a proxy in threads of this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    proxy = LyingProxy(service, server.server_address[1])
    server.RequestHandlerClass = type("Handler", (_Handler,), {"proxy": proxy})
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: LyingProxy

    def do_GET(self) -> None:
        """Pass on a read."""
        answer = self.proxy.read(self.path, self.headers["Authorization"])
        body = self.proxy.body(answer)
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.startswith(("content-digest", "content-type", "signature")):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""
