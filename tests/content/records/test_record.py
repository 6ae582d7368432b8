"""Records and their wire names: the one mapping that files, the API and the agents share."""

from dataclasses import replace
from hashlib import sha256

import pytest

from content.records.record import id_bytes, identity_id, page_of, record_of, redirect_of
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType

REDIRECT = {"type": "BASIC_HOST", "source": "a.example/b", "target": "https://c.example/", "status": "FOUND"}
PAGE = {"type": "BASIC", "path": "/robots.txt", "content": "hello\n", "contentType": "TEXT_PLAIN"}


def test_redirect_comes_from_its_wire_names_and_goes_back() -> None:
    record = redirect_of({**REDIRECT, "note": "why", "tags": ["one", "two"]})
    assert (record.type, record.source) == (RedirectType.BASIC_HOST, "a.example/b")
    assert (record.target, record.status) == ("https://c.example/", RedirectStatus.FOUND)
    assert (record.note, record.tags) == ("why", ("one", "two"))
    assert record.wire() == REDIRECT, "an agent gets neither note nor tags"
    assert record.fields() == {**REDIRECT, "note": "why", "tags": ["one", "two"]}


def test_page_comes_from_its_wire_names_and_goes_back() -> None:
    record = page_of({**PAGE, "note": "why", "tags": ["one"]}, "texts/robots.txt")
    assert (record.type, record.path, record.content) == (PageType.BASIC, "/robots.txt", "hello\n")
    assert (record.content_type, record.content_file) == (ContentType.TEXT_PLAIN, "texts/robots.txt")
    assert (record.note, record.tags) == ("why", ("one",))
    assert record.wire() == PAGE, "an agent gets neither note, tags nor the name of the file"
    assert record.fields() == {**PAGE, "note": "why", "tags": ["one"]}


def test_empty_note_and_tags_are_left_out() -> None:
    """Guard: each is left out by itself, and a missing one is empty."""
    for record in (redirect_of(REDIRECT), page_of(PAGE)):
        assert (record.note, record.tags) == ("", ())
        assert record.fields() == record.wire()
        assert replace(record, note="why").fields() == {**record.wire(), "note": "why"}
        assert replace(record, tags=("one",)).fields() == {**record.wire(), "tags": ["one"]}
    assert page_of(PAGE).content_file == ""


@pytest.mark.parametrize("word", ["FOUND", "302", 302])
def test_status_is_a_name_or_a_code(word: str | int) -> None:
    assert redirect_of({**REDIRECT, "status": word}).status is RedirectStatus.FOUND


def test_record_is_of_its_kind() -> None:
    assert record_of(Kind.REDIRECTS, REDIRECT) == redirect_of(REDIRECT)
    assert record_of(Kind.PAGES, PAGE) == page_of(PAGE)


def test_id_is_the_head_of_the_digest_of_source_or_path() -> None:
    """Guard: clients keep ids, so they never change."""
    assert redirect_of(REDIRECT).identity == "a.example/b"
    assert page_of(PAGE).identity == "/robots.txt"
    assert redirect_of(REDIRECT).id == identity_id("a.example/b")
    assert page_of(PAGE).id == identity_id("/robots.txt")
    for identity in ("/a", "é.example/ü"):
        digest = sha256(identity.encode("utf-8")).hexdigest()
        assert identity_id(identity) == digest[:16]
        assert id_bytes(identity).hex() == digest[:16]
