"""The request of a push: its commands, capabilities and options, up to the first byte of the pack.

https://git-scm.com/docs/gitprotocol-pack#_reference_update_request_and_packfile_transfer
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from gitstore.errors import InvalidPush
from gitstore.git.refs import is_ref
from gitstore.layout import CommitId
from gitstore.wire.pkt_lines import MalformedRequest, Mark, read_line
from gitstore.wire.push.push_limits import MOST_REFS

CAPABILITIES = (
    "report-status",
    "delete-refs",
    "side-band-64k",
    "quiet",
    "atomic",
    "ofs-delta",
    "push-options",
    "object-format=sha1",
)
"""What `receive-pack` advertises, beside its agent."""
_MOST_OPTIONS = 100
_MOST_OPTION_BYTES = 16_384
_MOST_SHALLOW = 10_000
_COMMAND = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0]+)", re.DOTALL)
_ZERO = b"0" * 40
_SHALLOW = re.compile(rb"shallow [0-9a-f]{40}\n?")


class Command(NamedTuple):
    """One change of a ref, as it was sent; `refusal` is the reason why the name or the change is invalid, if it is."""

    ref: str
    old: CommitId | None
    new: CommitId | None
    refusal: str = ""


class PushRequest(NamedTuple):
    """The commands of a push, its capabilities and its options."""

    commands: tuple[Command, ...]
    capabilities: frozenset[str]
    options: tuple[str, ...]

    @property
    def is_atomic(self) -> bool:
        """True for all or nothing."""
        return "atomic" in self.capabilities

    @property
    def is_quiet(self) -> bool:
        """True if the pusher wants no progress."""
        return "quiet" in self.capabilities

    @property
    def has_pack(self) -> bool:
        """True if a pack follows: any command but a deletion has one."""
        return any(command.new for command in self.commands)


class RefusedRequest(InvalidPush):
    """A request that is refused before its pack is looked at; `capabilities` say how to answer it."""

    def __init__(self, message: str, capabilities: frozenset[str]) -> None:
        super().__init__(message)
        self.capabilities = capabilities


def read_push_request(file: BinaryIO) -> PushRequest:
    """Read everything before the pack. Raises MalformedRequest, RefusedRequest."""
    lines = _read_commands(file)
    first = next(lines, None)
    if first is None:
        return PushRequest((), frozenset(), ())
    line, _, words = first.partition(b"\0")
    capabilities = frozenset(words.decode(errors="replace").split())
    try:
        return _read_rest(file, line, lines, capabilities)
    except InvalidPush as ex:
        raise RefusedRequest(str(ex), capabilities) from ex


def _read_rest(file: BinaryIO, first: bytes, lines: Iterator[bytes], capabilities: frozenset[str]) -> PushRequest:
    if "object-format=sha256" in capabilities:
        raise InvalidPush("this repository has SHA-1 ids, and the push has those of SHA-256")
    commands = [parse_command(first)]
    for each in lines:
        if len(commands) >= MOST_REFS:
            raise InvalidPush(f"a push may change at most {MOST_REFS:,} refs; push fewer at once")
        commands.append(parse_command(each))
    options = tuple(_read_options(file)) if "push-options" in capabilities else ()
    return PushRequest(refuse_repeated(commands), capabilities, options)


def _read_commands(file: BinaryIO) -> Iterator[bytes]:
    shallow = 0
    while not isinstance(line := read_line(file), Mark):
        if _SHALLOW.fullmatch(line):  # of a shallow clone: what it lacks, the repository has, or the push is incomplete
            shallow += 1
            if shallow > _MOST_SHALLOW:
                raise InvalidPush(
                    f"the clone has more than {_MOST_SHALLOW:,} shallow commits; run `git fetch --unshallow`"
                )
        else:
            yield line
    if line is Mark.END and file.tell():
        raise MalformedRequest("The request is truncated: it ends before its list of refs does.")
    if line is not Mark.FLUSH and line is not Mark.END:
        raise MalformedRequest("The request is not Git's protocol: its list of refs has no end.")


def parse_command(line: bytes) -> Command:
    """Read one command, as in a request or as a hook of Git gets it. Raises MalformedRequest."""
    found = _COMMAND.fullmatch(line.removesuffix(b"\n"))
    if found is None:
        raise MalformedRequest("The request is not Git's protocol: a command is not `old new ref`.")
    old, new, name = found.groups()
    ref = name.decode(errors="replace")
    refusal = "" if is_ref(ref) and ref.encode() == name else "funny refname"
    return Command(ref, _commit(old), _commit(new), refusal or ("" if old != new else "it changes nothing"))


def _commit(name: bytes) -> CommitId | None:
    return None if name == _ZERO else CommitId(name.decode())


def refuse_repeated(commands: list[Command]) -> tuple[Command, ...]:
    """Refuse the commands of a ref that has several."""
    counts: dict[str, int] = {}
    for command in commands:
        counts[command.ref] = counts.get(command.ref, 0) + 1
    return tuple(
        command if counts[command.ref] == 1 else command._replace(refusal="the ref is pushed twice")
        for command in commands
    )


def _read_options(file: BinaryIO) -> Iterator[str]:
    count = 0
    while not isinstance(line := read_line(file), Mark):
        count += 1
        if count > _MOST_OPTIONS or len(line) > _MOST_OPTION_BYTES:
            raise InvalidPush(f"a push may have at most {_MOST_OPTIONS} options of {_MOST_OPTION_BYTES:,} bytes each")
        yield line.removesuffix(b"\n").decode(errors="replace")
    if line is not Mark.FLUSH:
        raise MalformedRequest("The request is truncated: it ends before its push options do.")
