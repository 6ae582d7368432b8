"""The page at `/`, as a browser and as a script sees it."""

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser

import pytest

import schemas
from api.app.app import create_app
from tests.api.asgi import call
from tests.api.fakes import dependencies

APP = create_app(dependencies())
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


class Links(HTMLParser):
    """The targets of all links, and the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.elements: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.add(tag)
        self.targets += [value or "" for name, value in attrs if name in {"href", "src"}]
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)


def test_a_browser_gets_a_page_that_loads_nothing() -> None:
    answer = call(APP, "GET", "/", {"Accept": BROWSER})
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    links = Links()
    links.feed(answer.body.decode())
    assert links.elements.isdisjoint({"script", "img", "link", "iframe", "form"})
    assert {"/openapi.json", "/health/ready"} <= set(links.targets)


def test_the_policy_allows_the_style_of_the_page() -> None:
    answer = call(APP, "GET", "/", {"Accept": BROWSER})
    found = re.search("<style>(.*?)</style>", answer.body.decode(), re.DOTALL)
    assert found
    digest = base64.b64encode(sha256(found[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]


def test_every_link_answers_a_browser() -> None:
    links = Links()
    links.feed(call(APP, "GET", "/", {"Accept": BROWSER}).body.decode())
    for target in links.targets:
        assert call(APP, "GET", target).status in {200, 204}, target


def test_the_dashboard_without_a_view_leads_to_its_page() -> None:
    answer = call(APP, "GET", "/dashboard", {"Accept": BROWSER})
    assert (answer.status, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/plain"])
def test_other_clients_get_json(accept: str) -> None:
    answer = call(APP, "GET", "/", {"Accept": accept} if accept else {})
    assert answer.status == 200
    assert schemas.check("start", answer.json()) == []
    known = {operation.path for operation in schemas.operations()}
    assert set(answer.json()["links"].values()) <= known
