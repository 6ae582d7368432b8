"""Redaction of conflicts: shown in full to readers of their kind, otherwise only their place."""

from api.http.response.redaction import redact_conflicts
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
