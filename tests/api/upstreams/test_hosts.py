"""The APIs of hosts: where each is, what a bad host can do, and the secrecy of the token."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.db.namespaces.upstreams import StoredUpstream
from api.upstreams.hosts.git_host import find_host, guess_kind, token_of
from api.upstreams.hosts.host_api import CommitStatus, HostApi, PullState, PullText, StatusState, shorten_text
from api.upstreams.hosts.host_client import HostNetwork
from gitstore.wire.addresses import AddressPolicy
from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy, RemoteError, RemoteRefused
from tests.api.upstreams.fake_hosts import TOKEN, FakeHost, fake_host
from tests.e2e.git import git
from tests.gitstore.wire.client.http_host import answering
from tests.gitstore.wire.client.raw_answers import DRIPPED_HEAD, Answer, begin, drip, flood, reply, send

T = TypeVar("T")
LOOPBACK = AddressPolicy(("127.0.0.0/8",))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    return asyncio.run(work)


def upstream(url: str, host: str = "", host_url: str = "") -> StoredUpstream:
    """Return an upstream with a password and no token of its own."""
    return StoredUpstream("acme", url, "source", "main", password=TOKEN, host=host, host_url=host_url)


ADDRESSES = (
    ("https://github.com/acme/redirects.git", "", "", "api.github.com", "/", "acme/redirects"),
    ("git@github.com:acme/redirects.git", "", "", "api.github.com", "/", "acme/redirects"),
    ("https://git.example/acme/redirects", "github", "", "git.example", "/api/v3", "acme/redirects"),
    ("https://gitlab.com/acme/web/redirects.git", "", "", "gitlab.com", "/api/v4", "acme/web/redirects"),
    ("ssh://git@git.example:2222/acme/redirects", "gitlab", "", "git.example", "/api/v4", "acme/redirects"),
    ("https://x.example/git/acme/r", "gitea", "https://x.example/git", "x.example", "/git/api/v1", "acme/r"),
    ("https://x.example/git/acme/r", "gitea", "https://x.example/git/api/v1", "x.example", "/git/api/v1", "acme/r"),
    ("git@ssh.example:acme/r.git", "forgejo", "https://x.example/", "x.example", "/api/v1", "acme/r"),
)


@pytest.mark.parametrize(("url", "kind", "host_url", "host", "path", "repository"), ADDRESSES)
def test_the_api_follows_from_the_url(
    url: str, kind: str, host_url: str, host: str, path: str, repository: str
) -> None:
    found = find_host(upstream(url, kind, host_url))
    assert found is not None
    assert (found.base.host, found.base.path, found.repository) == (host, path, repository)


def test_an_unknown_host_has_no_api() -> None:
    assert find_host(upstream("https://git.example/acme/r")) is None
    assert find_host(upstream("https://github.com/acme/r", "none")) is None
    assert guess_kind("https://github.com.evil.example/acme/r").value == "none"


@pytest.mark.parametrize(
    ("url", "kind", "host_url"),
    [
        ("/srv/r.git", "gitea", ""),
        ("https://x.example/only", "gitea", ""),
        ("https://x.example/a/b/c", "github", ""),
        ("https://x.example/a/b", "gitea", "https://x.example/git"),
        ("https://x.example/a/b", "gitea", "git@x.example:a/b"),
    ],
)
def test_a_host_that_the_url_cannot_have_is_an_error(url: str, kind: str, host_url: str) -> None:
    with pytest.raises(ValueError, match=r"host"):
        find_host(upstream(url, kind, host_url))


def test_the_token_is_in_no_representation() -> None:
    own = StoredUpstream("acme", "https://github.com/a/b", "source", "main", password="p", host_token=TOKEN)
    assert token_of(own) == TOKEN
    assert TOKEN not in repr(own)


@pytest.fixture(params=["github", "gitlab", "gitea", "forgejo"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeHost]:
    """Run a host of each kind, with a branch beside release."""
    with fake_host(request.param, tmp_path / "host") as found:
        work = tmp_path / "work"
        git(tmp_path, "clone", "-q", str(found.path), str(work))
        git(work, "commit", "-q", "--allow-empty", "-m", "First")
        git(work, "push", "-q", "origin", "HEAD:release", "HEAD:waypost/shop/main")
        yield found


def api_of(found: FakeHost, token: str = TOKEN, seconds: float = 20.0, policy: AddressPolicy = LOOPBACK) -> HostApi:
    """Return the API of a host's repository."""
    git_host = find_host(upstream(found.url, found.kind))
    assert git_host is not None
    return git_host.open(token, HostNetwork(policy, seconds))


