"""Pushes over HTTP by stock C git: branches, tags, all or nothing, races, sizes; and bodies that no git would send."""

import gzip
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from base64 import b64encode
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.git import git
from tests.e2e.pusher import PUSH_TYPE, Pusher
from tests.e2e.world import Place, World, open_world
from tests.gitstore.wire.push.pushing import (
    BLOB,
    CAPABILITIES,
    COMMIT,
    TREE,
    ZERO,
    commit,
    entry,
    made_pack,
    object_id,
    pack,
    request,
    tree,
)
from tests.service import WAYPOST, child_pids, running, wait_until

MIB = 1 << 20
STARTED = 64 * MIB
FILE = "shop/pages/note.txt"
ATTRIBUTES = b"* text=auto\n"
TOPIC = "refs/heads/topic"


@pytest.fixture
def pusher(place: Place, tmp_path: Path) -> Pusher:
    """Return a clone of a namespace with a published project."""
    place.published("/a")
    return Pusher.of(place, tmp_path / "clone")


def body_of(pusher: Pusher, words: str = CAPABILITIES) -> tuple[bytes, str]:
    """Return a push of one new commit to `topic`, and the commit."""
    new = pusher.commit(FILE, os.urandom(3_000).hex())
    return request([(ZERO, new, TOPIC)], made_pack(pusher.folder, new, "^origin/release"), words), new


def test_a_branch_is_pushed_changed_forced_and_deleted(pusher: Pusher) -> None:
    first = pusher.commit(FILE, "one\n")
    pusher.pushed("origin", "HEAD:topic")
    assert pusher.ref(TOPIC) == first
    second = pusher.commit(FILE, "two\n")
    pusher.pushed("origin", "HEAD:topic")
    git(pusher.folder, "reset", "-q", "--hard", first)
    other = pusher.commit(FILE, "three\n")
    assert "non-fast-forward" in pusher.refused("origin", "HEAD:topic")
    assert pusher.ref(TOPIC) == second
    pusher.pushed("--force", "origin", "HEAD:topic")
    assert pusher.ref(TOPIC) == other
    pusher.commit(FILE, "four\n")
    assert "stale info" in pusher.refused(f"--force-with-lease=topic:{first}", "origin", "HEAD:topic")
    pusher.pushed("origin", ":topic")
    assert pusher.ref(TOPIC) == ""
    pusher.check()


def test_tags_and_several_branches_are_pushed(pusher: Pusher) -> None:
    new = pusher.commit(FILE, "one\n")
    git(pusher.folder, "branch", "other")
    git(pusher.folder, "branch", "third")
    pusher.pushed("origin", "HEAD:topic", "other", "third")
    assert {pusher.ref(f"refs/heads/{name}") for name in ("topic", "other", "third")} == {new}
    pusher.check()


def test_all_or_nothing_moves_every_branch_or_none(pusher: Pusher, tmp_path: Path) -> None:
    """As git's t5543."""
    pusher.commit(FILE, "one\n")
    pusher.pushed("--atomic", "origin", "HEAD:topic", "HEAD:other")
    other = Pusher.of(pusher.place, tmp_path / "other")
    git(other.folder, "checkout", "-q", "-b", "topic", "origin/topic")
    ahead = other.commit(FILE, "two\n")
    other.pushed("origin", "HEAD:topic")
    mine = pusher.commit(FILE, "three\n")
    before = pusher.ref("refs/heads/other")
    assert "atomic" in pusher.refused("--atomic", "origin", "HEAD:topic", "HEAD:other", "HEAD:third")
    assert (pusher.ref(TOPIC), pusher.ref("refs/heads/other"), pusher.ref("refs/heads/third")) == (ahead, before, "")
    body = request(
        [(before, mine, "refs/heads/other"), (before, mine, TOPIC), (ZERO, mine, "refs/heads/third")],
        made_pack(pusher.folder, mine, f"^{before}"),
        f"{CAPABILITIES} atomic",
    )
    answer = pusher.post(body).content
    assert b"ng refs/heads/topic another push moved it first" in answer
    assert b"ng refs/heads/other atomic push failed" in answer
    assert (pusher.ref(TOPIC), pusher.ref("refs/heads/other"), pusher.ref("refs/heads/third")) == (ahead, before, "")
    pusher.pushed("--atomic", "--force", "origin", "HEAD:topic", "HEAD:other", "HEAD:third")
    pusher.pushed("--atomic", "origin", ":topic", ":other", ":third")
    assert pusher.ref("refs/heads/topic") == pusher.ref("refs/heads/third") == ""
    pusher.check()


