"""The two moves of a publish to a `source`, there and here: the second has only a rename left when the first is made."""

from pathlib import Path

import pytest

from gitstore.errors import Busy
from gitstore.git import ref_moves
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.upstream import source_push
from gitstore.upstream.synced_namespace import SyncedNamespace
from gitstore.upstream.upstream_state import read_state
from gitstore.wire.client.remote_errors import RemoteUnknown
from tests.gitstore.fixtures import SHOP, Place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import UpstreamBed, sync_well
from tests.gitstore.wire.push.pushing import CAPABILITIES, ZERO, Pushed, made_pack, request

TOPIC = "refs/heads/proposal/topic"


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


def _push_of_both(pushed: Pushed) -> tuple[bytes, str]:
    """Return an atomic push of one commit to release and to another branch, and the commit."""
    clone = pushed.clone(pushed.place.root.parent / "clone")
    old = git(clone, "rev-parse", "HEAD")
    (clone / "shop/redirects.yaml").write_text(yaml([("/a", "/new")]), "utf-8")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Change")
    new = git(clone, "rev-parse", "HEAD")
    commands = [(old, new, RELEASE_REF), (ZERO, new, TOPIC)]
    return request(commands, made_pack(clone, new, f"^{old}"), f"{CAPABILITIES} atomic"), new


@pytest.mark.parametrize("ref", [RELEASE_REF, TOPIC])
def test_an_atomic_push_has_the_lock_of_each_ref_before_the_source_gets_it(
    bed: UpstreamBed, node: Place, ref: str
) -> None:
    pushed, before = Pushed(node), bed.tip
    body, new = _push_of_both(pushed)
    held = node.repo / f"{ref}.lock"
    held.parent.mkdir(exist_ok=True)
    held.touch()  # as a C git that moves it
    statuses = pushed.statuses(body)
    assert "holds" in statuses.pop(ref)
    assert list(statuses.values()) == ["atomic push failed: another ref was refused"]
    assert bed.tip == before == node.tip
    held.unlink()
    assert set(pushed.statuses(body).values()) == {""}
    assert bed.tip == new == node.tip == pushed.ref(TOPIC)


def test_an_atomic_push_of_which_one_ref_cannot_be_written_does_not_reach_the_source(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed, before, write = Pushed(node), bed.tip, ref_moves._write
    body, new = _push_of_both(pushed)

    def fail(path: Path, data: bytes) -> None:
        if path.name == "topic.lock":
            raise OSError(28, "No space left on device")
        write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(ref_moves, "_write", fail)
        assert "" not in pushed.statuses(body).values()
    assert bed.tip == before == node.tip
    assert not pushed.ref(TOPIC)
    assert set(pushed.statuses(body).values()) == {""}
    assert bed.tip == new == node.tip
