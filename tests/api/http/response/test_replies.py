"""The responses that agents read, header by header: versions, windows of lists, manifests, and 304."""

import gzip
import json
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.http.request.parameters import Window
from api.http.response.compression import CompressionCache
from api.http.response.replies import (
    IMMUTABLE,
    REVALIDATE,
    ConditionalGet,
    Digests,
    Reply,
    ServedVersion,
    etag_matches,
    join_splices,
    list_reply,
    manifest_reply,
    needs_compression,
    number_reply,
    version_reply,
    window_body,
)
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.git.repository import Author
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile

ADA = Author("Ada", "ada@shop.example")
PATH = "/api/namespace/acme/project/shop/redirects"
RULES = [Redirect(RedirectType.BASIC, f"/{number}", f"/new/{number}", RedirectStatus.FOUND) for number in range(30)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedVersion:
    """Return the second publish of a project, of thirty redirects and no page."""
    store = create_store(tmp_path_factory.mktemp("replies") / "data")
    store.namespaces.create("acme", "", ADA)
    store.projects.create("acme", "shop", ProjectFile("Shop"), ADA)
    draft = DraftName("shop", "main")
    store.drafts.edit("acme", draft, [Put(Kind.REDIRECTS, rule) for rule in RULES], ADA)
    store.publishes.publish("acme", PublishRequest(draft, ADA))
    found = store.releases.project("acme", "shop")
    return ServedVersion(found.version, found.number, found.release)


def body(reply: Reply) -> Any:
    """Return the JSON body; its length must be the one that the reply has."""
    data = b"".join(reply.pieces())
    assert reply.size == len(data) == sum(map(len, reply.pieces()))
    return json.loads(data)


def common(served: ServedVersion, etag: str, cache_control: str = "private, no-cache") -> dict[str, str]:
    """Return the headers of each reply about a version."""
    return {
        "etag": etag,
        "cache-control": cache_control,
        "vary": "Authorization, Accept-Encoding",
        "x-project-version": served.version,
        "x-publish-number": "2",
    }


def test_version_is_a_json_string_and_known_by_its_etag(served: ServedVersion) -> None:
    etag = f'"{served.version}"'
    full = version_reply(served, ConditionalGet("/version"))
    assert (full.status, body(full)) == (200, served.version)
    assert dict(full.headers) == {**common(served, etag), "content-type": "application/json"}
    same = version_reply(served, ConditionalGet("/version", etag))
    assert (same.status, same.body, dict(same.headers)) == (304, (), common(served, etag))


def test_publish_number_is_a_json_number(served: ServedVersion) -> None:
    reply = number_reply(served)
    assert (reply.status, body(reply)) == (200, 2)
    assert dict(reply.headers) == {**common(served, f'"{served.version}"'), "content-type": "application/json"}


def test_manifest_has_the_digests_of_the_lists(served: ServedVersion) -> None:
    """Guard: an agent compares them with the digest of the items that it has read."""
    etag = f'"{served.version}"'
    reply = manifest_reply(served, 0.0, ConditionalGet("/manifest"), Digests.ALL, ("acme", "shop"))
    found = body(reply)
    for kind in Kind:
        runs = found[kind.value].pop("runs")
        digests = [run["sha256"] for run in runs if run["count"] == found[kind.value]["total"]]
        assert digests == [found[kind.value]["sha256"]] * bool(found[kind.value]["total"])
        lines = "".join(f"{run['count']} {run['sha256']}\n" for run in runs)
        assert found[kind.value].pop("runsSha256") == sha256(lines.encode()).hexdigest()
    assert (found["namespace"], found["project"]) == ("acme", "shop")
    assert (found["version"], found["publishNumber"]) == (served.version, 2)
    assert found["publishedAt"].startswith("1970-01-01T00:00:00")
    listed = b"".join(join_splices(window_body(served.listing(Kind.REDIRECTS), Window(30, 0))))
    items = listed.partition(b'"items":[')[2].removesuffix(b"]}")
    assert found["redirects"] == {"total": 30, "sha256": sha256(items + b",").hexdigest()}
    assert found["pages"] == {"total": 0, "sha256": sha256(b"").hexdigest()}
    assert dict(reply.headers) == {**common(served, etag), "content-type": "application/json"}
    assert manifest_reply(served, 0.0, ConditionalGet("/manifest", etag), Digests.ALL, ("acme", "shop")) == Reply(
        304, tuple(common(served, etag).items())
    )


@pytest.mark.parametrize(
    ("limit", "offset", "count", "following"),
    [
        (30, 0, 30, None),
        (500, 0, 30, None),
        (10, 0, 10, 10),
        (10, 20, 10, None),
        (10, 19, 10, 29),
        (10, 30, 0, None),
        (0, 0, 0, None),
    ],
)
def test_window_has_its_items_and_leads_to_the_next(
    served: ServedVersion, limit: int, offset: int, count: int, following: int | None
) -> None:
    """Guard: the next window is one of the same version, so a paged read never mixes two."""
    reply = list_reply(served, Kind.REDIRECTS, Window(limit, offset), ConditionalGet(PATH), CompressionCache())
    found = body(reply)
    assert (found["total"], found["limit"], found["offset"]) == (30, limit, offset)
    assert [item["source"] for item in found["items"]] == [rule.source for rule in RULES[offset : offset + count]]
    link = f'<{PATH}?limit={limit}&offset={following}&version={served.version}>; rel="next"'
    assert dict(reply.headers).get("link") == (link if following else None)


def test_window_of_an_old_version_stays_in_caches_and_names_no_version(served: ServedVersion) -> None:
    """Its path has the version already."""
    old = served._replace(cache_control=IMMUTABLE)
    assert served.cache_control == REVALIDATE
    reply = list_reply(old, Kind.REDIRECTS, Window(10, 0), ConditionalGet(PATH), CompressionCache())
    immutable = common(served, f'"{served.version}"', "private, max-age=31536000, immutable")
    link = {"link": f'<{PATH}?limit=10&offset=10>; rel="next"'}
    assert dict(reply.headers) == {**immutable, **link, "content-type": "application/json"}


def test_compressed_window_has_an_etag_of_its_own(served: ServedVersion) -> None:
    """Guard: a cache must not take one encoding for the other; but a client that has either is up to date."""
    window, compressed = Window(30, 0), CompressionCache()
    asked = ConditionalGet(PATH, gzip=True)
    assert needs_compression(served, Kind.REDIRECTS, window, compressed)
    plain = list_reply(served, Kind.REDIRECTS, window, asked, compressed)
    assert dict(plain.headers)["etag"] == f'"{served.version}"'
    listing = served.listing(Kind.REDIRECTS)
    compressed.add(listing, window, join_splices(window_body(listing, window)))
    assert not needs_compression(served, Kind.REDIRECTS, window, compressed)
    reply = list_reply(served, Kind.REDIRECTS, window, asked, compressed)
    etag = f'"{served.version}-gzip"'
    encoding = {"content-type": "application/json", "content-encoding": "gzip"}
    assert dict(reply.headers) == {**common(served, etag), **encoding}
    assert json.loads(gzip.decompress(b"".join(reply.pieces()))) == body(plain)
    not_asked = list_reply(served, Kind.REDIRECTS, window, ConditionalGet(PATH), compressed)
    assert (dict(not_asked.headers)["etag"], body(not_asked)) == (f'"{served.version}"', body(plain))
    same = list_reply(
        served, Kind.REDIRECTS, window, ConditionalGet(PATH, f'"{served.version}"', gzip=True), compressed
    )
    assert (same.status, same.body, dict(same.headers)) == (304, (), common(served, etag))


def test_small_window_is_not_worth_compressing(served: ServedVersion) -> None:
    assert not needs_compression(served, Kind.REDIRECTS, Window(1, 0), CompressionCache())
    assert not needs_compression(served, Kind.PAGES, Window(500, 0), CompressionCache())


@pytest.mark.parametrize(
    ("header", "matches"),
    [
        (None, False),
        ("", False),
        ('"abc"', True),
        ('"abc-gzip"', True),
        ('W/"abc"', True),
        ('W/"abc-gzip"', True),
        ('"x", "abc"', True),
        ('"x" ,W/"abc"', True),
        ("*", True),
        ('"abcd"', False),
        ('"x-abc"', False),
        ('"gzip"', False),
    ],
)
def test_version_is_known_in_any_encoding(header: str | None, matches: bool) -> None:  # noqa: FBT001 - a table's column
    assert etag_matches("abc", header) is matches


def test_large_body_is_sent_in_pieces_of_a_bounded_size() -> None:
    """Guard: the server copies what it is handed."""
    data = bytes(range(256)) * 5000
    reply = Reply(200, (), (b"head", memoryview(data), b"end"))
    pieces = [bytes(piece) for piece in reply.pieces()]
    assert b"".join(pieces) == b"head" + data + b"end"
    assert (reply.size, max(map(len, pieces))) == (len(data) + 7, 512 * 1024)


@given(st.lists(st.sampled_from([1, 5, 40_000, 64 * 1024, 64 * 1024 + 1, 600_000]), max_size=8))
@example([5] * 2_000)
def test_small_parts_of_a_body_are_sent_together(sizes: list[int]) -> None:
    """Guard: a window of a list with many changes has as many parts, and each write is a system call."""
    parts = tuple(bytes([at % 256]) * size for at, size in enumerate(sizes))
    pieces = list(Reply(200, (), parts).pieces())
    assert b"".join(pieces) == b"".join(parts)
    assert all(len(one) + len(other) > 64 * 1024 for one, other in pairwise(pieces))
