"""The types, statuses and content types of the contract, each with its wire name."""

from enum import StrEnum


class RedirectType(StrEnum):
    """The way in which a redirect's source is compared with a request."""

    BASIC = "BASIC"
    BASIC_HOST = "BASIC_HOST"
    REGEX = "REGEX"
    REGEX_HOST = "REGEX_HOST"

    def __init__(self, word: str) -> None:
        # Attributes, not properties: they are read several times for each of 100,000 rules.
        self.is_exact = word.startswith("BASIC")  # the source is compared as text, not as a pattern
        self.has_host = word.endswith("_HOST")  # the source begins with a host


class RedirectStatus(StrEnum):
    """The status of a redirect; `code` is the HTTP status."""

    MOVED_PERMANENT = "MOVED_PERMANENT"
    FOUND = "FOUND"
    TEMPORARY_REDIRECT = "TEMPORARY_REDIRECT"
    PERMANENT_REDIRECT = "PERMANENT_REDIRECT"

    @property
    def code(self) -> int:
        """The HTTP status code: 301, 302, 307 or 308."""
        return _CODES[self]


_CODES = {
    RedirectStatus.MOVED_PERMANENT: 301,
    RedirectStatus.FOUND: 302,
    RedirectStatus.TEMPORARY_REDIRECT: 307,
    RedirectStatus.PERMANENT_REDIRECT: 308,
}
# By name; `RedirectType[name]` takes five times as long, which counts for a million rules.
TYPE_BY_NAME: dict[str, RedirectType] = {each.value: each for each in RedirectType}
# Every accepted spelling of a status, as text: the four names and the four codes.
STATUS_BY_WORD: dict[str, RedirectStatus] = {
    **{status.value: status for status in RedirectStatus},
    **{str(code): status for status, code in _CODES.items()},
}


class PageType(StrEnum):
    """The way in which a page's path is compared with a request."""

    BASIC = "BASIC"
    BASIC_HOST = "BASIC_HOST"

    @property
    def has_host(self) -> bool:
        """True where the path begins with a host."""
        return self is PageType.BASIC_HOST


class ContentType(StrEnum):
    """The format of a page's content: agents send `TEXT_PLAIN` as text/plain and `XML` as application/xml."""

    TEXT_PLAIN = "TEXT_PLAIN"
    XML = "XML"


class Kind(StrEnum):
    """The two kinds of records that a project holds; the value is the key of their files."""

    REDIRECTS = "redirects"
    PAGES = "pages"
