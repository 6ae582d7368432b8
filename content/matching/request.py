"""A request to an agent: a host, a path and a query, each in canonical form."""

import re
from typing import NamedTuple

from content.matching.canonical import canonical_host, canonical_path, split_host
from content.matching.url import WEB_SCHEMES, split_url

_PATH_CHARACTER = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]"
# URLs that need no decoding, encoding or shortening; their host may still be invalid.
_PLAIN = re.compile(
    rf"(?:https?://([a-z0-9._-]+)(?=[/?]|\Z)({_PATH_CHARACTER}*)|(/{_PATH_CHARACTER}*))(?:\?((?:{_PATH_CHARACTER}|\?)*))?"
)
# The characters that no URL may hold: control characters (C0, DEL, C1) and halves of surrogate pairs.
FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
URL_LIMIT = 16_384  # characters of a URL: twice the limit of a source; bounds the cost of a match


class Request(NamedTuple):
    """A request in canonical form; `host` is None where unknown, `query` is None without a `?`."""

    host: str | None
    path: str
    query: str | None

    @property
    def text(self) -> str:
        """The request as people write it, without a scheme."""
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.host or ''}{self.path}{query}"


def parse_request(url: str) -> Request:
    """Parse an absolute `http` or `https` URL, or a path (its host is None).

    A text that begins with `//` is a path, as in the request line of a client (RFC 9112, 3.2.1), not a host. A fragment is
    dropped, as by every client. Raises ValueError with a sentence where the text is neither.
    """
    if len(url) > URL_LIMIT:
        raise ValueError(f"a URL has at most {URL_LIMIT} characters; this one has {len(url)}")
    if plain := _PLAIN.fullmatch(url):
        named, after, path, query = plain.groups()
        return Request(canonical_host(named), after or "/", query) if named else Request(None, path, query)
    if FORBIDDEN_CHARACTERS.search(url):
        raise ValueError("a URL cannot hold control characters")
    scheme, authority, rest = split_url(url)
    if not scheme and not rest.startswith("/"):
        raise ValueError('write a path that begins with "/", or a URL that begins with http:// or https://')
    if scheme and (scheme not in WEB_SCHEMES or authority is None):
        raise ValueError("a URL begins with http:// or https://")
    return request_for(canonical_host(authority) if authority is not None else None, rest)


def request_for(host: str | None, path: str) -> Request:
    """Return the request that a client sends for a canonical host and a path with its query string."""
    path, question_mark, query = canonical_path(path.partition("#")[0]).partition("?")
    return Request(host, path or "/", query if question_mark else None)


def parse_key(key: str) -> Request:
    """Parse an `exact_key` into its request."""
    host, path = split_host(key)
    return request_for(host or None, path)
