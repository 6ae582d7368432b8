"""Edits on a workspace do the same as on a plain dictionary, file by file, and touch nothing else."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.changes.diff import Change, diff
from content.records.record import Page, Record, identity_id, record_of
from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Delete, Edit, Patch, Put
from gitstore.drafts.editing.workspace import Workspace
from gitstore.errors import DuplicateIdentity, Invalid, NotFound
from gitstore.layout import RULES_PER_FILE
from tests.gitstore.fixtures import page, put, redirect
from tests.gitstore.folders import Folder, folder_of
from tests.rounds import rounds

START = Folder(
    {
        "redirects.yaml": b"# mine\nredirects:\n  # first\n  - {type: BASIC, source: /a, target: /x, status: 302}\n",
        "redirects/b.yaml": folder_of([redirect("/b"), redirect("/c")]).files["redirects.yaml"],
        "pages.yaml": b"pages:\n- {type: BASIC, path: /p, contentType: TEXT_PLAIN, file: p.txt}\n",
        "p.txt": b"hello\n",
    }
)
_names = st.sampled_from(["/a", "/b", "/c", "/d", "/e"])
_paths = st.sampled_from(["/p", "/q"])
_records = st.one_of(
    st.builds(redirect, _names, st.sampled_from(["/x", "/y"]), note=st.sampled_from(["", "why"])),
    st.builds(page, _paths, st.sampled_from(["one", "two\n", "hello\n"])),
)
_edits = st.one_of(
    st.builds(put, _records, create=st.booleans()),
    st.builds(put, _records, replaces=_names.map(identity_id)),
    st.builds(Patch, st.just(Kind.REDIRECTS), _names.map(identity_id), st.just({"target": "/z"})),
    st.builds(Patch, st.just(Kind.PAGES), _paths.map(identity_id), st.just({"content": "three\n"})),
    st.builds(Delete, st.just(Kind.REDIRECTS), _names.map(identity_id)),
    st.builds(Delete, st.just(Kind.PAGES), _paths.map(identity_id)),
)
Model = dict[Kind, dict[str, Record]]


@settings(max_examples=rounds(60, 300), deadline=None)
@given(st.lists(_edits, max_size=8))
def test_edits_do_what_they_do_to_a_dictionary(edits: list[Edit]) -> None:
    """Both refuse the same edits; the files read back as the model, and the changes are the difference."""
    snapshot = START.snapshot
    model: Model = {
        kind: {placed.record.identity: _inline(placed.record) for placed in snapshot.placed(kind)} for kind in Kind
    }
    before = {kind: dict(records) for kind, records in model.items()}
    workspace = Workspace(snapshot, START.blob)
    for edit in edits:
        try:
            _apply(model, edit)
        except (NotFound, DuplicateIdentity) as ex:
            with pytest.raises(type(ex)):
                workspace.apply([edit])
            return
        workspace.apply([edit])
    after = START.changed(workspace.files).snapshot
    assert after.problems == ()
    for kind in Kind:
        assert {placed.record.identity: _inline(placed.record) for placed in after.placed(kind)} == model[kind]
        reported = {change.identity: change.change for change in workspace.changes if _is_of(change, kind)}
        assert reported == {change.identity: change.change for change in diff(kind, before[kind], model[kind])}


def _is_of(change: Change, kind: Kind) -> bool:
    """Return whether a change is of the kind, and of more than the location of a content."""
    moved = change.old and change.new and _inline(change.old) == _inline(change.new)
    return change.kind is kind and not moved


def _apply(model: Model, edit: Edit) -> None:
    """Apply an edit to a dictionary by identity."""
    found = {identity_id(identity): identity for identity in model[edit.kind]}
    if isinstance(edit, Delete):
        if edit.id not in found:
            raise NotFound
        del model[edit.kind][found[edit.id]]
        return
    if isinstance(edit, Patch):
        if edit.id not in found:
            raise NotFound
        before = model[edit.kind][found[edit.id]]
        edit = Put(edit.kind, record_of(edit.kind, {**before.fields(), **edit.fields}), edit.id)
    if edit.create and edit.record.id in found:
        raise DuplicateIdentity("")
    if edit.replaces and edit.replaces not in found:
        raise NotFound
    if edit.replaces and edit.record.id in found and edit.record.id != edit.replaces:
        raise DuplicateIdentity("")
    if edit.replaces:
        del model[edit.kind][found[edit.replaces]]
    model[edit.kind][edit.record.identity] = edit.record


def _inline(record: Record) -> Record:
    """Return the record without the location of its content."""
    return replace(record, content_file="") if isinstance(record, Page) else record


def test_untouched_lines_and_files_stay_to_the_byte() -> None:
    """A change of one rule changes one line of one file."""
    workspace = Workspace(START.snapshot, START.blob)
    workspace.apply([put(redirect("/a", "/y"))])
    assert workspace.files == {"redirects.yaml": START.files["redirects.yaml"].replace(b"/x", b'"/y"')}


def test_page_body_in_a_file_stays_there() -> None:
    """Only the body's file changes; it is removed with the page."""
    workspace = Workspace(START.snapshot, START.blob)
    workspace.apply([put(page("/p", "new\n"))])
    assert _changed(workspace.files) == {"p.txt": b"new\n"}
    workspace.apply([Delete(Kind.PAGES, page("/p").id)])
    assert workspace.files["p.txt"] is None


