"""A fast check for the end of a redirect chain: nearly all targets end it, and need not be followed."""

import re

from content.matching.canonical import PLAIN_HOST, canonical_host
from content.matching.matcher import Matcher
from content.matching.template import Template
from content.matching.url import split_url
from content.records.record import Redirect

# Texts in canonical form, which can be looked up without conversion.
_PIECE = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]*"
_TARGET = re.compile(rf"(?:https?://({PLAIN_HOST}))?((?:/(?!/){_PIECE})?)((?:\?{_PIECE})?)(?:#.*)?")


_ORIGIN = re.compile(rf"https?://({PLAIN_HOST})")
ANY_HOST = "*"


def target_host(record: Redirect) -> str:
    """Return the canonical host of a redirect's target: empty for none, ANY_HOST where a capture is part of it."""
    if found := _ORIGIN.match(record.target):
        return found[1]
    template = Template.literal(record.target) if record.type.is_exact else Template.parse(record.target)
    if template.has_open_host:
        return ANY_HOST
    try:
        return canonical_host(split_url(template.origin).authority or "")
    except ValueError:
        return ""


class ChainEndCheck:
    """The check for the targets of a project; each costs a pattern match and one or two lookups."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._redirects_at = matcher.source.redirects_at
        self._hosts = frozenset(matcher.source.hosts())

    def ends_chain(self, host: str, target: str) -> bool:
        """Return true where certainly no redirect answers the target; false where the chain has to be followed.

        `host` is the canonical host in the rule's source, empty for none.
        """
        found = _TARGET.fullmatch(target)
        if found is None:
            return False
        named, path, query = found.groups()
        if named is None:
            return path != "" and self._is_free(host, path, query)
        if named in self._hosts:
            return self._is_free(named, path or "/", query)
        return not self._matcher.may_match(named, path or "/", include_hostless=False)

    def _is_free(self, host: str, path: str, query: str) -> bool:
        """Return whether no redirect has the path, with or without the query, with this host or without a host."""
        at = self._redirects_at
        if at(path) or (query and at(path + query)):
            return False
        if host and (at(host + path) or (query and at(host + path + query))):
            return False
        return not self._matcher.may_match(host or None, path, include_hostless=True)
