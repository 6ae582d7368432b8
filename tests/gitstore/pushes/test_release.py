"""Pushes to release: each commit passes the gate of a publish, or the whole push is refused."""

from pathlib import Path

import pytest

from tests.gitstore.fixtures import Place
from tests.gitstore.pushes.pushed import Clone, rules


@pytest.fixture
def clone(place: Place) -> Clone:
    """A clone of a namespace with two projects."""
    place.begin("docs")
    return Clone.of(place)


def test_a_valid_commit_is_a_publish(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/old", "/new"))})
    verdict = clone.push()
    assert verdict.lines == (
        "Publish 2 of shop: 1 redirect added.",
        f"  version {clone.head}",
        "  + redirect /old",
        "      type: BASIC",
        "      target: /new",
        "      status: 301",
        "  answers: /old: nothing -> 301 /new",
    )
    assert [(each.project, each.number, each.commit) for each in verdict.publishes] == [("shop", 2, clone.head)]
    assert clone.place.fresh().targets() == {"/old": "/new"}


def test_each_problem_has_its_place_and_what_to_do(clone: Clone) -> None:
    clone.commit({"shop/redirects.yaml": rules(("/old", "/new"))})
    clone.push()
    clone.commit({"shop/redirects/2024.yaml": rules(("/x", "/y"), ("/z", "/y"), ("/w", "/y"), ("/old", "/other"))})
    verdict = clone.check()
    assert verdict.refusal == "invalid content"
    assert verdict.lines[0] == (
        'shop/redirects/2024.yaml:14:5: duplicate_source: "/old" is already at shop/redirects.yaml:2'
    )
    assert "nothing was published" in verdict.lines[-1]