def _changed(files: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    return {path: data for path, data in files.items() if data != START.files.get(path)}


def test_new_rules_fill_the_last_file_and_then_begin_another() -> None:
    """The cost of an edit depends on the size of the file."""
    folder = folder_of([redirect(f"/{number}") for number in range(RULES_PER_FILE - 1)])
    workspace = Workspace(folder.snapshot, folder.blob)
    workspace.apply([put(redirect(f"/new/{number}")) for number in range(RULES_PER_FILE + 2)])
    after = folder.changed(workspace.files).snapshot
    assert [(file.path, len(file.segment)) for file in after.rule_files[Kind.REDIRECTS]] == [
        ("redirects.yaml", RULES_PER_FILE),
        ("redirects/00001.yaml", RULES_PER_FILE),
        ("redirects/00002.yaml", 1),
    ]


def test_rules_go_to_the_file_that_the_caller_names() -> None:
    """The file is created if it is missing."""
    workspace = Workspace(START.snapshot, START.blob)
    workspace.apply(
        [put(redirect("/z"), file="redirects/sale/summer.yaml"), Put(Kind.PAGES, page("/z"), file="pages/z.yaml")]
    )
    assert set(workspace.files) == {"redirects/sale/summer.yaml", "pages/z.yaml"}


def test_file_that_cannot_be_read_whole_is_not_edited() -> None:
    """An edit would lose the file's other rules."""
    folder = Folder({"redirects.yaml": b"redirects:\n  - {type: BASIC, source: /a, target: /x, status: 302}\n  - {}\n"})
    with pytest.raises(Invalid) as caught:
        Workspace(folder.snapshot, folder.blob).apply([put(redirect("/a", "/y"))])
    assert caught.value.problems[0].file == "shop/redirects.yaml"


def test_a_patch_reports_its_own_fault_before_those_of_other_rules() -> None:
    """As a PUT does; the record is read although another rule of its file is invalid."""
    folder = Folder(
        {
            "redirects.yaml": b"redirects:\n- {type: BASIC, source: /a, target: /x, status: 302}\n",
            "redirects/b.yaml": b"redirects:\n- {type: BASIC, source: /fine, target: /x, status: 302}\n- {source: /b}\n",
        }
    )
    patch = Patch(Kind.REDIRECTS, identity_id("/fine"), {"source": "/a"})
    with pytest.raises(DuplicateIdentity):
        Workspace(folder.snapshot, folder.blob).apply([patch])
