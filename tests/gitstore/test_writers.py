"""Many processes and C git write to one repository at once: what was acknowledged is there, each commit once."""

import os
import subprocess
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gitstore.drafts import DraftName
from gitstore.errors import LostRace, StaleDraft
from gitstore.layout import RELEASE_REF
from gitstore.publishing import PublishOrder
from gitstore.repository import update
from gitstore.store import Store
from tests.gitstore.places import ADA, MAIN, SHOP, SPACE, Place, put, redirect

_WRITERS = 8
_EACH = 6


def _publish(root: Path, writer: int, told: Connection) -> None:
    """Publish through a draft of one's own, telling each version."""
    store = Store(root)
    draft = DraftName(SHOP, f"writer-{writer}")
    for number in range(_EACH):
        head = store.edit(SPACE, draft, [put(redirect(f"/{writer}/{number}"))], ADA).head
        told.send(store.publish(SPACE, PublishOrder(draft, ADA, head)).version)


def test_every_acknowledged_publish_of_eight_processes_is_on_release(place: Place) -> None:
    """Guards: the flock, the compare-and-swap, and merging by rule; without any of them a publish would be lost."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    writers = [context.Process(target=_publish, args=(place.root, writer, there)) for writer in range(_WRITERS)]
    for writer in writers:
        writer.start()
    there.close()
    told = _until_end(here)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * _WRITERS
    assert len(told) == len(set(told)) == _WRITERS * _EACH
    assert place.chain(SHOP)[1:] == sorted(told, key=place.chain(SHOP).index)
    assert len(place.fresh().items()) == _WRITERS * _EACH
    assert place.fresh().state()[1] == 1 + len(told)
    place.fsck()


def _until_end(pipe: Connection) -> list[str]:
    told = []
    while True:
        try:
            told.append(pipe.recv())
        except EOFError:
            return told


_PLAIN_WRITER = """
made=0
while [ $made -lt 15 ]; do
    tip=$(git rev-parse refs/heads/release)
    new=$(git commit-tree -p $tip -m "plain $made" $tip^{tree})
    if git update-ref refs/heads/release $new $tip 2>/dev/null; then echo $new; made=$((made + 1)); fi
done
"""


def test_plain_git_and_the_store_lose_no_commit_to_each_other(place: Place) -> None:
    """Guard: git's own ref locks are honoured, both ways. Every commit that either side was told of is on release."""
    identity = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    plain = subprocess.Popen(
        ["sh", "-c", _PLAIN_WRITER], cwd=place.repo, env={**os.environ, **identity}, stdout=subprocess.PIPE
    )
    ours = []
    while plain.poll() is None:
        with update(place.repo) as opened:
            tip = opened.release()
            commit = opened.write_commit(opened.commit(tip).tree, (tip,), ADA, "ours")
            try:
                opened.move(RELEASE_REF, tip, commit)
            except LostRace:
                continue
            ours.append(str(commit))
    theirs = plain.communicate()[0].decode().split()
    chain = set(place.git("rev-list", "--first-parent", "release").split())
    assert len(theirs) == 15
    assert ours, "the store never won"
    assert set(theirs) | set(ours) <= chain
    assert len(chain) == len(theirs) + len(ours) + 2
    place.fsck()


def test_edit_against_a_head_that_moved_is_stale(place: Place) -> None:
    """No lost update: of two edits that were made against the same head, the second is refused."""
    head = place.save(put(redirect("/a")))
    place.store.edit(SPACE, MAIN, [put(redirect("/b"))], ADA, head)
    with pytest.raises(StaleDraft):
        place.store.edit(SPACE, MAIN, [put(redirect("/c"))], ADA, head)
