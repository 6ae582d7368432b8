"""Writes while the disk or plain git interferes: one that took effect is a success, one that was overtaken is tried again."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.git import Clone, git, rules
from tests.e2e.world import Place, World
from tests.service import child_pids, wait_until

PUBLISHES = 12


@pytest.fixture
def place(world: World) -> Place:
    """Create a project."""
    return world.place()


def all_processes(world: World) -> list[int]:
    """Return the process ids of the workers and of their helpers."""
    workers = sorted(world.service.workers())
    return [*workers, *(child for worker in workers for child in child_pids(worker)), *world.service.job_processes()]


@contextmanager
def failing(world: World, path: Path, call: str, error: str, log: Path) -> Iterator[None]:
    """Let a system call fail whenever a process of the service uses it on this path."""
    pids = [word for pid in all_processes(world) for word in ("-p", str(pid))]
    command = ("strace", "-f", *pids, "-P", str(path), "-e", f"inject={call}:error={error}", "-o", str(log))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr
        assert "attached" in tracer.stderr.readline()
        try:
            wait_until(lambda: all(_is_traced(pid) for pid in all_processes(world)), 30, "strace to attach")
            yield
        finally:
            tracer.terminate()


def _is_traced(pid: int) -> bool:
    return "TracerPid:\t0" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EROFS", "EACCES"])
def test_publish_is_a_success_where_its_draft_cannot_be_locked(
    place: Place, strace: Path, tmp_path: Path, error: str
) -> None:
    """The lock of the draft is opened after release has moved."""
    assert strace.exists()
    place.published("/before")
    place.add("/a")
    lock = place.repository / "refs/heads/draft" / place.project / "main.lock"
    with failing(place.world, lock, "openat", error, tmp_path / "trace"):
        answer = place.root.send("POST", f"{place.path}/publish", json={})
    assert "INJECTED" in (tmp_path / "trace").read_text()
    assert answer.status_code == 200, answer.text
    assert place.get("/version") == answer.json()["version"]
    assert place.get("/draft")["head"] is None
    place.published("/b")
    assert place.sources() == ["/before", "/a", "/b"]


def test_edit_is_refused_with_the_reason_where_its_lock_cannot_be_opened(
    place: Place, strace: Path, tmp_path: Path
) -> None:
    """This is before the move of the draft: a full disk is 507, and nothing changes."""
    assert strace.exists()
    place.add("/a")
    head = place.get("/draft")["head"]
    lock = place.repository / "refs/heads/draft" / place.project / "main.lock"
    body = [{"op": "delete", "kind": "redirect", "source": "/a"}]
    with failing(place.world, lock, "openat", "ENOSPC", tmp_path / "trace"):
        place.refused("POST", "/draft/changes", 507, "out_of_space", json=body)
    assert place.get("/draft")["head"] == head


def test_publishes_beside_pushes_of_plain_git_never_lose_the_race(place: Place, tmp_path: Path) -> None:
    """Another project of the namespace is pushed all the time, which takes no lock of the service."""
    other = Place(place.world, place.namespace, "other", place.root)
    place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "other"})
    clone, stop = Clone.of(place.repository, tmp_path / "clone"), threading.Event()
    pushed: list[str] = []

    def push_repeatedly() -> None:
        while not stop.is_set():
            git(clone.folder, "fetch", "--quiet")
            git(clone.folder, "reset", "--quiet", "--hard", "origin/release")
            clone.write("other/redirects.yaml", rules(f"/{len(pushed)}"))
            clone.commit()
            done = subprocess.run(
                ("git", "push", "--quiet", "origin", "HEAD:release"), cwd=clone.folder, capture_output=True, check=False
            )
            pushed.extend(["pushed"] * (done.returncode == 0))

    pusher = threading.Thread(target=push_repeatedly)
    pusher.start()
    try:
        for number in range(PUBLISHES):
            place.add(f"/{number}")
            place.ask("POST", "/publish", 200, json={})
            wait_until(partial(_has_grown, pushed, len(pushed)), 60, "a push")
    finally:
        stop.set()
        pusher.join()
    assert place.sources() == [f"/{number}" for number in range(PUBLISHES)]
    assert len(pushed) >= PUBLISHES
    wait_until(lambda: other.sources() != [], 30, "the pushed project")


def _has_grown(items: list[str], before: int) -> bool:
    return len(items) > before


@pytest.mark.parametrize(
    "text", ["{objects}\n", "../objects\n", "/nowhere\n\0\n\xff\n", "# nothing\n\n", "x" * 100_000]
)
def test_alternates_that_lead_nowhere_do_no_harm(place: Place, text: str) -> None:
    """C git ignores them too."""
    place.published("/a")
    objects = place.repository / "objects"
    (objects / "info/alternates").write_text(text.format(objects=objects), encoding="latin-1")
    place.published("/b")
    assert place.sources() == ["/a", "/b"]
    place.refused("GET", f"/versions/{'0' * 40}", 404, "not_found")
    place.refused("GET", "/diff?from=" + "f" * 40, 404, "not_found")


def test_alternates_that_are_too_large_are_reported(place: Place) -> None:
    """A file of many megabytes is no list of folders; without it everything is as before."""
    place.published("/a")
    alternates = place.repository / "objects/info/alternates"
    alternates.write_bytes(b"/nowhere\n" * 1_000_000)
    place.refused("GET", "/history", 503, "store_broken")
    alternates.unlink()
    place.published("/b")
