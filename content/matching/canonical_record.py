"""The canonical form of whole records, for agents that compare a raw request with the source as it was sent.

An exact source or path is spelled as clients request it, and a target as a `Location` carries it. A regular expression
stays as written.
"""

from dataclasses import replace

from content.matching.canonical import exact_key
from content.matching.template import canonical_target, location_of
from content.records.record import Page, Record, Redirect


def canonical_record(record: Record) -> Record:
    """Return the record in canonical form: the same object if it is written in that form."""
    return _canonical_page(record) if isinstance(record, Page) else _canonical_redirect(record)


def _canonical_page(page: Page) -> Page:
    path = _spelling(page.path, has_host=page.type.has_host)
    return page if path == page.path else replace(page, path=path)


def _canonical_redirect(redirect: Redirect) -> Redirect:
    if redirect.type.is_exact:
        source = _spelling(redirect.source, has_host=redirect.type.has_host)
        target = location_of(redirect.target)
    else:
        source, target = redirect.source, canonical_target(redirect.target)
    if (source, target) == (redirect.source, redirect.target):
        return redirect
    return replace(redirect, source=source, target=target)


def _spelling(written: str, *, has_host: bool) -> str:
    """Return the spelling that a request can equal; a source that no request can equal stays as written."""
    return exact_key(has_host, written) or written
