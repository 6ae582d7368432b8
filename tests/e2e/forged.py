"""Tokens that are none, each by one fault: forged, ended, expired, or never issued."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from api.auth.logins.jwt_token import MAX_TOKEN_LENGTH
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.api_token import mint
from tests.api.auth.logins.test_jwt_token import encode, forge
from tests.e2e.caller import Caller
from tests.e2e.world import World
from tests.service import wait_until

FEW = (
    "algorithm none, unsigned",
    "empty key",
    "a key of its own",
    "changed claims",
    "oversize",
    "expired",
    "for another use",
    "of an unknown session",
    "of another's session",
    "a refresh token",
    "after the logout",
    "an expired API token",
)
"""A few of each kind."""
_SECONDS = 20.0
_REQUESTS = 8


class Forger:
    """The parts of a valid access token, to be put together with a fault."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.good = world.session(world.user("admin"))["accessToken"]
        self.header, self.payload = (json.loads(_decode(part)) for part in self.good.split(".")[:2])
        key = world.services.keyring.ring.find(self.header["kid"])
        assert key is not None
        self.secret = key.secret
        self.other = str(Caller(world.http, world.session(world.user("admin"))["accessToken"]).get("/api/me")["id"])

    def token(self, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Return a token with another header or other claims, signed by the real key."""
        return forge({**self.header, **(header or {})}, {**self.payload, **claims}, self.secret)

    def without(self, claim: str) -> str:
        """Return a token that lacks a claim."""
        return forge(self.header, {name: value for name, value in self.payload.items() if name != claim}, self.secret)


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def forged(forger: Forger) -> Iterator[tuple[str, str]]:
    """Yield tokens with a forged header, signature or claim."""
    head, payload, signature = forger.good.split(".")
    now = int(time.time())
    for algorithm in ("none", "None", "nOnE", "HS384", "HS512", "RS256", "ES256", "", None):
        yield f"algorithm {algorithm}", forger.token({"alg": algorithm})
        yield f"algorithm {algorithm}, unsigned", f"{encode({**forger.header, 'alg': algorithm})}.{payload}."
    for kid in ("", "unknown", "../../etc/passwd", "x' OR '1'='1", None, 7):
        yield f"key {kid}", forger.token({"kid": kid})
    yield (
        "a key of its own",
        forge({**forger.header, "jwk": {"kty": "oct", "k": encode(b"k" * 32)}}, forger.payload, b"k" * 32),
    )
    yield "a key elsewhere", forge({**forger.header, "jku": "https://evil.example/keys"}, forger.payload, b"k" * 32)
    yield "critical header", forger.token({"crit": ["b64"], "b64": False})
    yield "empty key", forge(forger.header, forger.payload, b"")
    yield "cut off", forger.good[:-1]
    yield "without a signature", f"{head}.{payload}"
    yield "swapped parts", f"{payload}.{head}.{signature}"
    yield "padded", f"{forger.good}="
    yield "encrypted", f"{forger.good}.{encode(b'iv')}.{encode(b'tag')}"
    yield "changed claims", f"{head}.{encode({**forger.payload, 'sub': forger.other})}.{signature}"
    yield "oversize", forger.token(filler="x" * MAX_TOKEN_LENGTH)
    for claim in forger.payload:
        yield f"without {claim}", forger.without(claim)
    yield "expired", forger.token(iat=now - 2000, exp=now - 1000)
    yield "of the future", forger.token(iat=now + 1000, exp=now + 2000)
    yield "not yet valid", forger.token(nbf=now + 1000)
    yield "of another issuer", forger.token(iss="https://evil.example")
    yield "for another audience", forger.token(aud="waypost-refresh")
    yield "for another use", forger.token(token_use="refresh")
    yield "of an unknown session", forger.token(sid="0" * 32)
    yield "of another's session", forger.token(sub=forger.other)
    yield "of no account", forger.token(sub="999999999")


def ended(world: World) -> Iterator[tuple[str, str]]:
    """Yield tokens that were valid once, or are valid for something else."""
    root = world.person("admin")
    session = world.session(world.user("admin"))
    yield "a refresh token", session["refreshToken"]
    Caller(world.http, session["accessToken"]).ask("POST", "/auth/logout", 204)
    yield "after the logout", session["accessToken"]
    for change in ({"active": False}, {"password": "another horse battery"}, None):
        name = world.user("admin")
        token = world.session(name)["accessToken"]
        number = Caller(world.http, token).get("/api/me")["id"]
        root.ask(
            "PATCH" if change else "DELETE",
            f"/api/user/{number}",
            200 if change else 204,
            **({"json": change} if change else {}),
        )
        yield f"after {change or 'the deletion'}", token
    yield "expired in this service", world.expired()


def api_tokens(world: World) -> Iterator[tuple[str, str]]:
    """Yield API tokens that are not valid."""
    root, grants = world.person("admin"), (Grant("*", "*", "*", "*"),)
    yield "an API token of no service", mint().value
    good = world.token(grants)
    yield "a mistyped API token", good[:-1] + ("0" if good[-1] != "0" else "1")
    yield "an API token in capitals", good.upper()
    yield "a cut off API token", good[:-1]
    past = datetime.now(UTC) + timedelta(seconds=1)
    yield "an expired API token", world.services.tokens.create(OPERATOR, "short", grants, past).value
    for method, tail in (("DELETE", ""), ("POST", "/rotate")):
        body = {"name": "ended", "grants": [{"resource": "*", "action": "*"}]}
        made = root.ask("POST", "/api/tokens", 201, json=body).json()
        root.ask(method, f"/api/token/{made['id']}{tail}", 204 if method == "DELETE" else 200)
        yield f"an API token after {method}", made["token"]


def wait_for_the_end(world: World, tokens: Mapping[str, str]) -> None:
    """Wait until no worker accepts any of the tokens."""
    for name, token in tokens.items():
        wait_until(partial(_is_refused, world, token), _SECONDS, f"{name} to end in all workers")


def _is_refused(world: World, token: str) -> bool:
    """Tell whether all workers refuse a token: each request has a connection of its own, which one of them takes."""
    headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
    return all(world.service.client.get("/api/me", headers=headers).status_code == 401 for _ in range(_REQUESTS))
