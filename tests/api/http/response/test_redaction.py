"""Redaction of conflicts: shown in full to readers of their kind, otherwise only their place."""

import asyncio

from falcon.asgi import Response

from api.http.response.redaction import clear_response, redact_conflicts
from content.records.vocabulary import Kind

REDIRECT = {
    "kind": "redirect",
    "id": "0" * 16,
    "source": "/a",
    "field": "target",
    "base": "/1",
    "release": "/2",
    "draft": "/3",
}
PAGE = {"kind": "page", "id": "1" * 16, "path": "/b", "field": "content", "base": "x", "release": "y", "draft": "z"}
FILE = {"kind": "file", "file": "shop/project.yaml", "field": "", "base": None, "release": "1", "draft": "2"}


def test_who_reads_both_kinds_sees_everything() -> None:
    assert redact_conflicts([REDIRECT, PAGE, FILE], list(Kind)) == [REDIRECT, PAGE, FILE]


def test_of_a_kind_that_may_not_be_read_only_the_place_is_shown() -> None:
    shown = redact_conflicts([REDIRECT, PAGE, FILE], [Kind.REDIRECTS])
    assert shown == [
        REDIRECT,
        {
            "kind": "page",
            "id": "1" * 16,
            "field": "content",
            "base": None,
            "release": None,
            "draft": None,
            "withheld": True,
        },
        FILE,
    ]


def test_the_texts_of_files_quote_rules_so_only_readers_of_both_kinds_get_them() -> None:
    file = {**FILE, "texts": {"base": None, "release": "tests:\n- url: /secret\n", "draft": "tests: []\n"}}
    assert redact_conflicts([file], list(Kind)) == [file]
    assert redact_conflicts([file], [Kind.REDIRECTS]) == [FILE]


def test_a_response_that_is_taken_back_closes_its_stream() -> None:
    class Stream:
        is_closed = False

        async def close(self) -> None:
            """Note the call."""
            self.is_closed = True

    resp, stream = Response(), Stream()
    resp.stream = stream  # type: ignore[assignment]  # typed for generators; Falcon takes any iterator with `close`
    resp.data = b"secret"
    resp.set_header("X-Project-Version", "secret")
    asyncio.run(clear_response(resp))
    assert resp.stream is None
    assert resp.data is None
    assert not resp.headers
    assert stream.is_closed
