"""The request of a fetch, read from the lines of either version of the protocol.

https://git-scm.com/docs/gitprotocol-v2#_fetch and https://git-scm.com/docs/pack-protocol
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import NamedTuple

from gitstore.wire.packs.selection import ObjectFilter
from gitstore.wire.pkt_lines import MalformedRequest, Mark, UnsupportedRequest, read_text

_ID = re.compile(r"[0-9a-f]{40}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_FILTER = re.compile(r"blob:(none)|blob:limit=([0-9]{1,15})([kmgKMG]?)|tree:([0-9]{1,9})")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(slots=True)
class FetchRequest:
    """A fetch: the objects that a client wants and has, its shallow commits, and the features that it knows."""

    wants: list[str] = field(default_factory=list)
    haves: list[str] = field(default_factory=list)
    shallow: set[str] = field(default_factory=set)
    """The commits that the client has without their parents."""
    features: set[str] = field(default_factory=set)
    is_done: bool = False
    depth: int = 0
    is_relative: bool = False
    """True if `depth` counts from the client's shallow commits."""
    since: int = 0
    not_refs: list[str] = field(default_factory=list)
    filter: ObjectFilter = field(default_factory=ObjectFilter)
    ends_early: bool = False
    """True for a request of the first version that ends after its wants: its client waits for the shallow commits only."""

    @property
    def is_deepening(self) -> bool:
        """True if the client asks for a history of another length."""
        return bool(self.depth or self.since or self.not_refs)


class Command(NamedTuple):
    """A request of the second version: its command, and its arguments."""

    name: str
    arguments: tuple[str, ...]


def read_command(body: bytes) -> Command | None:
    """Read a request of the second version; None for an empty one. Raises MalformedRequest."""
    file = BytesIO(body)
    head, end = _read_part(file)
    if end is Mark.END and not head:
        return None
    arguments, end = _read_part(file) if end is Mark.DELIMITER else ([], end)
    if end is not Mark.FLUSH:
        raise MalformedRequest("The request is truncated: it ends without a flush.")
    given = dict(line.partition("=")[::2] for line in head)
    if given.get("object-format", "sha1") != "sha1":
        raise MalformedRequest("This service knows object-format=sha1 only.")
    if not given.get("command"):
        raise MalformedRequest("The request names no command.")
    return Command(given["command"], tuple(arguments))


def _read_part(file: BytesIO) -> tuple[list[str], Mark]:
    lines: list[str] = []
    while not isinstance(found := read_text(file), Mark):
        lines.append(found)
    return lines, found


def read_fetch(arguments: tuple[str, ...]) -> FetchRequest:
    """Read the arguments of `fetch` in the second version. Raises MalformedRequest."""
    request = FetchRequest()
    for line in arguments:
        _take(request, line)
    return request


def read_first_version(body: bytes) -> FetchRequest | None:
    """Read a fetch in the first version; None for an empty request. Raises MalformedRequest."""
    file = BytesIO(body)
    request, end = FetchRequest(), Mark.END
    for at, line in enumerate(_lines(file)):
        if isinstance(line, Mark):
            end = line
            break
        _take(request, _without_capabilities(request, line) if at == 0 else line)
    if end is Mark.END:
        if body:
            raise MalformedRequest("The request is truncated: it ends without a flush.")
        return None
    if not request.wants:
        return None
    request.ends_early = file.tell() == len(body)
    _take_haves(request, file)
    return request


def _take_haves(request: FetchRequest, file: BytesIO) -> None:
    for line in _lines(file):
        if line in {Mark.DELIMITER, Mark.RESPONSE_END}:
            raise MalformedRequest("The request is not Git's protocol: a mark of another version.")
        if line is Mark.FLUSH:  # without a connection that lasts, the response comes here
            return
        _take(request, str(line))
        if request.is_done:
            return


def _lines(file: BytesIO) -> Iterator[str | Mark]:
    while (found := read_text(file)) is not Mark.END:
        yield found


def _without_capabilities(request: FetchRequest, line: str) -> str:
    want, _, capabilities = line.replace("\0", " ").partition(" ")[2].partition(" ")
    request.features.update(each.partition("=")[0] for each in capabilities.split())
    request.is_relative = "deepen-relative" in request.features
    if not line.startswith("want "):
        raise MalformedRequest("The request is not Git's protocol: it begins with no want.")
    return f"want {want}"


def _take(request: FetchRequest, line: str) -> None:
    word, _, rest = line.partition(" ")
    if word in _WORDS and not rest:
        _WORDS[word](request)
    elif word in _VALUES and rest:
        _VALUES[word](request, rest)
    else:
        raise MalformedRequest(f"The request has an unexpected line: {line[:80]!r}.")


def _set_done(request: FetchRequest) -> None:
    request.is_done = True


def _set_relative(request: FetchRequest) -> None:
    request.is_relative = True


def _note(feature: str) -> Callable[[FetchRequest], None]:
    return lambda request: request.features.add(feature)


def _add_shallow(request: FetchRequest, text: str) -> None:
    request.shallow.add(_id(text))


def _set_depth(request: FetchRequest, text: str) -> None:
    request.depth = _number(text)


def _set_since(request: FetchRequest, text: str) -> None:
    request.since = _number(text)


def _set_filter(request: FetchRequest, text: str) -> None:
    found = _FILTER.fullmatch(text)
    if found is None:
        raise UnsupportedRequest("This service knows the filters blob:none, blob:limit=<bytes> and tree:<depth>.")
    none, size, unit, depth = found.groups()
    if depth is not None:
        request.filter = ObjectFilter(depth=int(depth))
    else:
        request.filter = ObjectFilter(0 if none else int(size) * _UNITS[unit.lower()])


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise MalformedRequest(f"The request has an id that is none: {text[:80]!r}.")
    return text


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text) or not int(text):
        raise MalformedRequest(f"The request has a number that is none: {text[:80]!r}.")
    return int(text)


_FEATURES = ("thin-pack", "no-progress", "include-tag", "ofs-delta", "wait-for-done")
_WORDS: Mapping[str, Callable[[FetchRequest], None]] = {
    "done": _set_done,
    "deepen-relative": _set_relative,
    **{feature: _note(feature) for feature in _FEATURES},
}
_VALUES: Mapping[str, Callable[[FetchRequest, str], None]] = {
    "want": lambda request, text: request.wants.append(_id(text)),
    "have": lambda request, text: request.haves.append(_id(text)),
    "shallow": _add_shallow,
    "deepen": _set_depth,
    "deepen-since": _set_since,
    "deepen-not": lambda request, text: request.not_refs.append(text),
    "filter": _set_filter,
}
