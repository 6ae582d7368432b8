"""What the express lane takes on itself, and what it leaves to the framework; without a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.compression import Compressed, accepts_gzip
from api.express import Express
from api.identity.grants import BUILT_IN_ROLES
from api.identity.principal import OPERATOR
from api.identity.service import open_services
from api.settings import Settings
from api.tally import Tally
from gitstore.project_file import ProjectFile
from gitstore.repository import Author
from gitstore.store import Store

ADA = Author("Ada", "ada@shop.example")
PATH = "/api/namespace/acme/project/shop/"


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[tuple[Express, bytes]]:
    """A lane over a project that has been looked at once, and the header of an agent's token."""
    store = Store(tmp_path)
    store.create_namespace("acme", "", ADA)
    store.create_project("acme", "shop", ProjectFile("Shop"), ADA)
    services = open_services(Settings(data=tmp_path))
    token = services.tokens.create(OPERATOR, "agent", BUILT_IN_ROLES["agent"][1]).value
    services.directory.reload()
    # A ref that moved a moment ago is looked at twice, since the clock of the file system ticks slowly.
    while store.live.peek("acme") is None:
        store.live.refresh("acme")
    yield Express(services.directory, store.live, Compressed(), Tally()), f"Bearer {token}".encode()
    services.close()


def scope(bearer: bytes, what: str = "version", query: bytes = b"", **headers: bytes) -> dict[str, Any]:
    """A GET as the server hands it over."""
    named = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    return {
        "path": PATH + what,
        "raw_path": (PATH + what).encode(),
        "query_string": query,
        "headers": [(b"authorization", bearer), *named],
    }


@pytest.mark.parametrize(
    ("what", "query"), [("version", b""), ("redirects", b""), ("pages", b"limit=2"), ("redirects", b"offset=1&limit=2")]
)
def test_plain_reads_are_answered(lane: tuple[Express, bytes], what: str, query: bytes) -> None:
    express, bearer = lane
    first, second = (express.answer(scope(bearer, what, query)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.reply.status == 200
    assert dict(first.headers)[b"content-length"] == b"%d" % first.reply.size
    assert dict(first.headers).pop(b"x-request-id") != dict(second.headers).pop(b"x-request-id")


def test_a_path_with_anything_encoded_is_left_to_the_framework(lane: tuple[Express, bytes]) -> None:
    express, bearer = lane
    assert (
        express.answer({**scope(bearer), "raw_path": (PATH + "version").replace("/shop", "%2Fshop").encode()}) is None
    )


def test_one_who_has_it_is_told_so(lane: tuple[Express, bytes]) -> None:
    express, bearer = lane
    full = express.answer(scope(bearer))
    assert full is not None
    known = express.answer(scope(bearer, if_none_match=dict(full.headers)[b"etag"]))
    assert known is not None
    assert (known.reply.status, known.reply.size) == (304, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"what": "agents"},
        {"what": "version", "query": b"x=1"},
        {"what": "redirects", "query": b"version=1"},
        {"what": "redirects", "query": b"limit=-1"},
        {"what": "redirects", "query": b"limit=1&limit=2"},
        {"what": "redirects", "query": b"limit=%31"},
        {"what": "redirects", "query": b"limit=1234567890"},
        {"prefer": b"wait=5"},
        {"x_request_id": b"mine"},
        {"authorization": b"Bearer another"},
    ],
)
def test_the_rest_is_left_to_the_framework(lane: tuple[Express, bytes], odd: dict[str, Any]) -> None:
    express, bearer = lane
    assert express.answer(scope(bearer, **odd)) is None


@pytest.mark.parametrize("bearer", [b"", b"Bearer ", b"Basic eDp5", b"Bearer svc_" + b"x" * 49, b"bearer x"])
def test_who_is_not_known_is_left_to_the_framework(lane: tuple[Express, bytes], bearer: bytes) -> None:
    assert lane[0].answer(scope(bearer)) is None


def test_what_is_not_there_is_left_to_the_framework(lane: tuple[Express, bytes]) -> None:
    express, bearer = lane
    for path in ("/api/namespace/other/project/shop/version", "/api/namespace/acme/project/other/version", "/x", "/"):
        assert express.answer({**scope(bearer), "path": path}) is None


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
