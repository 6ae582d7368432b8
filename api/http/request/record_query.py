"""The query parameters that filter and sort the records of a state."""

from collections.abc import Mapping

from falcon.asgi import Request

from api.errors import bad_request
from api.http.request.parameters import read_text
from content.changes.diff import ChangeType
from content.records.vocabulary import STATUS_BY_WORD, Kind, PageType, RedirectType
from gitstore.drafts.listing import SORTS, Query

_TYPES = {Kind.REDIRECTS: RedirectType, Kind.PAGES: PageType}


def read_record_query(req: Request, kind: Kind) -> Query:
    """Read `q`, `type`, `status`, `tag`, `change` and `sort`; 400 for a word that none of them knows."""
    return Query(
        text=read_text(req, "q") or "",
        type=_word(req, "type", {each.value: each.value for each in _TYPES[kind]}),
        status=_word(req, "status", {word: status.value for word, status in STATUS_BY_WORD.items()}),
        tag=read_text(req, "tag") or "",
        change=_word(req, "change", {each.value: each.value for each in ChangeType}),
        sort=_word(req, "sort", {word: word for word in SORTS}) or "file",
    )


def _word(req: Request, name: str, words: Mapping[str, str]) -> str:
    """Read a parameter that is one of a few words, and map it; empty if it is missing, 400 for another word."""
    text = read_text(req, name)
    if text and text not in words:
        raise bad_request(f"'{name}' must be one of {', '.join(words)}.", "bad_parameter")
    return words[text] if text else ""
