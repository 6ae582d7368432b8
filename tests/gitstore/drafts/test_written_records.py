"""A written record is returned in the form in which every later read of the draft returns it."""

import random

import pytest

from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Patch, Put
from gitstore.errors import StaleItem, UnknownRecord
from tests.gitstore.fixtures import ADA, MAIN, SPACE, Place, page, put, redirect, seeded_random

_SOURCES = [f"/r{number}" for number in range(6)]
_ROUNDS = 60


@pytest.fixture
def published(place: Place) -> Place:
    """Return a project with published rules and pages, one of which keeps its content in a file."""
    place.publish(*(put(redirect(source, "/old")) for source in _SOURCES[:4]), put(page("/p.txt", "hello\n")))
    return place


def _edit(dice: random.Random) -> Put | Patch:
    source = dice.choice(_SOURCES)
    target, note = dice.choice(["/old", "/new"]), dice.choice(["", "why"])
    if dice.random() < 0.3:
        return Patch(Kind.REDIRECTS, identity_id(source), dice.choice([{"target": target}, {"note": note}]))
    if dice.random() < 0.2:
        return put(page("/p.txt", dice.choice(["hello\n", "bye\n"])))
    return put(redirect(source, target, note=note), file=dice.choice(["", "redirects/b.yaml"]))


def test_a_write_returns_what_a_read_returns_then(published: Place) -> None:
    """Record, file, line, etag and the comparison with the base are equal through many edits of a draft."""
    dice, drafts = seeded_random(), published.store.drafts
    for _ in range(_ROUNDS):
        edit = _edit(dice)
        try:
            written = drafts.write(SPACE, MAIN, edit, ADA)
        except UnknownRecord:
            assert isinstance(edit, Patch)
            continue
        read = published.fresh().store.drafts.record(SPACE, MAIN, edit.kind, written.placed.record.id)
        assert (written.placed.record, written.placed.file, written.placed.line) == (
            read.placed.record,
            read.placed.file,
            read.placed.line,
        )
        assert (written.change, written.etag) == (read.change, read.etag)


def test_a_patch_takes_the_other_fields_from_the_record_of_that_moment(published: Place) -> None:
    drafts, record_id = published.store.drafts, identity_id("/r0")
    drafts.write(SPACE, MAIN, Patch(Kind.REDIRECTS, record_id, {"note": "why"}), ADA)
    written = drafts.write(SPACE, MAIN, Patch(Kind.REDIRECTS, record_id, {"target": "/new"}), ADA)
    assert written.placed.record == redirect("/r0", "/new", note="why")


def test_a_patch_with_an_etag_that_is_not_the_record_s_changes_nothing(published: Place) -> None:
    drafts, record_id = published.store.drafts, identity_id("/r0")
    stale = drafts.record(SPACE, MAIN, Kind.REDIRECTS, record_id).etag
    drafts.write(SPACE, MAIN, Patch(Kind.REDIRECTS, record_id, {"target": "/new"}), ADA)
    with pytest.raises(StaleItem):
        drafts.write(SPACE, MAIN, Patch(Kind.REDIRECTS, record_id, {"target": "/other"}, etag=stale), ADA)
    assert drafts.record(SPACE, MAIN, Kind.REDIRECTS, record_id).placed.record == redirect("/r0", "/new")


def test_a_patch_may_rename_a_record(published: Place) -> None:
    written = published.store.drafts.write(
        SPACE, MAIN, Patch(Kind.REDIRECTS, identity_id("/r0"), {"source": "/s"}), ADA
    )
    assert (written.placed.record.identity, written.change) == ("/s", "added")
