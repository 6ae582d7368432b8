"""Checks of a record by itself."""

import re

from content.checks.source_rules import exact_source_problems, regex_source_problems
from content.checks.target_rules import target_problems
from content.checks.xml_content import xml_problems
from content.matching.canonical import PLAIN_HOST
from content.matching.request import FORBIDDEN_CHARACTERS
from content.records.problem import Problem
from content.records.problem_codes import problem
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, PageType, RedirectType

# Nearly every record matches these: one match (about a microsecond) shows that it has no problem.
_PATH = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*"
_REST = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%?#]*"
PLAIN_SOURCE = rf"/{_PATH}"
PLAIN_TARGET = rf"(?:/(?!/)|https?://{PLAIN_HOST}){_REST}"
_PLAIN_SOURCE = re.compile(PLAIN_SOURCE)
_PLAIN_TARGET = re.compile(PLAIN_TARGET)
_PLAIN_HOST_SOURCE = re.compile(rf"{PLAIN_HOST}/{_PATH}")
_PLAIN_HOST_TARGET = re.compile(rf"https?://{PLAIN_HOST}{_REST}")


def record_problems(record: Record) -> list[Problem]:
    """Return the errors and warnings of a schema-valid record; pointers are below the record (`/source`)."""
    if isinstance(record, Page):
        return _page_problems(record)
    return [] if _is_plain(record) else _redirect_problems(record)


def _is_plain(record: Redirect) -> bool:
    if record.type is RedirectType.BASIC:
        source, target = _PLAIN_SOURCE, _PLAIN_TARGET
    elif record.type is RedirectType.BASIC_HOST:
        source, target = _PLAIN_HOST_SOURCE, _PLAIN_HOST_TARGET
    else:
        return False
    return source.fullmatch(record.source) is not None and target.fullmatch(record.target) is not None


def _page_problems(page: Page) -> list[Problem]:
    is_inline_xml = page.content_type is ContentType.XML and not page.content_file
    malformed = xml_problems(page.content) if is_inline_xml else []
    if page.type is PageType.BASIC and _PLAIN_SOURCE.fullmatch(page.path):
        return malformed
    found = _control_characters(page.path, "/path")
    return (found or exact_source_problems(page.path, "/path", has_host=page.type.has_host)) + malformed


def _redirect_problems(redirect: Redirect) -> list[Problem]:
    kind, source = redirect.type, redirect.source
    found, groups = _control_characters(source, "/source"), None
    if not found and kind.is_exact:
        found = exact_source_problems(source, "/source", has_host=kind.has_host)
    elif not found:
        groups, found = regex_source_problems(source, has_host=kind.has_host)
    return found + (_control_characters(redirect.target, "/target") or target_problems(redirect, groups))


def _control_characters(text: str, pointer: str) -> list[Problem]:
    found = FORBIDDEN_CHARACTERS.search(text)
    if found is None:
        return []
    place = f"U+{ord(found[0]):04X} at character {found.start() + 1}"
    return [problem("control_character", f"a {pointer[1:]} cannot hold control characters: {place}", pointer)]
