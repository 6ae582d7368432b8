"""The fixes of a draft: those of one state are found once."""

from tests.gitstore.fixtures import MAIN, SPACE, Place, put, redirect


def test_the_fixes_of_a_state_are_found_once(place: Place) -> None:
    place.save(put(redirect("/a", "/b")), put(redirect("/b", "/c")))
    found, again = (place.store.drafts.fixes(SPACE, MAIN) for _ in range(2))
    assert [fix.before.record.identity for fix in found.fixes] == ["/a"]
    assert again.fixes is found.fixes
    place.save(put(redirect("/c", "/d")))
    assert [fix.before.record.identity for fix in place.store.drafts.fixes(SPACE, MAIN).fixes] == ["/a", "/b"]
