"""When a sync is due: by its poll, at once where it is asked for, never while the upstream asked for a rest."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitstore.upstream import sync as sync_module
from gitstore.upstream.arrival import accept_tip
from gitstore.upstream.upstream_state import UpstreamState, read_state, write_state
from tests.gitstore.fixtures import SHOP, SPACE, Place, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import UpstreamBed, sync, sync_well

NOW = 1_800_000_000.0
RULES = "shop/redirects.yaml"
YEAR = 365 * 86_400.0


@pytest.fixture
def bed(tmp_path: Path) -> UpstreamBed:
    """Return an upstream with the history of one node: the project shop, with a rule."""
    found = UpstreamBed.create(tmp_path / "bed")
    found.node("first").begin(SHOP).publish(put(redirect("/a")))
    return found


@pytest.fixture
def node(bed: UpstreamBed) -> Place:
    """Return a second node that follows the upstream."""
    return bed.node("second")


@pytest.mark.parametrize(
    ("state", "poll", "is_due"),
    [
        (UpstreamState(due_at=NOW + 50, requests=3), 60, False),
        (UpstreamState(due_at=NOW, requests=3), 60, True),
        (UpstreamState(due_at=NOW + 50, requests=2), 60, True),
        (UpstreamState(due_at=NOW + 50, requests=57), 60, True),  # the count of a row that was removed
        (UpstreamState(due_at=NOW + YEAR, requests=3), 60, True),  # the clock was a year ahead
        (UpstreamState(due_at=NOW + 86_400 * 1.2, requests=3), 86_400, False),
        (UpstreamState(due_at=NOW + 3_500, requests=3), 60, False),
        (UpstreamState(due_at=NOW + 3_500, requests=2, rests_until=NOW + 3_500), 60, False),
        (UpstreamState(due_at=NOW - 5, requests=2, rests_until=NOW), 60, True),
        (UpstreamState(due_at=NOW + YEAR, requests=3, rests_until=NOW + YEAR), 60, True),
    ],
)
def test_the_clock_the_count_and_a_rest(state: UpstreamState, poll: float, is_due: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert state.is_due(poll, 3, NOW) == is_due


def test_a_request_of_a_new_row_is_noted(node: Place) -> None:
    for requests in (57, 2):
        node.store.upstreams.sync(SPACE, requests=requests)
        assert node.store.upstreams.state(SPACE).requests == requests


def test_faulty_content_is_polled_as_often_and_checked_once(
    bed: UpstreamBed, node: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = list[str]()

    def count(*words: Any) -> None:
        checks.append(words[2])
        accept_tip(*words)

    monkeypatch.setattr(sync_module, "accept_tip", count)
    (broken,) = bed.commit({RULES: "redirects: [\n"})
    for _ in range(4):
        state = sync(node)
        assert state.fault
        assert (state.fault.code, state.failures, state.tip) == ("upstream_invalid", 0, broken)
        assert 0 < state.due_at - time.time() <= 72
    assert not checks, "it was checked as it arrived"
    node.store.upstreams.sync(SPACE, requests=1)
    assert len(checks) == 1, "a request to sync checks it again"
    write_state(node.repo, replace(read_state(node.repo), checked_at=time.time() - 601))
    assert sync(node).fault
    assert len(checks) == 2
    bed.commit({RULES: yaml([("/a", "/fixed")])})
    sync_well(node)
    assert node.targets() == {"/a": "/fixed"}


def test_an_upstream_that_is_away_is_asked_less_often(bed: UpstreamBed, node: Place) -> None:
    bed.path.rename(bed.folder / "away.git")
    assert [sync(node).failures for _ in range(3)] == [1, 2, 3]
    assert sync(node).due_at - time.time() > 300
