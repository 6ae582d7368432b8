"""No secret of any request is kept or shown in clear, and no text of a request ends a line of the log.

Every operation of the contract is called with a unique word in each field of its body, in each parameter and in headers, by several
kinds of callers, so a new route is covered as soon as it is in the contract.
"""

import base64
import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from api.http.request.session_cookies import ACCESS, CSRF, OPENID, REFRESH
from schemas import Operation, operations
from tests.e2e.hooks import SETTINGS
from tests.e2e.openid import browsing, settings
from tests.e2e.planted import CANARY, Canaries
from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.openid_provider import TOKENS, HostileProvider, hostile_provider
from tests.service import WAYPOST, running, wait_until

# Where docs/explanation/security.md says that the database has secrets in clear.
_DOCUMENTED = {"webhooks", "upstreams"}
_SHOWN_ONCE = ("token", "accessToken", "refreshToken", "secret", "csrfToken")
_HEADERS = ("User-Agent", "Referer", "X-Forwarded-For", "X-Request-Id", "Last-Event-ID", "Prefer")
_SECRET_HEADERS = ("X-CSRF-Token", "Proxy-Authorization", "X-Hub-Signature-256", "X-Gitlab-Token", "X-API-Key")
GRANT = {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}
_STREAMS = {"/api/events", "/api/namespace/{namespace}/events"}  # they have no end: each is read up to its newest event
_ENDS = {"DELETE /auth/session", "POST /auth/logout", "DELETE /api/me/sessions"}
_OF_PEOPLE = re.compile(r"\w+ (/auth|/api/(me|users?|tokens?|roles?)\b)")
_CANARY = re.compile(CANARY.encode())
_FIRST_REFUSAL = 400
_MOST_SUCCEED = 0.6
PATIENCE = 60.0