def status_of(found: FakeHost, text: str = "Served") -> CommitStatus:
    """Return a status on its tip."""
    return CommitStatus(found.tip(), "waypost/acme/served", StatusState.FAILURE, text, "https://waypost.example/")


def test_each_host_takes_a_status_and_a_long_text_is_cut(host: FakeHost) -> None:
    run(api_of(host).post_status(status_of(host, "a problem " * 100)))
    run(api_of(host).post_status(status_of(host, "a problem " * 100)))
    sent = host.statuses[0]
    assert (sent.commit, sent.state, sent.target) == (host.tip(), "failure", "https://waypost.example/")
    assert sent.text.endswith("…")


def test_each_host_opens_changes_and_ends_a_pull_request(host: FakeHost) -> None:
    api, first, second = api_of(host), PullText("One", "Body ✓"), PullText("Two", "")
    made = run(api.open_pull_request("waypost/shop/main", "release", first))
    assert (made.number, made.state) == (1, PullState.OPEN)
    assert run(api.open_pull_request("waypost/shop/main", "release", second)) == made
    assert [(each.title, each.body) for each in host.pulls] == [("Two", "")]
    assert run(api.change_pull_request(1, first)) == made
    host.pulls[0].state = "closed"
    assert run(api.read_pull_request(1)).state is PullState.CLOSED
    host.pulls[0].state = "merged"
    assert run(api.read_pull_request(1)).state is PullState.MERGED


def fails(api: HostApi, found: FakeHost, kind: type[RemoteError]) -> str:
    """Return the message of a status that cannot be sent; it never has the token."""
    with pytest.raises(kind) as caught:
        run(api.post_status(status_of(found)))
    assert TOKEN not in str(caught.value)
    assert TOKEN not in repr(caught.value.__context__)
    return str(caught.value)


@pytest.mark.parametrize("host", ["gitea"], indirect=True)
@pytest.mark.parametrize(
    ("status", "kind"), [(500, RemoteAway), (429, RemoteAway), (301, RemoteRefused), (403, RemoteRefused)]
)
def test_an_answer_that_is_no_success_is_an_error(host: FakeHost, status: int, kind: type[RemoteError]) -> None:
    host.broken = status
    assert str(status) in fails(api_of(host), host, kind) or status == 301


@pytest.mark.parametrize("host", ["gitea"], indirect=True)
def test_a_wrong_token_and_a_private_address_are_refused(host: FakeHost) -> None:
    assert "token" in fails(api_of(host, "wrong"), host, RemoteRefused)
    before = len(host.http.requests)
    assert "not allowed" in fails(api_of(host, policy=AddressPolicy()), host, RemoteRefused)
    assert len(host.http.requests) == before


def test_a_token_goes_over_http_to_named_networks_alone() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["1.1.1.1"]  # nothing is ever sent there

    found = find_host(upstream("http://git.example/acme/redirects", "gitea"))
    assert found is not None
    api = found.open(TOKEN, HostNetwork(AddressPolicy(), 5.0, resolve))
    with pytest.raises(RemoteRefused, match="http://"):
        run(api.read_pull_request(1))


