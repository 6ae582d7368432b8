"""The canonical form in which requests and sources are compared: paths, hosts and lookup keys.

Two spellings of a URL are equal here exactly where RFC 3986 calls them equivalent: slashes are not merged,
dot segments are not resolved, case is not folded, and `%2F` differs from `/`.
"""

import re

import idna

_SAFE = r"A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]?#"
_ALL_SAFE = re.compile(f"[{_SAFE}]*")
_ALL_SAFE_OR_PERCENT = re.compile(f"[{_SAFE}%]*")
_ESCAPE_OR_UNSAFE = re.compile(f"%([0-9A-Fa-f]{{2}})|[^{_SAFE}]")
_UNSAFE = re.compile(f"[^{_SAFE}%]+")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# A pattern for the host of a URL, in canonical form and without a port.
PLAIN_HOST = rf"(?=[^/?#]{{1,253}}(?:[/?#]|\Z)){_HOST.pattern}(?=[/?#]|\Z)"
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:@\[\]]*)(?::([0-9]+))?")
_HOST_LIMIT = 253
_PORT_LIMIT = 65535


def canonical_path(path: str) -> str:
    """Return the canonical form of a path, with or without a query string; never fails and is idempotent."""
    if _ALL_SAFE.fullmatch(path):
        return path
    return _ESCAPE_OR_UNSAFE.sub(_canonical_piece, path)


def _canonical_piece(found: re.Match[str]) -> str:
    escape: str | None = found[1]
    if escape is None:
        return _percent(found[0])
    character = chr(int(escape, 16))
    return character if character in _UNRESERVED else f"%{escape.upper()}"


def percent_encode(text: str) -> str:
    """Percent-encode, as UTF-8, every character that a URL cannot hold; existing escapes are unchanged."""
    if _ALL_SAFE_OR_PERCENT.fullmatch(text):
        return text
    return _UNSAFE.sub(lambda found: _percent(found[0]), text)


def _percent(text: str) -> str:
    # surrogatepass: invalid Unicode (refused by the record rules) has a form too, and cannot raise here
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def canonical_host(host: str) -> str:
    """Return the canonical form of a host: lower case, A-labels, no port, no trailing dot.

    Raises ValueError with a sentence where the text is not a host: empty, with user information, or malformed.
    """
    if _HOST.fullmatch(host) and len(host) <= _HOST_LIMIT:
        return host
    name = _without_port(host).removesuffix(".")
    if name.startswith("["):
        return name.lower()
    canonical = name.lower() if name.isascii() else _a_labels(name)
    if not _HOST.fullmatch(canonical) or len(canonical) > _HOST_LIMIT:
        raise ValueError(f"{_quote(host)} is not a host name")
    return canonical


def _without_port(host: str) -> str:
    if "@" in host:
        raise ValueError(f"{_quote(host)} contains a user name; only a host and a port are allowed")
    parts = _AUTHORITY.fullmatch(host)
    if parts is None:
        raise ValueError(f"{_quote(host)} is not a host name")
    name, port = parts[1], parts[2]
    if port and (len(port) > len(str(_PORT_LIMIT)) or int(port) > _PORT_LIMIT):
        raise ValueError(f"the port {_quote(port)} is greater than {_PORT_LIMIT}")
    if not name:
        raise ValueError("the host is missing")
    return str(name)


def _a_labels(name: str) -> str:
    if len(name) > _HOST_LIMIT:
        raise ValueError(f"{_quote(name)} is too long for a host name")
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except UnicodeError as ex:
        raise ValueError(f"{_quote(name)} is not a host name: {ex}") from ex


def _quote(text: str, limit: int = 80) -> str:
    return f'"{text}"' if len(text) <= limit else f'"{text[:limit]}…"'


def split_host(source: str) -> tuple[str, str]:
    """Split `host/path?query` before its first slash; the second part is empty without a slash."""
    host, slash, rest = source.partition("/")
    return host, slash + rest


def exact_key(has_host: bool, source: str) -> str:  # noqa: FBT001 - callers pass the type's has_host
    """Return the lookup key of an exact redirect source or page path: `/path[?query]` or `host/path[?query]`.

    Empty where no request can equal the source: no slash, no host, or a fragment (agents never get one).
    """
    host, path = split_host(source) if has_host else ("", source)
    if not path.startswith("/") or "#" in path:
        return ""
    if not has_host:
        return canonical_path(path)
    try:
        return canonical_host(host) + canonical_path(path)
    except ValueError:
        return ""
