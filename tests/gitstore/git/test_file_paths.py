"""Invalid file paths: a write that would lose a file, or could not be read again, is refused in advance."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Delete, Edit, Put
from gitstore.errors import Invalid
from gitstore.git.file_paths import MAX_FOLDER_DEPTH
from gitstore.git.transaction import update
from gitstore.layout import BlobId, TreeId
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, put, redirect, yaml

OTHER = DraftName(SHOP, "other")
NAMES = st.sampled_from(["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b"])
FILES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2"]), max_size=5)
CHANGES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2", None]), max_size=5)


def can_coexist(files: Mapping[str, object]) -> bool:
    """Return whether all these files can exist together."""
    return not any(one != other and other.startswith(f"{one}/") for one in files for other in files)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=FILES.filter(can_coexist), changes=CHANGES)
def test_what_is_written_is_what_was_there_with_the_changes(
    place: Place, before: dict[str, bytes], changes: dict[str, bytes | None]
) -> None:
    """A file that would also be a folder is refused. A removed file makes room for a folder, and vice versa."""
    after = {path: data for path, data in {**before, **changes}.items() if data is not None}
    with update(place.repo) as opened:

        def blobs(files: Mapping[str, bytes | None]) -> dict[str, BlobId | None]:
            return {path: None if data is None else opened.write_blob(data) for path, data in files.items()}

        base = opened.write_files(None, blobs(before))
        if not can_coexist(after):
            with pytest.raises(Invalid):
                opened.write_files(base, blobs(changes))
            return
        tree = opened.write_files(base, blobs(changes))
        held = {path: opened.blob(BlobId(entry.id)) for path, entry in opened.files(TreeId(tree))} if tree else {}
        assert held == after


def put_in(file: str) -> Put:
    """Return an edit that puts a rule into a file of the writer's choice."""
    return put(redirect("/added"), file=file, create=True)


def test_a_file_of_rules_is_not_replaced_by_a_folder(place: Place) -> None:
    place.push({"shop/redirects/sale.yaml": yaml([("/a", "/1"), ("/b", "/2")])})
    mine = place.save(put(redirect("/mine")))
    with pytest.raises(Invalid, match="both a file and a folder") as caught:
        place.save(put_in("redirects/sale.yaml/x.yaml"))
    reported = [(problem.code, problem.file) for problem in caught.value.problems]
    assert reported == [("path_taken", "shop/redirects/sale.yaml")]
    assert place.git("rev-parse", MAIN.ref) == mine


def test_a_folder_of_rules_is_not_replaced_by_a_file(place: Place) -> None:
    place.push({"shop/redirects/sale.yaml/x.yaml": yaml([("/a", "/1")])})
    with pytest.raises(Invalid, match="both a file and a folder"):
        place.save(put_in("redirects/sale.yaml"))


def test_drafts_that_want_a_file_and_a_folder_of_one_name_are_not_merged(place: Place) -> None:
    """The second publish is refused; the rules of the first stay, and the draft stays."""
    place.save(put_in("redirects/k.yaml/z.yaml"))
    place.publish(put(redirect("/first"), file="redirects/k.yaml", create=True), draft=OTHER)
    tip, head = place.tip, place.git("rev-parse", MAIN.ref)
    with pytest.raises(Invalid, match=r"redirects/k\.yaml"):
        place.publish()
    assert (place.tip, place.git("rev-parse", MAIN.ref)) == (tip, head)
    assert place.targets() == {"/first": "/new"}
    problems = place.store.drafts.report(SPACE, MAIN).problems
    assert ("path_taken", "shop/redirects/k.yaml") in {(problem.code, problem.file) for problem in problems}


@pytest.mark.parametrize("also", [False, True])
@pytest.mark.parametrize(
    "leave", [Delete(Kind.REDIRECTS, identity_id("/added")), put(redirect("/added"), file="redirects/other.yaml")]
)
def test_a_draft_that_wants_another_drafts_path_is_fixed_by_naming_another_file(
    place: Place, leave: Edit, *, also: bool
) -> None:
    """Guard: a file that only the draft had, and that holds no rule any more, is removed."""
    place.save(put_in("redirects/k.yaml/z.yaml"))
    place.publish(put(redirect("/first"), file="redirects/k.yaml", create=True), draft=OTHER)
    with pytest.raises(Invalid):
        place.publish()
    if also:
        place.save(
            put(redirect("/more"), file="redirects/k.yaml/z.yaml"), put(redirect("/more"), file="redirects.yaml")
        )
    place.publish(leave, put(redirect("/last"), file="redirects/last.yaml"))
    assert {"/first", "/last"} <= place.targets().keys()
    assert place.git("ls-tree", "-r", "--name-only", "release", "shop/redirects/k.yaml") == "shop/redirects/k.yaml"


