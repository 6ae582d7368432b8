"""The API below /compat/flecto for agents that are older than this service: a bare number, and always 200."""

import gzip
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.e2e.flecto_agent import FlectoAgent, Stopped
from tests.e2e.world import Place, World, redirect
from tests.redirect_lists import REAL, read_list
from tests.service import wait_until

PERMISSIONS = (("redirect", "read"), ("page", "read"), ("agent", "write"))
BASE = "/compat/flecto"
AGENT = {"name": "edge-1", "type": "traefik", "version": 2, "status": "success"}
SOME_RULES = 250


@pytest.fixture
def http(world: World) -> Iterator[httpx.Client]:
    """Open a client without a timeout, whose requests may reach either worker."""
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=world.service.url, timeout=None, limits=limits) as client:  # noqa: S113 - as those agents
        yield client


@pytest.fixture
def shop(place: Place) -> Place:
    """Create a project with rules on several pages, and a page."""
    rules = [redirect(f"/old/{number}") for number in range(SOME_RULES)]
    place.ask("POST", "/draft/changes", 200, json=[{"op": "put", "kind": "redirect", "item": rule} for rule in rules])
    place.add_page("/robots.txt")
    place.publish()
    return place


def agent_of(place: Place, http: httpx.Client, name: str = "edge-1") -> FlectoAgent:
    """Return an agent with a token that has the grants of agents."""
    return FlectoAgent(http, place.holder(*PERMISSIONS).root.token, place.path, name)


def import_list(place: Place, name: str) -> Any:
    """Import a list without its invalid rows, and publish it."""
    headers = {"Content-Type": "text/tab-separated-values"}
    place.ask("POST", "/import?skipErrors=true", 200, content=read_list(name), headers=headers)
    return place.publish()


@contextmanager
def polling(*agents: FlectoAgent) -> Iterator[None]:
    """Let agents poll all the time; an error that stops one of them fails the test."""
    ending = Event()

    def poll(agent: FlectoAgent) -> None:
        while not ending.is_set():
            agent.poll()

    with ThreadPoolExecutor(len(agents)) as pool:
        running: list[Future[None]] = [pool.submit(poll, agent) for agent in agents]
        try:
            yield
        finally:
            ending.set()
        for each in running:
            each.result()


def test_the_version_is_a_bare_integer_that_every_publish_changes(shop: Place) -> None:
    for number in (2, 3):
        answer = shop.root.ask("GET", f"{BASE}{shop.path}/version", 200)
        assert answer.content == str(number).encode()
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Project-Version"] == shop.get("/version")
        shop.published(f"/another/{number}")


@pytest.mark.parametrize("tail", ["/version", "/redirects", "/pages"])
def test_a_client_that_has_it_already_gets_it_again(shop: Place, tail: str) -> None:
    etag = shop.ask("GET", tail, 200).headers["ETag"]
    plain = shop.root.ask("GET", BASE + shop.path + tail, 200)
    assert "ETag" not in plain.headers
    for given in (etag, f"W/{etag}", "*", '"2"'):
        for more in ({}, {"Prefer": "wait=30"}):
            headers = {"If-None-Match": given, **more}
            answer = shop.root.ask("GET", BASE + shop.path + tail, 200, headers=headers)
            assert answer.content == plain.content
    shop.root.ask("HEAD", BASE + shop.path + tail, 200, headers={"If-None-Match": etag})


@pytest.mark.parametrize(
    "query", ["", "?limit=1", "?limit=0", "?limit=100&offset=200", f"?limit={2**63 - 1}", "?offset=99999"]
)
@pytest.mark.parametrize("tail", ["/redirects", "/pages"])
def test_lists_are_the_same_under_both_addresses(shop: Place, tail: str, query: str) -> None:
    there = shop.ask("GET", tail + query, 200)
    here = shop.root.ask("GET", BASE + shop.path + tail + query, 200)
    assert here.content == there.content
    assert here.headers["X-Project-Version"] == there.headers["X-Project-Version"]


