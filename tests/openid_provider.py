"""A hostile OpenID provider on loopback: it answers as it should, but for what a test changes."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT = "waypost-test"
SECRET = "s3cret:of/the client"
BACK_CHANNEL = "http://schemas.openid.net/event/backchannel-logout"
CONFIGURATION, KEYS, TOKENS, USER_INFO = "/.well-known/openid-configuration", "/jwks", "/token", "/userinfo"


class Fault(NamedTuple):
    """The answer to a path; `raw` is None for the usual body."""

    status: int
    raw: bytes | None


class HostileProvider:
    """The provider: `claims`, `header`, `metadata`, `answer` and `info` replace parts of what it sends; None removes one.

    `now` is the clock of its tokens.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
        self.published: list[Mapping[str, Any]] = [dict(self.key.as_dict(private=False))]
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.answer: dict[str, Any] = {}
        self.info: dict[str, Any] = {}
        self.now: Callable[[], float] = time.time
        self.faults: dict[str, Fault] = {}
        self.held: dict[str, Event] = {}
        self.counts: Counter[str] = Counter()
        self.forms: list[dict[str, list[str]]] = []
        self.nonce = ""
        self.subject = "ada-1"

    def fail(self, path: str, status: int = 200, raw: bytes | None = None) -> None:
        """Answer a path with this status and body from now on."""
        self.faults[path] = Fault(status, raw)

    def hold(self, path: str) -> None:
        """Answer a path no more, until it is released."""
        self.held[path] = Event()

    def release(self) -> None:
        """Answer what was held, and what comes."""
        while self.held:
            self.held.popitem()[1].set()

    def heal(self) -> None:
        """Answer everything as usual again."""
        for changes in (self.claims, self.header, self.metadata, self.answer, self.info, self.faults):
            changes.clear()
        self.release()

    def configuration(self) -> dict[str, Any]:
        """Return the configuration document."""
        return _changed(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                "end_session_endpoint": f"{self.issuer}/end",
                "authorization_response_iss_parameter_supported": True,
            },
            self.metadata,
        )

    def tokens(self) -> dict[str, Any]:
        """Return the answer of the token endpoint."""
        found = {"access_token": "access", "token_type": "Bearer", "refresh_token": "r1", "id_token": self.id_token()}
        return _changed(found, self.answer)

    def id_token(self, **claims: Any) -> str:
        """Return an ID token."""
        now = int(self.now())
        usual = {"iss": self.issuer, "aud": CLIENT, "sub": self.subject, "iat": now, "exp": now + 300}
        usual |= {"nonce": self.nonce, "sid": "sid-1", "preferred_username": "Ada", "given_name": "Ada"}
        return self.sign(_changed({**usual, **claims}, self.claims))

    def logout_token(self, **claims: Any) -> str:
        """Return a logout token."""
        now = int(self.now())
        usual = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": f"j{time.monotonic_ns()}"}
        return self.sign(_changed({**usual, "sid": "sid-1", "events": {BACK_CHANNEL: {}}}, claims))

    def sign(self, claims: Mapping[str, Any], key: RSAKey | ECKey | OctKey | None = None) -> str:
        """Sign claims with the provider's key, or another one."""
        header = _changed({"alg": "RS256", "kid": "first"}, self.header)
        payload = json.dumps(dict(claims)).encode()  # not by joserfc's jwt, which refuses half a character
        return jws.serialize_compact({"typ": "JWT", **header}, payload, key or self.key, algorithms=[header["alg"]])

    def respond(self, path: str) -> Mapping[str, Any]:
        """Return the JSON of a path."""
        documents = {CONFIGURATION: self.configuration, TOKENS: self.tokens}
        if path == KEYS:
            return {"keys": self.published}
        if path == USER_INFO:
            return _changed({"sub": self.subject}, self.info)
        return documents[path]() if path in documents else {}


def _changed(usual: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


@contextmanager
def hostile_provider() -> Iterator[HostileProvider]:
    """Run a hostile provider in threads of this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    provider = HostileProvider(server.server_address[1])
    server.RequestHandlerClass = type("Handler", (_Handler,), {"provider": provider})
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        provider.release()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    provider: HostileProvider

    def do_GET(self) -> None:
        """Answer a document."""
        self._respond()

    def do_POST(self) -> None:
        """Answer the token endpoint."""
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.provider.forms.append({**parse_qs(form), "authorization": [self.headers.get("Authorization", "")]})
        self._respond()

    def _respond(self) -> None:
        path = urlsplit(self.path).path
        held = self.provider.held.get(path)
        self.provider.counts[path] += 1
        if held is not None:
            held.wait(30)
        status, raw = self.provider.faults.get(path, Fault(200, None))
        body = json.dumps(self.provider.respond(path)).encode() if raw is None else raw
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with suppress(OSError):  # of a client that waits no more
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature is http.server's
        """Write nothing."""
