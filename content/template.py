"""Targets: what a Location becomes when captured text is put in.

An expansion never leaves the host that its template names, and never holds a character that a header cannot.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from content.canonical import canonical_host, percent_encoded
from content.url import Url, split_url

_REFERENCE = re.compile(r"\$([1-9])")
_GLUED = re.compile(r"([^$]*[^$.:@\-])((?:\$[1-9])+)")
_AS_WRITTEN = re.compile(
    r"(?:https?://[A-Za-z0-9.\-]+(?::[0-9]+)?(?![^/?#])|/(?![/\\]))[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]?#%]*"
)


def location_of(target: str) -> str:
    """The Location of an exact redirect: its target, with what a URL cannot hold percent-encoded; `$1` is text."""
    if _AS_WRITTEN.fullmatch(target):
        return target
    return Template.literal(target).expand(())


def split_template(target: str) -> Url:
    """The parts of a regex target; references directly after a whole host are no part of it, they follow it."""
    url = split_url(target)
    glued = _GLUED.fullmatch(url.authority or "")
    return Url(url.scheme, glued[1], glued[2] + url.rest) if glued else url


@dataclass(frozen=True, slots=True)
class Template:
    """A target ready for expansion: a fixed origin (empty: the same host), and pieces of text around references.

    `literals` has one more piece than `groups`. `roaming` is true where a capture stands inside the authority, so
    that the host is the visitor's to choose.
    """

    origin: str
    literals: tuple[str, ...]
    groups: tuple[int, ...]
    roaming: bool = False

    @classmethod
    def parse(cls, target: str) -> "Template":
        """The template of a regex redirect: `$1` to `$9` are references, `$10` is `$1` and then `0`."""
        url = split_template(target)
        if url.authority is not None and _REFERENCE.search(url.authority):
            return cls("", *_pieces(target), roaming=True)
        return cls(_origin(url.scheme, url.authority), *_pieces(target if url.authority is None else url.rest))

    @classmethod
    def literal(cls, target: str) -> "Template":
        """The template of an exact redirect, where every `$` is text."""
        url = split_url(target)
        return cls(_origin(url.scheme, url.authority), (target if url.authority is None else url.rest,), ())

    @property
    def highest_group(self) -> int:
        """The greatest number of a reference, 0 where there is none."""
        return max(self.groups, default=0)

    def expand(self, groups: Sequence[str | None]) -> str:
        """The Location for what the groups caught (`groups[0]` is `$1`); what caught nothing is empty."""
        text = self.literals[0]
        for number, literal in zip(self.groups, self.literals[1:], strict=True):
            text += _caught(groups, number) + literal
        if self.roaming:
            return percent_encoded(text)
        return self.origin + percent_encoded(_on_this_host(text) if not self.origin else _after_host(text))


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
    return f"{scheme}://{percent_encoded(host + colon + port)}"


def _caught(groups: Sequence[str | None], number: int) -> str:
    return groups[number - 1] or "" if number <= len(groups) else ""


def _on_this_host(text: str) -> str:
    """The text as a path on the same host; two slashes or backslashes at its start would lead to another one."""
    return "/" + text.lstrip("/\\")


def _after_host(text: str) -> str:
    """The text as what follows an authority: a capture cannot lengthen the host."""
    return text if not text or text[0] in "/?#" else "/" + text
