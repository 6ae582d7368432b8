"""A fake of the hosts' APIs: it answers as each host's public reference documents it, over real bare repositories.

Git itself is C git's `http-backend`. A real Gitea is in tests/interop.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.e2e.git import git
from tests.gitstore.wire.client.http_host import PASSWORD, USER, Asked, HttpHost, hosting

TOKEN = "t0ken-of-the-api"
_ROOTS = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1", "forgejo": "/api/v1"}
_HEADERS = {
    "github": ("Authorization", f"Bearer {TOKEN}"),
    "gitlab": ("PRIVATE-TOKEN", TOKEN),
    "gitea": ("Authorization", f"token {TOKEN}"),
    "forgejo": ("Authorization", f"token {TOKEN}"),
}
_GITLAB_STATES = {"success": "success", "failed": "failure", "pending": "pending"}


@dataclass
class FakePull:
    """A pull request."""

    number: int
    head: str
    base: str
    title: str
    body: str
    state: str = "open"


@dataclass
class SentStatus:
    """A commit status as it was sent, in GitHub's words."""

    commit: str
    context: str
    state: str
    text: str
    target: str


@dataclass
class FakeHost:
    """A host of one kind with one repository, `acme/redirects`; `broken` is the status of all answers of its API while set."""

    kind: str
    folder: Path
    http: HttpHost = field(default_factory=lambda: HttpHost(Path(), ""))
    pulls: list[FakePull] = field(default_factory=list)
    statuses: list[SentStatus] = field(default_factory=list)
    broken: int = 0

    @property
    def path(self) -> Path:
        """The bare repository."""
        return self.folder / "acme" / "redirects.git"

    @property
    def url(self) -> str:
        """The address of the repository for Git."""
        return f"{self.http.url}/acme/redirects.git"

    def upstream(self, **fields: Any) -> dict[str, Any]:
        """Return the body of a request that makes it an upstream."""
        base = {"url": self.url, "mode": "source", "username": USER, "password": PASSWORD, "poll": 3600}
        return {**base, "host": self.kind, "hostToken": TOKEN, **fields}

    def tip(self, branch: str = "release") -> str:
        """Return the commit of a branch, empty without one."""
        return git(self.path, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def protect(self, message: str) -> None:
        """Refuse each push to release, with a message of the host."""
        hook = self.path / "hooks" / "update"
        hook.write_text(f'#!/bin/sh\n[ "$1" != refs/heads/release ] || {{ echo "{message}" >&2; exit 1; }}\n')
        hook.chmod(0o755)

    def merge(self, number: int, *, squash: bool = False) -> str:
        """Merge a pull request as the host does; return the new tip."""
        pull = self.pulls[number - 1]
        work = self.folder / f"merge-{number}"
        git(self.folder, "clone", "-q", "-b", pull.base, str(self.path), str(work))
        if squash:
            git(work, "merge", "-q", "--squash", f"origin/{pull.head}")
            git(work, "commit", "-q", "-m", f"{pull.title} (#{number})")
        else:
            git(work, "merge", "-q", "--no-ff", "-m", f"Merge #{number}", f"origin/{pull.head}")
        tip = git(work, "rev-parse", "HEAD")
        git(self.path, "fetch", "-q", str(work), f"HEAD:refs/heads/{pull.base}")
        pull.state = "merged"
        return tip

    def answer(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        """Answer a request to the API."""
        status, body = self._answer(asked)
        return status, {"Content-Type": "application/json"}, json.dumps(body).encode()

    def _answer(self, asked: Asked) -> tuple[int, Any]:
        name, value = _HEADERS[self.kind]
        if asked.headers.get(name) != value:
            return 401, {"message": "401 Unauthorized"}
        if self.broken:
            return self.broken, {"message": "away"}
        parts = urlsplit(asked.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        body = json.loads(asked.body) if asked.body else {}
        repository = quote("acme/redirects", safe="") if self.kind == "gitlab" else "acme/redirects"
        root = _ROOTS[self.kind] + ("/projects/" if self.kind == "gitlab" else "/repos/") + repository
        if not parts.path.startswith(root + "/"):
            return 404, {"message": "404 Not Found"}
        tail = parts.path.removeprefix(root)
        if tail.startswith("/statuses/"):
            return self._take_status(tail.removeprefix("/statuses/"), body)
        if self.kind == "gitlab":
            tail = tail.replace("/merge_requests", "/pulls", 1)
            names = {"source_branch": "head", "target_branch": "base", "description": "body"}
            body = {names.get(key, key): value for key, value in body.items()}
            query = {names.get(key, key): value for key, value in query.items()}
        return self._take_pull(asked.method, tail, body, query)

    def _take_status(self, commit: str, body: dict[str, str]) -> tuple[int, Any]:
        known = subprocess.run(
            ["git", "-C", self.path, "cat-file", "-e", commit], check=False, capture_output=True
        ).returncode
        if known != 0:
            return 422, {"message": f"No commit found for SHA: {commit}"}
        if self.kind == "gitlab":
            sent = SentStatus(
                commit, body["name"], _GITLAB_STATES[body["state"]], body["description"], body.get("target_url", "")
            )
            if any(
                (each.commit, each.context, each.state) == (commit, sent.context, sent.state) for each in self.statuses
            ):
                message = "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition)"
                return 400, {"message": message}
        else:
            sent = SentStatus(commit, body["context"], body["state"], body["description"], body.get("target_url", ""))
        if len(sent.text) > (140 if self.kind == "github" else 255):
            return 422, {"message": "Validation Failed", "errors": [{"message": "description is too long"}]}
        self.statuses.append(sent)
        return 201, {"id": len(self.statuses), "state": body["state"]}

    def _take_pull(self, method: str, tail: str, body: dict[str, str], query: dict[str, str]) -> tuple[int, Any]:
        if method == "POST" and tail == "/pulls":
            return self.open(body)
        if method == "GET" and tail == "/pulls":
            head = query.get("head", "").removeprefix("acme:")
            found = [each for each in self.pulls if each.state == "open" and (not head or each.head == head)]
            return 200, [self._show(each) for each in found] if query.get("page", "1") == "1" else []
        numbered = re.fullmatch(r"/pulls/(\d+)", tail)
        if numbered is None or not 1 <= int(numbered[1]) <= len(self.pulls):
            return 404, {"message": "404 Not found"}
        pull = self.pulls[int(numbered[1]) - 1]
        if method != "GET":
            assert method == ("PUT" if self.kind == "gitlab" else "PATCH"), method
            pull.title, pull.body = body["title"], body["body"]
        return (201 if method == "PATCH" and self.kind in {"gitea", "forgejo"} else 200), self._show(pull)

    def open(self, body: dict[str, str]) -> tuple[int, Any]:
        """Open a pull request."""
        if not self.tip(body["head"]):
            return 422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}
        pair = (body["head"], body["base"])
        if any(each.state == "open" and (each.head, each.base) == pair for each in self.pulls):
            if self.kind == "github":
                message = f"A pull request already exists for acme:{body['head']}."
                return 422, {"message": "Validation Failed", "errors": [{"message": message}]}
            return 409, {"message": ["Another open merge request already exists for this source branch: !1"]}
        self.pulls.append(FakePull(len(self.pulls) + 1, body["head"], body["base"], body["title"], body["body"]))
        return 201, self._show(self.pulls[-1])

    def _show(self, pull: FakePull) -> dict[str, Any]:
        if self.kind == "gitlab":
            state = {"open": "opened"}.get(pull.state, pull.state)
            url = f"{self.http.url}/acme/redirects/-/merge_requests/{pull.number}"
            return {"id": 1000 + pull.number, "iid": pull.number, "web_url": url, "state": state, "title": pull.title}
        return {
            "id": 1000 + pull.number,
            "number": pull.number,
            "html_url": f"{self.http.url}/acme/redirects/pull/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged": pull.state == "merged",
            "title": pull.title,
            "head": {"ref": pull.head},
            "base": {"ref": pull.base},
        }


@contextmanager
def fake_host(kind: str, folder: Path) -> Iterator[FakeHost]:
    """Run a host of a kind, whose repository is empty."""
    host = FakeHost(kind, folder)
    host.path.parent.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "--initial-branch=release", str(host.path))
    git(host.path, "config", "http.receivepack", "true")
    with hosting(folder, host.answer) as http:
        host.http = http
        yield host
