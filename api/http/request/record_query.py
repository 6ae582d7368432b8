"""The query parameters that filter and sort the records of a state."""

from falcon.asgi import Request

from api.errors import bad_request
from api.http.request.parameters import read_text, read_word
from content.changes.diff import ChangeType, identity_field
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
        change=_read_change(req),
        sort=read_word(req, "sort", {word: word for word in SORTS}) or "file",
    )


def read_change_query(req: Request) -> Query:
    """Read `q` and `change`; 400 for a word that is no type of a change."""
    return Query(text=read_text(req, "q") or "", change=_read_change(req))


def _read_change(req: Request) -> str:
    return read_word(req, "change", {each.value: each.value for each in ChangeType}) or ""


def read_identity(req: Request, kind: Kind) -> str | None:
    """Read `source` of a redirect, or `path` of a page; None if it is missing, 400 if it is empty."""
    name = identity_field(kind)
    text = read_text(req, name)
    if text is not None and not text:
        raise bad_request(f"'{name}' is empty.", "bad_parameter")
    return text
