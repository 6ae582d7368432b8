"""The fast path answers only plain requests of tokens with the grant, from the release of this moment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api import logs
from api.app.services import Services, open_services
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.http.fast_path import FastPath, PreparedResponse
from api.http.request.parameters import Window
from api.http.response.compression import CompressionCache
from api.http.response.replies import COMMON_HEADERS, join_splices, window_body
from api.metrics.counters import Counters
from api.settings import Settings
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.git.repository import Author
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile

ADA = Author("Ada", "ada@shop.example")
ENDPOINTS = ("version", "redirects", "pages")


class Service:
    """A store with two projects, tokens, and a fast path over both."""

    def __init__(self, data: Path) -> None:
        self.services: Services = open_services(Settings(data=data))
        self.store = Store(data)
        self.counters = Counters()
        self.compressed = CompressionCache()
        for namespace in ("acme", "other"):
            self.store.namespaces.create(namespace, "", ADA)
            for project in ("shop", "docs"):
                self.store.projects.create(namespace, project, ProjectFile(project), ADA)
        self.fast_path = FastPath(self.services.directory, self.store.live, self.compressed, self.counters)

    def token(self, *grants: tuple[str, str, str, str]) -> bytes:
        """Create a token with grants, each namespace, project, resource and action; return its header."""
        issued = self.services.tokens.create(OPERATOR, "agent", [Grant(*grant) for grant in grants])
        self.services.directory.reload()
        return f"Bearer {issued.value}".encode()

    def ask(
        self,
        bearer: bytes,
        endpoint: str = "version",
        query: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
        scope: str = "acme/project/shop",
    ) -> PreparedResponse | None:
        """Ask for an endpoint of a project whose namespace was read after its last publish."""
        namespace = scope.partition("/")[0]
        path = f"/api/namespace/{scope}/{endpoint}"
        given = (*headers, (b"host", b"waypost.example"), (b"authorization", bearer))
        while True:
            was_known = self.store.live.peek(namespace) is not None
            response = self.fast_path.answer(path, path.encode(), query, given)
            if response is not None or (was_known and self.store.live.peek(namespace) is not None):
                return response
            self.store.live.refresh(namespace)  # a state from the same tick of the clock as its ref is valid briefly


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.services.close()


@pytest.mark.parametrize(
    ("grant", "endpoints"),
    [
        (("acme", "shop", "redirect", "read"), {"version", "redirects"}),
        (("acme", "shop", "page", "read"), {"version", "pages"}),
        (("acme", "shop", "agent", "read"), {"version"}),
        (("acme", "shop", "project", "read"), {"version"}),
        (("acme", "*", "*", "read"), {"version", "redirects", "pages"}),
        (("*", "*", "*", "*"), {"version", "redirects", "pages"}),
        (("acme", "docs", "*", "*"), set()),
        (("other", "shop", "*", "*"), set()),
        (("acme", "shop", "redirect", "write"), set()),
        (("acme", "shop", "agent", "write"), set()),
        (("acme", "shop", "project", "publish"), set()),
    ],
)
def test_each_endpoint_needs_its_grant_on_the_project(
    service: Service, grant: tuple[str, str, str, str], endpoints: set[str]
) -> None:
    """Guard: nothing behind the fast path checks the grant again. Asked twice, since the second answer is a cached one."""
    bearer = service.token(grant)
    everyone = service.token(("*", "*", "*", "*"))
    for _ in range(2):
        assert {each for each in ENDPOINTS if service.ask(bearer, each)} == endpoints
        assert all(service.ask(everyone, each) for each in ENDPOINTS)


def test_response_of_one_project_is_never_that_of_another(service: Service) -> None:
    bearer = service.token(("*", "*", "*", "read"))
    versions = set()
    for _ in range(2):
        for scope in ("acme/project/shop", "acme/project/docs", "other/project/shop", "other/project/docs"):
            found = service.ask(bearer, scope=scope)
            assert found is not None
            namespace, _, project = scope.split("/")
            version = service.store.releases.project(namespace, project).version
            assert found.answer.reply.body == (f'"{version}"'.encode(),)
            versions.add((scope, version))
    assert len({scope for scope, _ in versions}) == len(versions) == 4


@pytest.mark.parametrize(
    "header",
    [
        (b"prefer", b"wait=5"),
        (b"expect", b"100-continue"),
        (b"content-length", b"0"),
        (b"transfer-encoding", b"chunked"),
        (b"x-request-id", b"mine"),
        (b"authorization", b"Bearer svc_another"),
    ],
)
def test_request_that_is_not_plain_is_left_to_the_framework(service: Service, header: tuple[bytes, bytes]) -> None:
    bearer = service.token(("*", "*", "*", "read"))
    assert service.ask(bearer) is not None
    assert service.ask(bearer, headers=(header,)) is None


@pytest.mark.parametrize("name", [b"if-none-match", b"accept-encoding"])
def test_header_that_is_sent_twice_is_left_to_the_framework(service: Service, name: bytes) -> None:
    """Guard: one of the two would be ignored."""
    bearer = service.token(("*", "*", "*", "read"))
    assert service.ask(bearer, headers=((name, b"x"),)) is not None
    assert service.ask(bearer, headers=((name, b"x"), (name, b"y"))) is None


def test_publish_is_served_by_the_next_response(service: Service) -> None:
    """Guard: a cached response belongs to the state of the namespace that it was made from."""
    bearer = service.token(("*", "*", "*", "read"))
    draft = DraftName("shop", "main")
    for number in range(3):
        rule = Redirect(RedirectType.BASIC, f"/{number}", "/new", RedirectStatus.FOUND)
        service.store.drafts.edit("acme", draft, [Put(Kind.REDIRECTS, rule)], ADA)
        published = service.store.publishes.publish("acme", PublishRequest(draft, ADA))
        version, redirects = (service.ask(bearer, endpoint) for endpoint in ("version", "redirects"))
        assert version is not None
        assert redirects is not None
        assert version.answer.reply.body == (f'"{published.version}"'.encode(),)
        assert b'{"total":%d,' % (number + 1) in bytes(redirects.answer.parts[0])
        known = service.ask(bearer, headers=((b"if-none-match", f'"{published.version}"'.encode()),))
        assert known is not None
        assert known.answer.reply.status == 304


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("", b'"limit":500,"offset":0,'),
        ("limit=7", b'"limit":7,"offset":0,'),
        ("offset=7", b'"limit":500,"offset":7,'),
        ("offset=1&limit=2", b'"limit":2,"offset":1,'),
        ("limit=0", b'"limit":0,"offset":0,'),
        ("limit=999999999", b'"limit":999999999,"offset":0,'),
        ("limit=1000000000", None),
        ("limit=", None),
        ("limit", None),
        ("limit=1&", None),
        ("Limit=1", None),
        ("limit=+1", None),
        ("offset=1&offset=1", None),
    ],
)
def test_window_is_that_of_the_query(service: Service, query: str, window: bytes | None) -> None:
    """A query that may be read in another way is left to the framework, and so is a number of many digits."""
    found = service.ask(service.token(("*", "*", "*", "read")), "redirects", query)
    assert (found is None) is (window is None)
    if found and window:
        assert window in bytes(found.answer.parts[0])


def test_head_has_all_headers_and_the_length_of_the_body(service: Service) -> None:
    found = service.ask(service.token(("*", "*", "*", "read")), "redirects")
    assert found is not None
    status, *lines = (found.answer.head + found.line).decode("latin-1").split("\r\n")
    assert (status, lines.pop()) == ("HTTP/1.1 200 OK", "")
    headers = dict(line.split(": ", 1) for line in lines)
    assert len(headers.pop("x-request-id")) == 16
    length = sum(map(len, found.answer.reply.body))
    assert headers == {**dict(found.answer.reply.headers), **dict(COMMON_HEADERS), "content-length": str(length)}


def test_each_response_is_counted_by_its_route(service: Service) -> None:
    bearer = service.token(("*", "*", "*", "read"))
    for endpoint in ("version", "version", "redirects"):
        assert service.ask(bearer, endpoint) is not None
    assert service.ask(bearer, "agents") is None
    routes = {key[1:]: count for key, count in service.counters.counts().items() if key[0] == "waypost_requests_total"}
    route = "/api/namespace/{namespace}/project/{project}/"
    assert routes == {(f"{route}version", "GET", "200"): 2, (f"{route}redirects", "GET", "200"): 1}


def test_with_debug_logs_each_request_goes_through_the_framework(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The framework writes a line for each."""
    bearer = service.token(("*", "*", "*", "read"))
    monkeypatch.setattr(logs, "is_debug_enabled", lambda: True)
    assert service.ask(bearer) is None


