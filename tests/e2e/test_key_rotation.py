"""The key of the service rotates by the steps of the guides, under agents that poll: none of them gets a manifest that it cannot verify."""

import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.git import git
from tests.e2e.manifest_agent import ManifestAgent, Trust, fetch_keys, signer_line
from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until
from tests.ssh_keys import SERVICE, Key, KeyMaker, require_signed, verify_commit

SECONDS = 120.0
LEAST = 6  # manifests that each agent verifies between two steps


class Rotation:
    """A service that starts again with other keys on the same data, and the agents that poll it meanwhile."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url = ""
        self.names = ("", "")
        self.known = dict[str, bytes]()
        self.agents = list[ManifestAgent]()
        self.published = 0
        self._polls = list[Future[None]]()
        self._ended = Event()
        self._pool = ThreadPoolExecutor(2 * len(Trust))

    def close(self) -> None:
        """Stop the agents; raises for what one of them could not verify."""
        self._ended.set()
        self._pool.shutdown()
        for each in self._polls:
            each.result()

    @contextmanager
    def serving(self, key: Path, *others: Path) -> Iterator[World]:
        """Run the service with a key and public keys."""
        settings = {"WAYPOST_SIGNING_KEY": str(key), "WAYPOST_PUBLIC_KEYS": ",".join(map(str, others))}
        with running(WAYPOST, self.data, settings) as service, open_world(service, killed=True) as world:
            if not self.url:
                place = world.place()
                self.names = place.namespace, place.project
            self.url = service.url
            self.known |= fetch_keys(world.http, self.url)
            if not self._polls:
                self._begin(self.place(world))
            yield world

    def _begin(self, place: Place) -> None:
        """Start two agents of each kind, with the keys of now."""
        for trust in (*Trust, *Trust):
            agent = ManifestAgent(trust, lambda: self.url, place.path, place.holder(("redirect", "read")).root.token)
            agent.keys |= self.known
            self.agents.append(agent)
            self._polls.append(self._pool.submit(agent.run, self._ended))

    def place(self, world: World) -> Place:
        """Return the project on the service as it runs now."""
        return Place(world, *self.names, world.root)

    def fetch_again(self, world: World) -> None:
        """Have those with a file of keys fetch it again, as the first step of the guide says."""
        for agent in self.agents:
            if agent.trust is Trust.SAVED:
                agent.keys = fetch_keys(world.http, self.url)

    def publish_under_polls(self, world: World) -> set[str]:
        """Publish twice, with polls before, between and after; return the ids of the keys that signed what was verified."""
        self.await_polls()  # also what was asked of the service before it started again
        used = set[str]()
        for _ in range(2):
            self.published += 1
            self.place(world).published(f"/{self.published}")
            used |= self.await_polls()
        return used

    def await_polls(self) -> set[str]:
        """Wait until each agent has verified some more manifests; return the ids of the keys that signed them."""
        before = [agent.verified.copy() for agent in self.agents]

        def done() -> bool:
            for poll in filter(Future.done, self._polls):
                poll.result()
            pairs = zip(self.agents, before, strict=True)
            return all(agent.verified.total() >= known.total() + LEAST for agent, known in pairs)

        wait_until(done, SECONDS, "each agent to verify some manifests")
        pairs = zip(self.agents, before, strict=True)
        return {key for agent, known in pairs for key in agent.verified.copy() - known}

    def require_signed_commits(self, world: World, folder: Path) -> int:
        """Fail unless git verifies each commit on release with the keys that were served; return their number."""
        signers = folder / "signers"
        signers.write_text("".join(signer_line(SERVICE, key) for key in self.known.values()), "utf-8")
        repository = self.place(world).repository
        commits = git(repository, "rev-list", "release").split()
        for commit in commits:
            done = verify_commit(repository, commit, signers)
            assert done.returncode == 0, done.stderr
            assert f'Good "git" signature for {SERVICE}' in done.stderr
        return len(commits)


@pytest.fixture
def rotation(tmp_path: Path) -> Iterator[Rotation]:
    """Return a service that does not run yet, with agents that poll it from its first start until the end of the test."""
    found = Rotation(tmp_path / "data")
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def old(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key of before."""
    found: Key = ssh_keygen(tmp_path, SERVICE)
    return found


@pytest.fixture
def new(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key that takes its place."""
    found: Key = ssh_keygen(tmp_path, "next@waypost.invalid")
    return found


def public(key: Key) -> Path:
    """Return the file of a public key."""
    return key.path.with_name(f"{key.path.name}.pub")


def test_each_manifest_is_verified_while_the_key_rotates_by_the_guide(
    rotation: Rotation, old: Key, new: Key, tmp_path: Path
) -> None:
    with rotation.serving(old.path) as world:
        (first,) = rotation.known
        assert rotation.publish_under_polls(world) == {first}
    with rotation.serving(old.path, public(new)) as world:  # step 1
        (second,) = rotation.known.keys() - {first}
        rotation.fetch_again(world)
        assert rotation.publish_under_polls(world) == {first}
    with rotation.serving(new.path, public(old)) as world:  # step 2
        assert rotation.publish_under_polls(world) == {second}
    with rotation.serving(new.path) as world:  # step 3
        assert rotation.publish_under_polls(world) == {second}
        assert fetch_keys(world.http, rotation.url).keys() == {second}
        assert rotation.require_signed_commits(world, tmp_path) > 2 * rotation.published
        for agent in rotation.agents:
            assert agent.numbers >= {1, rotation.published + 1}
            assert agent.unchanged


def test_each_manifest_is_verified_while_the_file_of_the_key_is_replaced(
    rotation: Rotation, old: Key, new: Key, tmp_path: Path
) -> None:
    """Commits have the new key at once, manifests that of the start of their worker, and each worker may start again."""
    key = tmp_path / "signing_key"
    shutil.copy(old.path, key)
    with rotation.serving(key, public(old), public(new)) as world:
        rotation.fetch_again(world)
        (first,) = rotation.publish_under_polls(world)
        (second,) = rotation.known.keys() - {first}
        shutil.copy(new.path, tmp_path / "copy")
        (tmp_path / "copy").replace(key)
        assert rotation.publish_under_polls(world) == {first}
        (tmp_path / "signers").write_text(new.line(), "utf-8")
        require_signed(rotation.place(world).repository, "release", tmp_path / "signers", new)

        before = world.service.workers()
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(world.service.workers() - {min(before)}) == 2, SECONDS, "another worker")
        wait_until(lambda: rotation.await_polls() == {first, second}, SECONDS, "both workers to answer")
    with rotation.serving(key, public(old)) as world:
        assert rotation.publish_under_polls(world) == {second}
        rotation.require_signed_commits(world, tmp_path)
