"""A quick look at where exact rules lead: nearly all targets certainly end a chain, and need not be walked."""

import re

from content.canonical import PLAIN_HOST
from content.matching import Matcher

# Texts that are their own canonical form, so that what they ask for can be looked up as it stands.
_PIECE = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]*"
_TARGET = re.compile(rf"(?:https?://({PLAIN_HOST}))?((?:/(?!/){_PIECE})?)((?:\?{_PIECE})?)(?:#.*)?")


class Onward:
    """Answers for many targets of one project; what it costs is a pattern and one or two look-ups each."""

    def __init__(self, matcher: Matcher) -> None:
        self._redirects_at = matcher.source.redirects_at
        self._hosts = frozenset(matcher.source.hosts())
        self._has_patterns = bool(matcher.source.patterns())

    def ends(self, host: str, target: str) -> bool:
        """True where certainly no redirect answers the target; false where that has to be walked.

        `host` is the canonical host that the rule names, empty where it names none.
        """
        found = None if self._has_patterns else _TARGET.fullmatch(target)
        if found is None:
            return False
        named, path, query = found.groups()
        if named is None:
            return path != "" and self._is_free(host, path, query)
        return named not in self._hosts or self._is_free(named, path or "/", query)

    def _is_free(self, host: str, path: str, query: str) -> bool:
        """Tell whether no exact redirect has the path, with or without the query, on the host or on any."""
        at = self._redirects_at
        if at(path) or (query and at(path + query)):
            return False
        return not host or not (at(host + path) or (query and at(host + path + query)))
