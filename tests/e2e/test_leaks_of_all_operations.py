"""A valid API token in the body of any operation: refused with its field and revoked, or the operation is known to keep no body."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import Operation, check, openapi, operations
from tests.e2e.test_leaked_tokens import GRANTS, Leak
from tests.e2e.world import Place, World, open_world
from tests.service import ROOT, WAYPOST, running

# What they read is compared, or given on, and never kept as text.
_KEEPS_NOTHING = {
    "POST /auth/login",
    "POST /auth/session",
    "POST /auth/refresh",
    "POST /api/namespace/{namespace}/project/{project}/test",
}
_HAS_NO_TEXT = {
    "POST /api/me/token/{id}/rotate",
    "POST /api/token/{id}/rotate",
    "POST /api/namespace/{namespace}/project/{project}/draft/revert",
}
# Tests of their own: rows of a file, what Git sends, a signed token of the provider, and what a host signs.
_OTHER_BODIES = {
    "POST /api/namespace/{namespace}/project/{project}/import",
    "POST /auth/openid/logout",
    "POST /git/{namespace}.git/git-upload-pack",
    "POST /git/{namespace}.git/git-receive-pack",
    "POST /api/namespace/{namespace}/upstream/webhook",
}
_LEFT_OUT = {"password", "sshKey", "hookSecret", "hostToken", "grants"}  # credentials, and names of what exists
_OF_PEOPLE = re.compile(r"\w+ /api/(me|users?|tokens?|roles?)\b")


def name_of(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


def texts(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each text in a JSON value."""
    if isinstance(value, str):
        yield steps
    elif isinstance(value, dict | list):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(part, (*steps, step))


def planted(schema: str, token: str) -> tuple[str, Any] | None:
    """Return a valid body with a token in one of its texts, and the pointer of that one; None if no text can have it."""
    examples = json.loads((ROOT / f"tests/schemas/examples/{schema}.json").read_text("utf-8"))["valid"]
    for example in sorted(examples, key=lambda each: -len(json.dumps(each))):
        for steps in texts(example):
            for text in (token, f"/{token}", f"https://leak.example/{token}"):
                body = json.loads(json.dumps(example))
                owner = body
                for step in steps[:-1]:
                    owner = owner[step]
                owner[steps[-1]] = text
                if not _LEFT_OUT & {*steps} and not check(schema, body):
                    return "".join(f"/{step}" for step in steps), body
    return None


BODIES = [each for each in operations() if each.request and name_of(each) not in _KEEPS_NOTHING | _HAS_NO_TEXT]


@pytest.fixture(scope="module")
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose accounts and roles no other test has."""
    data: Path = tmp_path_factory.mktemp("leaks") / "data"
    with running(WAYPOST, data) as service, open_world(service) as world:
        yield world


@pytest.fixture(scope="module")
def shop(own_world: World) -> Place:
    place = own_world.place()
    place.published("/a")
    return place


@pytest.mark.parametrize("operation", BODIES, ids=name_of)
def test_a_token_in_a_body_is_refused_and_revoked(own_world: World, shop: Place, operation: Operation) -> None:
    leak = Leak(own_world)
    found = planted(operation.request or "", leak.value)
    assert found, "no text of the body can have a token: name the operation above"
    pointer, body = found
    body = {**body, "grants": GRANTS} if isinstance(body, dict) and "grants" in body else body
    is_of_people = _OF_PEOPLE.match(name_of(operation))
    caller = own_world.person("admin") if is_of_people else own_world.root
    number = caller.get("/api/me")["id"] if is_of_people else "0123456789abcdef"
    path = operation.path.format(namespace=shop.namespace, project=shop.project, id=number, name="leaky")
    answer = caller.send(operation.method, path, json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, "api_token"), answer.text
    assert [each["pointer"] for each in answer.json()["problems"]] == [pointer]
    assert leak.caller.send("GET", "/api/me").status_code == 401


def test_each_operation_with_a_body_is_tested_or_named() -> None:
    documented = {
        f"{method.upper()} {path}"
        for path, item in openapi()["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and "requestBody" in operation
    }
    assert documented - {name_of(each) for each in BODIES} == _KEEPS_NOTHING | _HAS_NO_TEXT | _OTHER_BODIES
    for operation in operations():
        if name_of(operation) in _HAS_NO_TEXT:
            assert planted(operation.request or "", "svc_" + "a" * 49) is None


def test_a_credential_of_an_upstream_may_be_a_token(own_world: World, shop: Place) -> None:
    """The upstream may be a repository of this service, which takes nothing else as a password."""
    leak = Leak(own_world, shop.namespace, "project:read")
    body = {"url": "https://leak.example/a.git", "mode": "source", "username": "robot", "password": leak.value}
    shop.root.ask("PUT", f"{shop.space}/upstream", 200, json=body)
    shop.root.ask("DELETE", f"{shop.space}/upstream", 204)
    assert leak.caller.get("/api/me")["id"] == leak.id
