"""A quick look at where exact rules lead: nearly all targets certainly end a chain, and need not be walked."""

import re

from content.canonical import PLAIN_HOST, canonical_host
from content.matching import Matcher
from content.record import Redirect
from content.template import Template
from content.url import split_url

# Texts that are their own canonical form, so that what they ask for can be looked up as it stands.
_PIECE = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]*"
_TARGET = re.compile(rf"(?:https?://({PLAIN_HOST}))?((?:/(?!/){_PIECE})?)((?:\?{_PIECE})?)(?:#.*)?")


_ORIGIN = re.compile(rf"https?://({PLAIN_HOST})")
ANY_HOST = "*"


def target_host(record: Redirect) -> str:
    """The canonical host that a redirect's target names: empty for none, ANY_HOST where a visitor's text chooses it."""
    if found := _ORIGIN.match(record.target):
        return found[1]
    template = Template.literal(record.target) if record.type.is_exact else Template.parse(record.target)
    if template.roaming:
        return ANY_HOST
    try:
        return canonical_host(split_url(template.origin).authority or "")
    except ValueError:
        return ""


class Onward:
    """Answers for many targets of one project; what it costs is a pattern and a look-up or two each."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._redirects_at = matcher.source.redirects_at
        self._hosts = frozenset(matcher.source.hosts())

    def ends(self, host: str, target: str) -> bool:
        """True where certainly no redirect answers the target; false where that has to be walked.

        `host` is the canonical host that the rule names, empty where it names none.
        """
        found = _TARGET.fullmatch(target)
        if found is None:
            return False
        named, path, query = found.groups()
        if named is None:
            return path != "" and self._is_free(host, path, query)
        if named in self._hosts:
            return self._is_free(named, path or "/", query)
        return not self._matcher.may_answer(named, path or "/", paths=False)

    def _is_free(self, host: str, path: str, query: str) -> bool:
        """Tell whether no redirect has the path, with or without the query, on the host or on any."""
        at = self._redirects_at
        if at(path) or (query and at(path + query)):
            return False
        if host and (at(host + path) or (query and at(host + path + query))):
            return False
        return not self._matcher.may_answer(host or None, path, paths=True)
