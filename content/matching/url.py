"""Parsing of URLs, shared by requests and targets."""

import re
from typing import NamedTuple

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_AUTHORITY_END = re.compile(r"[/?#]")
WEB_SCHEMES = frozenset({"http", "https"})


class Url(NamedTuple):
    """The parts of a URL, as written; `rest` is everything after the authority.

    `scheme` is in lower case, empty for a path. `authority` is None where the scheme is not followed by `//`.
    """

    scheme: str
    authority: str | None
    rest: str

    @property
    def is_path(self) -> bool:
        """True for a path on the same host; `//host` is not such a path."""
        return not self.scheme and self.rest.startswith("/") and not self.rest.startswith("//")


def split_url(text: str) -> Url:
    """Split an absolute URL or a path; nothing is decoded, dropped or validated."""
    found = _SCHEME.match(text)
    if found is None:
        return Url("", None, text)
    scheme, rest = found[1].lower(), text[found.end() :]
    if not rest.startswith("//"):
        return Url(scheme, None, rest)
    end = _AUTHORITY_END.search(rest, 2)
    cut = end.start() if end else len(rest)
    return Url(scheme, rest[2:cut], rest[cut:])
