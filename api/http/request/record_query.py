"""The query parameters that filter and sort the records of a state."""

from falcon.asgi import Request

from api.http.request.parameters import read_text, read_word
from content.changes.diff import ChangeType
from content.records.vocabulary import STATUS_BY_WORD, Kind, PageType, RedirectType
from gitstore.drafts.listing import SORTS, Query

_TYPES = {Kind.REDIRECTS: RedirectType, Kind.PAGES: PageType}


def read_record_query(req: Request, kind: Kind) -> Query:
    """Read `q`, `type`, `status`, `tag`, `change` and `sort`; 400 for a word that none of them knows."""
    return Query(
        text=read_text(req, "q") or "",
        type=read_word(req, "type", {each.value: each.value for each in _TYPES[kind]}) or "",
        status=read_word(req, "status", {word: status.value for word, status in STATUS_BY_WORD.items()}) or "",
        tag=read_text(req, "tag") or "",
        change=read_word(req, "change", {each.value: each.value for each in ChangeType}) or "",
        sort=read_word(req, "sort", {word: word for word in SORTS}) or "file",
    )
