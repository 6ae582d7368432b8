"""A naive matcher, written from the contract alone: one loop over all rules, Python's own `re`, no index.

Python's engine agrees with RE2 on the small patterns that the generators draw.
"""

import re
from collections.abc import Sequence

from content.matching.canonical import canonical_host, canonical_path
from content.matching.request import Request
from content.records.record import Page, Redirect


def naive_matches(redirects: Sequence[Redirect], pages: Sequence[Page], request: Request) -> list[Redirect | Page]:
    """Return every rule that matches, best first."""
    matching = [(_rank(rule, index), rule) for index, rule in enumerate(redirects) if _matches(rule, request)]
    ranked: list[Redirect | Page] = [rule for _, rule in sorted(matching, key=lambda item: item[0])]
    found = [page for page in pages if _equals(page.path, request, has_host=page.type.has_host)]
    return [*ranked, *sorted(found, key=lambda page: (not page.type.has_host, "?" not in page.path))]


def _rank(rule: Redirect, index: int) -> tuple[int, int, int]:
    order = ["BASIC_HOST", "BASIC", "REGEX_HOST", "REGEX"].index(rule.type)
    return order, -len(rule.source) if order > 1 else "?" not in rule.source, index


def _matches(rule: Redirect, request: Request) -> bool:
    if rule.type.is_exact:
        return _equals(rule.source, request, has_host=rule.type.has_host)
    if rule.type.has_host and request.host is None:
        return False
    text = (request.host or "") + request.path if rule.type.has_host else request.path
    return re.search(rule.source, text) is not None


def _equals(source: str, request: Request, *, has_host: bool) -> bool:
    if has_host:
        host, _, rest = source.partition("/")
        return canonical_host(host) == request.host and _equals("/" + rest, request, has_host=False)
    path, question_mark, query = canonical_path(source).partition("?")
    return path == request.path and (not question_mark or query == request.query)
