"""Decisions on conflicts: each is about one field of one record, and about one value of it on release."""

import pytest

from content.changes.decision import Decision, Decisions, digest
from content.records.record import identity_id

_ID = identity_id("/a")


def test_decision_covers_the_value_that_it_was_made_on_and_no_other() -> None:
    """Guard: a value that release got since then is a new conflict."""
    decisions = Decisions([Decision("redirect", _ID, "target", digest(value)) for value in ("/x", "/y")])
    assert decisions.covers("redirect", "/a", "target", "/x")
    assert decisions.covers("redirect", "/a", "target", "/y")
    assert not decisions.covers("redirect", "/a", "target", "/z")
    assert not decisions.covers("redirect", "/a", "status", "/x")
    assert not decisions.covers("redirect", "/b", "target", "/x")
    assert not decisions.covers("page", "/a", "target", "/x")
    assert decisions.of("redirect", "/a") == {"target": {digest("/x"), digest("/y")}}
    assert decisions.of("redirect", "/b") == {}


def test_without_decisions_nothing_is_covered() -> None:
    assert not Decisions().covers("redirect", "/a", "target", "/x")
    assert Decisions().of("redirect", "/a") == {}


@pytest.mark.parametrize(("one", "other"), [("/x", "/y"), (None, ""), ("1", 1), ({"a": 1}, {"a": 2}), ([1, 2], [2, 1])])
def test_different_values_have_different_digests(one: object, other: object) -> None:
    assert digest(one) != digest(other)


def test_digest_never_changes() -> None:
    """Guard: it is kept in Git. Neither the order of keys nor a new version of the service may change it."""
    assert digest({"b": 1, "a": "ü"}) == digest({"a": "ü", "b": 1}) == "ad8fbfe93e9dabd6"
    assert digest(None) == "74234e98afe7498f"