@dataclass
class Round:
    """All requests of the test, and the texts of the refusals."""

    world: World
    place: Place
    canaries: Canaries = field(default_factory=Canaries)
    refusals: list[str] = field(default_factory=list)
    statuses: set[tuple[str, int]] = field(default_factory=set)
    bodies: dict[str, Any] = field(default_factory=dict)
    """Bodies that only succeed as they are, by the schema."""
    streamed: list[str] = field(default_factory=list)
    """What the streams have sent."""
    created: dict[str, str] = field(default_factory=dict)
    """The id or name of what was created, by the path that has it."""

    def run(self) -> None:
        """Call every operation with its real subject, with invented words, and without a valid login."""
        person, viewer = (self.world.session(self.world.user(role)) for role in ("admin", "viewer"))
        for session in (person, viewer):
            self.canaries.secret |= {session[name]: name for name in ("accessToken", "refreshToken")}
        root, user, other = (
            {"Authorization": f"Bearer {token}"}
            for token in (self.world.root.token, person["accessToken"], viewer["accessToken"])
        )
        self.canaries.secret |= {self.world.root.token: "an API token", PASSWORD: "a password"}
        self.bodies |= {
            "login": {"username": self.world.user("viewer"), "password": PASSWORD},
            "refresh": {"refreshToken": viewer["refreshToken"]},
            "draft-tests-put": {"tests": [{"url": f"/{self.canaries.plant('url')}", "status": 404}]},
            "token-create": {"name": self.canaries.plant("name"), "grants": [GRANT]},
        }
        for number, operation in enumerate(sorted(operations(), key=_turn)):
            name = f"{operation.method} {operation.path}"
            self.call(operation, other if name in _ENDS else user if _OF_PEOPLE.match(name) else root, is_real=True)
            self.call(operation, root, is_real=False)
            if operation.path in _STREAMS:
                self.call(operation, user, is_real=True)
            self.call(operation, self.unknown("Basic" if number % 2 else "Bearer"), is_real=True)
            self.call(operation, self.unknown("cookies"), is_real=True)

    def unknown(self, scheme: str) -> dict[str, str]:
        """Return the headers of someone with a wrong token or password, or wrong cookies, which count without these only."""
        if scheme == "cookies":
            names = [f"{prefix}{name}" for prefix in ("", "__Host-") for name in (ACCESS, REFRESH, CSRF, OPENID)]
            return {"Cookie": "; ".join(f"{name}={self.canaries.plant('cookie')}" for name in names)}
        token, password = self.canaries.plant("token"), self.canaries.plant("password")
        if scheme == "Bearer":
            return {"Authorization": f"Bearer {token}"}
        login = base64.b64encode(f"kim:{password}".encode()).decode()
        self.canaries.secret[login] = "a password in HTTP Basic"
        return {"Authorization": f"Basic {login}"}

    def log_in_with(self, provider: HostileProvider) -> None:
        """Log in with the OpenID provider, whose tokens are secret too, and meet its refusal."""
        for name in ("access_token", "refresh_token"):
            provider.answer[name] = self.canaries.plant(name)
        with browsing(self.world.service) as browser:
            answer = browser.login(provider, code=self.canaries.plant("code"))
            assert answer.status_code == 200, answer.text
            self.canaries.secret |= {answer.json()["tokens"][name]: name for name in ("accessToken", "refreshToken")}
            provider.fail(TOKENS, 400, json.dumps({"error": self.canaries.plant("error secret")}).encode())
            answer = browser.login(provider, code=self.canaries.plant("code"))
            self.refusals.append(f"{answer.text}\n{answer.headers}")
            assert answer.status_code == 401, answer.text

    def call(self, operation: Operation, headers: dict[str, str], *, is_real: bool) -> None:
        """Send one request with new words."""
        plain = {name: self.canaries.plant(f"header {name.lower().removesuffix('-id')}") for name in _HEADERS}
        hidden = {name: self.canaries.plant(f"header {name} secret") for name in _SECRET_HEADERS}
        request: dict[str, Any] = {"headers": {**plain, **hidden, **headers}}
        if operation.request:
            known = self.bodies.get(operation.request) if is_real else None
            request["json"] = known or self.canaries.fill(operation.request)
        elif operation.method in {"POST", "PUT", "PATCH"}:
            request["content"] = self.canaries.plant("body")
        is_stream = operation.path in _STREAMS
        if is_stream and is_real:
            request["headers"]["Last-Event-ID"] = "0"  # all events; it counts rather than the parameter `after`
        if not is_real or is_stream or "callback" in operation.path:
            request["headers"]["Origin"] = f"https://{self.canaries.plant('header origin')}.example"
            names = (*operation.query, "x", "access_token")
            request["params"] = {name: self.canaries.plant(name) for name in names}
        answer = self.send(operation, self.path(operation, is_real=is_real), request)
        if answer is not None:
            self.read(operation, answer)
            self.remember(operation, answer, request.get("json"))

    def send(self, operation: Operation, path: str, request: dict[str, Any]) -> httpx.Response | None:
        """Return the response to a request; None where the server closed the connection."""
        try:
            if operation.path in _STREAMS:
                return self.follow(path, request)
            return self.world.http.request(operation.method, path, **request)
        except httpx.RemoteProtocolError:  # the server may refuse a header by closing
            return None

    def follow(self, path: str, request: dict[str, Any]) -> httpx.Response:
        """Return the response of a stream, of which an open one is read up to its newest event."""
        condition = f"namespace = '{self.place.namespace}'" if self.place.namespace in path else "1"
        ((newest,),) = rows(self.world.service.data, "events", "max(id)", condition)
        with self.world.http.stream("GET", path, **request) as answer:
            if not answer.is_success:
                answer.read()
                return answer
            assert newest, "no event to wait for"
            read = list[str]()
            for line in answer.iter_lines():
                read.append(line)
                if not line and f"id: {newest}" in read:
                    break
        self.streamed.append("\n".join(read))
        return httpx.Response(answer.status_code, headers=answer.headers, request=answer.request)

    def path(self, operation: Operation, *, is_real: bool) -> str:
        """Return the path, with the real project or with words; nothing that the test needs is removed."""
        names = {"namespace": self.place.namespace, "project": self.place.project}
        keeps = operation.method != "DELETE" or operation.path.count("{") > len(names)

        def fill(match: re.Match[str]) -> str:
            if is_real and keeps and match[1] in names:
                return names[match[1]]
            created = self.created.get(operation.path[: match.end()])
            if is_real and created:
                return created
            return "999999" if match[1] == "id" and is_real else self.canaries.plant(f"path {match[1]}")

        return re.sub(r"\{(\w+)\}", fill, operation.path)

    def remember(self, operation: Operation, answer: httpx.Response, body: Any) -> None:
        """Remember what was created, for the operations on it."""
        self.world.http.cookies.clear()
        if not answer.is_success or operation.method != "POST" or not isinstance(body, dict):
            return
        shown = answer.json() if answer.content else {}
        place = answer.headers.get("Location", "")
        is_below = not place or place.startswith(answer.url.path)
        one = operation.path if is_below else operation.path.removesuffix("s")
        for name, value in (("id", shown.get("id")), ("name", body.get("name"))):
            if value is not None:
                self.created.setdefault(f"{one}/{{{name}}}", str(value))

    def read(self, operation: Operation, answer: httpx.Response) -> None:
        """Take the secrets of a response, or the text of a refusal."""
        assert answer.status_code < 500 or answer.status_code in {501, 502, 503, 504}, answer.text
        self.statuses.add((operation.operation_id, answer.status_code))
        if answer.status_code >= _FIRST_REFUSAL:
            self.refusals.append(f"{answer.text}\n{answer.headers}")
            return
        self.canaries.secret |= {value: "a cookie" for value in answer.cookies.values() if len(value) > len(PASSWORD)}
        is_json = bool(answer.content) and answer.headers.get("Content-Type", "").split(";")[0] == "application/json"
        shown = answer.json() if is_json else None
        if isinstance(shown, dict):
            flat = {**shown, **(shown["tokens"] if isinstance(shown.get("tokens"), dict) else {})}
            found = {flat[name]: name for name in _SHOWN_ONCE if isinstance(flat.get(name), str)}
            self.canaries.secret |= found


def _turn(operation: Operation) -> tuple[bool, bool]:
    """Return the place of an operation: streams have what the others did to send, until these remove all."""
    return operation.method == "DELETE", operation.path in _STREAMS


