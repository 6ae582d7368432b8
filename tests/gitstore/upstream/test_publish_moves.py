"""The two moves of a publish to a `source`, there and here: the second has only a rename left when the first is made."""

from pathlib import Path

import pytest

from gitstore.errors import Busy
from gitstore.layout import CommitId
from gitstore.upstream import source_push
from gitstore.upstream.synced_namespace import SyncedNamespace
from gitstore.upstream.upstream_state import read_state
from gitstore.wire.client.remote_errors import RemoteUnknown
from tests.gitstore.fixtures import SHOP, Place, put, redirect
from tests.gitstore.upstream.upstream_bed import UpstreamBed, sync_well


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an empty upstream."""
    return UpstreamBed.create(tmp_path / "bed")


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a node with a project, which the upstream has too."""
    return bed.node("node").begin(SHOP)


def test_what_stops_the_move_of_release_stops_the_push_too(bed: UpstreamBed, node: Place) -> None:
    before = bed.tip
    node.save(put(redirect("/a")))
    held = node.repo / "refs/heads/release.lock"
    held.touch()  # as a C git that moves release
    with pytest.raises(Busy):
        node.publish()
    assert bed.tip == before == node.tip
    held.unlink()
    assert node.publish().version == bed.tip == node.tip


def test_a_release_that_cannot_move_after_the_push_is_told_and_moved_by_the_next_sync(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, push, before = node.repo / "refs/heads/release", source_push.push_now, node.tip
    saved = ref.with_name("release-saved")
    sync_well(node)

    def push_and_block(namespace: SyncedNamespace, old: CommitId | None, new: CommitId) -> None:
        push(namespace, old, new)
        ref.rename(saved)
        (ref / "other").mkdir(parents=True)  # nothing is renamed to a folder that has something

    head = node.save(put(redirect("/a")))
    with monkeypatch.context() as patch:
        patch.setattr(source_push, "push_now", push_and_block)
        with pytest.raises(RemoteUnknown, match="The upstream has this publish"):
            node.publish(head=head)
    (ref / "other").rmdir()
    ref.rmdir()
    saved.rename(ref)
    assert bed.tip != before == node.tip
    assert read_state(node.repo).due_at == 0.0, "the next sync is due at once"
    sync_well(node)
    assert node.tip == bed.tip
    assert node.publish(head=head).version == bed.tip, "the same request finds the publish"
    assert node.targets() == {"/a": "/new"}
    node.fsck()
