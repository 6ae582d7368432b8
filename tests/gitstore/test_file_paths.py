"""Where a file cannot stand: what would be lost or could not be read again is refused before anything is written."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.errors import Invalid
from gitstore.file_paths import DEEPEST
from gitstore.layout import BlobId, TreeId
from gitstore.update import update
from tests.gitstore.places import MAIN, SHOP, SPACE, Place, put, redirect, yaml

OTHER = DraftName(SHOP, "other")
NAMES = st.sampled_from(["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b"])
FILES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2"]), max_size=5)
CHANGES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2", None]), max_size=5)


def stands(files: Mapping[str, object]) -> bool:
    """Whether all these files can be there at once."""
    return not any(one != other and other.startswith(f"{one}/") for one in files for other in files)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=FILES.filter(stands), changes=CHANGES)
def test_what_is_written_is_what_was_there_with_the_changes(
    place: Place, before: dict[str, bytes], changes: dict[str, bytes | None]
) -> None:
    """Or nothing, where a file would be a folder too. A file that goes makes room for a folder, and the other way round."""
    after = {path: data for path, data in {**before, **changes}.items() if data is not None}
    with update(place.repo) as opened:

        def blobs(files: Mapping[str, bytes | None]) -> dict[str, BlobId | None]:
            return {path: None if data is None else opened.write_blob(data) for path, data in files.items()}

        base = opened.write_files(None, blobs(before))
        if not stands(after):
            with pytest.raises(Invalid):
                opened.write_files(base, blobs(changes))
            return
        tree = opened.write_files(base, blobs(changes))
        held = {path: opened.blob(BlobId(entry.id)) for path, entry in opened.files(TreeId(tree))} if tree else {}
        assert held == after


def beside(file: str) -> Put:
    """A rule that its writer wants in a file of their choice."""
    return put(redirect("/added"), file=file, create=True)


def test_a_file_of_rules_is_not_replaced_by_a_folder(place: Place) -> None:
    place.push({"shop/redirects/sale.yaml": yaml([("/a", "/1"), ("/b", "/2")])})
    mine = place.save(put(redirect("/mine")))
    with pytest.raises(Invalid, match="file and a folder at once") as caught:
        place.save(beside("redirects/sale.yaml/x.yaml"))
    assert [problem.code for problem in caught.value.problems] == ["path_taken"]
    assert place.git("rev-parse", MAIN.ref) == mine


def test_a_folder_of_rules_is_not_replaced_by_a_file(place: Place) -> None:
    place.push({"shop/redirects/sale.yaml/x.yaml": yaml([("/a", "/1")])})
    with pytest.raises(Invalid, match="file and a folder at once"):
        place.save(beside("redirects/sale.yaml"))


def test_drafts_that_want_a_file_and_a_folder_of_one_name_are_not_merged(place: Place) -> None:
    """Whoever publishes second is told; the rules of the first stay, and the draft stays."""
    place.save(beside("redirects/k.yaml/z.yaml"))
    place.publish(put(redirect("/first"), file="redirects/k.yaml", create=True), draft=OTHER)
    tip, head = place.tip, place.git("rev-parse", MAIN.ref)
    with pytest.raises(Invalid, match=r"redirects/k\.yaml"):
        place.publish()
    assert (place.tip, place.git("rev-parse", MAIN.ref)) == (tip, head)
    assert place.targets() == {"/first": "/new"}
    assert "path_taken" in {problem.code for problem in place.store.report(SPACE, MAIN).problems}


@pytest.mark.parametrize(("folders", "fits"), [(DEEPEST - 2, True), (DEEPEST - 1, False), (DEEPEST + 8, False)])
def test_a_file_deeper_than_can_be_read_is_not_written(place: Place, folders: int, *, fits: bool) -> None:
    """So that the draft can be read on, with what others have in it."""
    mine = place.save(put(redirect("/mine")))
    deep = beside("redirects/" + "d/" * folders + "x.yaml")
    if fits:
        place.publish(deep)
        assert place.targets() == {"/mine": "/new", "/added": "/new"}
        return
    with pytest.raises(Invalid) as caught:
        place.save(deep)
    assert [problem.code for problem in caught.value.problems] == ["too_deep"]
    assert place.git("rev-parse", MAIN.ref) == mine
    place.publish()
    assert place.targets() == {"/mine": "/new"}
