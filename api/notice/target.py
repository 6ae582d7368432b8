"""The URL of a webhook, taken apart once and strictly, so that nobody downstream reads it differently."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from content.problem import Problem

LONGEST = 2000
_PORTS = {"http": 80, "https": 443}
_LARGEST_PORT = 65535
_PRINTABLE = re.compile(r"[!-\[\]-~]+")  # ASCII without spaces and the backslash, which some take for a slash
_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?"
)
_V6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook is sent: `host` without brackets, `path` with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def read_target(url: str) -> Target:
    """The target of a URL; ValueError, with a sentence, where it is none that a webhook can have."""
    if len(url) > LONGEST or not _PRINTABLE.fullmatch(url):
        raise ValueError(f"The URL is 1 to {LONGEST} printable ASCII characters, without spaces and backslashes.")
    scheme, found, rest = url.partition("://")
    if scheme.lower() not in _PORTS or not found:
        raise ValueError("The URL begins with http:// or https://.")
    if "@" in re.split(r"[/?#]", rest, maxsplit=1)[0]:
        raise ValueError("The URL holds no user name and no password; the signature tells who sends.")
    if "#" in rest:
        raise ValueError("The URL has no fragment (#…): it would not be sent.")
    return _target(scheme.lower(), url)


def url_problems(url: str) -> list[Problem]:
    """What is wrong with a URL as the field of a body."""
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
        raise ValueError("The URL's host or port is malformed.") from ex
    in_brackets = "[" in parts.netloc
    if not (_V6 if in_brackets else _NAME).fullmatch(host):
        raise ValueError("The URL's host is a name in ASCII (international ones as xn--…) or an address.")
    if port is not None and not 1 <= port <= _LARGEST_PORT:
        raise ValueError("The URL's port is 1 to 65535.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme, host, port or _PORTS[scheme], path)
