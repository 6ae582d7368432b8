"""A fake API of a Git host, on loopback: the comments of one pull request, as GitHub, Gitea and GitLab have them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "s3cret-of-the-job"
PATHS = {
    "github": ("/api/repos/acme/rules/issues/7/comments", "/api/repos/acme/rules/issues/comments"),
    "gitlab": ("/api/v4/projects/42/merge_requests/7/notes", "/api/v4/projects/42/merge_requests/7/notes"),
}


@dataclass
class FakeHost:
    """The comments, and the account of the token (empty: the token cannot ask); `status` refuses all writes.

    `moved_to` is the address to which the list of comments redirects, `writer` the author of new comments.
    """

    kind: str
    url: str
    account: str
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    status: int = 0
    has_pages: bool = True
    moved_to: str = ""
    writer: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job for the pull request."""
        if self.kind == "gitlab":
            return {
                "GITLAB_CI": "true",
                "CI_API_V4_URL": f"{self.url}/api/v4",
                "CI_PROJECT_ID": "42",
                "CI_MERGE_REQUEST_IID": "7",
                "WAYPOST_COMMENT_TOKEN": TOKEN,
            }
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": f"{self.url}/api",
            "GITHUB_REPOSITORY": "acme/rules",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_TOKEN": TOKEN,
        }

    def add(self, text: str, author: str) -> dict[str, Any]:
        """Add a comment."""
        name = {"author": {"username": author}} if self.kind == "gitlab" else {"user": {"login": author}}
        comment = {"id": 1000 + len(self.comments), "body": text, **name}
        self.comments.append(comment)
        return comment


class _Server(ThreadingHTTPServer):
    """A server with its host."""

    host: FakeHost


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        host, path = self.server.host, self.path.partition("?")[0]
        if not self._is_allowed():
            return
        if path.endswith("/user"):
            name = "username" if host.kind == "gitlab" else "login"
            self._send(*((200, {name: host.account}) if host.account else (403, {"message": "not for jobs"})))
        elif path == PATHS[host.kind][0] and host.moved_to:
            self._send(302, {}, Location=host.moved_to)
        elif path == PATHS[host.kind][0]:
            self._send(200, self._page())
        else:
            self._send(404, {"message": "Not Found"})

    def do_POST(self) -> None:
        body, host = self._body(), self.server.host
        if self._is_writable():
            is_list = self.path == PATHS[host.kind][0]
            self._send(
                *((201, host.add(body, host.writer or host.account or "github-actions[bot]")) if is_list else (404, {}))
            )

    def do_PATCH(self) -> None:
        self._update("github")

    def do_PUT(self) -> None:
        self._update("gitlab")

    def _update(self, kind: str) -> None:
        body, host = self._body(), self.server.host
        if self._is_writable():
            paths = {f"{PATHS[host.kind][1]}/{each['id']}": each for each in host.comments} if kind == host.kind else {}
            if found := paths.get(self.path):
                found["body"] = body
            self._send(200 if found else 404, found or {})

    def _page(self) -> list[dict[str, Any]]:
        host = self.server.host
        values = dict(each.split("=") for each in self.path.partition("?")[2].split("&"))
        size = int(values["per_page"])
        start = (int(values["page"]) - 1) * size
        return host.comments[start : start + size] if host.has_pages else host.comments

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def _is_writable(self) -> bool:
        host = self.server.host
        if not self._is_allowed():
            return False
        if host.status:
            message = f"Resource not accessible by {TOKEN}"
            self._send(host.status, {"message": message}, Location=f"{host.url}/api/user")
        return not host.status

    def _is_allowed(self) -> bool:
        host = self.server.host
        host.requests.append(f"{self.command} {self.path.partition('?')[0]}")
        given = self.headers.get("PRIVATE-TOKEN" if host.kind == "gitlab" else "Authorization")
        if given == (TOKEN if host.kind == "gitlab" else f"Bearer {TOKEN}"):
            return True
        self._send(401, {"message": "Bad credentials"})
        return False

    def _send(self, status: int, value: object, **headers: str) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def fake_host(kind: str, account: str = "") -> Iterator[FakeHost]:
    """Serve the API of one kind of host; `account` is that of the token, empty if the token cannot ask for it."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.host = FakeHost(kind, f"http://127.0.0.1:{server.server_port}", account)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
