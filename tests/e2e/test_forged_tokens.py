"""Every route that needs a token, on the running service, for tokens that are none: always 401, and the same words.

Each route is sent a few kinds, and all kinds are sent to one route of each method and audience, and to those that are
answered ahead of the framework: what is done with a token depends on nothing else of a route.

The forger has the real key of the service and a real session, so that each token has one fault only.
"""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from api.auth.logins.jwt_token import MAX_TOKEN_LENGTH
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.api_token import mint
from schemas import Operation
from tests.api.auth.logins.test_jwt_token import encode, forge
from tests.e2e.caller import Caller
from tests.e2e.contract import check_answer, describe
from tests.e2e.test_access import GUARDED, by_id, path_of
from tests.e2e.world import Place, World
from tests.service import wait_until

COOKIE = "waypost-access"
SECONDS = 20.0
_REQUESTS = 8
Headers = Mapping[str, str]
# answered by code of their own, `api.http.fast_path` and `fast_heartbeats`
FAST = {"getVersion", "listRedirects", "listPages", "hitAgent", "getCompatVersion", "hitCompatAgent"}
SAMPLE = {each.operation_id for each in {(each.method, each.audience): each for each in GUARDED}.values()} | FAST
# All take one way once they are read, so a few of each kind do; every route is sent them in its header too.
FEW = (
    "algorithm none, unsigned",
    "empty key",
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


def _forged(forger: Forger) -> Iterator[tuple[str, str]]:
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


def _ended(world: World) -> Iterator[tuple[str, str]]:
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


def _api_tokens(world: World) -> Iterator[tuple[str, str]]:
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


@pytest.fixture(scope="module")
def forger(world: World) -> Forger:
    return Forger(world)


@pytest.fixture(scope="module")
def refused(world: World, forger: Forger) -> dict[str, Headers]:
    """Return the headers of every kind of token that is none, by its name."""
    ended = dict([*_ended(world), *_api_tokens(world)])
    for name, token in ended.items():
        wait_until(partial(_is_refused, world, token), SECONDS, f"{name} to end in all workers")
    tokens = dict([*_forged(forger), *ended.items()])
    found: dict[str, Headers] = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    found |= {f"{name}, in a cookie": {"Cookie": f"{COOKIE}={tokens[name]}"} for name in FEW}
    found["in another scheme"] = {"Authorization": f"Token {forger.good}"}
    found["as a password"] = {"Authorization": f"Basic {encode(f'admin:{forger.good}'.encode())}"}
    found["two at once"] = {"Authorization": f"Bearer {forger.good} {forger.good}"}
    found["an API token in a cookie"] = {"Cookie": f"{COOKIE}={world.root.token}"}
    found["a cookie of another name"] = {"Cookie": f"waypost-refresh={forger.good}"}
    return found


def _is_refused(world: World, token: str) -> bool:
    """Tell whether all workers refuse a token: each request has a connection of its own, which one of them takes."""
    headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
    return all(world.service.client.get("/api/me", headers=headers).status_code == 401 for _ in range(_REQUESTS))


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    return world.place()


def test_the_forger_could_make_a_valid_token(world: World, forger: Forger) -> None:
    """So each of the others is invalid by its one fault."""
    for token in (forger.good, forger.token()):
        assert Caller(world.http, token).get("/api/me")["grants"]


@pytest.fixture(scope="module")
def few(refused: dict[str, Headers]) -> dict[str, Headers]:
    """Return the headers that every route is sent."""
    return {name: headers for name, headers in refused.items() if name in FEW}


def test_the_sample_has_each_way_to_a_route() -> None:
    assert {each.operation_id for each in GUARDED} >= SAMPLE
    assert len(SAMPLE) > len(FAST) + 5


@by_id(GUARDED)
def test_no_token_that_is_none_is_accepted_anywhere(
    world: World, shop: Place, refused: dict[str, Headers], few: dict[str, Headers], operation: Operation
) -> None:
    """With the same words for all invalid ones: they say nothing of the fault, nor whether the token was ever right."""
    path, bodies = path_of(operation, shop), set()
    for name, headers in (refused if operation.operation_id in SAMPLE else few).items():
        answer = world.service.client.request(operation.method, path, headers=headers)
        check_answer(operation.method, path, answer)
        assert answer.status_code == 401, (name, describe(answer))
        assert answer.headers["WWW-Authenticate"].startswith("Bearer"), name
        if not name.startswith("an expired API token"):  # its value is right, so its holder reads why
            bodies.add((answer.json()["error"], answer.json()["message"]))
    assert len(refused) > 70
    assert len(bodies) <= 3, "no token, a malformed header, an invalid token"
