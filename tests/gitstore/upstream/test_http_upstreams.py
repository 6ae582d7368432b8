"""Upstreams by HTTP: C git's http-backend as the host, and hosts that answer anything else."""

import base64
import re
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from gitstore.upstream.upstream_rules import UpstreamRules
from gitstore.upstream.upstream_settings import UpstreamSettings
from gitstore.wire.client.remote_errors import RemoteError, RemoteUnknown
from gitstore.wire.push.push_limits import MIB
from tests.gitstore.fixtures import SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import (
    MIRROR,
    SOURCE,
    UpstreamBed,
    fault_of,
    file_sizes,
    many,
    sync,
    sync_well,
)
from tests.gitstore.wire.client.http_host import PASSWORD, RETRY_SECONDS, USER, Asked, HttpHost, answering, hosting
from tests.gitstore.wire.client.raw_answers import DRIPPED_HEAD, Answer, begin, drip, flood, keep_silent, reply, send
from tests.service import wait_until

pytestmark = pytest.mark.usefixtures("web_server")

RULES = "shop/redirects.yaml"
REFS = b"application/x-git-upload-pack-advertisement"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream that takes pushes by HTTP."""
    found = UpstreamBed.create(tmp_path / "bed")
    git(found.path, "config", "http.receivepack", "true")
    return found


@pytest.fixture
def host(bed: UpstreamBed) -> Iterator[HttpHost]:
    """Run the host."""
    with hosting(bed.folder) as found:
        yield found


@pytest.fixture
def node(bed: UpstreamBed, host: HttpHost) -> Place:
    """Return a node with the project shop, whose source is the host."""
    place = create_place(bed.folder / "node")
    bed.follow(place, SOURCE, f"{host.url}/up.git", username=USER, password=PASSWORD)
    sync_well(place)
    place.begin(SHOP)
    return place


def test_a_source_is_followed_and_published_to(bed: UpstreamBed, node: Place) -> None:
    published = node.publish(put(redirect("/a")))
    assert bed.tip == published.version
    (commit,) = bed.commit({RULES: yaml([("/a", "/b"), ("/c", "/d")])})
    assert sync_well(node).release == commit == node.tip
    assert node.targets() == {"/a": "/b", "/c": "/d"}
    node.fsck()
    git(bed.path, "fsck", "--strict", "--full")


def test_many_commits_arrive_in_one_fetch(bed: UpstreamBed, node: Place, host: HttpHost) -> None:
    bed.commit(*({RULES: yaml([(f"/n{number}", "/x") for number in range(size)])} for size in range(1, 31)))
    before = len(host.requests)
    sync_well(node)
    assert len(node.targets()) == 30
    wait_until(lambda: len(host.requests) >= before + 2, 30, "the log")
    assert [line.partition(" ")[0] for line in host.requests[before:]] == ["GET", "POST"]
    assert node.state()[1] == 31


def test_an_idle_poll_of_release_branches_and_drafts_is_one_request(
    bed: UpstreamBed, node: Place, host: HttpHost
) -> None:
    (made,) = bed.commit({RULES: yaml([("/a", "/side")])}, push=False)
    git(bed.folder / "work", "push", "--quiet", "origin", f"{made}:refs/heads/side")
    bed.follow(
        node, SOURCE, f"{host.url}/up.git", username=USER, password=PASSWORD, proposals="branches", drafts="push"
    )
    node.save(put(redirect("/b")))
    sync_well(node)
    sync_well(node)
    before = list_requests(host, "/before")
    for _ in range(3):
        sync_well(node)
    assert [line.partition(" ")[0] for line in list_requests(host, "/after")[len(before) :]] == ["GET"] * 3
    assert [each.name for each in node.store.upstreams.followed(SPACE).branches] == ["side"]
    assert node.store.upstreams.pushed_drafts(SPACE)[0].fault is None


def list_requests(host: HttpHost, mark: str) -> list[str]:
    """Return the requests so far; one for `mark` shows that the log has all before it."""
    httpx.get(host.url + mark)
    wait_until(lambda: any(mark in line for line in host.requests), 30, "the log")
    return [line for line in host.requests if ".git/" in line]


def test_a_full_disk_while_a_delta_is_completed_is_a_fault_and_leaves_nothing(bed: UpstreamBed, node: Place) -> None:
    bed.commit({RULES: many()})
    before = sync_well(node).release
    (commit,) = bed.commit({RULES: many(("/changed", "/x"))})  # a small pack, to which the receiver adds the large file
    with file_sizes(16 << 10):
        assert fault_of(node) == "out_of_space"
    assert node.tip == before
    assert not list((node.repo / "objects").glob("tmp_objdir-*"))
    assert sync_well(node).release == commit == node.tip


def test_a_lost_race_is_merged_by_rule(bed: UpstreamBed, node: Place) -> None:
    node.publish(put(redirect("/a", "/first")))
    bed.commit({RULES: yaml([("/a", "/host")])})
    published = node.publish(put(redirect("/b", "/mine")))
    assert node.targets() == {"/a": "/host", "/b": "/mine"}
    assert bed.tip == published.version


def test_a_mirror_is_pushed(bed: UpstreamBed, host: HttpHost) -> None:
    place = create_place(bed.folder / "mirrored").begin(SHOP)
    bed.follow(place, MIRROR, f"{host.url}/up.git", username=USER, password=PASSWORD)
    sync_well(place)
    place.publish(put(redirect("/a")))
    sync_well(place)
    assert bed.tip == place.tip


def test_a_protected_branch_is_reported_with_the_words_of_the_host(bed: UpstreamBed, node: Place) -> None:
    hook = bed.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    before = node.tip
    with pytest.raises(RemoteError, match="GH006: Protected branch") as caught:
        node.publish(put(redirect("/a")))
    assert caught.value.code == "upstream_refused"
    assert node.tip == before == bed.tip


def test_a_secret_that_the_host_repeats_is_in_no_message(bed: UpstreamBed, node: Place) -> None:
    hook = bed.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    header = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    filling = "x" * 180
    lines = (f"The token {PASSWORD} has expired", f"Authorization: Basic {header}", f"{filling}{PASSWORD}")
    hook.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines) + "exit 1\n", "utf-8")
    hook.chmod(0o755)
    with pytest.raises(RemoteError, match="has expired") as caught:
        node.publish(put(redirect("/a")))
    message = str(caught.value)
    assert filling in message
    assert not [part for part in (PASSWORD, PASSWORD[:8], header) if part in message], message


@pytest.mark.parametrize("is_done", [True, False])
def test_a_503_for_a_push_does_not_tell_that_it_was_not_done(bed: UpstreamBed, *, is_done: bool) -> None:
    bed.node("first").begin(SHOP)

    def answer(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        service = re.search("git-(upload|receive)-pack", asked.path)
        assert service is not None
        if asked.method == "POST" and service[1] == "receive" and not is_done:
            return 503, {"Retry-After": str(RETRY_SECONDS)}, b""
        words = ["git", f"{service[1]}-pack", "--stateless-rpc"]
        words += ["--advertise-refs"] if asked.method == "GET" else []
        done = subprocess.run([*words, bed.path], input=asked.body, capture_output=True, check=True).stdout
        if asked.method == "GET":
            head = f"# service={service[0]}\n".encode()
            media = f"application/x-{service[0]}-advertisement"
            return 200, {"Content-Type": media}, f"{len(head) + 4:04x}".encode() + head + b"0000" + done
        if service[1] == "receive":
            return 503, {"Retry-After": str(RETRY_SECONDS)}, b""
        return 200, {"Content-Type": f"application/x-{service[0]}-result"}, done

    with hosting(bed.folder, answer) as found:
        place = create_place(bed.folder / "node")
        bed.follow(place, SOURCE, f"{found.url}/api/up.git")
        before = sync_well(place).release
        if is_done:
            assert place.publish(put(redirect("/a"))).version == bed.tip == place.tip != before
            return
        with pytest.raises(RemoteUnknown) as caught:
            place.publish(put(redirect("/a")))
        assert caught.value.seconds == RETRY_SECONDS
        assert bed.tip == before == place.tip


def test_a_host_that_takes_push_options_gets_none(bed: UpstreamBed, node: Place) -> None:
    git(bed.path, "config", "receive.advertisePushOptions", "true")
    hook = bed.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "${GIT_PUSH_OPTION_COUNT-none}" > options\n', "utf-8")
    hook.chmod(0o755)
    assert node.publish(put(redirect("/a"))).version == bed.tip
    assert (bed.path / "options").read_text("utf-8").strip() in {"0", "none"}


def test_a_wrong_password_is_in_no_message(bed: UpstreamBed, node: Place, host: HttpHost) -> None:
    bed.follow(node, SOURCE, f"{host.url}/up.git", username=USER, password="not-the-password")
    state = sync(node)
    assert state.fault is not None
    assert state.fault.code == "upstream_refused"
    assert "401" in state.fault.message
    assert "not-the-password" not in repr(state)
    settings = node.store.upstreams.settings(SPACE)
    assert "not-the-password" not in repr(settings)
    assert (node.repo / "waypost-upstream").stat().st_mode & 0o777 == 0o600


def test_a_network_that_the_operator_does_not_name_is_not_asked(node: Place, host: HttpHost) -> None:
    wait_until(lambda: host.requests[-1].startswith("POST"), 30, "the log")
    before = host.requests
    settings = node.store.upstreams.settings(SPACE)
    assert settings
    for url in (
        f"{host.url}/up.git",
        host.url.replace("127.0.0.1", "localhost"),
        host.url.replace("127.0.0.1", "0x7f.1"),
    ):
        node.store.upstreams.configure(SPACE, UpstreamSettings(url, SOURCE, rules=UpstreamRules()))
        assert fault_of(node) == "upstream_refused"
    assert host.requests == before


@pytest.mark.parametrize(
    ("status", "code"), [(403, "upstream_refused"), (429, "upstream_unavailable"), (503, "upstream_unavailable")]
)
def test_a_host_that_asks_for_a_rest_gets_it(node: Place, host: HttpHost, status: int, code: str) -> None:
    bed_rules = UpstreamRules(networks=("127.0.0.0/8",))
    before = node.tip
    node.store.upstreams.configure(SPACE, UpstreamSettings(host.answer(status), SOURCE, rules=bed_rules, poll=5))
    state = sync(node)
    assert state.fault is not None
    assert (state.fault.code, str(status) in state.fault.message) == (code, True)
    rest = state.due_at - time.time()
    assert (rest > RETRY_SECONDS - 30) == (status != 403), rest
    with pytest.raises(RemoteError) as caught:
        node.publish(put(redirect("/a")))
    assert caught.value.code == code
    assert node.tip == before


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Wed, 21 Oct 2099 07:28:00 GMT", 3600, 3600),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("9" * 30, 0, 0),
        ("-5", 0, 0),
        ("soon", 0, 0),
        ("99999", 3600, 3600),
        ("7", 7, 7),
    ],
)
def test_a_rest_is_seconds_or_a_date_and_has_a_bound(tmp_path: Path, text: str, least: int, most: int) -> None:
    place = create_place(tmp_path / "data")
    with answering(reply(f"429 Slow\r\nRetry-After: {text}".encode())) as url:
        rules = UpstreamRules(networks=("127.0.0.0/8",), seconds=5.0)
        place.store.upstreams.configure(SPACE, UpstreamSettings(url, SOURCE, rules=rules, poll=5))
        rest = sync(place).due_at - time.time()
    assert least - 30 < rest < most + 10


def refs(body: bytes, head: bytes = b"200 OK") -> Answer:
    """Return an answer that is said to be a list of refs."""
    return reply(head, body, REFS)


FIRST_LINE = b"001e# service=git-upload-pack\n0000"


def name_refs() -> Iterator[bytes]:
    """Yield the lines of a list of refs that never ends."""
    for number in count(step=1_000):
        yield b"".join(b"003d%040d refs/heads/%06d\n" % (1, number + each) for each in range(1_000))


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refs(b"hello"), "upstream_garbage"),
        (reply(b"200 OK", b"<html>", b"text/html"), "upstream_garbage"),
        (refs(FIRST_LINE + b"zzzz"), "upstream_garbage"),
        (refs(FIRST_LINE + b"003dxx"), "upstream_garbage"),
        (reply(b"301 Moved\r\nLocation: http://169.254.169.254/"), "upstream_refused"),
        (reply(b"302 Found\r\nLocation: http://127.0.0.1:1/"), "upstream_refused"),
        (reply(b'401 No\r\nWWW-Authenticate: Basic realm="x"'), "upstream_refused"),
        (reply(b"404 Not Found"), "upstream_refused"),
        (reply(b"500 Oops"), "upstream_unavailable"),
        (send(b"SSH-2.0-OpenSSH\r\n"), "upstream_unavailable"),
        (send(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000), "upstream_unavailable"),
        (lambda connection: connection.close(), "upstream_unavailable"),
        (flood(begin(b"200 OK", FIRST_LINE, REFS), name_refs()), "upstream_garbage"),
        (drip(begin(b"200 OK", media=REFS)), "upstream_unavailable"),
        (DRIPPED_HEAD, "upstream_unavailable"),
        (keep_silent, "upstream_unavailable"),
    ],
    ids=[
        *("text", "page", "length", "line", "moved", "found", "password", "missing", "failing", "ssh", "headers"),
        *("closed", "endless", "slow", "slow-head", "silent"),
    ],
)
def test_a_host_that_is_none_is_a_fault_within_its_time(tmp_path: Path, answer: Answer, code: str) -> None:
    place = create_place(tmp_path / "data")
    before, begun = place.tip, time.monotonic()
    with answering(answer) as url:
        rules = UpstreamRules(networks=("127.0.0.0/8",), seconds=1.0, most_bytes=8 * MIB)
        place.store.upstreams.configure(SPACE, UpstreamSettings(url, SOURCE, rules=rules))
        assert fault_of(place) == code
    assert time.monotonic() - begun < 30
    assert place.tip == before
    assert not list((place.repo / "objects").glob("tmp_objdir-*"))


def test_a_fault_of_too_little_time_names_its_setting(tmp_path: Path) -> None:
    place = create_place(tmp_path / "data")
    with answering(keep_silent) as url:
        rules = UpstreamRules(networks=("127.0.0.0/8",), seconds=1.0)
        place.store.upstreams.configure(SPACE, UpstreamSettings(url, SOURCE, rules=rules))
        fault = sync(place).fault
    assert fault is not None
    assert fault.message.endswith("did not answer in time (the setting upstream_timeout).")


def test_a_fetch_that_is_cut_off_leaves_nothing_and_the_next_one_succeeds(bed: UpstreamBed, node: Place) -> None:
    (commit,) = bed.commit({RULES: yaml([(f"/n{number}", "/x") for number in range(2000)])})
    settings = node.store.upstreams.settings(SPACE)
    assert settings
    rules = UpstreamRules(networks=("127.0.0.0/8",), most_bytes=1500)
    before = node.tip
    bed.follow(node, SOURCE, settings.url, username=USER, password=PASSWORD)
    node.store.upstreams.configure(
        SPACE, UpstreamSettings(settings.url, SOURCE, username=USER, password=PASSWORD, rules=rules)
    )
    assert fault_of(node) == "upstream_garbage"
    assert node.tip == before
    assert not list((node.repo / "objects").glob("tmp_objdir-*"))
    bed.follow(node, SOURCE, settings.url, username=USER, password=PASSWORD)
    assert sync_well(node).release == commit
