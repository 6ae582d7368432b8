"""The service behind nginx, as the guide for production says: no request is hidden in another, and no client chooses its address."""

import json
import re
import secrets
import subprocess
import tomllib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from api.http.request.request_body import LINGER_BYTES
from tests.e2e.front import GUIDE, NAME, STRANGER, Front, Fronts, fronting, read_all
from tests.e2e.git import git
from tests.e2e.openid import settings as openid_settings
from tests.e2e.smuggled import CHUNKED, HOST, VECTORS, Names, Vector, chunk, chunks, request
from tests.e2e.world import PASSWORD, Place, World, open_world
from tests.openid_provider import hostile_provider
from tests.service import WAYPOST, running, wait_until

_PATIENCE = 20.0
_ALLOWED = 3
_FORGED = "203.0.113.77"
_ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)
_ID = re.compile(rb"(?im)^X-Request-Id: ([^\r\n]*)")
_PUBLIC = f"https://{NAME}"


class Answer(NamedTuple):
    """A response: its status, the request's id, its header fields, and all that follows them on the connection."""

    status: int
    request_id: str
    head: bytes
    rest: bytes


class Behind(NamedTuple):
    """A service behind nginx, with a published project, and another service."""

    fronts: Fronts
    world: World
    other: World
    place: Place
    version: str
    """The published version of the project."""

    @property
    def service(self) -> Any:
        """The service, for the report of a failed test."""
        return self.world.service


@pytest.fixture(scope="module")
def behind(world: World, tmp_path_factory: pytest.TempPathFactory, proxy: None) -> Iterator[Behind]:  # noqa: ARG001 - needs nginx
    """Run a service with the guide's proxies and an OpenID provider, and nginx in front of it and of the shared one."""
    folder = tmp_path_factory.mktemp("behind")
    with hostile_provider() as provider:
        settings = openid_settings(
            provider.issuer,
            PUBLIC_URL=_PUBLIC,
            TRUSTED_PROXIES=",".join(_guide_proxies()),
            LOGIN_ATTEMPTS=str(_ALLOWED),
        )
        with (
            running(WAYPOST, folder / "data", settings) as service,
            open_world(service) as trusting,
            fronting(service, world.service, folder / "nginx") as fronts,
        ):
            place = trusting.place()
            place.published("/a", "/b")
            yield Behind(fronts, trusting, world, place, place.get("/version"))


