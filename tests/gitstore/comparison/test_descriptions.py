"""Changes as a sentence."""

from content.changes.diff import Change
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import edit_message
from tests.gitstore.fixtures import page, redirect


def test_edits_are_named_while_they_are_few() -> None:
    """Many edits are counted."""
    add = [Change(Kind.REDIRECTS, None, redirect(f"/{number}")) for number in range(4)]
    assert edit_message(add[:1]) == "Add redirect /0"
    assert edit_message([Change(Kind.PAGES, page("/p"), page("/p", "x"))]) == "Change page /p (content)"
    assert edit_message([Change(Kind.REDIRECTS, redirect("/a"), None)]) == "Remove redirect /a"
    assert edit_message(add) == "4 redirects added"
    assert "\n" not in edit_message([Change(Kind.REDIRECTS, None, redirect("/" + "a" * 300))])