def test_compressed_window_is_sent_to_those_who_accept_it(service: Service) -> None:
    """The framework compresses it first; a client that does not accept gzip gets the plain one all along."""
    draft = DraftName("shop", "main")
    rules = [Redirect(RedirectType.BASIC, f"/{number}", "/new", RedirectStatus.FOUND) for number in range(50)]
    service.store.drafts.edit("acme", draft, [Put(Kind.REDIRECTS, rule) for rule in rules], ADA)
    service.store.publishes.publish("acme", PublishRequest(draft, ADA))
    bearer, gzip = service.token(("*", "*", "*", "read")), ((b"accept-encoding", b"br, gzip"),)
    assert service.ask(bearer, "redirects", headers=gzip) is None
    release, window = service.store.releases.project("acme", "shop").release, Window(500, 0)
    listing = release.listings[Kind.REDIRECTS]
    service.compressed.add(listing, window, join_splices(window_body(listing, window)))
    compressed, plain = service.ask(bearer, "redirects", headers=gzip), service.ask(bearer, "redirects")
    assert compressed is not None
    assert plain is not None
    assert b"\r\ncontent-encoding: gzip\r\n" in compressed.answer.head
    assert b"content-encoding" not in plain.answer.head
    assert compressed.answer.size < plain.answer.size
    assert service.ask(bearer, headers=gzip) is not None, "a version is too short to be compressed"
