"""What search-and-replace would change, and where it stops."""

import pytest

from content.replacement import Replacement
from content.vocabulary import Kind
from gitstore import replacement_plan
from gitstore.errors import Invalid
from gitstore.replacement_plan import ReplaceOrder
from tests.gitstore.places import MAIN, SPACE, Place, put, redirect


def test_what_takes_too_long_is_given_up_with_nothing_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern may look through a whole text from each of its characters, and the namespace's writers wait."""
    place.publish(put(redirect("/old/a")), put(redirect("/old/b")))
    order = ReplaceOrder(MAIN, Replacement("old", "new"), frozenset({"source"}))
    assert place.store.preview_replacement(SPACE, order, 0, 10).counts[Kind.REDIRECTS] == 2
    monkeypatch.setattr(replacement_plan, "_SECONDS_AT_MOST", -1.0)
    with pytest.raises(Invalid, match="narrow it"):
        place.store.preview_replacement(SPACE, order, 0, 10)
