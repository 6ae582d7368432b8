"""Publish numbers continue from what is on disk only where that is the history of release itself."""

import pytest

from gitstore.git.transaction import Transaction
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, put, redirect


def numbered(place: Place) -> list[str]:
    """List the commits of the publishes by their numbers, as the index has them."""
    store = Store(place.root)
    count = store.releases.project(SPACE, SHOP).entry.newest
    return [store.publishes.version(SPACE, SHOP, str(number)).commit for number in range(1, count + 1)]


def test_numbers_do_not_continue_behind_a_publish_that_lost(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the index is compared with the manifest that is continued.

    A push wins against a publish that had written itself to the index, at the number that the push has in the manifest.
    Numbers that went on from there would leave the lost publish in the history.
    """
    head = place.save(put(redirect("/ours")))
    real = Transaction.write_commit

    def overtaken(opened: Transaction, *arguments: object) -> CommitId:
        commit = real(opened, *arguments)  # type: ignore[arg-type] # passed on as it came
        monkeypatch.undo()
        place.push({"shop/redirects.yaml": "redirects: []\n# by hand\n"})
        assert place.fresh().state() == (place.tip, 2), "a reader has numbered the push"
        return commit

    monkeypatch.setattr(Transaction, "write_commit", overtaken)
    assert place.publish(head=head).number == 3
    assert numbered(place) == place.chain(SHOP)


def test_numbers_do_not_continue_a_history_that_was_turned_back(place: Place) -> None:
    """Their manifests are still there; an accepted rewind is the next publish after them."""
    place.publish(put(redirect("/a")))
    kept = place.tip
    for number in range(3):
        place.publish(put(redirect(f"/dropped/{number}")))
    place.git("update-ref", RELEASE_REF, kept)
    place.store.namespaces.accept_rewind(SPACE, ADA)
    for number in range(2):
        assert place.publish(put(redirect(f"/b/{number}"))).number == 7 + number
    assert numbered(place) == place.chain(SHOP)


@pytest.mark.parametrize("count", [1, 3])
def test_an_index_that_is_cut_short_is_written_whole_by_the_next_publish(place: Place, count: int) -> None:
    """Guard: it would have a hole otherwise, which is filled only when a reader meets it."""
    for number in range(count):
        place.publish(put(redirect(f"/{number}")))
    index = place.paths.versions / SHOP
    whole, before = index.read_bytes(), place.store.publishes.history(SPACE, SHOP, 0, 10)[0]
    index.write_bytes(whole[: -len(whole) // (count + 1)])
    place.fresh().publish(put(redirect("/next")))
    assert place.fresh().store.publishes.history(SPACE, SHOP, 1, 10)[0] == before
    assert index.stat().st_size == len(whole) // (count + 1) * (count + 2)
    assert numbered(place) == place.chain(SHOP)


def test_each_project_has_numbers_of_its_own(place: Place) -> None:
    """A publish of one is none of the other; one push may be a publish of both."""
    place.begin("docs")
    place.publish(put(redirect("/a")))
    place.push({"shop/redirects.yaml": "redirects: []\n", "docs/redirects.yaml": "redirects: []\n# both\n"})
    assert (place.state(SHOP)[1], place.state("docs")[1]) == (3, 2)
    place.store.projects.delete(SPACE, "docs", ADA)
    place.begin("docs")
    assert (place.state(SHOP)[1], place.state("docs")[1]) == (3, 4), "its numbers go on when it comes back"
    assert numbered(place) == place.chain(SHOP)
