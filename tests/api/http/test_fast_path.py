"""Requests that the fast path answers, and those that it leaves to the framework; without a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from api.app.services import Services, open_services
from api.auth import directory
from api.auth.permissions.grants import BUILT_IN_ROLES
from api.auth.permissions.principal import OPERATOR
from api.http import fast_path as fast_paths
from api.http.compat import BASE
from api.http.fast_path import FastPath, PreparedResponse
from api.http.response.compression import CompressionCache, accepts_gzip
from api.metrics.counters import Counters
from api.settings import Settings
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.releases.release import Release
from gitstore.git.repository import Author
from gitstore.layout import TreeId
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile

ADA = Author("Ada", "ada@shop.example")
PATH = "/api/namespace/acme/project/shop/"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Users and tokens."""
    found = open_services(Settings(data=tmp_path))
    yield found
    found.close()


@pytest.fixture
def fast_path(tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch) -> tuple[FastPath, bytes]:
    """Create a fast path over a loaded project, and the header of an agent's token."""
    monkeypatch.setattr(
        directory, "MAX_STALENESS", 3600.0
    )  # nothing reads the tokens again here, however slow the test
    store = Store(tmp_path)
    store.namespaces.create("acme", "", ADA)
    store.projects.create("acme", "shop", ProjectFile("Shop"), ADA)
    token = services.tokens.create(OPERATOR, "agent", BUILT_IN_ROLES["agent"][1]).value
    services.directory.reload()
    store.live.refresh("acme")
    return FastPath(services.directory, store.live, CompressionCache(), Counters()), f"Bearer {token}".encode()


def ask(
    fast_path: tuple[FastPath, bytes], what: str = "version", query: str = "", path: str = PATH, **headers: bytes
) -> PreparedResponse | None:
    """Ask with a GET as the server passes it on, by the agent unless another caller is named."""
    fast, bearer = fast_path
    given = {"host": b"waypost.example", "authorization": bearer, **headers}
    named = [(name.replace("_", "-").encode(), value) for name, value in given.items()]
    return fast.answer(unquote(path + what), (path + what).encode(), query, named)


def lines(prepared: PreparedResponse) -> dict[bytes, bytes]:
    """Return the headers of a response."""
    status, *headers = (prepared.answer.head + prepared.line).splitlines()
    assert status.startswith(b"HTTP/1.1 %d " % prepared.answer.reply.status)
    return {name: value for name, _, value in (header.partition(b": ") for header in headers)}