@pytest.mark.parametrize(
    "settings",
    [(), ("http.postBuffer=1024",), ("http.version=HTTP/1.1", "pack.compression=0")],
    ids=["whole", "chunked", "plain"],
)
def test_three_megabytes_are_pushed(pusher: Pusher, settings: tuple[str, ...]) -> None:
    new = pusher.commit("shop/pages/large.txt", os.urandom(3 * MIB // 2).hex())
    pusher.pushed("origin", "HEAD:topic", settings=settings)
    assert pusher.ref(TOPIC) == new
    pusher.check()


def processes(pid: int) -> set[int]:
    """Return a process and all below it."""
    return {pid}.union(*(processes(child) for child in child_pids(pid)))


def read_memory(pid: int) -> dict[int, int]:
    """Return the bytes in memory of each process of a service, with its share of what is mapped of files."""
    found = {}
    for each in processes(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii")
            found[each] = 1024 * sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("Pss:"))
    return found


def growth(before: dict[int, int], now: dict[int, int]) -> int:
    """Return the bytes that processes have taken; one that was started meanwhile has some from its start."""
    return sum(max(size - before.get(pid, STARTED), 0) for pid, size in now.items())


@pytest.mark.timeout(200)
def test_a_hundred_megabytes_are_pushed_in_bounded_memory_while_agents_are_answered(pusher: Pusher) -> None:
    pusher.commit(FILE, "warm\n")
    pusher.pushed("origin", "HEAD:warm")
    files = [pusher.folder / f"shop/pages/{number}.txt" for number in range(10)]
    for number, path in enumerate(files):
        path.write_bytes(random.Random(number).randbytes(10 * MIB))  # noqa: S311 - test data
    pusher.commit(FILE, "large\n")
    _push_watched(pusher, "core.compression=0", "core.bigFileThreshold=1m")
    for path in files[:4]:
        data = path.read_bytes()
        path.write_bytes(data[: 5 * MIB] + b"changed" + data[5 * MIB :])
    pusher.commit(FILE, "deltas\n")
    _push_watched(pusher)  # of deltas, against what the first push brought
    pusher.check()


def _push_watched(pusher: Pusher, *settings: str) -> None:
    """Push HEAD to a branch, within the bounds for memory, and for the time of an agent's poll."""
    service, place = pusher.place.world.service, pusher.place
    before, peak, slowest = read_memory(service.process.pid), 0, 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak, slowest
        while not done.wait(0.05):
            peak = max(peak, growth(before, read_memory(service.process.pid)))
            begun = time.monotonic()
            place.get("/version")
            slowest = max(slowest, time.monotonic() - begun)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            pusher.pushed("origin", "HEAD:topic", settings=settings)
        finally:
            done.set()
        watching.result()
    assert pusher.ref(TOPIC) == git(pusher.folder, "rev-parse", "HEAD")
    assert peak < 100 * MIB
    assert slowest < 5


def test_of_two_pushers_at_once_one_wins(pusher: Pusher, tmp_path: Path) -> None:
    others = [pusher, Pusher.of(pusher.place, tmp_path / "other")]
    pusher.pushed("origin", "HEAD:topic")
    with ThreadPoolExecutor(2) as pool:
        for round_ in range(6):
            for number, each in enumerate(others):
                git(each.folder, "fetch", "-q")
                git(each.folder, "reset", "-q", "--hard", "origin/topic")
                each.commit(FILE, f"{round_} of {number}\n")
            done = list(pool.map(lambda each: each.push("origin", "HEAD:topic"), others))
            assert sorted(bool(each.returncode) for each in done) == [False, True], [each.stderr for each in done]
            (winner,) = (each for each, result in zip(others, done, strict=True) if not result.returncode)
            assert pusher.ref(TOPIC) == git(winner.folder, "rev-parse", "HEAD")
            (loser,) = (result.stderr for result in done if result.returncode)
            assert "moved it first" in loser or "fetch first" in loser or "rejected" in loser
    pusher.check()


def test_options_of_a_push_reach_its_checks(pusher: Pusher) -> None:
    pusher.commit(FILE, "one\n")
    assert "Unknown push option 'note=one'" in pusher.refused("-o", "note=one", "-o", "two", "origin", "HEAD:topic")
    pusher.pushed("-o", "override=no one is awake", "origin", "HEAD:topic")
    assert pusher.ref(TOPIC)


def test_the_progress_of_a_large_check_is_printed(pusher: Pusher) -> None:
    (pusher.folder / "shop/pages").mkdir(parents=True)
    for number in range(1_500):
        (pusher.folder / f"shop/pages/{number}.txt").write_text(f"{number}\n" * 20)
    new = pusher.commit(FILE, "many\n")
    printed = pusher.pushed("--progress", "origin", "HEAD:topic")  # without a terminal, git asks for quiet
    assert re.search(r"remote: Checking objects: (1,5[0-9]{2}) of \1, done\.", printed), printed[-600:]
    pusher.pushed("origin", ":topic")
    assert "Checking" not in pusher.pushed("-q", "origin", f"{new}:{TOPIC}")


def test_a_shallow_and_a_partial_clone_push(pusher: Pusher, tmp_path: Path) -> None:
    for number in range(3):
        pusher.commit(FILE, f"{number}\n")
    pusher.pushed("origin", "HEAD:topic")
    for name, words in (("shallow", ("--depth", "1")), ("partial", ("--filter=blob:none",))):
        folder = tmp_path / name
        git(tmp_path, "clone", "-q", "-b", "topic", *words, pusher.url, str(folder))
        found = Pusher(pusher.place, folder, pusher.token)
        git(folder, "config", "user.name", "Ada")
        git(folder, "config", "user.email", "ada@example.com")
        new = found.commit(f"shop/pages/{name}.txt", name)
        found.pushed("origin", "HEAD:topic")
        assert pusher.ref(TOPIC) == new
    pusher.check()


# What follows is as in git's t5562.


def test_a_body_may_be_compressed(pusher: Pusher) -> None:
    body, new = body_of(pusher)
    answer = pusher.post(gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-git-receive-pack-result")
    assert b"unpack ok" in answer.content
    assert pusher.ref(TOPIC) == new
    pusher.check()


@pytest.mark.parametrize("cut", [2, 30, 150, 400, -1])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_truncated_body_is_refused(pusher: Pusher, cut: int, coding: str) -> None:
    body, _ = body_of(pusher)
    sent = gzip.compress(body) if coding == "gzip" else body
    answer = pusher.post(sent[:cut], **{"Content-Encoding": coding})
    assert answer.status_code in {200, 400}
    assert b"unpack ok" not in answer.content
    assert (answer.status_code == 400) or b"unpack " in answer.content
    assert pusher.ref(TOPIC) == ""
    pusher.check()


def test_an_empty_body_and_a_flush_change_nothing(pusher: Pusher) -> None:
    for body in (b"", b"0000"):
        assert pusher.post(body).status_code == 200
    pusher.check()


@pytest.mark.parametrize(
    "body", [b"x", b"zzzz", b"0003", b"000ahello\n0000", b"ffff" + b"x" * 100, b"0001", b"\0" * 5_000]
)
def test_a_body_that_is_no_push_is_refused(pusher: Pusher, body: bytes) -> None:
    answer = pusher.post(body)
    assert answer.status_code == 400
    assert "The request is" in answer.text
    pusher.check()


def test_a_push_waits_for_100_continue(pusher: Pusher) -> None:
    body, new = body_of(pusher)
    host, port = "127.0.0.1", pusher.place.world.service.port
    basic = b64encode(f"any:{pusher.token}".encode()).decode()
    head = [
        f"POST /git/{pusher.place.namespace}.git/git-receive-pack HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Basic {basic}",
        f"Content-Type: {PUSH_TYPE}",
        f"Content-Length: {len(body)}",
        "Expect: 100-continue",
        "Connection: close",
    ]
    with socket.create_connection((host, port), timeout=60) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        assert b" 100 " in connection.recv(200)
        connection.sendall(body)
        answer = b""
        while piece := connection.recv(MIB):
            answer += piece
    assert b"unpack ok" in answer
    assert pusher.ref(TOPIC) == new


def test_another_content_type_or_service_is_refused(pusher: Pusher) -> None:
    body, _ = body_of(pusher)
    assert pusher.post(body, **{"Content-Type": "text/plain"}).status_code == 415
    assert pusher.post(body, **{"Content-Encoding": "br"}).status_code == 415
    assert pusher.ref(TOPIC) == ""


@pytest.mark.parametrize(
    "ref",
    ["HEAD", "refs/heads/../heads/release", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.lock", "refs/heads/a b", "refs/heads/a\x1b[31m",
     "refs/heads/@{1}", "refs/heads//a", "refs/heads/", "refs/heads/" + "x" * 300, "refs/" + "y/" * 600 + "z", "a", "../a", "/etc/x"],
)  # fmt: skip
def test_a_ref_with_a_funny_name_is_refused(pusher: Pusher, ref: str) -> None:
    _, new = body_of(pusher)
    data = made_pack(pusher.folder, new, "^origin/release")
    before = git(pusher.place.repository, "for-each-ref")
    answer = pusher.post(request([(ZERO, new, ref)], data)).content
    assert b"funny refname" in answer
    assert b"\x1b" not in answer
    assert git(pusher.place.repository, "for-each-ref") == before
    pusher.check()


def test_half_a_million_refs_are_refused_quickly(pusher: Pusher) -> None:
    _, new = body_of(pusher)
    data = made_pack(pusher.folder, new, "^origin/release")
    before = read_memory(pusher.place.world.service.process.pid)
    body = request([(ZERO, new, f"refs/heads/{number}") for number in range(500_000)], data)
    begun = time.monotonic()
    answer = pusher.post(body)
    assert b"unpack a push may change at most 1,000 refs" in answer.content
    assert time.monotonic() - begun < 30
    assert growth(before, read_memory(pusher.place.world.service.process.pid)) < 100 * MIB
    assert pusher.ref("refs/heads/1") == ""
    pusher.check()


def test_a_pack_bomb_costs_little_and_others_are_answered(pusher: Pusher) -> None:
    body = pack(entry(BLOB, bytes(200 * MIB)))
    before = read_memory(pusher.place.world.service.process.pid)
    answer = pusher.post(request([(ZERO, "1" * 40, TOPIC)], body))
    assert b"unpack an object has 209,715,200 bytes, and at most 33,554,432 are allowed" in answer.content
    compressed = gzip.compress(request([(ZERO, "1" * 40, TOPIC)], b"PACK" + bytes(300 * MIB)))
    assert b"not a pack" in pusher.post(compressed, **{"Content-Encoding": "gzip"}).content
    assert growth(before, read_memory(pusher.place.world.service.process.pid)) < 100 * MIB
    pusher.check()


def test_an_invalid_object_is_refused_and_git_prints_why(pusher: Pusher) -> None:
    """As git's t5547: nothing of a refused push is in the repository."""
    folder = tree((b"100644", b".git", object_id(BLOB, ATTRIBUTES)))
    new = commit(object_id(TREE, folder))
    data = pack(entry(BLOB, ATTRIBUTES), entry(TREE, folder), entry(COMMIT, new))
    before = set((pusher.place.repository / "objects").rglob("*"))
    git(pusher.folder, "config", "fsck.hasDotgit", "ignore")
    done = subprocess.run(["git", "unpack-objects", "-q"], cwd=pusher.folder, input=data, check=False)
    assert done.returncode == 0
    printed = pusher.refused("origin", f"{object_id(COMMIT, new).hex()}:{TOPIC}")
    assert "remote unpack failed: the tree" in printed
    assert "is that of Git's own folder" in printed
    assert set((pusher.place.repository / "objects").rglob("*")) == before


def test_processes_that_are_killed_during_pushes_leave_nothing(world: World, pusher: Pusher) -> None:
    service = world.service
    rng = random.Random(4)  # noqa: S311 - test data
    (pusher.folder / "shop/pages").mkdir(parents=True, exist_ok=True)
    for round_ in range(8):
        for number in range(150):
            (pusher.folder / f"shop/pages/{number}.txt").write_text(f"{round_} {number}\n")
        new = pusher.commit(FILE, f"{round_}\n")
        with ThreadPoolExecutor(1) as pool:
            pushing = pool.submit(pusher.push, "origin", "HEAD:topic")
            wait_for(pushing, rng.uniform(0, 0.3))
            for job in service.job_processes():
                kill_job(job)
            pushing.result()
        pusher.check_valid()
        if pusher.ref(TOPIC) != new:
            wait_until(lambda: pusher.push("origin", "HEAD:topic").returncode == 0, 60, "the push to be accepted")
        assert pusher.ref(TOPIC) == new
    wait_until(
        lambda: not list((pusher.place.repository / "objects").glob("tmp_objdir-*")), 60, "leftovers to be swept"
    )
    pusher.check()


def wait_for(pushing: "Future[subprocess.CompletedProcess[str]]", seconds: float) -> None:
    """Wait for a push, at most for some time."""
    with suppress(TimeoutError):
        pushing.result(seconds)


def kill_job(pid: int) -> None:
    """Kill a process of jobs, unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_the_limits_of_a_push_are_settings(tmp_path: Path) -> None:
    limits = {
        "WAYPOST_PUSH_LIMIT": "100000",
        "WAYPOST_PUSH_OBJECTS_LIMIT": "1000",
        "WAYPOST_PUSH_CONTENT_LIMIT": "2000000",
    }
    with running(WAYPOST, tmp_path / "data", limits) as service, open_world(service) as world:
        place = world.place()
        place.published("/a")
        pusher = Pusher.of(place, tmp_path / "clone")
        pusher.commit(FILE, os.urandom(75_000).hex())
        pusher.pushed("origin", "HEAD:topic")
        git(pusher.folder, "reset", "-q", "--hard", "origin/release")
        pusher.commit(FILE, os.urandom(150_000))
        assert "the push has more than 100,000 bytes, the setting push_limit" in pusher.refused("origin", "HEAD:other")
        pusher.commit(FILE, os.urandom(450_000))
        assert "413" in pusher.refused("origin", "HEAD:other")
        git(pusher.folder, "reset", "-q", "--hard", "origin/release")
        pusher.commit(FILE, "x" * 3_000_000)
        assert "more than 2,000,000 bytes together" in pusher.refused("origin", "HEAD:other")
        git(pusher.folder, "reset", "-q", "--hard", "origin/release")
        (pusher.folder / "shop/pages").mkdir(parents=True)
        for number in range(1_100):
            (pusher.folder / f"shop/pages/{number}.txt").write_text(f"{number}\n")
        pusher.commit(FILE, "many\n")
        assert "a push may have at most 1,000" in pusher.refused("origin", "HEAD:other")
        assert pusher.ref("refs/heads/other") == ""
        pusher.check()
