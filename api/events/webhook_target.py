"""The URL of a webhook, parsed once and strictly, so that no later step can parse it differently."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from content.records.problem import Problem

MAX_URL_LENGTH = 2000
_PORTS = {"http": 80, "https": 443}
_LARGEST_PORT = 65535
# ASCII without spaces and the backslash. urlsplit removes tabs and newlines, and browsers take a backslash for a slash:
# https://docs.python.org/3/library/urllib.parse.html#url-parsing-security
_PRINTABLE = re.compile(r"[!-\[\]-~]+")
_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?"
)
_V6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")


@dataclass(frozen=True, slots=True)
class Target:
    """The parsed URL of a webhook: `host` without brackets, `path` with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def read_target(url: str) -> Target:
    """Parse a URL; ValueError, with a message for users, if a webhook cannot have it."""
    if len(url) > MAX_URL_LENGTH or not _PRINTABLE.fullmatch(url):
        raise ValueError(
            f"Invalid URL. Use 1 to {MAX_URL_LENGTH} printable ASCII characters, without spaces and backslashes."
        )
    scheme, found, rest = url.partition("://")
    if scheme.lower() not in _PORTS or not found:
        raise ValueError("The URL must begin with http:// or https://.")
    if "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]:
        raise ValueError("The URL has a user name or password. Remove it; receivers can verify the signature instead.")
    if "#" in rest:
        raise ValueError("The URL has a fragment (#…). Remove it, since it is not sent.")
    return _target(scheme.lower(), url)


def url_problems(url: str) -> list[Problem]:
    """Return the problems of a URL as the field of a body."""
    try:
        read_target(url)
    except ValueError as ex:
        return [Problem("bad_format", str(ex), pointer="/url")]
    return []


def _target(scheme: str, url: str) -> Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as ex:
        raise ValueError("The URL has a malformed host or port.") from ex
    in_brackets = "[" in parts.netloc
    if not (_V6 if in_brackets else _NAME).fullmatch(host):
        raise ValueError("The URL's host must be a name in ASCII (international ones as xn--…) or an address.")
    if port is not None and not 1 <= port <= _LARGEST_PORT:
        raise ValueError("The URL's port must be 1 to 65535.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme, host, port or _PORTS[scheme], path)