@pytest.mark.parametrize("host", ["gitea"], indirect=True)
def test_the_address_that_is_checked_is_the_one_that_gets_the_token(host: FakeHost) -> None:
    asked = list[str]()

    async def resolve(name: str, _port: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["1.1.1.1"]

    found = find_host(upstream(host.url.replace("127.0.0.1", "git.example"), host.kind))
    assert found is not None
    run(found.open(TOKEN, HostNetwork(LOOPBACK, 5.0, resolve)).post_status(status_of(host)))
    assert asked == ["git.example"]


LONG = b"200 OK\r\nContent-Length: 100000000"
BAD: tuple[tuple[Answer, type[RemoteError]], ...] = (
    (drip(begin(LONG)), RemoteAway),
    (DRIPPED_HEAD, RemoteAway),
    (flood(begin(LONG), repeat(b" " * 65_536)), RemoteRefused),
    (send(b"garbage\r\n\r\n"), RemoteAway),
    (reply(b"200 OK", b"[]"), RemoteRefused),
    (send(begin(b"200 OK\r\nContent-Length: 9", b"<html>")), RemoteAway),
)


@pytest.mark.parametrize(("answer", "kind"), BAD)
def test_a_host_that_answers_badly_is_an_error_within_the_time(answer: Answer, kind: type[RemoteError]) -> None:
    with pytest.raises(kind) as caught:
        ask(answer, "github", 2.0)
    assert TOKEN not in str(caught.value)


def ask(answer: Answer, kind: str, seconds: float = 20.0) -> Any:
    """Read a pull request from a host that answers so."""
    with answering(answer) as url:
        found = find_host(upstream(f"{url.removesuffix('/repo.git')}/acme/redirects.git", kind))
        assert found is not None
        return run(found.open(TOKEN, HostNetwork(LOOPBACK, seconds)).read_pull_request(1))


NUMBERS = ("true", "1.0", "1e300", "-1", "0", '"1"', "null", "[]", "{}", "2147483648", "18446744073709551616", "NaN")
PULL_BODY = '{"number": %s, "iid": %s, "state": "%s", "merged": false, "html_url": %s, "web_url": %s}'


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_a_number_or_address_that_no_pull_request_has_is_refused(kind: str) -> None:
    state, url = "opened" if kind == "gitlab" else "open", '"https://host.example/1"'
    good = PULL_BODY % ("7", "7", state, url, url)
    assert ask(reply(b"200 OK", good.encode()), kind).number == 7
    bad = [PULL_BODY % (number, number, state, url, url) for number in NUMBERS]
    bad += [PULL_BODY % ("7", "7", state, each, each) for each in ("7", "null", '"javascript:alert(1)"')]
    for body in bad:
        with pytest.raises(RemoteRefused, match="does not answer as the API of"):
            ask(reply(b"200 OK", body.encode()), kind)


@pytest.mark.parametrize("opening", [b'{"message":', b"[", b'{"errors":['])
@pytest.mark.parametrize("status", [b"200 OK", b"422 No", b"429 Later"])
@pytest.mark.parametrize("depth", [300, 1_000, 50_000])
def test_an_answer_that_is_nested_deeply_is_an_error_of_the_host(opening: bytes, status: bytes, depth: int) -> None:
    closing = {b"[": b"]", b'{"message":': b"}", b'{"errors":[': b"]}"}[opening]
    with pytest.raises(RemoteError):
        ask(reply(status, opening * depth + b"1" + closing * depth), "github")


HOUR = 3_600.0
RESTS = (
    (b"429 Later\r\nRetry-After: 3600", HOUR),
    (b"503 Later\r\nretry-after: 3600", HOUR),
    (b"403 No\r\nRetry-After: 3600", HOUR),
    (b"403 No\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: IN-AN-HOUR", HOUR),
    (b"429 No\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 99999999999", 24 * HOUR),
    (b"429 No\r\nRetry-After: never", 0.0),
)


@pytest.mark.parametrize(("head", "seconds"), RESTS)
def test_a_host_says_for_how_long_it_wants_no_request(head: bytes, seconds: float) -> None:
    head = head.replace(b"IN-AN-HOUR", b"%d" % (time.time() + HOUR))
    with pytest.raises(RemoteBusy) as caught:
        ask(reply(head, b'{"message": "API rate limit exceeded"}'), "github")
    assert caught.value.seconds == pytest.approx(seconds, abs=600)


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_a_token_that_the_host_repeats_is_in_no_message(kind: str) -> None:
    body = b'{"message": "The token %b has no rate limit"}' % TOKEN.encode()
    for head in (b"403 No", b"409 No"):
        with pytest.raises(RemoteError, match="has no rate limit") as caught:
            ask(reply(head, body), kind)
        assert TOKEN not in str(caught.value)


def test_a_text_is_one_line_of_at_most_so_many_characters() -> None:
    assert shorten_text("a\n b", 10) == "a b"
    assert shorten_text("a" * 11, 10) == "a" * 9 + "…"
