"""Two nodes with one source that publish at the same time: nothing acknowledged is lost, and both end at the same release."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gitstore.errors import LostRace, NothingToPublish
from gitstore.wire.client.remote_errors import RemoteError
from tests.gitstore.fixtures import SHOP, Place, git, put, redirect
from tests.gitstore.upstream.upstream_bed import UpstreamBed, sync_well

PUBLISHES = 12


def publish_all(place: Place, name: str) -> dict[str, str]:
    """Publish rules one by one, each again after a lost race; return the commit of each acknowledged one."""
    done = dict[str, str]()
    for number in range(PUBLISHES):
        source = f"/{name}{number}"
        place.save(put(redirect(source)))
        for _ in range(20):
            try:
                done[source] = place.publish().version
            except (LostRace, RemoteError):
                continue
            except NothingToPublish:  # an unknown outcome, which a sync has brought in since
                done[source] = place.tip
            break
    return done


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    bed = UpstreamBed.create(tmp_path / "bed")
    bed.node("first").begin(SHOP)
    nodes = {name: bed.node(name) for name in ("a", "b")}
    with ThreadPoolExecutor(len(nodes)) as pool:
        done = list(pool.map(publish_all, nodes.values(), nodes))
    for place in nodes.values():
        sync_well(place)
    acknowledged = {source: commit for each in done for source, commit in each.items()}
    assert len(acknowledged) == len(nodes) * PUBLISHES
    history = git(bed.path, "log", "--first-parent", "--format=%H", "release").split()
    assert set(acknowledged.values()) <= set(history)
    for place in nodes.values():
        assert place.tip == bed.tip
        assert set(place.targets()) == set(acknowledged)
        assert place.state()[1] == len(history) - 1, "each publish has its number"
        place.fsck()