def _guide_proxies() -> list[str]:
    """Return the trusted proxies of the settings in the guide."""
    (found,) = re.findall(r"```toml\n(.*?trusted_proxies.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return [str(each) for each in tomllib.loads(found)["trusted_proxies"]]


def answers(data: bytes) -> list[Answer]:
    """Return the final responses in what a connection sent; no body of these tests has a status line in it."""
    found = list(_ANSWER.finditer(data))
    return [
        Answer(int(each[1]), b"".join(_ID.findall(each[2])).decode(), each[2], data[each.end() :])
        for each in found
        if not each[1].startswith(b"1")
    ]


def ask(front: Front, sent: bytes, client: str = "") -> Answer:
    """Send one request that closes its connection; return the response."""
    (found,) = answers(front.exchange(sent, client))
    return found


def send(behind: Behind, name: str, vector: Vector) -> list[Answer]:
    """Send a vector over a new connection; return the responses until nginx closes it, or the first one if it never would."""
    with closing(behind.fronts.guide.connect()) as connection:
        connection.sendall(vector.sent(Names.of(name)))
        if not vector.is_open:
            return answers(read_all(connection))
        data = b""
        while b"\r\n\r\n" not in data and (piece := connection.recv(65536)):
            data += piece
        return answers(data)


def open_upstream(behind: Behind) -> None:
    """Let nginx keep an idle connection to the service, which the next request will use."""
    assert (
        ask(behind.fronts.guide, b"GET /health/ping HTTP/1.1\r\n" + HOST + b"\r\nConnection: close\r\n\r\n").status
        == 204
    )


def check_victims(behind: Behind) -> None:
    """Fail unless other clients get exactly the responses to their own requests, from the framework and the fast path."""
    guide, place = behind.fronts.guide, behind.place
    bearer = b"Authorization: Bearer " + place.root.token.encode()
    name = f"nowhere-victim-{secrets.token_hex(4)}"
    lost = ask(guide, request(name, b"Connection: close"))
    assert (lost.status, lost.request_id) == (404, name)
    head = (f"GET {place.path}/version HTTP/1.1".encode(), HOST, bearer, b"Connection: close")
    fast = ask(guide, b"\r\n".join(head) + b"\r\n\r\n")
    assert (fast.status, json.loads(fast.rest)) == (200, behind.version)


def answered(behind: Behind) -> list[tuple[str, str, int]]:
    """Return the id, path and status of each request that the service logged."""
    lines = behind.world.service.log_lines()
    return [(each["request_id"], each["path"], each["status"]) for each in lines if each["event"] == "answered"]


def check_logs(behind: Behind, name: str, *, hidden: int = 0) -> None:
    """Fail unless the service answered exactly what nginx forwarded, and the hidden request as often as given."""
    names = Names.of(name)

    def logged() -> set[str]:
        return {line["request_id"] for line in behind.fronts.guide.lines()}

    found = [each for each in answered(behind) if each[0].startswith(names.outer)]
    wait_until(lambda: {each[0] for each in found} <= logged(), _PATIENCE, "nginx to log what the service answered")
    forwarded = [
        (line["request_id"], int(line["answered"])) for line in behind.fronts.guide.lines() if line["forwarded"]
    ]
    for request_id, _, status in found:
        assert forwarded.count((request_id, status)) == 1, (request_id, status)
    assert [each[1] for each in found].count(f"/{names.inner}") == hidden
    assert len({each[0] for each in found}) == len(found)


def check_vector(behind: Behind, name: str, found: list[Answer]) -> None:
    """Fail unless the responses to a vector are those to its own two requests, in order, and others get their own."""
    names = Names.of(name)
    assert [each.request_id for each in found if each.request_id] in (
        [],
        [names.outer],
        [names.last],
        [names.outer, names.last],
    )
    assert all(each.status < 500 or each.status in {501, 505} for each in found), found
    check_victims(behind)
    check_logs(behind, name)


def test_all_clients_share_a_connection_to_the_service(behind: Behind) -> None:
    """Otherwise nothing that one client sends could ever meet another one's request."""
    open_upstream(behind)
    before = behind.fronts.connections(behind.world.service)
    for _ in range(10):
        check_victims(behind)
    assert before == behind.fronts.connections(behind.world.service) != set()


def test_what_is_sent_ahead_is_answered_in_order(behind: Behind) -> None:
    """The logs show a second request where there is one, so they would show a hidden one too."""
    names = Names.of("pipelined")
    sent = request(names.outer) + request(names.inner) + request(names.last, b"Connection: close")
    found = answers(behind.fronts.guide.exchange(sent))
    assert [(each.status, each.request_id) for each in found] == [(404, each) for each in names]
    check_victims(behind)
    check_logs(behind, "pipelined", hidden=1)


@pytest.mark.parametrize("name", VECTORS)
def test_no_request_is_hidden_in_another(behind: Behind, name: str) -> None:
    open_upstream(behind)
    found = send(behind, name, VECTORS[name])
    assert found, "no response"
    check_vector(behind, name, found)


EARLY: dict[str, tuple[str, str, tuple[str, ...], int]] = {
    "no token": ("POST", "{project}/draft/redirects", (), 401),
    "no such namespace": ("GET", "/api/namespace/absent/project/shop/draft", ("{bearer}",), 404),
    "no JSON": ("POST", "{project}/draft/redirects", ("{bearer}", "Content-Type: application/json"), 400),
    "another type": ("POST", "{project}/draft/redirects", ("{bearer}", "Content-Type: text/plain"), 415),
    "another method": ("PUT", "/health/ping", (), 405),
    "no list": ("POST", "{project}/import", ("{bearer}", "Content-Type: text/tab-separated-values"), 422),
    "no login": ("POST", "/auth/login", ("Content-Type: application/json",), 400),
    "no such draft": ("DELETE", "{project}/draft?draft=absent", ("{bearer}",), 404),
    "a heartbeat": ("PATCH", "{project}/agents/edge-1/hit", ("{bearer}",), 200),
    "a version": ("GET", "{project}/version", ("{bearer}",), 200),
    "a known version": ("GET", "{project}/version", ("{bearer}", 'If-None-Match: "{version}"'), 304),
    "a list": ("GET", "{project}/redirects", ("{bearer}",), 200),
    "the head of a list": ("HEAD", "{project}/redirects", ("{bearer}",), 200),
    "a page of the dashboard": ("GET", "/", (), 200),
    "a push without a password": ("POST", "/git/{namespace}.git/git-receive-pack", (), 401),
    "a fetch of another kind": ("POST", "/git/{namespace}.git/git-upload-pack", ("{bearer}",), 401),
}
"""Requests that are answered before their body is read, or without it: method, path, fields and status."""


@pytest.mark.parametrize("framing", ["length", "chunks"])
@pytest.mark.parametrize("name", EARLY)
def test_a_body_that_is_not_read_is_no_request(behind: Behind, name: str, framing: str) -> None:
    method, path, fields, status = EARLY[name]
    place = behind.place
    values = {
        "project": place.path,
        "namespace": place.namespace,
        "bearer": f"Authorization: Bearer {place.root.token}",
        "version": behind.version,
    }
    names = Names.of(f"early-{list(EARLY).index(name)}-{framing}")
    hidden = request(names.inner)
    body, length = (hidden, b"Content-Length: %d" % len(hidden)) if framing == "length" else (chunks(hidden), CHUNKED)
    head = (f"{method} {path} HTTP/1.1".format(**values), *(each.format(**values) for each in fields))
    open_upstream(behind)
    sent = b"\r\n".join((*map(str.encode, head), HOST, length)) + b"\r\n\r\n" + body
    found = answers(behind.fronts.guide.exchange(sent + request(names.last, b"Connection: close")))
    assert [each.status for each in found] == [status, 404]
    assert found[1].request_id == names.last
    check_victims(behind)
    check_logs(behind, names.outer.removeprefix("nowhere-"))


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_request_beyond_what_a_refusal_reads_of_a_body_is_none(behind: Behind, framing: str) -> None:
    """Such a body in chunks comes to the service in chunks too; nginx gives a length to a body that it has read whole."""
    names = Names.of(f"large-{framing}")
    padding, hidden = b"x" * LINGER_BYTES, request(names.inner) * 10_000
    if framing == "length":
        body, length = padding + hidden, b"Content-Length: %d" % len(padding + hidden)
    else:
        body, length = chunk(padding) + chunks(hidden), CHUNKED
    head = (f"POST /{names.outer} HTTP/1.1".encode(), HOST, length)
    open_upstream(behind)
    sent = b"\r\n".join(head) + b"\r\n\r\n" + body + request(names.last, b"Connection: close")
    found = answers(behind.fronts.guide.exchange(sent))
    assert found[0].status == 404
    check_victims(behind)
    check_logs(behind, f"large-{framing}")


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_request_that_comes_late_in_a_body_is_none(behind: Behind, framing: str) -> None:
    """The service answers before the body has come, so nginx must not give that connection to another client."""
    names = Names.of(f"late-{framing}")
    length, late = (b"Content-Length: 100000", bytes) if framing == "length" else (CHUNKED, chunks)
    open_upstream(behind)
    before = behind.fronts.connections(behind.world.service)
    with closing(behind.fronts.guide.connect()) as connection:
        head = (f"POST /{names.outer} HTTP/1.1".encode(), HOST, length)
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 404 ")
        check_victims(behind)
        connection.sendall(late(request(names.inner)))
        check_victims(behind)
    check_victims(behind)
    check_logs(behind, f"late-{framing}")
    assert before - behind.fronts.connections(behind.world.service), "a connection with half a body was used again"


def test_all_of_them_at_once_mix_no_responses_up(behind: Behind) -> None:
    def attack(name: str) -> None:
        found = send(behind, f"{name}-at-once", VECTORS[name])
        names = Names.of(f"{name}-at-once")
        assert {each.request_id for each in found} <= {"", names.outer, names.last}

    with ThreadPoolExecutor(8) as pool:
        attacks = [pool.submit(attack, name) for name in VECTORS]
        victims = [pool.submit(check_victims, behind) for _ in range(60)]
        for each in (*attacks, *victims):
            each.result()
    for name in VECTORS:
        assert f"/{Names.of(f'{name}-at-once').inner}" not in {path for _, path, _ in answered(behind)}


FORGERIES: dict[str, tuple[str, ...]] = {
    "one": (f"X-Forwarded-For: {_FORGED}",),
    "lower case": (f"x-forwarded-for: {_FORGED}",),
    "a chain": (f"X-Forwarded-For: {_FORGED}, 198.18.0.1, {_FORGED}",),
    "several fields": (f"X-Forwarded-For: {_FORGED}", f"X-Forwarded-For: {_FORGED}"),
    "the proxy's own": ("X-Forwarded-For: 127.0.0.1",),
    "behind the proxy's own": (f"X-Forwarded-For: {_FORGED}, 127.0.0.1, 127.0.0.1",),
    "IPv6": ("X-Forwarded-For: 2001:db8:f::77",),
    "IPv6 with a port": ("X-Forwarded-For: [2001:db8:f::77]:443",),
    "IPv6 with a scope": ("X-Forwarded-For: fe80::77%<script>alert(1)</script>",),
    "IPv4 in IPv6": (f"X-Forwarded-For: ::ffff:{_FORGED}",),
    "IPv4 with a port": (f"X-Forwarded-For: {_FORGED}:80",),
    "nothing": ("X-Forwarded-For:",),
    "commas": (f"X-Forwarded-For: ,,{_FORGED},,",),
    "no address": ("X-Forwarded-For: unknown, <script>, ' OR 1=1 --, %0d%0a",),
    "other bytes": ("X-Forwarded-For: \xff\xfe\x80",),
    "a long list": ("X-Forwarded-For: " + ",".join([_FORGED] * 550),),
    "too long a list": ("X-Forwarded-For: " + ",".join([_FORGED] * 1000),),
    "several long lists": ("X-Forwarded-For: " + ",".join([_FORGED] * 500),) * 3,
    "an underscore": (f"X_Forwarded_For: {_FORGED}",),
    "a space before the colon": (f"X-Forwarded-For : {_FORGED}",),
    "a tab before the colon": (f"X-Forwarded-For\t: {_FORGED}",),
    "a folded line": (f"X-Forwarded-For: 198.18.0.1,\r\n {_FORGED}",),
    "dropped by Connection": (f"X-Forwarded-For: {_FORGED}", "Connection: X-Forwarded-For, X-Forwarded-Proto"),
    "other fields": (
        *(f"{name}: {_FORGED}" for name in ("X-Real-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP")),
        *(f"{name}: {_FORGED}" for name in ("X-Client-IP", "X-Cluster-Client-IP", "X-Original-Forwarded-For")),
        *(f"Forwarded: for={_FORGED};by=127.0.0.1;host=evil.example;proto=http", f"Via: 1.1 {_FORGED}"),
        f"Remote-Addr: {_FORGED}",
    ),
}
"""What clients send to have another address than theirs."""
_PLAIN = ("one", "a chain", "the proxy's own", "IPv6", "other fields")


def ask_json(front: Front, path: str, body: object, *fields: str, client: str = "") -> Answer:
    """Send JSON over a new connection; return the response."""
    content = json.dumps(body).encode()
    head = (
        *(f"POST {path} HTTP/1.1", HOST.decode(), "Content-Type: application/json", f"Content-Length: {len(content)}"),
        *("Connection: close", *fields),
    )
    return ask(front, "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + content, client)


def addresses(world: World, begins: str) -> dict[str, str]:
    """Return the address that the trail has for each request whose id begins so."""
    found = world.root.get("/api/audit", event="authn_token_created", limit=1000)["items"]
    return {each["request"]: each["address"] for each in found if (each["request"] or "").startswith(begins)}


def create_tokens(
    world: World, front: Front, client: Callable[[int], str], names: Collection[str] = FORGERIES
) -> tuple[dict[str, str], dict[str, str]]:
    """Let a client of its own for each forgery create a token; return the address of each in the trail, and the client's."""
    session, prefix = f"Authorization: Bearer {world.person('admin').token}", secrets.token_hex(4)
    clients = {}
    for number, name in enumerate(names):
        request_id = f"{prefix}-{number}"
        known = (session, f"X-Request-Id: {request_id}", *FORGERIES[name])
        answer = ask_json(front, "/api/tokens", {"name": name, "role": "viewer"}, *known, client=client(number))
        assert answer.status in {201, 400, 431}, (name, answer)
        if answer.status == 201:
            clients[request_id] = client(number)
    assert len(clients) > len(names) / 2
    return addresses(world, prefix), clients


def by_version(number: int) -> str:
    """Return another address for each number, in turns of IPv4 and IPv6."""
    return f"2001:db8:{number:x}::1" if number % 2 else f"198.51.100.{number + 1}"


@pytest.mark.parametrize("front", ["distant", "adding"])
def test_the_trail_has_the_address_that_nginx_saw(behind: Behind, front: str) -> None:
    """Also behind a proxy that adds to what the client sent: the service takes the last address."""
    found, clients = create_tokens(behind.world, getattr(behind.fronts, front), by_version)
    assert found == clients


def test_a_proxy_that_is_not_named_names_no_client(behind: Behind) -> None:
    found, clients = create_tokens(behind.world, behind.fronts.stranger, by_version, _PLAIN)
    assert found == dict.fromkeys(clients, STRANGER)


def test_without_the_setting_all_clients_have_the_address_of_nginx(behind: Behind) -> None:
    found, clients = create_tokens(behind.other, behind.fronts.other, by_version, _PLAIN)
    assert found == dict.fromkeys(clients, "127.0.0.1")


@pytest.mark.parametrize("client", ["198.51.100.200", "2001:db8:c8::7"])
def test_a_session_has_the_address_that_nginx_saw(behind: Behind, client: str) -> None:
    user = behind.world.user("viewer")
    login = {"username": user, "password": PASSWORD}
    answer = ask_json(behind.fronts.distant, "/auth/login", login, f"X-Forwarded-For: {_FORGED}", client=client)
    bearer = f"Bearer {json.loads(answer.rest)['tokens']['accessToken']}"
    (found,) = behind.world.nobody.ask("GET", "/api/me/sessions", 200, headers={"Authorization": bearer}).json()[
        "items"
    ]
    (entry,) = behind.world.root.get("/api/audit", event="authn_login_success", actor=user)["items"]
    assert found["address"] == entry["address"] == client


def test_a_forged_address_buys_no_more_tries_and_locks_no_one_out(behind: Behind) -> None:
    """Each try has another forged address, and another name of an account."""

    def fail(client: str, number: int) -> int:
        body = {"username": f"nobody-{secrets.token_hex(4)}", "password": "wrong"}
        forged = (f"X-Forwarded-For: 203.0.113.{number}", f"X-Real-IP: 203.0.113.{number}")
        return ask_json(behind.fronts.distant, "/auth/login", body, *forged, client=client).status

    assert [fail("198.51.100.201", number) for number in range(_ALLOWED + 2)] == [403] * _ALLOWED + [429] * 2
    assert fail("198.51.100.202", 1) == 403
    assert fail("203.0.113.2", 1) == 403, "whose address was forged"


HOSTILE = (
    *("X-Forwarded-Proto: http", "X-Forwarded-Host: evil.example", "X-Forwarded-Port: 80", "X-Forwarded-Prefix: /evil"),
    *("Forwarded: for=127.0.0.1;host=localhost;proto=http", "X-Forwarded-Server: evil.example", "X-Scheme: http"),
    *(
        "X-Original-URL: /health/ping",
        "X-Rewrite-URL: /health/ping",
        "X-Original-Host: localhost",
        "Front-End-Https: off",
    ),
    *("X-Forwarded-Ssl: off", "X-Forwarded-Protocol: http", "X-Url-Scheme: http", "X_Forwarded_Host: localhost"),
)
"""What clients send to have another origin than theirs."""


@pytest.mark.parametrize("front", ["distant", "other"])
def test_no_field_makes_the_cookies_of_a_session_less_safe(behind: Behind, front: str) -> None:
    """With `public_url`, and without it: a name that is not of this machine suffices."""
    world = behind.world if front == "distant" else behind.other
    login = {"username": world.user("viewer"), "password": PASSWORD}
    answer = ask_json(getattr(behind.fronts, front), "/auth/session", login, *HOSTILE)
    assert answer.status == 200, answer
    cookies = re.findall(r"(?im)^Set-Cookie: ([^\r\n]*)", answer.head.decode())
    assert sorted(each.partition("=")[0] for each in cookies) == [
        f"__Host-waypost-{name}" for name in ("access", "csrf", "refresh")
    ]
    assert all("; Secure" in each and "; Path=/" in each and "Domain" not in each for each in cookies)


def test_no_field_changes_where_a_provider_sends_people_to(behind: Behind) -> None:
    for host in (NAME, "evil.example", "localhost:80"):
        fields = ("GET /auth/openid HTTP/1.1", f"Host: {host}", "Connection: close", *HOSTILE)
        answer = ask(behind.fronts.guide, "\r\n".join(fields).encode() + b"\r\n\r\n")
        assert answer.status == 200, answer
        query = parse_qs(urlsplit(json.loads(answer.rest)["authUrl"]).query)
        assert query["redirect_uri"] == [f"{_PUBLIC}/auth/openid/callback"]


def test_no_field_changes_the_link_that_a_push_prints(
    behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front, place = behind.fronts.guide, behind.place
    monkeypatch.setenv("GIT_SSL_CAINFO", str(front.folder / "certificate"))
    url = f"https://any:{place.root.token}@{NAME}:{front.port}/git/{place.namespace}.git"
    fields = (f"http.extraHeader={each}" for each in HOSTILE)
    options = [
        part for each in (f"http.curloptResolve={NAME}:{front.port}:127.0.0.1", *fields) for part in ("-c", each)
    ]
    work = tmp_path / "work"
    git(tmp_path, *options, "clone", "-q", url, str(work))
    git(work, "commit", "-q", "--allow-empty", "-m", "Propose")
    command = ["git", *options, "push", "origin", "HEAD:refs/heads/idea"]
    pushed = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert pushed.returncode == 0, pushed.stderr
    (link,) = re.findall(r"Review it: (\S+)", pushed.stderr)
    assert link.startswith(f"{_PUBLIC}/")
