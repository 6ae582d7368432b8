"""Target templates: their expansion to a Location with captured text.

An expansion never leaves the host of its template, and never holds a character that a header cannot.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from content.matching.canonical import canonical_host, percent_encode
from content.matching.url import Url, split_url

MAX_LOCATION = 1 << 16  # characters: no server sends, and no client follows, so long a header
_REFERENCE = re.compile(r"\$([1-9])")
_HOST_THEN_REFERENCES = re.compile(r"([^$]*[^$.:@\-])((?:\$[1-9])+)")
_SAFE_TARGET = re.compile(
    r"(?:https?://[A-Za-z0-9.\-]+(?::[0-9]+)?(?![^/?#])|/(?![/\\]))[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]?#%]*"
)


def location_of(target: str) -> str:
    """Return the Location of an exact redirect: its target, percent-encoded where a URL requires it; `$1` is text."""
    if _SAFE_TARGET.fullmatch(target):
        return target
    return Template.literal(target).expand(())


def canonical_target(target: str) -> str:
    """Return a regex target, encoded as its expansions are, with its references; only captures are missing."""
    url = split_template(target)
    if url.authority is None or _REFERENCE.search(url.authority):
        return percent_encode(_encode_open_host(target, url.authority))
    return _origin(url.scheme, url.authority) + percent_encode(url.rest)


def split_template(target: str) -> Url:
    """Split a regex target; references directly after a complete host belong to `rest`, not to the host."""
    url = split_url(target)
    host_match = _HOST_THEN_REFERENCES.fullmatch(url.authority or "")
    return Url(url.scheme, host_match[1], host_match[2] + url.rest) if host_match else url


@dataclass(frozen=True, slots=True)
class Template:
    """A target ready for expansion: a fixed origin (empty: the same host), and pieces of text around references.

    `literals` has one more piece than `groups`. `has_open_host` is true where a capture is inside the authority, so
    that the visitor can choose the host.
    """

    origin: str
    literals: tuple[str, ...]
    groups: tuple[int, ...]
    has_open_host: bool = False

    @classmethod
    def parse(cls, target: str) -> "Template":
        """Parse the target of a regex redirect: `$1` to `$9` are references, `$10` is `$1` and then `0`."""
        url = split_template(target)
        if url.authority is not None and _REFERENCE.search(url.authority):
            return cls("", *_pieces(_encode_open_host(target, url.authority)), has_open_host=True)
        return cls(_origin(url.scheme, url.authority), *_pieces(target if url.authority is None else url.rest))

    @classmethod
    def literal(cls, target: str) -> "Template":
        """Parse the target of an exact redirect, where every `$` is text."""
        url = split_url(target)
        return cls(_origin(url.scheme, url.authority), (target if url.authority is None else url.rest,), ())

    @property
    def highest_group(self) -> int:
        """The highest group number of a reference, 0 without references."""
        return max(self.groups, default=0)

    def expand(self, groups: Sequence[str | None]) -> str:
        """Return the Location for the captured text (`groups[0]` is `$1`); None is empty.

        It is cut above MAX_LOCATION, so that a chain through a target with many references stays short.
        """
        pieces, length = [self.literals[0]], len(self.literals[0])
        for number, literal in zip(self.groups, self.literals[1:], strict=True):
            pieces += _captured(groups, number), literal
            length += len(pieces[-2]) + len(literal)
            if length > MAX_LOCATION:
                break
        text = "".join(pieces)[:MAX_LOCATION]
        if self.has_open_host:
            return percent_encode(text)
        return self.origin + percent_encode(_keep_on_host(text) if not self.origin else _separate_from_host(text))


def _pieces(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    pieces = _REFERENCE.split(text)
    return tuple(pieces[::2]), tuple(int(number) for number in pieces[1::2])


def _origin(scheme: str, authority: str | None) -> str:
    if authority is None:
        return ""
    name, colon, port = authority.partition(":")
    try:
        host = name if name.isascii() else canonical_host(name)
    except ValueError:
        host = name
    return f"{scheme}://{percent_encode(host + colon + port)}"


def _encode_open_host(target: str, authority: str | None) -> str:
    """Return the target with A-labels in place of those international labels of its host that have no reference."""
    if authority is None or authority.isascii():
        return target
    labels = (label if label.isascii() or "$" in label else _a_label(label) for label in authority.split("."))
    return target.replace(authority, ".".join(labels), 1)


def _a_label(label: str) -> str:
    try:
        return canonical_host(label)
    except ValueError:
        return label


def _captured(groups: Sequence[str | None], number: int) -> str:
    return groups[number - 1] or "" if number <= len(groups) else ""


def _keep_on_host(text: str) -> str:
    """Return the text as a path on the same host; two slashes or backslashes at its start would name another host."""
    return "/" + text.lstrip("/\\")


def _separate_from_host(text: str) -> str:
    """Return the text as the part after an authority: a capture cannot lengthen the host."""
    return text if not text or text[0] in "/?#" else "/" + text
