"""The words of the contract: types, statuses and content types, each with its wire name."""

from enum import StrEnum


class RedirectType(StrEnum):
    """How a redirect's source is compared with a request."""

    BASIC = "BASIC"
    BASIC_HOST = "BASIC_HOST"
    REGEX = "REGEX"
    REGEX_HOST = "REGEX_HOST"

    def __init__(self, word: str) -> None:
        # attributes, not properties: they are asked several times for each of 100,000 rules
        self.is_exact = word.startswith("BASIC")
        """True where the source is compared as it stands, false where it is a pattern."""
        self.has_host = word.endswith("_HOST")
        """True where the source begins with a host."""


class RedirectStatus(StrEnum):
    """What an agent answers with; `code` is the HTTP status."""

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
STATUS_BY_WORD: dict[str, RedirectStatus] = {
    **{status.value: status for status in RedirectStatus},
    **{str(code): status for status, code in _CODES.items()},
}
"""Every accepted spelling of a status, as text: the four names and the four codes."""


class PageType(StrEnum):
    """How a page's path is compared with a request."""

    BASIC = "BASIC"
    BASIC_HOST = "BASIC_HOST"

    @property
    def has_host(self) -> bool:
        """True where the path begins with a host."""
        return self is PageType.BASIC_HOST


class ContentType(StrEnum):
    """What a page's body is; `mime` is its media type."""

    TEXT_PLAIN = "TEXT_PLAIN"
    XML = "XML"

    @property
    def mime(self) -> str:
        """The media type that an agent sends the page with."""
        return "text/plain" if self is ContentType.TEXT_PLAIN else "application/xml"


class Kind(StrEnum):
    """The two kinds of records that a project holds; the value is the key of their files."""

    REDIRECTS = "redirects"
    PAGES = "pages"