def rows(data: Path, table: str, column: str = "*", condition: str = "1") -> list[Any]:
    """Return rows of a table."""
    query = f'SELECT {column} FROM "{table}" WHERE {condition}'  # noqa: S608 - names of this module or of SQLite
    with closing(sqlite3.connect(data / "waypost.db")) as connection:
        return connection.execute(query).fetchall()


def test_no_request_leaves_or_shows_a_secret(tmp_path: Path) -> None:
    """Send all requests to a service of their own; look when their refusals are noted for the trail."""
    data = tmp_path / "data"
    with (
        hostile_provider() as provider,
        running(WAYPOST, data, {**settings(provider.issuer), **SETTINGS}) as service,
        open_world(service) as world,
    ):
        found = Round(world, world.place())
        found.run()
        found.log_in_with(provider)
        wait_until(lambda: rows(data, "audit_repeats"), PATIENCE, "the refusals that are to be counted")
        for check in CHECKS:
            check(found)


def clear_of(texts: bytes, words: dict[str, str]) -> None:
    """Fail for words that are in a text, with their fields."""
    planted = {match.decode() for match in _CANARY.findall(texts)} & words.keys()
    others = {word for word in words if not _CANARY.fullmatch(word.encode()) and word.encode() in texts}
    assert {words[word] for word in planted | others} == set()


def every_operation_was_called_and_most_succeeded(sent: Round) -> None:
    called = {name for name, _ in sent.statuses}
    paths = {each.operation_id for each in operations()}
    assert called == paths
    good = {name for name, status in sent.statuses if status < _FIRST_REFUSAL}
    assert len(good) > len(paths) * _MOST_SUCCEED, sorted(paths - good)


def no_event_of_a_stream_shows_a_secret(sent: Round) -> None:
    assert len(sent.streamed) == 2 * len(_STREAMS)
    assert all(f'"{sent.place.namespace}"' in text for text in sent.streamed)
    clear_of("\n".join(sent.streamed).encode(), sent.canaries.secret)


def no_refusal_shows_a_secret(sent: Round) -> None:
    clear_of("\n".join(sent.refusals).encode(), sent.canaries.secret)


def no_line_of_the_log_has_a_secret_or_is_a_callers(sent: Round) -> None:
    log = sent.world.service.log.read_bytes()
    clear_of(log, sent.canaries.secret)
    assert all(line.startswith(b"{") and b"forged" not in line[:20] for line in log.splitlines())
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80\xa8", log)


def the_metrics_have_no_word_of_a_request(sent: Round) -> None:
    text = sent.world.root.ask("GET", "/metrics", 200).content
    clear_of(text, sent.canaries.secret | sent.canaries.plain)


def the_trail_has_no_secret(sent: Round) -> None:
    text = sent.world.root.ask("GET", "/api/audit/export", 200).content
    assert text.count(b"\n") > 10
    clear_of(text, sent.canaries.secret)


def the_database_has_secrets_only_where_documented(sent: Round) -> None:
    data, allowed = sent.world.service.data, set[str]()
    for (table,) in rows(data, "sqlite_master", "name", "type = 'table'"):
        text = repr(rows(data, table))
        if table in _DOCUMENTED:
            allowed |= {word for word in sent.canaries.secret if word in text}
        else:
            clear_of(text.encode(), sent.canaries.secret)
    rest = {word: name for word, name in sent.canaries.secret.items() if word not in allowed}
    for file in data.glob("waypost.db*"):
        clear_of(content_of(file), rest)


def no_object_of_git_and_no_other_file_has_a_secret(sent: Round) -> None:
    data = sent.world.service.data
    read = 0
    for repository in (data / "repos").glob("*.git"):
        command = ["git", "-C", str(repository), "cat-file", "--batch-all-objects", "--batch", "--buffer"]
        done = subprocess.run(command, capture_output=True, check=True)
        read += len(done.stdout)
        clear_of(done.stdout, sent.canaries.secret)
    assert read > 0
    for file in files(data):
        clear_of(content_of(file), sent.canaries.secret)


def content_of(file: Path) -> bytes:
    """Return the bytes of a file; none if the service has removed it meanwhile, as it does with journals."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def files(data: Path) -> Iterator[Path]:
    """Yield all files but the database, which another test reads, and the documented ones with secrets."""
    for path in data.rglob("*"):
        if path.name == "waypost-upstream":
            assert path.stat().st_mode & 0o077 == 0, path
        elif path.is_file() and not path.name.startswith("waypost.db") and "keys" not in path.relative_to(data).parts:
            yield path


# One test, not one of each: with several, each process of the test run would send the requests.
CHECKS = (
    every_operation_was_called_and_most_succeeded,
    no_event_of_a_stream_shows_a_secret,
    no_refusal_shows_a_secret,
    no_line_of_the_log_has_a_secret_or_is_a_callers,
    the_metrics_have_no_word_of_a_request,
    the_trail_has_no_secret,
    the_database_has_secrets_only_where_documented,
    no_object_of_git_and_no_other_file_has_a_secret,
)
