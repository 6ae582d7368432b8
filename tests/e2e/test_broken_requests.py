"""A request that is cut off, or names an impossible draft, changes nothing: on every route of drafts and publishing.

The routes are those of the contract, so that one that is added is held to the same.
"""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import quote

import orjson
import pytest

import schemas
from content.records.record import identity_id
from schemas import Operation
from tests.e2e.contract import describe
from tests.e2e.git import git
from tests.e2e.wire import parse_answer
from tests.e2e.world import Place, World, open_world, page, redirect
from tests.service import WAYPOST, running

PROJECT = "/api/namespace/{namespace}/project/{project}"
PARTS = ("/draft", "/publish", "/rollback", "/import")
ROUTES = [each for each in schemas.operations() if each.path.removeprefix(PROJECT).startswith(PARTS)]
WRITES = [each for each in ROUTES if each.method in {"POST", "PUT", "PATCH"}]
TSV = b"type\tsource\ttarget\tstatus\nBASIC\t/new\t/x\t301\n"
BODIES: dict[str, Any] = {
    "redirect-put": redirect("/new"),
    "redirect-patch": {"target": "/changed"},
    "page-put": page("/new"),
    "page-patch": {"content": "changed"},
    "draft-changes": [{"op": "put", "kind": "redirect", "item": redirect("/new")}],
    "publish": {"message": "Half of it"},
    "rollback": {"version": 1},
    "reopen": {"version": 1},
    "draft-revert": {"ids": [identity_id("/b")]},
    "draft-replace": {"find": "/b", "replace": "/changed"},
    "draft-tests-put": {"tests": [{"url": "/b", "status": 301}]},
    "draft-fix": {"rules": [{"file": "shop/redirects.yaml", "line": 1}]},
    "draft-resolve": {"choices": [{"kind": "redirect", "id": identity_id("/b"), "field": "target", "take": "draft"}]},
    "review-action": {"action": "comment", "head": "0" * 40, "note": "Half of it"},
}
"""A whole body that the route would take, by its schema: what is cut off could be taken for all there is."""
NO_NAMES = [
    "",
    "..",
    ".",
    "a/b",
    "/",
    "x" * 51,
    "release.lock",
    "é",
    "a b",
    "a\0",
    "-\n",
    "%2e%2e",
    "a..b",
    "@{0}",
    "*",
]


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that does not wait long for the rest of a body."""
    settings = {"WAYPOST_BODY_TIMEOUT": "5"}
    with (
        running(WAYPOST, tmp_path_factory.mktemp("impatient") / "data", settings) as service,
        open_world(service) as world,
    ):
        yield world


@pytest.fixture(scope="module")
def shop(impatient: World) -> Iterator[Place]:
    """Create a project with a draft; at the end, both the draft and the workers must be unchanged."""
    workers, place = impatient.service.workers(), impatient.place()
    place.add("/a")
    place.add_page("/a.txt")
    place.publish()
    place.add("/b")
    yield place
    assert impatient.service.workers() == workers


def state(place: Place) -> tuple[str, list[Any]]:
    """Every branch, and what the draft and release hold."""
    seen = [place.get(tail) for tail in ("/draft", "/draft/redirects", "/draft/pages", "/redirects", "/pages")]
    return git(place.repository, "for-each-ref"), seen


def path_of(operation: Operation, place: Place) -> str:
    """Return the operation's path, for an existing record."""
    record = identity_id("/a.txt" if "/pages" in operation.path else "/a")
    return operation.path.format(namespace=place.namespace, project=place.project, id=record)


def body_of(operation: Operation) -> tuple[bytes, str]:
    """Return a whole body that the operation would accept, and its type."""
    if operation.request is None:
        return TSV, "text/tab-separated-values"
    return orjson.dumps(BODIES.get(operation.request, {})), "application/json"


