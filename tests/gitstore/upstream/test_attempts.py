"""An upstream that does not answer: publishes are refused at once for some seconds, then it is asked again."""

from pathlib import Path

import orjson
import pytest

from gitstore.wire.client.remote_errors import RemoteAway, RemoteBusy
from tests.gitstore.fixtures import SHOP, Place, put, redirect
from tests.gitstore.upstream.upstream_bed import SOURCE, UpstreamBed, fault_of, sync_well

ATTEMPT = "waypost-upstream-attempt"


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an empty upstream."""
    return UpstreamBed.create(tmp_path / "bed")


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a node with a draft that can be published."""
    place = bed.node("node").begin(SHOP)
    place.save(put(redirect("/a")))
    return place


def let_pass(node: Place, seconds: float) -> None:
    """Have the last attempt be that much older."""
    file = node.repo / ATTEMPT
    found = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps({**found, "at": found["at"] - seconds}))


def test_after_a_failed_publish_the_next_ones_do_not_ask_for_some_seconds(bed: UpstreamBed, node: Place) -> None:
    away = bed.path.rename(bed.folder / "away.git")
    with pytest.raises(RemoteAway) as first:
        node.publish()
    assert not isinstance(first.value, RemoteBusy)
    away.rename(bed.path)
    with pytest.raises(RemoteBusy, match="until its upstream is back") as refused:
        node.publish()
    assert 4 < refused.value.seconds <= 5
    let_pass(node, 5)
    assert node.publish().version == bed.tip


def test_a_failed_sync_does_not_refuse_publishes_until_the_next_one(bed: UpstreamBed, node: Place) -> None:
    away = bed.path.rename(bed.folder / "away.git")
    for _ in range(8):
        assert fault_of(node) == "upstream_unavailable"
    away.rename(bed.path)
    with pytest.raises(RemoteBusy):
        node.publish()
    let_pass(node, 5)
    assert node.publish().version == bed.tip


def test_a_sync_that_succeeds_ends_the_refusal(bed: UpstreamBed, node: Place) -> None:
    away = bed.path.rename(bed.folder / "away.git")
    with pytest.raises(RemoteAway):
        node.publish()
    away.rename(bed.path)
    sync_well(node)
    assert node.publish().version == bed.tip


@pytest.mark.parametrize("shift", [-3_600.0, 3_600.0])
def test_a_clock_that_is_set_does_not_refuse_for_long(bed: UpstreamBed, node: Place, shift: float) -> None:
    away = bed.path.rename(bed.folder / "away.git")
    assert fault_of(node) == "upstream_unavailable"
    away.rename(bed.path)
    let_pass(node, shift)
    assert node.publish().version == bed.tip


def test_another_upstream_is_asked_at_once(bed: UpstreamBed, node: Place) -> None:
    bed.path.rename(bed.folder / "moved.git")
    assert fault_of(node) == "upstream_unavailable"
    bed.follow(node, SOURCE, str(bed.folder / "moved.git"))
    assert node.publish().version
