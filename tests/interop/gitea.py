"""A real Gitea: built from its Go module, and run on a free loopback port with SQLite.

Its pages need a frontend that another tool chain builds. Nothing here looks at them: only the API, Git over HTTP and
webhooks are used, so the frontend is left out, and Gitea logs an error about its manifest for each page.
"""

import base64
import getpass
import json
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.interop.processes import CACHE, counterpart
from tests.ports import free_port
from tests.service import wait_until

MODULE, VERSION = "code.gitea.io/gitea", "v1.26.0"
OWNER = "acme"
_TAGS = "sqlite sqlite_unlock_notify"
_BUILD_SECONDS = 3600.0
_SETTINGS = """
APP_NAME = Interop
RUN_USER = {user}
RUN_MODE = prod
WORK_PATH = {folder}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = {is_root}

[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = {url}/
STATIC_ROOT_PATH = {sources}
DISABLE_SSH = true
OFFLINE_MODE = true

[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db

[security]
INSTALL_LOCK = true
SECRET_KEY = {secret}

[webhook]
ALLOWED_HOST_LIST = loopback

[indexer]
ISSUE_INDEXER_TYPE = db

[actions]
ENABLED = false

[log]
MODE = console
LEVEL = warn
"""


@dataclass(frozen=True)
class Gitea:
    """A running Gitea, and a token of its only user."""

    url: str
    token: str
    client: httpx.Client
    log: Path

    def ask(self, method: str, path: str, status: int, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request to the API, and return its JSON."""
        answer = self.client.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    def create_repository(self) -> "GiteaRepository":
        """Create an empty repository with a new name."""
        name = f"redirects-{secrets.token_hex(4)}"
        self.ask("POST", "/user/repos", 201, {"name": name, "default_branch": "release", "private": True})
        return GiteaRepository(self, name)


@dataclass(frozen=True)
class GiteaRepository:
    """A repository of a running Gitea."""

    gitea: Gitea
    name: str

    @property
    def url(self) -> str:
        """The address for Git."""
        return f"{self.gitea.url}/{OWNER}/{self.name}.git"

    def ask(self, method: str, tail: str, status: int, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request below the repository's path, and return its JSON."""
        return self.gitea.ask(method, f"/repos/{OWNER}/{self.name}{tail}", status, body)

    def add_webhook(self, url: str, secret: str) -> int:
        """Add a webhook for all events that Waypost looks at; return its id."""
        config = {"url": url, "content_type": "json", "secret": secret}
        body = {"type": "gitea", "active": True, "events": ["push", "pull_request"], "config": config}
        found = self.ask("POST", "/hooks", 201, body)
        return int(found["id"])

    def statuses(self, commit: str) -> dict[str, tuple[str, str, str]]:
        """Return the newest state, text and link of each context of a commit."""
        found = self.ask("GET", f"/commits/{commit}/status", 200)["statuses"] or []
        return {each["context"]: (each["status"], each["description"], each["target_url"]) for each in found}

    def count_statuses(self, commit: str) -> int:
        """Return how many statuses were ever sent for a commit."""
        return len(self.ask("GET", f"/commits/{commit}/statuses?limit=50", 200))

    def commit(self, path: str, text: str, branch: str = "release", new_branch: str = "") -> str:
        """Change or add a file, as a person does on the host; return the commit."""
        self.wait_for(branch)
        known = self.gitea.client.get(f"/api/v1/repos/{OWNER}/{self.name}/contents/{path}", params={"ref": branch})
        content = {"content": base64.b64encode(text.encode()).decode(), "branch": branch, "message": f"Change {path}"}
        content |= {"new_branch": new_branch} if new_branch else {}
        if known.status_code == httpx.codes.OK:
            found = self.ask("PUT", f"/contents/{path}", 200, {**content, "sha": known.json()["sha"]})
        else:
            found = self.ask("POST", f"/contents/{path}", 201, content)
        return str(found["commit"]["sha"])

    def commit_first(self, path: str, text: str) -> None:
        """Add a file to the empty repository."""
        content = {"content": base64.b64encode(text.encode()).decode(), "message": f"Add {path}"}
        self.ask("POST", f"/contents/{path}", 201, content)

    def wait_for(self, branch: str) -> None:
        """Wait until Gitea knows a branch, which it learns some moments after the push."""
        path = f"/api/v1/repos/{OWNER}/{self.name}/branches/{branch}"
        wait_until(lambda: self.gitea.client.get(path).status_code == httpx.codes.OK, 60, f"the branch {branch}")

    def merge(self, number: int, way: str = "merge") -> None:
        """Merge a pull request, once Gitea has found out that it can be merged."""
        path = f"/api/v1/repos/{OWNER}/{self.name}/pulls/{number}/merge"
        send = partial(self.gitea.client.post, path, json={"Do": way})
        wait_until(lambda: send().status_code == httpx.codes.OK, 60, f"pull request {number} to be merged")

    def tip(self, branch: str = "release") -> str:
        """Return the commit of a branch."""
        self.wait_for(branch)
        return str(self.ask("GET", f"/branches/{branch}", 200)["commit"]["id"])


def build_gitea() -> tuple[Path, Path]:
    """Build Gitea unless the cache has it; return its program and its sources, which have templates and texts."""
    download = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    found = json.loads(_run(download, Path.home()))
    sources, program = Path(found["Dir"]), CACHE / f"gitea-{VERSION}"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        made = program.with_suffix(".part")
        flags = ["-trimpath", "-buildvcs=false", "-tags", _TAGS, "-ldflags", f"-s -w -X main.Version={VERSION[1:]}"]
        _run(["go", "build", *flags, "-o", str(made), "."], sources)
        made.rename(program)
    return program, sources


def _run(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
    )
    assert done.returncode == 0, f"{' '.join(command[:3])} failed:\n{done.stderr[-3000:]}"
    return done.stdout


@contextmanager
def running_gitea(folder: Path) -> Iterator[Gitea]:
    """Run Gitea with all its data in a folder, and an administrator with a token."""
    program, sources = build_gitea()
    settings, port = folder / "app.ini", free_port()
    url = f"http://127.0.0.1:{port}"
    settings.write_text(
        _SETTINGS.format(
            user=getpass.getuser(),
            folder=folder,
            # Gitea does not start as root without this; it is for machines of CI, where all is root and thrown away.
            is_root=str(os.geteuid() == 0).lower(),
            port=port,
            url=url,
            sources=sources,
            secret=secrets.token_hex(16),
        )
    )
    token = _prepare(program, settings, folder)
    log = folder / "gitea.log"
    headers = {"Authorization": f"token {token}"}
    command = [str(program), "web", "--config", str(settings)]
    with counterpart(command, log) as process, httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        wait_until(lambda: process.poll() is not None or _answers(client), 60, "Gitea to answer")
        assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
        yield Gitea(url, token, client, log)


def _prepare(program: Path, settings: Path, folder: Path) -> str:
    """Create the database and the user; return a token."""
    tail = ["--config", str(settings)]
    _run([str(program), "migrate", *tail], folder)
    password, user = secrets.token_urlsafe(16), [str(program), "admin", "user"]
    person = ["--username", OWNER, "--password", password, "--email", "acme@example.com", "--admin"]
    _run([*user, "create", *tail, *person, "--must-change-password=false"], folder)
    made = [*user, "generate-access-token", *tail, "--username", OWNER, "--scopes", "all", "--raw"]
    return _run(made, folder).split()[-1]


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/api/v1/version").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
