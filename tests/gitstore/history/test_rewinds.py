"""Releases that no longer continue from what was served: the last good state stays until an operator accepts."""

import shutil

import pytest

from gitstore.errors import Broken, NothingToChange, Rewound
from gitstore.history.live import REWOUND, Live
from gitstore.layout import RELEASE_REF
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, git, put, redirect


@pytest.fixture
def rewound(place: Place) -> Place:
    """Return a project with publish 3 served, whose release was then moved back to publish 2."""
    for source in ("/a", "/b"):
        place.publish(put(redirect(source)))
    before = place.git("rev-parse", "release^")
    assert place.state()[1] == 3
    place.git("update-ref", RELEASE_REF, before)
    return place


def codes(place: Place) -> list[str]:
    """Return the codes of the faults of the namespace."""
    return [fault.code for fault in place.store.releases.faults(SPACE).faults]


def test_last_good_state_stays_in_every_process_and_nothing_is_published(rewound: Place) -> None:
    """Guard: older rules were served, without a word, and publish number 3 was used again."""
    before = rewound.tip
    for seen in (rewound, rewound.fresh(), rewound.fresh()):
        assert (set(seen.targets()), seen.state()[1]) == ({"/a", "/b"}, 3)
        assert codes(seen) == [REWOUND]
        assert [publish.number for publish in seen.store.publishes.history(SPACE, SHOP, 0, 9)[0]] == [3, 2, 1]
        with pytest.raises(Rewound):
            seen.publish(put(redirect("/c")))
    assert rewound.tip == before


def test_without_the_record_of_its_state_it_cannot_be_read(rewound: Place) -> None:
    """For a reader, a rewind is damage: agents keep their rules at 503, and might drop them at 409."""
    shutil.rmtree(rewound.paths.manifests)
    with pytest.raises(Broken):
        rewound.fresh().store.releases.namespace(SPACE)


def test_release_that_is_put_back_is_served_without_more(rewound: Place) -> None:
    served = rewound.state()[0]
    rewound.git("update-ref", RELEASE_REF, served)
    fresh = rewound.fresh()
    assert codes(fresh) == []
    assert fresh.publish(put(redirect("/c"))).number == 4


def test_accepted_history_is_served_and_numbers_go_on(rewound: Place) -> None:
    """The state of publish 2 is publish 4; every publish stays in the history."""
    rewound.store.namespaces.accept_rewind(SPACE, ADA)
    for seen in (rewound.fresh(), rewound):
        assert (set(seen.targets()), seen.state()[1], codes(seen)) == ({"/a"}, 4, [])
    history, _ = rewound.store.publishes.history(SPACE, SHOP, 0, 9)
    assert [publish.number for publish in history] == [4, 3, 2, 1]
    assert rewound.publish(put(redirect("/c"))).number == 5
    shutil.rmtree(rewound.paths.compiled)
    assert rewound.fresh().state()[1] == 5
    rewound.fsck()


def test_only_a_rewound_release_is_accepted(place: Place) -> None:
    place.publish(put(redirect("/a")))
    with pytest.raises(NothingToChange):
        place.store.namespaces.accept_rewind(SPACE, ADA)


def test_repository_of_an_older_backup_is_accepted_with_numbers_above_the_lost_ones(place: Place) -> None:
    """Its lost publishes are not in Git any more; their numbers are not used again."""
    place.publish(put(redirect("/a")))
    shutil.copytree(place.repo, place.root / "backup")
    for source in ("/b", "/c"):
        place.publish(put(redirect(source)))
    assert place.state()[1] == 4
    shutil.rmtree(place.repo)
    (place.root / "backup").rename(place.repo)
    fresh = place.fresh()
    assert (fresh.state()[1], codes(fresh)) == (4, [REWOUND])
    fresh.store.namespaces.accept_rewind(SPACE, ADA)
    again = place.fresh()
    assert (set(again.targets()), again.state()[1], codes(again)) == ({"/a"}, 2, [])
    assert again.publish(put(redirect("/d"))).number == 5
    shutil.rmtree(place.paths.compiled)
    assert place.fresh().state()[1] == 5


def test_another_history_in_its_place_is_a_rewind(place: Place) -> None:
    place.publish(put(redirect("/a")))
    assert place.state()[1] == 2
    clone = place.clone()
    git(clone, "reset", "--quiet", "--hard", "HEAD^")
    (clone / "README.md").write_text("Another history\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Other")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/other")
    place.git("update-ref", RELEASE_REF, "other")
    assert (place.fresh().state()[1], codes(place.fresh())) == (2, [REWOUND])


def test_merge_that_puts_the_served_commit_second_is_a_rewind(place: Place) -> None:
    """Guard: publishes are counted along first parents, so the number of the served one would be used again."""
    clone = place.clone()
    place.publish(put(redirect("/a")))
    assert place.state()[1] == 2
    (clone / "README.md").write_text("Mine\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Mine")
    git(clone, "fetch", "--quiet", "origin")
    git(clone, "merge", "--quiet", "--no-edit", "origin/release")
    git(clone, "push", "--quiet", "origin", "release")
    assert (place.fresh().state()[1], codes(place.fresh())) == (2, [REWOUND])
    place.store.namespaces.accept_rewind(SPACE, ADA)
    assert (place.fresh().state()[1], codes(place.fresh())) == (2, [])


def test_recreated_namespace_is_none(place: Place) -> None:
    """The record of the earlier one is archived with it."""
    place.publish(put(redirect("/a")))
    place.store.namespaces.delete(SPACE)
    place.store.namespaces.create(SPACE, "", ADA)
    assert codes(place) == []
    place.begin(SHOP)
    assert codes(place.fresh()) == []


def test_record_is_never_behind_a_later_one(place: Place) -> None:
    """Guard: a process that read release before a publish cannot record the state before it afterwards."""
    place.publish(put(redirect("/a")))
    live = Live(place.store.directory)
    live.refresh(SPACE)
    first = place.paths.served.read_bytes()
    place.publish(put(redirect("/b")))
    second = place.paths.served.read_bytes()
    assert first != second
    assert second.startswith(place.tip.encode())
    place.fresh().state()
    assert place.paths.served.read_bytes() == second
