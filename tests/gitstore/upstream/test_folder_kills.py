"""A process that is killed while it publishes into a folder of the upstream: nothing acknowledged is lost, and it goes on."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gitstore.store.store import Store
from tests.gitstore.fixtures import SHOP, Place, create_place, git, put, redirect, seeded_random
from tests.gitstore.upstream.test_folders import PATH, split
from tests.gitstore.upstream.upstream_bed import SOURCE, UpstreamBed, sync_well

_PUBLISHER = """
import sys
from pathlib import Path
from gitstore.store.store import Store
from tests.gitstore.fixtures import Place, put, redirect
place = Place(Path(sys.argv[1]), Store(Path(sys.argv[1])))
print("ready", flush=True)
for number in range(1_000):
    source = f"/k{sys.argv[2]}-{number}"
    place.publish(put(redirect(source)))
    print(source, flush=True)
"""
_KILLS = 6


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream whose folder has the project shop, made by a node."""
    found = UpstreamBed.create(tmp_path / "bed")
    place = create_place(found.folder / "node")
    found.follow(place, SOURCE, path=PATH)
    sync_well(place)
    place.begin(SHOP).publish(put(redirect("/first")))
    return found


def test_killed_publishers_lose_nothing_and_leave_one_history(bed: UpstreamBed) -> None:
    random, root = seeded_random(), bed.folder / "node"
    acknowledged = {"/first"}
    for turn in range(_KILLS):
        acknowledged |= _publish_until_killed(root, turn, random.random() * 0.6)
        place = Place(root, Store(root))
        sync_well(place)
        assert acknowledged <= set(place.targets())
        assert split(bed)[-1] == place.tip
    place = Place(root, Store(root))
    place.publish(put(redirect("/last")))
    assert place.git("rev-list", "--reverse", "--first-parent", "release").split() == split(bed)
    git(bed.path, "fsck", "--strict", "--full")
    place.fsck()


def _publish_until_killed(root: Path, turn: int, seconds: float) -> set[str]:
    """Publish in another process, kill it some time after its first publish, and return what it acknowledged."""
    command = [sys.executable, "-c", _PUBLISHER, str(root), str(turn)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        lines = [child.stdout.readline()]
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        child.kill()
        lines += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    return {line.strip() for line in lines if line.endswith("\n")}
