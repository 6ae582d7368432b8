"""The conversation of a client: the refs of a repository, one request for a pack, one push.

https://git-scm.com/docs/gitprotocol-pack in its first version, which every host speaks. All haves are sent at once and
followed by `done`: there is no negotiation, since a namespace and its upstream differ by a few commits.
"""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gitstore.git.refs import is_ref
from gitstore.layout import CommitId
from gitstore.wire.client.remote_errors import RemoteAway, RemoteGarbage, RemoteMoved, RemoteRefused, quote_remote
from gitstore.wire.pkt_lines import FLUSH, MalformedRequest, Mark, Readable, pkt_line, read_line, text_line

FETCH, PUSH = "git-upload-pack", "git-receive-pack"
_AGENT = "agent=waypost"
_WANTED = ("ofs-delta", "thin-pack", "side-band-64k", "no-progress")
_PUSHED = ("report-status", "side-band-64k", "ofs-delta", "quiet")
_OPTIONS = ("push-options",)
_MOST_REFS = 100_000
_REF = re.compile(rb"([0-9a-f]{40}) ([^\0\n]+)")
_NO_REF = b"capabilities^{}"
_ZERO = "0" * 40
_PACK, _PROGRESS, _ERROR = 1, 2, 3
_BAND = 1  # byte


class RemoteRefs(NamedTuple):
    """The refs of another repository, and what it can do."""

    refs: Mapping[str, CommitId]
    capabilities: frozenset[str]

    @property
    def is_waypost(self) -> bool:
        """True if the other side says that it is a Waypost."""
        return any(each.startswith(_AGENT) for each in self.capabilities)


class PushedRef(NamedTuple):
    """A ref to move in another repository, from the value that is expected; None for a new one, or to remove it."""

    name: str
    old: CommitId | None
    new: CommitId | None


def read_http_refs(reader: Readable, service: str) -> RemoteRefs:
    """Read the refs of a repository over HTTP. Raises RemoteGarbage, RemoteRefused."""
    lines = _Lines(reader)
    if lines.next() != f"# service={service}\n".encode() or lines.next() is not Mark.FLUSH:
        raise RemoteGarbage("The upstream does not answer with the refs of a Git repository. Check the URL.")
    return read_refs(reader)


def read_refs(reader: Readable) -> RemoteRefs:
    """Read the refs of a repository. Raises RemoteGarbage, RemoteRefused."""
    lines = _Lines(reader)
    refs, capabilities = dict[str, CommitId](), frozenset[str]()
    while not isinstance(line := lines.next(), Mark):
        head, _, words = line.partition(b"\0")
        if words:
            capabilities = frozenset(words.decode(errors="replace").split())
        found = _REF.fullmatch(head.removesuffix(b"\n"))
        if found is None or len(refs) > _MOST_REFS:
            raise RemoteGarbage("The upstream's list of refs cannot be read, or has too many of them.")
        name = found[2].decode(errors="replace")
        if found[2] != _NO_REF and is_ref(name):  # neither HEAD nor what a tag names
            refs[name] = CommitId(found[1].decode())
    if line is not Mark.FLUSH:
        raise RemoteAway("The upstream's list of refs is cut off.")
    if "object-format=sha256" in capabilities:
        raise RemoteRefused("The upstream has ids of SHA-256. Only repositories with SHA-1 can be an upstream.")
    return RemoteRefs(refs, capabilities)


def write_fetch(file: BinaryIO, remote: RemoteRefs, want: CommitId, haves: Sequence[CommitId]) -> None:
    """Write the request for the pack of a commit, for a client that has others with all that they reach."""
    words = [each for each in _WANTED if each in remote.capabilities]
    file.write(text_line(" ".join([f"want {want}", *words, _AGENT])))
    file.write(FLUSH)
    file.writelines(text_line(f"have {have}") for have in haves)
    file.write(text_line("done"))


def read_fetch(reader: Readable, remote: RemoteRefs, file: BinaryIO) -> None:
    """Read the answer to the request, and write its pack. Raises RemoteGarbage, RemoteAway."""
    lines = _Lines(reader)
    line = lines.next()
    if isinstance(line, Mark) or not line.startswith((b"NAK", b"ACK ")):
        raise RemoteGarbage("The upstream does not answer the request for its commits as Git does.")
    if "side-band-64k" not in remote.capabilities:
        while piece := reader.read(1 << 16):
            file.write(piece)
        return
    while not isinstance(line := lines.next(), Mark):
        if line.startswith((b"NAK", b"ACK ")):
            continue
        if _read_band(line) == _PACK:
            file.write(line[_BAND:])
    if line is not Mark.FLUSH:
        raise RemoteAway("The upstream's answer is cut off in the middle of its commits.")