def test_lists_are_compressed_for_those_who_ask(shop: Place, http: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {shop.root.token}", "Accept-Encoding": "gzip"}
    with http.stream("GET", BASE + shop.path + "/redirects", headers=headers) as answer:
        squeezed = b"".join(answer.iter_raw())
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert "ETag" not in answer.headers
    assert gzip.decompress(squeezed) == shop.ask("GET", "/redirects", 200).content


def rule_book(items: list[Any]) -> dict[str, Any]:
    """Return the exact rules as such an agent looks them up: by the source as it was sent, where the last one counts."""
    return {item["source"]: item for item in items if item["type"].startswith("BASIC")}


def asked_for(source: str) -> str:
    """Return host and path of a request for a written source: by a client, then by RFC 3986 as an agent's URL library."""
    url = httpx.URL(f"https://{source}" if not source.startswith("/") else f"https://any.example{source}")
    path = quote(url.raw_path.decode(), safe="%/?!$&'()*+,;=:@[]")
    return path if source.startswith("/") else url.raw_host.decode() + path


@pytest.mark.parametrize("base", [BASE, ""])
def test_sources_are_found_by_the_encoded_path_of_a_request(place: Place, http: httpx.Client, base: str) -> None:
    """An agent that compares the request as it is encoded finds every rule here, and not where they are as written."""
    spellings = {
        "/de/docs/Qualitätssicherung": "/de/docs/Qualit%C3%A4tssicherung",
        "/lower/%c3%a4": "/lower/%C3%A4",
        "/encoded/%C3%A4": "/encoded/%C3%A4",
        "/needless/%41%2D": "/needless/A-",
        "/a path": "/a%20path",
        "/100%": "/100%25",
        "/slash%2f": "/slash%2F",
        "/legal/!$&'()*+,;=:@~": "/legal/!$&'()*+,;=:@~",
        "/query?größe=1&x=%e4": "/query?gr%C3%B6%C3%9Fe=1&x=%E4",
        "Bücher.example/größe": "xn--bcher-kva.example/gr%C3%B6%C3%9Fe",
        "shop.example:8443/port": "shop.example/port",
    }
    for source in spellings:
        type_ = "BASIC" if source.startswith("/") else "BASIC_HOST"
        place.add(source, target="https://münchen.example/größe", type=type_)
    place.add("^/größe/(.*)$", type="REGEX", target="https://münchen.example/größe/$1")
    place.add_page("/straße.txt")
    place.publish()
    agent = agent_of(place, http)
    if not base:
        agent.redirects, agent.pages = place.get("/redirects")["items"], place.get("/pages")["items"]
    else:
        agent.poll()
    found = rule_book(agent.redirects)
    missing = [source for source, asked in spellings.items() if asked not in found]
    locations = {item["target"] for item in agent.redirects}
    paths = [item["path"] for item in agent.pages]
    if base:
        assert missing == []
        assert locations == {
            "https://xn--mnchen-3ya.example/gr%C3%B6%C3%9Fe",
            "https://xn--mnchen-3ya.example/gr%C3%B6%C3%9Fe/$1",
        }
        assert paths == ["/stra%C3%9Fe.txt"]
        assert "^/größe/(.*)$" in [item["source"] for item in agent.redirects]
    else:
        assert len(missing) == 9
        assert paths == ["/straße.txt"]


def test_of_equal_sources_the_first_one_goes_out_at_each_place(place: Place, http: httpx.Client) -> None:
    """The total stays, and every copy has the answer of the matcher, whichever copy an agent keeps."""
    for source, target in (("/straße", "/1"), ("/between", "/2"), ("/stra%C3%9Fe", "/3"), ("/stra%c3%9fe", "/4")):
        place.add(source, target=target)
    place.publish()
    agent = agent_of(place, http)
    agent.poll()
    assert [(item["source"], item["target"]) for item in agent.redirects] == [
        ("/stra%C3%9Fe", "/1"),
        ("/between", "/2"),
        ("/stra%C3%9Fe", "/1"),
        ("/stra%C3%9Fe", "/1"),
    ]
    [answer] = place.ask("POST", "/test", 200, json={"urls": ["/stra%C3%9Fe"]}).json()["results"]
    assert answer["location"] == "/1"


@pytest.mark.parametrize(
    ("name", "differing"), [("like-mdn-archived-2021", 857), *([("mdn-archived-2021", 862)] if REAL else [])]
)
def test_every_rule_of_a_list_fires(place: Place, http: httpx.Client, name: str, differing: int) -> None:
    """A request for each rule as a client encodes it finds the rule; many of the sources are not written that way."""
    import_list(place, name)
    written = place.get("/redirects", limit=1_000_000)["items"]
    agent = agent_of(place, http)
    agent.poll()
    assert len(agent.redirects) == len(written)
    found = rule_book(agent.redirects)
    asked = [asked_for(item["source"]) for item in written]
    assert sum(path != item["source"] for path, item in zip(asked, written, strict=True)) >= differing
    assert [path for path in asked if path not in found] == []
    site = httpx.URL("https://any.example/")
    pairs = ((found[path]["target"], item["target"]) for path, item in zip(asked, written, strict=True))
    assert [wanted for sent, wanted in pairs if site.join(sent) != site.join(wanted)] == []
    assert all(item["target"].isascii() for item in agent.redirects)


def test_what_is_reported_here_is_seen_there(shop: Place) -> None:
    agent = shop.holder(*PERMISSIONS).root
    body = {**AGENT, "load_duration": 5, "hostname": "edge.example", "more": {"deep": [1]}}
    answer = agent.ask("POST", f"{BASE}{shop.path}/agents", 200, json=body)
    assert answer.content == b""
    found = shop.get("/agents/edge-1")
    assert (found["type"], found["version"], found["current"], found["load_duration"]) == ("proxy", 2, True, 5)


def test_a_heartbeat_of_an_unknown_agent_creates_it(shop: Place) -> None:
    agent = shop.holder(*PERMISSIONS).root
    assert agent.ask("PATCH", f"{BASE}{shop.path}/agents/edge-9/hit", 200).content == b""
    wait_until(lambda: shop.get("/agents")["items"], 15, "the agent to be there")
    found = shop.get("/agents/edge-9")
    assert (found["type"], found["version"], found["publishNumber"]) == ("default", None, None)


def test_only_operations_of_agents_exist(world: World, shop: Place) -> None:
    for method, tail in (
        ("GET", "/agents"),
        ("GET", "/agents/edge-1"),
        ("DELETE", "/agents/edge-1"),
        ("POST", "/publish"),
    ):
        assert shop.root.send(method, BASE + shop.path + tail).status_code in {404, 405}
    world.nobody.ask("GET", f"{BASE}/health/ping", 204)
    shop.root.refused("GET", f"{BASE}{shop.space}/project/nowhere/version", 404, "not_found")
    world.nobody.refused("GET", f"{BASE}{shop.path}/version", 401, "unauthenticated")


def test_an_agent_reports_what_is_new_and_is_heard_of_otherwise(shop: Place, http: httpx.Client) -> None:
    agent = agent_of(shop, http)
    assert [agent.poll() for _ in range(3)] == [True, False, False]
    assert (agent.version, agent.reports, agent.heartbeats) == (2, 1, 2)
    assert [item["source"] for item in agent.redirects] == shop.sources()
    assert len(agent.redirects) == SOME_RULES
    assert agent.pages == shop.get("/pages")["items"]
    shop.published("/newer")
    assert [agent.poll() for _ in range(2)] == [True, False]
    found = shop.get("/agents/edge-1")
    assert (found["version"], found["current"], found["behind"], found["status"]) == (3, True, 0, "success")


def test_an_agent_that_meets_a_regex_it_cannot_compile_never_comes_back(shop: Place, http: httpx.Client) -> None:
    """So the service must never publish one: it refuses every expression that stops such an agent."""
    agent = agent_of(shop, http)
    bad = redirect("^/(?<=a)b$", "/new", type="REGEX")
    with pytest.raises(Stopped):
        agent.compile([bad])
    with pytest.raises(Stopped):
        agent.poll()
    shop.refused("POST", "/draft/redirects", 422, "invalid_content", json=bad)


@pytest.mark.parametrize("prefix", ["like-", *([""] if REAL else [])], ids=lambda prefix: prefix or "real")
def test_agents_come_through_publishes_of_lists(place: Place, http: httpx.Client, prefix: str) -> None:
    """Lists of regexes and of thousands of rules are imported and rolled back while two agents poll on both workers."""
    agents = [agent_of(place, http, name) for name in ("edge-1", "edge-2")]
    with polling(*agents):
        for name in ("ubuntu", "mozilla-refractr", "dart-firebase", "mdn-2023-en-us"):
            import_list(place, prefix + name)
        place.ask("POST", "/rollback", 200, json={"version": "4"})
        last = place.published("/the/last")["publishNumber"]
        wait_until(lambda: {agent.version for agent in agents} == {last}, 60, "both agents to have the last publish")
    whole = place.get("/redirects", limit=1_000_000)["items"]
    assert len(whole) > 2000
    for agent in agents:
        assert not agent.poll()
        assert agent.redirects == whole
        assert agent.reports >= 1
        assert agent.heartbeats >= 1
    states = [place.get(f"/agents/{agent.name}") for agent in agents]
    assert [(found["type"], found["version"], found["current"]) for found in states] == [("proxy", last, True)] * 2