def send_half(place: Place, operation: Operation, fields: dict[str, str], sent: bytes) -> None:
    """Send a request whose body ends early, and say that nothing more will come; any answer must be a refusal."""
    path = path_of(operation, place)
    head = {"Host": "localhost", "Authorization": f"Bearer {place.root.token}", **fields}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    with closing(socket.create_connection(("127.0.0.1", place.world.service.port), timeout=60)) as connection:
        connection.sendall(f"{operation.method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + sent)
        connection.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    if data:
        answer = parse_answer(operation.method, path.encode(), data)
        assert 400 <= answer.status_code < 500, describe(answer)


def halves_of(operation: Operation) -> list[tuple[Operation, dict[str, str], bytes]]:
    """Return requests of an operation that are cut off, also where what has come is whole in itself: there was more."""
    body, kind = body_of(operation)
    whole, chunk = len(body), f"{len(body):x}\r\n".encode() + body
    lengths = [(whole + 1, body), (whole + 100_000, body), (whole, body[:-1]), (whole, b"")]
    chunks = (b"", chunk, chunk + b"\r\n", chunk + b"\r\n0", chunk + b"\r\n5\r\nab", b"zz\r\n" + body)
    return [
        *((operation, {"Content-Type": kind, "Content-Length": str(length)}, sent) for length, sent in lengths),
        *((operation, {"Content-Type": kind, "Transfer-Encoding": "chunked"}, sent) for sent in chunks),
    ]


def test_bodies_that_are_cut_off_change_nothing(shop: Place) -> None:
    """All operations at once, since the service waits for the rest of some bodies."""
    before, halves = state(shop), [half for operation in WRITES for half in halves_of(operation)]
    with ThreadPoolExecutor(3 * len(WRITES)) as pool:
        list(pool.map(lambda half: send_half(shop, *half), halves))
    assert state(shop) == before


@pytest.mark.parametrize("operation", ROUTES, ids=lambda each: each.operation_id)
def test_a_draft_whose_name_is_no_name_is_not_found(shop: Place, operation: Operation) -> None:
    """No branch is created or looked up under such a name, and no other draft is used instead."""
    if "draft" not in parameters(operation):
        assert operation.operation_id in {"rollback", "listDrafts"}, "every route of a draft says which"
        return
    (body, kind), before = body_of(operation), state(shop)
    request: dict[str, Any] = {}
    if operation in WRITES:
        request = {"content": body, "headers": {"Content-Type": kind}}
    for name in NO_NAMES:
        path = f"{path_of(operation, shop)}?draft={quote(name, safe='')}"
        answer = shop.root.send(operation.method, path, **request)
        assert answer.status_code in {400, 404}, (name, describe(answer))
    assert state(shop) == before


@pytest.mark.parametrize("operation", ROUTES, ids=lambda each: each.operation_id)
def test_a_draft_that_is_not_there_is_never_made_by_a_failure(shop: Place, operation: Operation) -> None:
    """Reading, discarding, publishing what is not there, and edits of records that are not there, make no branch."""
    begins = operation.operation_id == "replaceDraftTests" or (
        operation.method == "POST" and not operation.path.endswith("/publish")
    )
    if "draft" not in parameters(operation) or begins:
        return
    before = state(shop)
    path = path_of(operation, shop).replace(identity_id("/a"), "0" * 16).replace(identity_id("/a.txt"), "0" * 16)
    request: dict[str, Any] = {"json": BODIES[operation.request]} if operation.request else {}
    ids = f"&ids={'0' * 16}" if "ids" in parameters(operation) else ""
    answer = shop.root.send(operation.method, f"{path}?draft=absent{ids}", **request)
    assert answer.status_code in {200, 404, 409}, describe(answer)
    assert answer.status_code != 200 or operation.method == "GET", describe(answer)
    assert state(shop) == before


def test_a_head_that_is_gone_publishes_nothing(shop: Place) -> None:
    """An unknown head, an earlier head of the draft, and a text that is not a head at all."""
    shop.add("/c")
    gone = shop.get("/draft")["head"]
    shop.ask("DELETE", f"/draft/redirects/{identity_id('/c')}", 204)
    before = state(shop)
    for head in (gone, "0" * 40, "f" * 40, "HEAD", "main", gone[:39], gone.upper(), "refs/heads/release"):
        answer = shop.root.send("POST", f"{shop.path}/publish", json={"head": head})
        assert answer.status_code in {409, 422}, describe(answer)
    assert state(shop) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(("kind", "key"), [("redirects", "/a"), ("pages", "/a.txt")])
def test_an_item_that_is_not_as_it_was_read_is_left_alone(shop: Place, method: str, kind: str, key: str) -> None:
    before, path = state(shop), f"/draft/{kind}/{identity_id(key)}"
    bodies: dict[str, Any] = {
        "PUT": redirect(key, "/x") if kind == "redirects" else page(key, "x"),
        "PATCH": {"note": "x"},
    }
    request = {"json": bodies[method]} if method in bodies else {}
    shop.refused(method, path, 412, "stale_item", headers={"If-Match": '"0123456789abcdef"'}, **request)
    for bad in ("0123456789abcdef", '"a", "b"', 'W/"a"', '"', '""', ""):
        shop.refused(method, path, 400, "bad_header", headers={"If-Match": bad}, **request)
    assert state(shop) == before


def parameters(operation: Operation) -> set[str]:
    """Return the names of an operation's query parameters."""
    document = schemas.openapi()
    described = document["paths"][operation.path]
    found = [*described.get("parameters", ()), *described[operation.method.lower()].get("parameters", ())]
    shared = document["components"]["parameters"]
    whole = [shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in found]
    return {each["name"] for each in whole if each["in"] == "query"}
