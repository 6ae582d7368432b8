"""Publishes to a source by SSH: the request hands the push to the background, which owns the children, and waits for it."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.git import check_repository, git, rules
from tests.e2e.nodes import descendants, wait_for_clean
from tests.e2e.world import Place, World, open_world
from tests.gitstore.wire.client.ssh_host import SshHost, ssh_host
from tests.service import WAYPOST, child_pids, running, wait_until

PATIENCE = 60.0


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    """Run the host."""
    with ssh_host(tmp_path_factory.mktemp("ssh") / "host") as found:
        yield found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with a short time for upstreams; its data directory has a long name."""
    settings = {"WAYPOST_UPSTREAM_NETWORKS": "127.0.0.0/8", "WAYPOST_UPSTREAM_TIMEOUT": "4"}
    data = tmp_path_factory.mktemp("here") / ("data-" + "x" * 100)
    with running(WAYPOST, data, settings) as service, open_world(service, killed=True) as world:
        yield world


class Source:
    """A source behind the host; its hook waits while it is held."""

    def __init__(self, place: Place, host: SshHost, folder: Path) -> None:
        self.place = place
        self.path = folder / "up.git"
        self._held, self._waiting = folder / "held", folder / "waiting"
        git(folder, "init", "-q", "--bare", "--initial-branch=release", str(self.path))
        hook = self.path / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(
            f"#!/bin/sh\ntouch {self._waiting}\nwhile [ -e {self._held} ]; do sleep 0.05; done\nrm -f {self._waiting}\n"
        )
        hook.chmod(0o755)
        self.body: dict[str, Any] = {
            "url": host.url(self.path),
            "mode": "source",
            "poll": 3600,
            "sshKey": host.key,
            "knownHosts": host.known_hosts,
        }
        self.set()
        self.wait("synced")

    def set(self, **fields: Any) -> None:
        """Make it the upstream."""
        self.place.root.ask("PUT", f"{self.place.space}/upstream", 200, json={**self.body, **fields})

    def sync(self) -> None:
        """Have it synced."""
        self.place.root.ask("POST", f"{self.place.space}/upstream/sync", 202)
        self.wait("synced")

    def wait(self, status: str) -> None:
        """Wait for a status of the upstream."""
        path = f"{self.place.space}/upstream"
        wait_until(lambda: self.place.root.get(path)["status"] == status, PATIENCE, f"status {status}")

    def hold(self) -> None:
        """Let pushes wait in the hook."""
        self._held.touch()

    def release(self) -> None:
        """Let them go on."""
        self._held.unlink()

    def wait_for_push(self) -> None:
        """Wait until a push is in the hook."""
        wait_until(self._waiting.exists, PATIENCE, "a push to wait")

    @property
    def tip(self) -> str:
        """The commit of its branch."""
        return git(self.path, "rev-parse", "release")


@pytest.fixture
def source(here: World, sshd: SshHost, tmp_path: Path) -> Source:
    """Return the source of a namespace with a published rule."""
    place = here.place()
    place.published("/a")
    return Source(place, sshd, tmp_path)


def test_a_publish_is_a_push_also_after_a_lost_race(source: Source, tmp_path: Path) -> None:
    place = source.place
    assert place.published("/b")["version"] == source.tip
    git(tmp_path, "clone", "-q", str(source.path), "work")
    (tmp_path / "work/shop/redirects").mkdir()
    (tmp_path / "work/shop/redirects/more.yaml").write_text(rules("/host"), "utf-8")
    git(tmp_path / "work", "add", "-A")
    git(tmp_path / "work", "commit", "-q", "-m", "On the host")
    git(tmp_path / "work", "push", "-q", "origin", "HEAD:release")
    assert place.published("/c")["version"] == source.tip
    assert sorted(place.sources()) == ["/a", "/b", "/c", "/host"]
    check_repository(place.repository)
    check_repository(source.path)


def test_a_push_whose_process_is_killed_is_done_all_the_same_and_its_key_is_nowhere(source: Source) -> None:
    place = source.place
    service = place.world.service
    place.add("/b")
    source.hold()
    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(place.publish)
        source.wait_for_push()
        parents = {pid: each for pid in descendants(service.process.pid) for each in child_pids(pid)}
        asked = {parent: read(child, "cmdline") for parent, child in parents.items()}
        # A sync may read the source at the same time.
        (pusher,) = (pid for pid, words in asked.items() if words.startswith(b"ssh\0") and b"git-receive-pack" in words)
        secret = source.body["sshKey"].splitlines()[1].encode()
        for pid in descendants(service.process.pid):
            for name in ("cmdline", "environ"):
                assert secret not in read(pid, name)
        assert not list(service.data.rglob("ssh-*")), "no key is on a disk"
        os.kill(pusher, signal.SIGKILL)
        source.release()
        assert publishing.result(PATIENCE)["version"] == source.tip
    assert place.sources() == ["/a", "/b"]
    assert secret.decode() not in service.log.read_text("utf-8")
    source.sync()
    wait_for_clean(place.repository)


def read(pid: int, name: str) -> bytes:
    """Return what anybody sees of a process; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_a_push_without_an_answer_in_time_is_unknown_and_the_next_sync_shows_it(source: Source) -> None:
    place = source.place
    head = place.ask("POST", "/draft/changes", 200, json=[CHANGE]).json()["head"]
    source.hold()
    place.refused("POST", "/publish", 503, "upstream_unknown", json={"head": head})
    assert place.sources() == ["/a"]
    source.release()
    wait_until(lambda: source.tip != place.get("/version"), PATIENCE, "the push to end")
    source.sync()
    place.wait_for(source.tip)
    found = place.ask("POST", "/publish", 200, json={"head": head}).json()
    assert found["version"] == source.tip
    assert place.sources() == ["/a", "/b"]


CHANGE = {
    "op": "put",
    "kind": "redirect",
    "item": {"type": "BASIC", "source": "/b", "target": "/new", "status": "MOVED_PERMANENT"},
}


def test_a_host_with_another_key_gets_no_publish(source: Source) -> None:
    place, before = source.place, source.tip
    place.add("/b")
    known = source.body["knownHosts"].rpartition(" ")[0] + " AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
    source.set(knownHosts=known)
    source.wait("failing")
    answer = place.refused("POST", "/publish", 503, "upstream_refused")
    assert "PRIVATE" not in str(answer)
    assert source.tip == before
