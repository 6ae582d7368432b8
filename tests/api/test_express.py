"""What the express lane takes on itself, and what it leaves to the framework; without a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from api.compression import Compressed, accepts_gzip
from api.express import Express, Told
from api.identity.grants import BUILT_IN_ROLES
from api.identity.principal import OPERATOR
from api.identity.service import Services, open_services
from api.settings import Settings
from api.tally import Tally
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.store import Store

ADA = Author("Ada", "ada@shop.example")
PATH = "/api/namespace/acme/project/shop/"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Users and tokens."""
    found = open_services(Settings(data=tmp_path))
    yield found
    found.close()


@pytest.fixture
def lane(tmp_path: Path, services: Services) -> tuple[Express, bytes]:
    """A lane over a project that has been looked at once, and the header of an agent's token."""
    store = Store(tmp_path)
    store.create_namespace("acme", "", ADA)
    store.create_project("acme", "shop", ProjectFile("Shop"), ADA)
    token = services.tokens.create(OPERATOR, "agent", BUILT_IN_ROLES["agent"][1]).value
    services.directory.reload()
    # A ref that moved a moment ago is looked at twice, since the clock of the file system ticks slowly.
    while store.live.peek("acme") is None:
        store.live.refresh("acme")
    return Express(services.directory, store.live, Compressed(), Tally()), f"Bearer {token}".encode()


def ask(
    lane: tuple[Express, bytes], what: str = "version", query: str = "", path: str = PATH, **headers: bytes
) -> Told | None:
    """A GET as the server hands it over, by the agent unless another one is named."""
    express, bearer = lane
    given = {"authorization": bearer, **headers}
    named = [(name.replace("_", "-").encode(), value) for name, value in given.items()]
    return express.answer(unquote(path + what), (path + what).encode(), query, named)


def lines(told: Told) -> dict[bytes, bytes]:
    """The headers of an answer."""
    status, *headers = (told.answer.head + told.line).splitlines()
    assert status.startswith(b"HTTP/1.1 %d " % told.answer.reply.status)
    return {name: value for name, _, value in (header.partition(b": ") for header in headers)}


@pytest.mark.parametrize(
    ("what", "query"), [("version", ""), ("redirects", ""), ("pages", "limit=2"), ("redirects", "offset=1&limit=2")]
)
def test_plain_reads_are_answered(lane: tuple[Express, bytes], what: str, query: str) -> None:
    first, second = (ask(lane, what, query) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.answer.reply.status == 200
    assert lines(first)[b"content-length"] == b"%d" % first.answer.size
    assert lines(first)[b"x-request-id"] != lines(second)[b"x-request-id"]


def test_a_path_with_anything_encoded_is_left_to_the_framework(lane: tuple[Express, bytes]) -> None:
    assert ask(lane) is not None
    assert ask(lane, path=PATH.replace("/shop", "%2Fshop")) is None


def test_one_who_has_it_is_told_so(lane: tuple[Express, bytes]) -> None:
    full = ask(lane)
    assert full is not None
    known = ask(lane, if_none_match=lines(full)[b"etag"])
    assert known is not None
    assert (known.answer.reply.status, known.answer.size) == (304, 0)
    assert b"content-length" not in lines(known)


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
def test_the_rest_is_left_to_the_framework(lane: tuple[Express, bytes], odd: dict[str, Any]) -> None:
    assert ask(lane, **odd) is None


@pytest.mark.parametrize("bearer", [b"", b"Bearer ", b"Basic eDp5", b"Bearer svc_" + b"x" * 49, b"bearer x"])
def test_who_is_not_known_is_left_to_the_framework(lane: tuple[Express, bytes], bearer: bytes) -> None:
    assert ask(lane) is not None
    assert ask(lane, authorization=bearer) is None


def test_what_is_not_there_is_left_to_the_framework(lane: tuple[Express, bytes]) -> None:
    for path in (
        "/api/namespace/other/project/shop/",
        "/api/namespace/acme/project/other/",
        "/api/namespace/",
        "/",
        "",
    ):
        assert ask(lane, path=path) is None


def test_a_token_is_let_in_no_longer_than_it_may_be(lane: tuple[Express, bytes], services: Services) -> None:
    """Whatever was answered before; a look at who may do what is due as soon as that has changed."""
    other = services.tokens.create(OPERATOR, "other", BUILT_IN_ROLES["agent"][1])
    bearer = f"Bearer {other.value}".encode()
    services.directory.reload()
    for _ in range(2):
        assert ask(lane, authorization=bearer) is not None
    services.tokens.remove(OPERATOR, other.token.id)
    assert ask(lane, authorization=bearer) is None
    services.directory.reload()
    assert ask(lane, authorization=bearer) is None
    assert ask(lane) is not None


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
        ("x-gzip", False),
        ("gzip; q=0.0", False),
    ],
)
def test_accept_encoding(header: str | None, welcome: bool) -> None:  # noqa: FBT001 - a table's column
    assert accepts_gzip(header) is welcome
