"""The URL of another repository, parsed once and strictly, so that no later step can parse it differently."""

import re
from enum import Enum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

MOST_URL = 2000
_PORTS = {"https": 443, "http": 80, "ssh": 22}
_LARGEST_PORT = 65535
# ASCII without spaces, quotes and the backslash; `?` and `#` have no meaning in the path of a repository.
_PRINTABLE = re.compile(r"[!$-&(->@-\[\]-_a-~]+")
_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
# As `git clone` takes it: git@host:path
_SHORT = re.compile(r"([^@/:]+)@([^@/:]+):(?!//)(.+)")
_V6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")


class Transport(Enum):
    """The ways to another repository."""

    HTTPS = "https"
    HTTP = "http"
    SSH = "ssh"
    PATH = "path"


class RemoteUrl(NamedTuple):
    """A parsed URL: for a path only `path` is set, which is absolute; only SSH has the user's name in its URL."""

    transport: Transport
    path: str
    host: str = ""
    port: int = 0
    username: str = ""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.transport.value) else f"{host}:{self.port}"


def parse_url(text: str) -> RemoteUrl:
    """Parse a URL; ValueError, with a message for users, for one that no upstream can have."""
    if len(text) > MOST_URL or not _PRINTABLE.fullmatch(text):
        raise ValueError(f"The URL is not 1 to {MOST_URL} printable ASCII characters without spaces, quotes and '?'.")
    if text.startswith(("/", "file://")):
        return _parse_path(text.removeprefix("file://"))
    short = _SHORT.fullmatch(text)
    if short:
        text = f"ssh://{short[1]}@{short[2]}/{short[3].removeprefix('/')}"
    scheme, found, rest = text.partition("://")
    if not found or scheme not in _PORTS:
        raise ValueError(
            "The URL must begin with https://, http://, ssh:// or /, the path of a repository on this machine (also file://)."
        )
    if scheme == "ssh":
        return _parse_ssh(text, is_relative=short is not None and not short[3].startswith("/"))
    if "@" in rest.partition("/")[0]:
        raise ValueError("The URL has a user name or password. Give them in the fields username and password.")
    return _parse_http(Transport(scheme), text)


def _parse_path(text: str) -> RemoteUrl:
    if not text.startswith("/") or ".." in Path(text).parts:
        raise ValueError("The path of a repository must be absolute and without '..'.")
    return RemoteUrl(Transport.PATH, str(Path(text)))


def _parse_ssh(text: str, *, is_relative: bool) -> RemoteUrl:
    """Parse a URL of SSH; the path of the short form begins in the user's folder, unless it begins with a slash."""
    head, _, rest = text.removeprefix("ssh://").partition("/")
    username, _, host = head.rpartition("@")
    if not _USER.fullmatch(username):
        raise ValueError("The URL of SSH needs a plain user name and no password, such as ssh://git@host/path.")
    found = _parse_http(Transport.SSH, f"ssh://{host}/{rest}")
    path = found.path.lstrip("/") if is_relative else found.path
    if path.startswith("/~"):  # as C git: the home of a user there
        path = path.removeprefix("/")
    if path.startswith("-"):  # an option of the programs there; C git refuses it too
        raise ValueError("The path of the repository begins with '-'. Put ./ or its folders before it.")
    if not path.strip("/"):
        raise ValueError("The URL has no path of a repository.")
    return found._replace(username=username, path=path)


def _parse_http(transport: Transport, text: str) -> RemoteUrl:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as ex:
        raise ValueError("The URL has a malformed host or port.") from ex
    if not (_V6 if "[" in parts.netloc else _HOST).fullmatch(host):
        raise ValueError("The URL's host must be a name in ASCII (international ones as xn--…) or an address.")
    if port is not None and not 1 <= port <= _LARGEST_PORT:
        raise ValueError("The URL's port must be 1 to 65535.")
    return RemoteUrl(transport, parts.path.rstrip("/") or "/", host, port or _PORTS[transport.value])
