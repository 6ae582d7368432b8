"""Access control: denied by default, without revealing which names exist."""

import asyncio

import pytest
from falcon.asgi import Request, Response
from hypothesis import given
from hypothesis import strategies as st

from api.app.app import create_app
from api.http.guard.access import any_principal, principal_of, require
from api.http.routing import Route, UndeclaredAccess
from tests.api.asgi import AsgiResponse, acall, call
from tests.api.fakes import PROBES, TOKENS, FakeDirectory, dependencies

APP = create_app(dependencies(), PROBES)


def get(path: str, token: str | None = None, method: str = "GET") -> AsgiResponse:
    """Return the response to a caller with a token."""
    return call(APP, method, path, {"Authorization": f"Bearer {token}"} if token else {})


def probe(namespace: str, project: str, tail: str = "") -> str:
    """Return the path of the probe in a project."""
    return f"/api/namespace/{namespace}/project/{project}/probe{tail}"


def test_a_grant_lets_in_where_it_covers_the_project() -> None:
    assert get(probe("acme", "shop"), "shop").json()["principal"] == "shop"
    assert get(probe("acme", "shop"), "all").json()["project"] == "acme/shop"


@pytest.mark.parametrize("token", ["shop", "pages", "none"])
def test_no_grant_is_the_same_403_whatever_is_named(token: str) -> None:
    named = [("acme", "other"), ("nowhere", "shop"), ("nowhere", ".."), ("-", "a.lock")]
    answers = [get(probe(*names), token) for names in named]
    assert {answer.status for answer in answers} == {403}
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "Bearer unknown", "bearer", "Bearer " + "x" * 5000],
)
def test_no_token_or_a_bad_one_is_401_with_a_challenge(header: str | None) -> None:
    answer = call(APP, "GET", probe("acme", "shop"), {} if header is None else {"Authorization": header})
    assert answer.status == 401
    assert answer.error in {"unauthenticated", "invalid_token"}
    assert answer.headers["www-authenticate"].startswith("Bearer")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_text_but_the_tokens_authenticates(text: str) -> None:
    if text.strip() not in TOKENS:
        assert call(APP, "GET", probe("acme", "shop"), {"Authorization": f"Bearer {text}"}).status == 401


def test_the_scheme_is_read_without_regard_to_case() -> None:
    assert call(APP, "GET", probe("acme", "shop"), {"Authorization": "bEaReR shop"}).status == 200


@pytest.mark.parametrize("token", ["shop", "pages", "all"])
def test_any_read_grant_in_the_project_reads_what_belongs_to_all_readers(token: str) -> None:
    assert get(probe("acme", "shop", "/version"), token).status == 200
    assert get(probe("acme", "shop", "/version"), "none").status == 403


@pytest.mark.parametrize("name", ["..", ".", "a.lock", "@{", "-\u0662", "a" * 51, "a%0a", "a%00", "%c3%a9", "refs%2fx"])
def test_what_cannot_be_a_name_is_404_for_those_with_the_grant(name: str) -> None:
    assert get(probe(name, "shop"), "all").status == 404
    assert get(probe("acme", name), "all").status == 404


def test_a_method_that_is_not_there_is_405_before_anything_else() -> None:
    for method in ("DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "BREW"):
        answer = get(probe("acme", "shop"), method=method)
        assert (answer.status, answer.error) == (405, "method_not_allowed"), method
        assert answer.headers["allow"] == "GET, HEAD, POST"


def test_head_asks_for_the_grant_of_get_and_answers_its_headers() -> None:
    assert get(probe("acme", "shop"), method="HEAD").status == 401
    full, head = get(probe("acme", "shop"), "shop"), get(probe("acme", "shop"), "shop", "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(full.body))


class Silent:
    """A resource that declares no access."""

    async def on_get(self, _req: Request, resp: Response) -> None:
        """Do nothing."""
        resp.media = None


def test_a_responder_that_declares_nothing_stops_the_start() -> None:
    with pytest.raises(UndeclaredAccess, match=r"GET /silent \(Silent.on_get\)"):
        create_app(dependencies(), [Route("/silent", Silent())])


def test_every_route_of_the_service_declares_its_access() -> None:
    assert create_app(dependencies())


class Narrow:
    """A responder that checks further grants itself."""

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Return the name of a caller who may write pages of acme."""
        require(req, "page", "read", "acme")
        resp.media = principal_of(req).name


def test_a_responder_can_narrow_what_its_declaration_lets_in() -> None:
    app = create_app(dependencies(), [Route("/narrow", Narrow())])
    assert call(app, "GET", "/narrow", {"Authorization": "Bearer pages"}).json() == "pages"
    assert call(app, "GET", "/narrow", {"Authorization": "Bearer shop"}).error == "forbidden"
    assert call(app, "GET", "/narrow").status == 401


def test_requests_that_meet_a_stale_directory_share_one_reload() -> None:
    directory = FakeDirectory(dict(TOKENS), stale=1)
    app = create_app(dependencies(directory=directory), PROBES)
    header = {"Authorization": "Bearer shop"}

    async def meet() -> list[AsgiResponse]:
        return await asyncio.gather(*(acall(app, "GET", probe("acme", "shop"), header) for _ in range(20)))

    assert {answer.status for answer in asyncio.run(meet())} == {200}
    assert directory.reloads == 1


def test_a_change_during_a_reload_is_reloaded_again() -> None:
    directory = FakeDirectory(dict(TOKENS), stale=2)
    app = create_app(dependencies(directory=directory), PROBES)
    assert call(app, "GET", probe("acme", "shop"), {"Authorization": "Bearer shop"}).status == 200
    assert directory.reloads == 2


def test_public_paths_do_not_look_at_tokens() -> None:
    answer = call(APP, "GET", "/health/ping", {"Authorization": "Bearer nonsense"})
    assert (answer.status, answer.body) == (204, b"")
