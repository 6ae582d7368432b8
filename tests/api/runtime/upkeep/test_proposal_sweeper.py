"""The sweeper removes the branches that release has merged, in each namespace, and goes on after a damaged one."""

import asyncio
from pathlib import Path

from api.app.data_directory import create_data, open_data
from api.runtime.upkeep.proposal_sweeper import ProposalSweeper
from api.settings import Settings
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, yaml
from tests.gitstore.proposals.branches import branches, propose
from tests.service import wait_until

DEADLINE = 60.0


def test_merged_branches_are_removed_and_no_others(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    store = Store(settings.data)
    for name in ("abc", SPACE):
        store.namespaces.create(name, "", ADA)
    (store.directory.namespace("abc").repository / "refs/heads/release").write_text("")
    place = Place(settings.data, store).begin(SHOP)
    propose(place, "open", {"shop/redirects.yaml": yaml([("/c", "/d")])})
    head = propose(place, "merged", {"shop/redirects.yaml": yaml([("/a", "/b")])})
    commit = place.git("commit-tree", "-p", "release", "-p", head, "-m", "Merge", f"{head}^{{tree}}")
    place.git("update-ref", "refs/heads/release", commit)
    (store.directory.namespace("abc").repository / "refs/heads/idea").write_text(head + "\n")

    async def sweep() -> None:
        sweeper = ProposalSweeper(store, open_data(settings), seconds=0.01)
        await sweeper.start()
        await asyncio.to_thread(wait_until, lambda: "merged" not in branches(place), DEADLINE, "the branch to go")
        await sweeper.stop()

    asyncio.run(sweep())
    assert branches(place) == ["open", "release"]
