"""Safe corrections of one rule's spelling: hosts in lower case, and encoded characters in canonical form.

Characters outside ASCII stay as people wrote them. No request gets another answer: the key of a source, and the Location
of a target but for the case of its host, are the same.
"""

import re
from dataclasses import replace

from content.matching.canonical import canonical_path, exact_key, split_host
from content.matching.template import location_of
from content.matching.url import WEB_SCHEMES, split_url
from content.records.record import Page, Record, Redirect

_ASCII = re.compile(r"[\x21-\x7e]+")
_NOT_IN_URL = str.maketrans({" ": "%20", "\\": "%5C"})


def correct_spelling(record: Record) -> Record:
    """Return the record with these corrections: the same object if there are none."""
    if isinstance(record, Page):
        path = _source(record.path, has_host=record.type.has_host)
        return record if path == record.path else replace(record, path=path)
    source = _source(record.source, has_host=record.type.has_host) if record.type.is_exact else record.source
    target = _target(record)
    if (source, target) == (record.source, record.target):
        return record
    return replace(record, source=source, target=target)


def has_other_host(before: Record, after: Record) -> bool:
    """Tell whether two spellings of a record differ in a host."""
    hosts = [_hosts(record) for record in (before, after)]
    return hosts[0] != hosts[1]


def has_other_encoding(before: Record, after: Record) -> bool:
    """Tell whether two spellings of a record differ in more than a host."""
    rests = [_rests(record) for record in (before, after)]
    return rests[0] != rests[1]


def _hosts(record: Record) -> tuple[str, str | None]:
    target = split_url(record.target).authority if isinstance(record, Redirect) else None
    return split_host(record.identity)[0] if _names_host(record) else "", target


def _rests(record: Record) -> tuple[str, str]:
    target = split_url(record.target).rest if isinstance(record, Redirect) else ""
    return split_host(record.identity)[1] if _names_host(record) else record.identity, target


def _names_host(record: Record) -> bool:
    return record.type.has_host and (isinstance(record, Page) or record.type.is_exact)


def _source(text: str, *, has_host: bool) -> str:
    host, path = split_host(text) if has_host else ("", text)
    if canonical_path(path) != path:
        path = _ASCII.sub(lambda found: canonical_path(found[0]), path)
    corrected = host.lower() + path
    if corrected == text:
        return text
    key = exact_key(has_host, text)
    return corrected if key and exact_key(has_host, corrected) == key else text


def _target(record: Redirect) -> str:
    target = record.target
    if not record.type.is_exact:
        return target  # with references, a host is not always what it seems
    encoded = target.translate(_NOT_IN_URL)
    if encoded != target and location_of(encoded) != location_of(target):
        encoded = target
    url = split_url(encoded)
    if url.scheme not in WEB_SCHEMES or not url.authority or "@" in url.authority:
        return encoded
    return f"{url.scheme}://{url.authority.lower()}{url.rest}"
