"""Wrong credentials on every endpoint of Git: refused in the same words, whether or not there is such a repository.

The request of each endpoint is one that a caller with all grants may make; the push would create a branch.
"""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import httpx
import pytest

import schemas
from api.auth.permissions.grants import BUILT_IN_ROLES, Grant
from tests.e2e.caller import Caller
from tests.e2e.contract import check_answer, describe
from tests.e2e.forged import FEW, Forger, api_tokens, ended, forged, wait_for_the_end
from tests.e2e.git import git
from tests.e2e.test_git_requests import basic, line, want
from tests.e2e.world import PASSWORD, Place, World

CHALLENGE = 'Basic realm="waypost"'
NO_NAMESPACES = ("none", "no.name")
_PACK = b"PACK" + (2).to_bytes(4) + (0).to_bytes(4)
_OVERLAPPED = "a rotated token after the overlap"
_TELLING = ("an expired API token", _OVERLAPPED)
_EVERYWHERE = (
    "an unknown user",
    "a wrong password",
    "empty key",
    "a token of no service",
    *_TELLING,
)  # sent for each namespace


class Endpoint(NamedTuple):
    """A request of Git: its operation, the path below the repository, and whether it pushes."""

    operation: str
    method: str
    tail: str
    pushes: bool

    def ask(self, place: Place, headers: Mapping[str, str], namespace: str = "") -> httpx.Response:
        """Send the request, over a new connection."""
        body = {"": None, "git-upload-pack": want(place), "git-receive-pack": new_branch(place)}[
            self.tail.removeprefix("/") if self.method == "POST" else ""
        ]
        kind = {"Content-Type": f"application/x{self.tail.replace('/', '-')}-request"} if body else {}
        path = f"/git/{namespace or place.namespace}.git{self.tail}"
        answer = place.world.http.request(self.method, path, headers={**kind, **headers}, content=body)
        check_answer(self.method, path.partition("?")[0], answer)
        return answer


ENDPOINTS = (
    Endpoint("advertiseRefs", "GET", "/info/refs?service=git-upload-pack", pushes=False),
    Endpoint("advertiseRefs", "GET", "/info/refs?service=git-receive-pack", pushes=True),
    Endpoint("fetchPack", "POST", "/git-upload-pack", pushes=False),
    Endpoint("receivePush", "POST", "/git-receive-pack", pushes=True),
)
each_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.tail.rpartition("/")[2])


def new_branch(place: Place) -> bytes:
    """Return a push that creates a branch at the release, whose objects are all there."""
    tip = git(place.repository, "rev-parse", "release").strip().encode()
    command = line(b"%b %b refs/heads/new\0report-status" % (b"0" * 40, tip))
    return command + b"0000" + _PACK + hashlib.sha1(_PACK, usedforsecurity=False).digest()


def as_password(token: str) -> dict[str, str]:
    """Return the header of a caller who gives a token to Git."""
    return basic("x", token)


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    place = world.place()
    place.published("/a")
    return place


def personal_token(person: Caller, **fields: object) -> dict[str, str]:
    """Return the header for a new personal token."""
    until = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"name": "laptop", "expiresAt": until, **fields}
    return as_password(person.ask("POST", "/api/me/tokens", 201, json=body).json()["token"])


@pytest.fixture(scope="module")
def wrong(world: World) -> dict[str, dict[str, str]]:
    """Return headers without valid credentials, by their fault."""
    forger, user = Forger(world), world.user("admin")
    tokens = dict(api_tokens(world))
    over = {**tokens, **dict(ended(world)), **_ended_tokens(world)}
    wait_for_the_end(world, over)
    few = {name: token for name, token in dict(forged(forger)).items() if name in FEW and name != "oversize"}
    good = world.root.token
    return {
        "a wrong password": basic(user, "wrong"),
        "the start of a password": basic(user, PASSWORD[:-1]),
        "no password": basic(user, ""),
        "an unknown user": basic("nobody", PASSWORD),
        "no user": basic("", PASSWORD),
        "a user with NUL": basic(f"{user}\0", PASSWORD),
        "a token as the user": basic(good, "x"),
        "a token of no service": as_password("svc_" + "Z" * 49),
        "half of a token": as_password(good[:20]),
        "a token and more": as_password(f"{good}x"),
        "a valid access token": basic(user, forger.good),
        "no value": {"Authorization": "Basic"},
        "no base64": {"Authorization": "Basic ###"},
        "no colon": {"Authorization": "Basic " + b64encode(b"no colon").decode()},
        "no UTF-8": {"Authorization": "Basic " + b64encode(b"\xff\xfe:\xff").decode()},
        "an oversize value": basic("x", "y" * 5000),
        "a bearer token": {"Authorization": f"Bearer {good}"},
        "a token without a scheme": {"Authorization": good},
        "a session's cookie, beside a wrong password": {
            **basic(user, "wrong"),
            "Cookie": f"waypost-access={forger.good}",
        },
        **{name: as_password(token) for name, token in {**few, **over}.items()},
    }


