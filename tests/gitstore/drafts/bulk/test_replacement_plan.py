"""The plan of a search-and-replace, and its time limit."""

import pytest

from content.changes.assignment import Assignment, Removal
from content.changes.replacement import Replacement
from content.records.vocabulary import Kind
from gitstore.drafts.bulk import replacement_plan
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.errors import Invalid
from tests.gitstore.fixtures import MAIN, SPACE, Place, put, redirect


def test_what_takes_too_long_is_given_up_with_nothing_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern may search a whole text from each of its characters while the namespace's other writers wait."""
    place.publish(put(redirect("/old/a")), put(redirect("/old/b")))
    order = ReplaceRequest(MAIN, Replacement("old", "new"), frozenset({"source"}))
    assert place.store.drafts.preview_replacement(SPACE, order, 0, 10).counts[Kind.REDIRECTS] == 2
    monkeypatch.setattr(replacement_plan, "_SECONDS_AT_MOST", -1.0)
    with pytest.raises(Invalid, match=r"Invalid replacement: .* seconds; restrict it") as caught:
        place.store.drafts.preview_replacement(SPACE, order, 0, 10)
    assert [each.pointer for each in caught.value.problems] == ["/find"]
    for change in (Assignment(add_tags=("old",)), Removal()):
        with pytest.raises(Invalid, match=r"Invalid change: .* seconds; restrict it") as caught:
            place.store.drafts.preview_replacement(SPACE, ReplaceRequest(MAIN, change), 0, 10)
        assert [each.pointer for each in caught.value.problems] == [""]
