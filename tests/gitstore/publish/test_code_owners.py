"""The code owners of a draft: they are only suggested, so nothing stops where they cannot be read."""

from pathlib import Path

from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, create_place, put, redirect


def owners(place: Place) -> tuple[str, ...]:
    return place.fresh().store.drafts.review_subject(SPACE, MAIN).owners


def test_a_file_that_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    place = create_place(tmp_path / "data").begin(SHOP)
    assert owners(place) == ()
    place.push({"CODEOWNERS": "* @a\n"})
    assert owners(place) == ()  # of nothing
    place.save(put(redirect("/x")))
    assert owners(place) == ("@a",)
    blob = place.git("rev-parse", "release:CODEOWNERS")
    (place.repo / "objects" / blob[:2] / blob[2:]).unlink()
    assert owners(place) == ()