def _ended_tokens(world: World) -> dict[str, str]:
    """Return tokens that were valid: one whose overlap is over, and personal ones whose account has changed or gone."""
    root, found = world.person("admin"), {}
    body = {"name": "rotated", "grants": [{"resource": "*", "action": "*"}]}
    made = root.ask("POST", "/api/tokens", 201, json=body).json()
    root.ask("POST", f"/api/token/{made['id']}/rotate", 200, json={"overlap": 1})
    found[_OVERLAPPED] = made["token"]
    until = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for method, change in (("PATCH", {"active": False}), ("DELETE", None)):
        person = world.person("admin")
        fields = {"name": "mine", "expiresAt": until, "role": "admin"}
        found[f"a personal token after {method} of its account"] = person.ask(
            "POST", "/api/me/tokens", 201, json=fields
        ).json()["token"]
        path = f"/api/user/{person.get('/api/me')['id']}"
        root.ask(method, path, 200 if change else 204, **({"json": change} if change else {}))
    return found


def test_each_operation_of_git_is_here() -> None:
    assert {each.operation_id for each in schemas.operations() if each.scheme == "basic"} == {
        endpoint.operation for endpoint in ENDPOINTS
    }


@each_endpoint
def test_wrong_credentials_are_401_in_the_same_words(
    shop: Place, wrong: dict[str, dict[str, str]], endpoint: Endpoint
) -> None:
    """They say nothing of the fault, nor of the repository; only who holds a token that was valid reads when it ended."""
    before, bodies = git(shop.repository, "for-each-ref"), set()
    for name, headers in wrong.items():
        for namespace in ("", *NO_NAMESPACES) if name in _EVERYWHERE else ("",):
            answer = endpoint.ask(shop, headers, namespace)
            assert answer.status_code == 401, (name, describe(answer))
            assert shop.namespace not in answer.text, name
            assert answer.headers["WWW-Authenticate"] == CHALLENGE, name
            if name not in _TELLING:
                bodies.add(answer.content)
    assert len(bodies) == 1, bodies
    assert len(wrong) > 40
    nobody = [endpoint.ask(shop, {}, namespace) for namespace in ("", *NO_NAMESPACES)]
    assert {answer.status_code for answer in nobody} == {401}
    assert len({answer.content for answer in nobody}) == 1
    assert git(shop.repository, "for-each-ref") == before


@each_endpoint
def test_a_caller_without_a_grant_learns_nothing_of_the_repository(shop: Place, endpoint: Endpoint) -> None:
    """An agent, tokens of another namespace or of one project, and who may write but not read."""
    world, ada = shop.world, shop.world.person("admin")
    here = {"namespace": shop.namespace, "resource": "project", "action": "read"}
    lacking = [
        as_password(world.token(BUILT_IN_ROLES["agent"][1])),
        as_password(world.token([Grant("other", "*", "*", "*")])),
        as_password(world.token([Grant(shop.namespace, shop.project, "*", "*")])),
        personal_token(ada, grants=[{**here, "project": shop.project}]),
        personal_token(ada, grants=[{**here, "namespace": "other"}]),
        personal_token(ada, grants=[{**here, "action": "write"}]),
        basic(world.user("agent"), PASSWORD),
    ]
    before = git(shop.repository, "for-each-ref")
    answers = [endpoint.ask(shop, as_password(world.root.token), namespace) for namespace in NO_NAMESPACES]
    answers += [endpoint.ask(shop, headers, name) for headers in lacking for name in ("", *NO_NAMESPACES)]
    assert {answer.status_code for answer in answers} == {404}, [describe(answer) for answer in answers]
    assert len({answer.content for answer in answers}) == 1
    assert git(shop.repository, "for-each-ref") == before


@each_endpoint
def test_a_reader_fetches_and_does_not_push(shop: Place, endpoint: Endpoint) -> None:
    """A personal token holds a part of the grants of its account, and a role that was taken away no more."""
    world, ada = shop.world, shop.world.person("admin")
    before = git(shop.repository, "for-each-ref")
    for headers in (personal_token(ada, role="viewer"), basic(world.user("viewer"), PASSWORD)):
        answer = endpoint.ask(shop, headers)
        assert answer.status_code == (403 if endpoint.pushes else 200), describe(answer)
    assert git(shop.repository, "for-each-ref") == before
    kim = world.person("publisher")
    headers = personal_token(kim, role="publisher")
    assert endpoint.ask(shop, headers).status_code == 200
    git(shop.repository, "update-ref", "-d", "refs/heads/new")
    ada.ask("PATCH", f"/api/user/{kim.get('/api/me')['id']}", 200, json={"roles": ["viewer"]})
    answers = [endpoint.ask(shop, headers) for _ in range(4)]  # by either worker
    assert {answer.status_code for answer in answers} == {403 if endpoint.pushes else 200}
    assert git(shop.repository, "for-each-ref") == before


@each_endpoint
def test_the_request_is_right_with_all_grants(shop: Place, endpoint: Endpoint) -> None:
    """So whatever refuses it above is about its caller. A push creates the branch."""
    answer = endpoint.ask(shop, as_password(shop.world.root.token))
    assert answer.status_code == 200, describe(answer)
    created = git(shop.repository, "for-each-ref", "refs/heads/new")
    assert bool(created) is (endpoint.operation == "receivePush"), describe(answer)
    if created:
        git(shop.repository, "update-ref", "-d", "refs/heads/new")
