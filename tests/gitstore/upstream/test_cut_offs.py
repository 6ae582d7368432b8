"""Cut-offs at random bytes, and kills, in the middle of fetches and pushes: the next sync succeeds, and nothing is lost."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitstore.errors import NothingToPublish
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store
from gitstore.wire.client.remote_errors import RemoteError
from tests.e2e.nodes import leftovers
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, create_place, git, put, redirect, seeded_random, yaml
from tests.gitstore.upstream.cutting_proxy import DOWN, UP, CuttingProxy, cutting
from tests.gitstore.upstream.upstream_bed import MIRROR, SOURCE, UpstreamBed, sync, sync_well
from tests.gitstore.wire.client.http_host import PASSWORD, USER, hosting
from tests.gitstore.wire.client.ssh_host import SshHost, ssh_host
from tests.processes import FORKED
from tests.rounds import rounds

HTTP_POINTS, SSH_POINTS, KILLS = rounds(10, 18), 3, rounds(9, 15)
RULES = 40


@dataclass
class Bench:
    """A node with an upstream behind a proxy; each step brings new rules."""

    bed: UpstreamBed
    place: Place
    proxy: CuttingProxy
    random: random.Random
    steps: int = 0

    def rules(self) -> list[tuple[str, str]]:
        """Return new rules, which do not compress well."""
        self.steps += 1
        return [(f"/{self.steps}/{number}", f"/{self.random.getrandbits(64):x}") for number in range(RULES)]

    def check(self) -> None:
        """Fail unless the next sync succeeds, and leaves both sides whole and equal."""
        sync_well(self.place)
        assert self.bed.tip == self.place.tip
        assert leftovers(self.place.repo) == []
        assert not list((self.bed.path / "refs").rglob("*.lock"))

    def finish(self) -> None:
        """Check both repositories with C git."""
        self.place.fsck()
        git(self.bed.path, "fsck", "--strict", "--full")
        with suppress(FileNotFoundError):
            assert not [path for path in (self.bed.path / "objects").iterdir() if path.name.startswith("tmp_objdir-w")]


class Fetch:
    """The upstream has a new commit; a sync of the source brings it in."""

    mode = SOURCE

    def prepare(self, bench: Bench) -> None:
        """Commit on the upstream."""
        bench.bed.commit({f"{SHOP}/redirects.yaml": yaml(bench.rules())})

    def run(self, store: Store) -> None:
        """Sync."""
        store.upstreams.sync(SPACE)

    def recover(self, bench: Bench) -> None:
        """Nothing has to be done by hand."""


class MirrorPush(Fetch):
    """Release has a new commit; a sync of the mirror pushes it."""

    mode = MIRROR

    def prepare(self, bench: Bench) -> None:
        """Publish here."""
        bench.place.publish(*(put(redirect(*rule)) for rule in bench.rules()))


class Publish(Fetch):
    """A draft is published to the source."""

    def prepare(self, bench: Bench) -> None:
        """Edit the draft."""
        bench.place.save(*(put(redirect(*rule)) for rule in bench.rules()))

    def run(self, store: Store) -> None:
        """Publish; a failure of the upstream is an error."""
        with suppress(RemoteError):
            store.publishes.publish(SPACE, PublishRequest(MAIN, ADA))

    def recover(self, bench: Bench) -> None:
        """Publish again, which finds the draft published, or publishes it."""
        sync_well(bench.place)
        with suppress(NothingToPublish):
            bench.place.publish()
        first = f"/{bench.steps}/0"
        assert first in bench.place.targets()
        log = bench.place.git("log", "--first-parent", "--format=%H", f"-S{first}\n", "release")
        assert len(log.split()) == 1, "published once"


KINDS: tuple[Fetch, ...] = (Fetch(), MirrorPush(), Publish())
pytestmark = pytest.mark.usefixtures("web_server")
each_kind = pytest.mark.parametrize("kind", KINDS, ids=["fetch", "mirror", "publish"])


@contextmanager
def bench_by_http(folder: Path, kind: Fetch) -> Iterator[Bench]:
    """Return a bench with C git's http-backend behind the proxy."""
    bed = UpstreamBed.create(folder / "bed")
    git(bed.path, "config", "http.receivepack", "true")
    with hosting(bed.folder) as host, cutting(int(host.url.rpartition(":")[2])) as proxy:
        place = create_place(bed.folder / "node").begin(SHOP)
        url = f"http://127.0.0.1:{proxy.port}/up.git"
        bed.follow(place, kind.mode, url, username=USER, password=PASSWORD)
        sync_well(place)
        yield Bench(bed, place, proxy, seeded_random())