def write_push(
    file: BinaryIO, remote: RemoteRefs, moves: Iterable[PushedRef], pack: Path | None, options: Sequence[str] = ()
) -> None:
    """Write a push: its changes of refs, and a pack, which one that only removes does not have."""
    words = [each for each in _PUSHED if each in remote.capabilities]
    words += _OPTIONS if options else ()
    for number, (name, old, new) in enumerate(moves):
        tail = "\0 " + " ".join([*words, _AGENT]) if number == 0 else ""
        file.write(pkt_line(f"{old or _ZERO} {new or _ZERO} {name}{tail}".encode()))
    file.write(FLUSH)
    if options:
        file.writelines(text_line(option) for option in options)
        file.write(FLUSH)
    if pack:
        with pack.open("rb") as source:
            shutil.copyfileobj(source, file, 1 << 20)


def read_report(reader: Readable, remote: RemoteRefs, moves: Sequence[PushedRef]) -> None:
    """Read the answer to a push; it returns if every ref has moved. Raises RemoteMoved, RemoteRefused, RemoteAway."""
    report, said = _split_bands(reader) if "side-band-64k" in remote.capabilities else (_Lines(reader), list[str]())
    line = report.next()
    if isinstance(line, Mark) or not line.startswith(b"unpack "):
        raise RemoteAway("The upstream's answer to the push is cut off; whether it was accepted is not known yet.")
    if line.strip() != b"unpack ok":
        raise RemoteRefused(f"The upstream refuses the push: {_explain(line.decode(errors='replace')[7:], said)}")
    moved = set[str]()
    while not isinstance(line := report.next(), Mark):
        word, _, rest = line.decode(errors="replace").strip().partition(" ")
        ref, _, reason = rest.partition(" ")
        if word == "ok":
            moved.add(ref)
        elif word == "ng":
            raise _refusal(ref, reason, said)
    if not moved.issuperset(move.name for move in moves):
        raise RemoteAway("The upstream's answer to the push is cut off; whether it was accepted is not known yet.")


# The reasons of C git, JGit and Waypost for a ref that is not at the old value of a push. They begin with these words; those of
# a policy ("blocked", "the branch is locked") may have any words in them.
# https://github.com/git/git/blob/master/builtin/receive-pack.c and refs.c
_STALE = re.compile(
    r"fetch first|non-fast-forward|stale info|incorrect old value provided|reference already exists"
    r"|failed to update ref$|failed to lock$|(?:cannot|unable to|failed to) lock ref\b|another push moved it first"
)
# These come with the same reasons, but a later attempt changes nothing.
_NO_RACE = re.compile(r"permission denied|read-only file system|no space left", re.IGNORECASE)


def _refusal(ref: str, reason: str, said: Sequence[str]) -> RemoteMoved | RemoteRefused:
    if _STALE.match(reason) and not any(map(_NO_RACE.search, (reason, *said))):
        return RemoteMoved(f"The upstream's branch {quote_remote(ref)} has moved: {_explain(reason, said)}")
    return RemoteRefused(f"The upstream refuses the push of {quote_remote(ref)}: {_explain(reason, said)}")


def _explain(reason: str, said: Sequence[str]) -> str:
    lines = [quote_remote(reason), *map(quote_remote, said[:3])]
    return "; ".join(filter(None, lines)).rstrip(".") + "."


def _split_bands(reader: Readable) -> "tuple[_Lines, list[str]]":
    lines, report, said = _Lines(reader), list[bytes](), list[bytes]()
    size = 0
    while not isinstance(line := lines.next(), Mark):
        band = _read_band(line)
        size += len(line)
        if size > 1 << 20:
            raise RemoteGarbage("The upstream's answer to the push has more than a megabyte.")
        if band == _PACK:
            report.append(line[_BAND:])
        elif band == _PROGRESS:
            said.append(line[_BAND:])  # C git cuts it after 128 bytes, wherever that is
    return _Lines(_Bytes(b"".join(report))), b"".join(said).decode(errors="replace").splitlines()


def _read_band(line: bytes) -> int:
    """Return the band of a line. Raises RemoteRefused for the message of an error."""
    if line[:1] == b"\3":
        raise RemoteRefused(f"The upstream stops: {quote_remote(line[1:].decode(errors='replace'))}")
    return line[0] if line else 0


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read(self, size: int, /) -> bytes:
        piece, self._data = bytes(self._data[:size]), self._data[size:]
        return piece


class _Lines:
    """The pkt-lines of a stream."""

    def __init__(self, reader: Readable) -> None:
        self._reader = reader

    def next(self) -> bytes | Mark:
        """Read a line, or the mark in its place. Raises RemoteGarbage, RemoteRefused for the line of an error."""
        try:
            line = read_line(self._reader)
        except MalformedRequest as ex:
            raise RemoteGarbage("What the upstream sends is not Git's protocol, or is cut off.") from ex
        if not isinstance(line, Mark) and line.startswith(b"ERR "):
            raise RemoteRefused(f"The upstream refuses: {quote_remote(line[4:].decode(errors='replace'))}")
        return line
