"""A valid API token in any header of a request is kept nowhere: no log, database, trail, metric, object of Git or other file has it."""

import secrets
import subprocess
from pathlib import Path
from typing import Any

import httpx

from api.auth.accounts import NewUser
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.http.compat import BASE
from tests.e2e.caller import Caller
from tests.e2e.test_canaries import content_of, files
from tests.e2e.test_transfer import HEADER, TSV
from tests.e2e.world import PASSWORD, Place, World, open_world, redirect
from tests.service import WAYPOST, running

# What the service, its server or a proxy reads. Those of the connection itself (Host, Content-Length) have a form that no token has.
READ = (
    *("User-Agent", "X-Request-Id", "Prefer", "Accept", "If-Match", "Content-Type", "Content-Encoding", "Origin"),
    *(
        "Sec-Fetch-Site",
        "X-CSRF-Token",
        "Cookie",
        "Upgrade",
        "TE",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "Git-Protocol",
    ),
)
# What refuses or changes no request: all are sent together.
OTHERS = (
    *("Referer", "Last-Event-ID", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Range"),
    *(
        "Content-Disposition",
        "From",
        "Via",
        "Date",
        "Trailer",
        "Pragma",
        "X-Forwarded-Host",
        "X-Forwarded-Prefix",
        "X-Real-IP",
    ),
    *("Forwarded", "X-Project-Version", "X-HTTP-Method-Override", "Proxy-Authorization", "X-API-Key", "traceparent"),
    *(
        "X-Hub-Signature-256",
        "X-GitHub-Event",
        "X-GitHub-Delivery",
        "X-Gitlab-Token",
        "X-Gitlab-Event",
        "X-Gitea-Delivery",
    ),
    *("Idempotency-Key", "X-Correlation-Id", "X-Unknown"),
)


def send_with(world: World, place: Place, value: str, planted: dict[str, str]) -> None:
    """Send requests of all kinds, each with a header: logins, changes, reports, imports, refusals, fetches, webhooks."""
    root = {"Authorization": f"Bearer {world.root.token}"}
    login = {"username": "ada", "password": PASSWORD}
    words = secrets.token_hex(8)
    agent = {"name": "edge-1", "type": "traefik", "version": "1", "status": "error", "load_duration": 0, "error": "x"}
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("POST", "/auth/session", {"json": login}),
        ("POST", "/auth/login", {"json": {**login, "password": "wrong"}}),
        ("GET", "/auth/openid/callback?state=x&code=y", {}),
        ("PATCH", place.path, {"json": {"description": words}, "headers": root}),
        ("POST", f"{place.path}/draft/redirects", {"json": redirect(f"/{words}"), "headers": root}),
        ("POST", f"{place.path}/publish", {"json": {"message": words}, "headers": root}),
        ("POST", f"{place.path}/import", {"content": HEADER.encode(), "headers": {**root, **TSV}}),
        ("POST", f"{BASE}{place.path}/agents", {"json": agent, "headers": root}),
        ("PATCH", f"{place.path}/agents/edge-2/hit", {"headers": root}),
        ("GET", f"{place.path}/redirects", {"headers": root}),
        ("GET", f"{place.path}/redirects", {"headers": {"Authorization": "Bearer x"}}),
        ("GET", f"/git/{place.namespace}.git/info/refs?service=git-upload-pack", {"headers": root}),
        ("POST", f"/api/namespace/{place.namespace}/upstream/webhook", {"content": b"{}"}),
        ("GET", "/no/such/path", {}),
    )
    for method, path, request in requests:
        headers = {each: word for each, word in request.pop("headers", {}).items() if each not in planted}
        try:
            answer = world.http.request(method, path, headers={**headers, **planted}, **request)
        except httpx.RemoteProtocolError:  # the server may refuse a header by closing
            continue
        assert answer.status_code not in {500, 502}, (planted, path, answer.text)
        assert value not in f"{answer.text}\n{answer.headers}", (planted, path)
        world.http.cookies.clear()


def test_a_token_in_any_header_is_kept_nowhere(tmp_path: Path) -> None:
    environment = {"WAYPOST_TRUSTED_PROXIES": "127.0.0.1", "WAYPOST_LOGIN_ATTEMPTS": "100000"}
    with running(WAYPOST, tmp_path / "data", environment) as service, open_world(service) as world:
        place = world.place()
        ada = world.services.accounts.create(OPERATOR, NewUser("ada", PASSWORD, ["admin"]))
        value = world.token([Grant("*", "*", "redirect", "read")])
        for name in READ:
            send_with(world, place, value, {name: value})
        for name in ("User-Agent", "Cookie", "X-Forwarded-For", "Authorization"):
            send_with(world, place, value, {name: f"Mozilla/5.0 a={value}; Firefox/145.0"})
        send_with(world, place, value, {**dict.fromkeys(OTHERS, value), f"X-{value}": "x"})
        kept = {
            "the audit trail": world.root.ask("GET", "/api/audit/export", 200).content,
            "the metrics": world.root.ask("GET", "/metrics", 200).content,
            "the sessions": world.root.ask("GET", f"/api/user/{ada.id}/sessions", 200).content,
        }
        assert all(kept.values())
        assert Caller(world.http, value).get("/api/me")  # it was no content, so it is valid
    places = {str(file.relative_to(tmp_path)): content_of(file) for file in files(service.data)}
    kept |= places | {file.name: content_of(file) for file in service.data.glob("waypost.db*")}
    command = [
        "git",
        "-C",
        str(service.data / "repos" / f"{place.namespace}.git"),
        "cat-file",
        "--batch-all-objects",
        "--batch",
    ]
    kept["the objects of Git"] = subprocess.run(command, capture_output=True, check=True).stdout
    kept["the log"] = service.log.read_bytes()
    assert b"Firefox/145.0" in kept["waypost.db"]
    assert [each for each, data in kept.items() if value.encode() in data] == []