@contextmanager
def bench_by_ssh(folder: Path, kind: Fetch, sshd: SshHost) -> Iterator[Bench]:
    """Return a bench with the system's sshd behind the proxy."""
    bed = UpstreamBed.create(folder / "bed")
    with cutting(int(sshd.address.rpartition(":")[2])) as proxy:
        place = create_place(bed.folder / "node").begin(SHOP)
        place.store.upstreams.start_children()
        port = str(proxy.port)
        address, hosts = (
            text.replace(sshd.address.rpartition(":")[2], port) for text in (sshd.address, sshd.known_hosts)
        )
        bed.follow(place, kind.mode, f"ssh://{address}{bed.path}", ssh_key=sshd.key, known_hosts=hosts)
        sync_well(place)
        yield Bench(bed, place, proxy, seeded_random())


def cut_often(bench: Bench, kind: Fetch, points: int) -> None:
    """Run the step with cut-offs at random bytes, each followed by a recovery."""
    kind.prepare(bench)
    bench.proxy.arm(UP, 1 << 40)
    kind.run(bench.place.store)
    carried, cuts = dict(bench.proxy.carried), 0
    bench.check()
    for number in range(points):
        direction = (UP, DOWN)[number % 2]
        kind.prepare(bench)
        after = bench.random.randrange(carried[direction])
        bench.proxy.arm(direction, after, is_reset=bench.random.random() < 0.5)
        kind.run(bench.place.store)
        cuts += bench.proxy.disarm()
        kind.recover(bench)
        bench.check()
    assert cuts > points * 3 // 4
    bench.finish()


@each_kind
def test_cut_off_http_connections(tmp_path: Path, kind: Fetch) -> None:
    with bench_by_http(tmp_path, kind) as bench:
        cut_often(bench, kind, HTTP_POINTS)


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    """Run the host."""
    with ssh_host(tmp_path_factory.mktemp("ssh") / "host") as found:
        yield found


@each_kind
def test_cut_off_ssh_connections(tmp_path: Path, sshd: SshHost, kind: Fetch) -> None:
    with bench_by_ssh(tmp_path, kind, sshd) as bench:
        cut_often(bench, kind, SSH_POINTS)


def run_apart(root: Path, kind: Fetch) -> None:
    """Run the step in this process, which is killed in the middle."""
    kind.run(Store(root))


@each_kind
def test_killed_processes(tmp_path: Path, kind: Fetch) -> None:
    """Each process is killed when a random byte passes the proxy, and every third one at a random time."""
    with bench_by_http(tmp_path, kind) as bench:
        kind.prepare(bench)
        bench.proxy.arm(UP, 1 << 40)
        begun = time.monotonic()
        kind.run(bench.place.store)
        seconds, carried, kills = time.monotonic() - begun, dict(bench.proxy.carried), 0
        bench.check()
        for number in range(KILLS):
            direction = (UP, DOWN)[number % 2]
            kind.prepare(bench)
            at = bench.random.uniform(0, 2 * seconds) if number % 3 == 2 else bench.random.randrange(carried[direction])
            kills += kill_at(bench, kind, direction, at)
            kind.recover(bench)
            bench.check()
        assert kills > KILLS // 2
        bench.finish()


def kill_at(bench: Bench, kind: Fetch, direction: str, at: float) -> bool:
    """Run the step in a process, and kill it when so many bytes (or, as a float, seconds) have passed; tell whether it was."""
    process: Any = FORKED.Process(target=run_apart, args=(bench.place.root, kind))
    process.start()

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)

    if isinstance(at, float):
        process.join(at)
        kill()
    else:
        bench.proxy.arm(direction, at, action=kill)
    process.join(60)
    bench.proxy.disarm()
    return bool(process.exitcode == -signal.SIGKILL)


def test_a_sync_without_a_fault_is_none(tmp_path: Path) -> None:
    """Guard of the tests above: the proxy, not armed, passes everything."""
    with bench_by_http(tmp_path, KINDS[0]) as bench:
        KINDS[0].prepare(bench)
        assert sync(bench.place).fault is None