@pytest.mark.parametrize(
    ("what", "query"), [("version", ""), ("redirects", ""), ("pages", "limit=2"), ("redirects", "offset=1&limit=2")]
)
def test_plain_reads_are_answered(fast_path: tuple[FastPath, bytes], what: str, query: str) -> None:
    first, second = (ask(fast_path, what, query) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.answer.reply.status == 200
    assert lines(first)[b"content-length"] == b"%d" % first.answer.size
    assert lines(first)[b"x-request-id"] != lines(second)[b"x-request-id"]


def test_projects_that_stay_the_same_are_answered_while_another_is_opened(
    fast_path: tuple[FastPath, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: all polls of a namespace waited for the checksums of a large release."""
    Store(tmp_path).projects.create("acme", "other", ProjectFile("Other"), ADA)
    release, found = Compiler.release, list[PreparedResponse | None]()

    def note(self: Compiler, project: str, tree: TreeId) -> Release:
        found.extend((ask(fast_path), ask(fast_path, path=PATH.replace("shop", "other"))))
        return release(self, project, tree)

    monkeypatch.setattr(Compiler, "release", note)
    assert ask(fast_path) is None
    fast_path[0]._live.refresh("acme")
    same, opened = found
    assert opened is None
    assert same is not None
    assert same.answer.reply.status == 200


def test_a_path_with_anything_encoded_is_left_to_the_framework(fast_path: tuple[FastPath, bytes]) -> None:
    assert ask(fast_path) is not None
    assert ask(fast_path, path=PATH.replace("/shop", "%2Fshop")) is None


def test_one_who_has_it_is_told_so(fast_path: tuple[FastPath, bytes]) -> None:
    full = ask(fast_path)
    assert full is not None
    known = ask(fast_path, if_none_match=lines(full)[b"etag"])
    assert known is not None
    assert (known.answer.reply.status, known.answer.size) == (304, 0)
    assert b"content-length" not in lines(known)


@pytest.mark.parametrize("what", ["version", "redirects", "pages"])
def test_reads_of_agents_of_an_older_service_are_answered(fast_path: tuple[FastPath, bytes], what: str) -> None:
    """They have no etag, and are never 304."""
    plain = ask(fast_path, what)
    assert plain is not None
    for known in (b"", lines(plain)[b"etag"], b"*"):
        found = ask(fast_path, what, path=BASE + PATH, if_none_match=known)
        assert found is not None
        assert found.answer.reply.status == 200
        assert b"etag" not in lines(found)
        assert b"".join(found.answer.parts) == (b"1" if what == "version" else b"".join(plain.answer.parts))
    for other in (f"{BASE}//api/namespace/acme/project/shop/", f"{BASE}{BASE}{PATH}", BASE):
        assert ask(fast_path, what, path=other) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"what": "agents"},
        {"what": "version", "query": "x=1"},
        {"what": "redirects", "query": "version=1"},
        {"what": "redirects", "query": "limit=-1"},
        {"what": "redirects", "query": "limit=1&limit=2"},
        {"what": "redirects", "query": "limit=%31"},
        {"what": "redirects", "query": "limit=\xb2"},
        {"what": "redirects", "query": "limit=1234567890"},
        {"prefer": b"wait=5"},
        {"x_request_id": b"mine"},
        {"authorization": b"Bearer another"},
    ],
)
def test_the_rest_is_left_to_the_framework(fast_path: tuple[FastPath, bytes], odd: dict[str, Any]) -> None:
    assert ask(fast_path, **odd) is None


@pytest.mark.parametrize("bearer", [b"", b"Bearer ", b"Basic eDp5", b"Bearer svc_" + b"x" * 49, b"bearer x"])
def test_who_is_not_known_is_left_to_the_framework(fast_path: tuple[FastPath, bytes], bearer: bytes) -> None:
    assert ask(fast_path) is not None
    assert ask(fast_path, authorization=bearer) is None


def test_what_is_not_there_is_left_to_the_framework(fast_path: tuple[FastPath, bytes]) -> None:
    for path in (
        "/api/namespace/other/project/shop/",
        "/api/namespace/acme/project/other/",
        "/api/namespace/",
        "/",
        "",
    ):
        assert ask(fast_path, path=path) is None


def test_a_token_is_let_in_no_longer_than_it_may_be(fast_path: tuple[FastPath, bytes], services: Services) -> None:
    """A change of permissions counts at once, also after earlier responses."""
    other = services.tokens.create(OPERATOR, "other", BUILT_IN_ROLES["agent"][1])
    bearer = f"Bearer {other.value}".encode()
    services.directory.reload()
    for _ in range(2):
        assert ask(fast_path, authorization=bearer) is not None
    services.tokens.remove(OPERATOR, other.token.id)
    assert ask(fast_path, authorization=bearer) is None
    services.directory.reload()
    assert ask(fast_path, authorization=bearer) is None
    assert ask(fast_path) is not None


@pytest.mark.parametrize("host", [None, b"a b", b"a:b", b"\xc3\xa4", b"x" * 300])
def test_a_request_without_a_valid_host_is_left_to_the_application(
    fast_path: tuple[FastPath, bytes], host: bytes | None
) -> None:
    fast, bearer = fast_path
    given = [(b"authorization", bearer), *([] if host is None else [(b"host", host)])]
    path = PATH + "version"
    assert fast.answer(path, path.encode(), "", given) is None
    assert fast.answer(path, path.encode(), "", [given[0], (b"host", b"x")]) is not None


@pytest.mark.parametrize(
    ("header", "welcome"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("*", True),
        ("identity", False),
        ("x-gzip", True),
        ("gzip; q=0.0", False),
        ("*, gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("*;q=0", False),
        ("*;q=0, gzip", True),
        ("br;q=1, *;q=0.1", True),
        ("gzip;q=0.001", True),
        ("gzip;Q=0", False),
        ("gzip ; q = 0", False),
        ("identity, gzip;q=0.5", False),
        ("identity;q=0.5, gzip", True),
        ("identity;q=0", False),
        ("gzip;q=nonsense", False),
        ("gzip;q=2", False),
        ("gzip;level=9;q=0", False),
        ("x-gzip;q=0, gzip;q=0.5", True),
        (", gzip,", True),
        ("x" * 300 + ", gzip", True),
        ("x" * 300 + ", *, gzip;q=0", False),
    ],
)
def test_accept_encoding(header: str | None, welcome: bool) -> None:  # noqa: FBT001 - a table's column
    assert accepts_gzip(header) is welcome


def test_cached_replies_are_bounded(fast_path: tuple[FastPath, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a token can ask for as many windows as there are numbers. All go when they take too many bytes."""
    monkeypatch.setattr(fast_paths, "_MAX_BYTES", 10_000)
    kept = []
    for offset in range(20):
        assert ask(fast_path, "redirects", f"offset={offset}") is not None
        kept.append(sum(map(len, fast_path[0]._replies.values())))
    assert 1 < max(kept) <= 5
    assert kept.count(1) > 3
    first, second = (ask(fast_path, "redirects", "offset=19") for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.answer is second.answer


def test_remembered_matches_are_bounded(fast_path: tuple[FastPath, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: there is one for each token and path. All go when there are too many, and come again."""
    monkeypatch.setattr(fast_paths, "_MAX_MATCHES", 2)
    for what in ("version", "redirects", "pages", "version"):
        assert ask(fast_path, what) is not None
        assert 0 < len(fast_path[0]._matches) <= 2


def test_requests_without_an_answer_take_no_memory(fast_path: tuple[FastPath, bytes]) -> None:
    """Guard: only a match that led to an answer is remembered."""
    for number in range(5):
        assert ask(fast_path, path=f"/api/namespace/acme/project/none{number}/") is None
        assert ask(fast_path, authorization=f"Bearer svc_{number:049}".encode()) is None
        assert ask(fast_path, "redirects", "version=1") is None
    assert fast_path[0]._matches == {}