def test_within_a_draft_a_file_without_rules_makes_room_for_a_folder(place: Place) -> None:
    place.save(put_in("redirects/gone.yaml"))
    place.save(Delete(Kind.REDIRECTS, identity_id("/added")))
    place.publish(put(redirect("/b"), file="redirects/gone.yaml/y.yaml"))
    assert place.targets() == {"/b": "/new"}


def test_a_file_without_rules_stays_if_it_is_older_or_has_other_text(place: Place) -> None:
    place.push({"shop/redirects/old.yaml": yaml([("/a", "/1")])})
    place.push({"shop/redirects/new.yaml": "# ours\n" + yaml([("/b", "/1")])}, to="draft/shop/main")
    place.save(Delete(Kind.REDIRECTS, identity_id("/a")), Delete(Kind.REDIRECTS, identity_id("/b")))
    assert place.file("shop/redirects/old.yaml", MAIN.ref) == "redirects: []\n"
    assert place.file("shop/redirects/new.yaml", MAIN.ref) == "# ours\nredirects: []\n"


@pytest.mark.parametrize(
    ("there", "wanted", "named"),
    [
        ("redirects/sale.yaml", "redirects/Sale.yaml", "shop/redirects/Sale.yaml"),
        ("redirects/d/a.yaml", "redirects/D/b.yaml", "shop/redirects/D"),
        ("redirects/d.yaml/a.yaml", "redirects/D.yaml", "shop/redirects/D.yaml"),
        ("redirects/D.yaml", "redirects/d.yaml/a.yaml", "shop/redirects/d.yaml"),
        ("redirects/straße.yaml", "redirects/STRASSE.yaml", "shop/redirects/STRASSE.yaml"),
    ],
)
def test_a_file_that_differs_from_another_in_case_only_is_refused(
    place: Place, there: str, wanted: str, named: str
) -> None:
    """The edit is refused if it reveals the conflict, else the second publish: some checkouts would lose a file."""
    place.save(put_in(wanted))
    place.publish(put(redirect("/first"), file=there, create=True), draft=OTHER)
    for refused in (place.publish, lambda: place.save(put_in(wanted), draft=OTHER)):
        with pytest.raises(Invalid, match="only in case") as caught:
            refused()
        assert [(problem.code, problem.file) for problem in caught.value.problems] == [("path_taken", named)]
    assert place.targets() == {"/first": "/new"}
    place.publish(put(redirect("/added"), file="redirects/other.yaml"))
    assert place.targets() == {"/first": "/new", "/added": "/new"}


def test_two_files_of_one_request_that_differ_in_case_only_are_refused(place: Place) -> None:
    with pytest.raises(Invalid, match="only in case"):
        place.save(put_in("redirects/a.yaml"), put(redirect("/b"), file="redirects/A.yaml"))


def test_files_that_differ_in_case_only_already_are_edited_on(place: Place) -> None:
    """Plain Git can create them; unrelated edits and merges still work."""
    both = {"/1": "redirects/d/a.yaml", "/2": "redirects/D/a.yaml", "/3": "redirects/D.yaml"}
    place.push({f"shop/{path}": yaml([(source, "/old")]) for source, path in both.items()})
    place.save(put(redirect("/1")), put(redirect("/4"), file="redirects/d/b.yaml"))
    place.publish(put(redirect("/2")), put(redirect("/5"), file="redirects/D/c.yaml"), draft=OTHER)
    place.publish()
    assert place.targets() == {"/1": "/new", "/2": "/new", "/3": "/old", "/4": "/new", "/5": "/new"}


@pytest.mark.parametrize(
    ("folders", "fits"), [(MAX_FOLDER_DEPTH - 2, True), (MAX_FOLDER_DEPTH - 1, False), (MAX_FOLDER_DEPTH + 8, False)]
)
def test_a_file_deeper_than_can_be_read_is_not_written(place: Place, folders: int, *, fits: bool) -> None:
    """The draft, with other users' edits, stays readable."""
    mine = place.save(put(redirect("/mine")))
    deep = put_in("redirects/" + "d/" * folders + "x.yaml")
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
