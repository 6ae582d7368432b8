"""Pushes built by hand and by C git, received without HTTP."""

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitstore.compiled.compiler import Compiler
from gitstore.pushes.push import NoRecords, Progress, Push, Pusher, PushRecords, PushRules, RefVerdict, Scope
from gitstore.pushes.receiving import Judge, ReceivedPush, Reception, receive_push
from gitstore.store.access import QuarantinedNamespace, access_at
from gitstore.wire.pkt_lines import FLUSH, pkt_line
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.push_request import read_push_request
from tests.gitstore.fixtures import ADA, SPACE, Place, git

ZERO = "0" * 40
DEFAULT_LIMITS = PushLimits()
CAPABILITIES = "report-status side-band-64k"
EVERYWHERE = Scope(everywhere=True)
ROOT = Pusher(ADA, EVERYWHERE, EVERYWHERE, EVERYWHERE, EVERYWHERE, EVERYWHERE)
COMMIT, TREE, BLOB, TAG, OFS, REF = 1, 2, 3, 4, 6, 7
_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}


def object_id(kind: int, data: bytes) -> bytes:
    """Return the id of an object."""
    return hashlib.sha1(b"%s %d\0%b" % (_NAMES[kind], len(data), data), usedforsecurity=False).digest()


def entry(kind: int, data: bytes, base: bytes = b"", size: int | None = None) -> bytes:
    """Return an entry of a pack; `base` comes before the data of a delta."""
    left = len(data) if size is None else size
    head, left = [kind << 4 | left & 15], left >> 4
    while left:
        head[-1] |= 128
        head.append(left & 127)
        left >>= 7
    return bytes(head) + base + zlib.compress(data)


def distance(number: int) -> bytes:
    """Return the distance to the base of a delta, as a pack has it."""
    found = [number & 127]
    while number := number >> 7:
        number -= 1
        found.append(128 | number & 127)
    return bytes(reversed(found))


def varint(number: int) -> bytes:
    """Return a size, as a delta has it."""
    found = []
    while number >= 128:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def delta(base_size: int, size: int, *steps: bytes) -> bytes:
    """Return a delta that claims these sizes."""
    return varint(base_size) + varint(size) + b"".join(steps)


def pack(*entries: bytes, count: int | None = None) -> bytes:
    """Return a pack of entries, with its checksum."""
    body = b"PACK" + struct.pack(">II", 2, len(entries) if count is None else count) + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def commit(tree: bytes, *parents: bytes, message: str = "Change\n") -> bytes:
    """Return the bytes of a commit."""
    lines = [f"tree {tree.hex()}", *(f"parent {parent.hex()}" for parent in parents)]
    lines += [f"{role} Ada <ada@shop.example> 1700000000 +0000" for role in ("author", "committer")]
    return ("\n".join(lines) + f"\n\n{message}").encode()


def tree(*entries: tuple[bytes, bytes, bytes]) -> bytes:
    """Return the bytes of a folder, from mode, name and id of each entry."""
    return b"".join(b"%b %b\0%b" % each for each in entries)


def request(commands: Sequence[tuple[str, str, str]], data: bytes = b"", words: str = CAPABILITIES) -> bytes:
    """Return the body of a push: old, new and ref of each command."""
    lines = [f"{old} {new} {ref}".encode() for old, new, ref in commands]
    lines[0] += b"\0 " + words.encode()
    return b"".join(map(pkt_line, lines)) + FLUSH + data


def accept_all(
    _compiler: Compiler, push: Push, _progress: Progress, _records: PushRecords, _rules: PushRules
) -> tuple[RefVerdict, ...]:
    """Accept every change: the rules for content have tests of their own."""
    return tuple(RefVerdict(update) for update in push.updates)


@dataclass
class Pushed:
    """A namespace, and pushes to it."""

    place: Place
    limits: PushLimits = DEFAULT_LIMITS
    judge: Judge = accept_all
    records: PushRecords = field(default_factory=NoRecords)

    @property
    def repository(self) -> Path:
        """The bare repository."""
        return self.place.repo

    def push(self, body: bytes, pusher: Pusher = ROOT) -> Reception:
        """Receive the body of a push."""
        pushes = self.place.store.pushes
        with pushes.quarantine(SPACE) as quarantine:
            quarantine.request.write_bytes(body)
            with quarantine.request.open("rb") as file:
                found = read_push_request(file)
                start = file.tell()
            opened = QuarantinedNamespace(access_at(self.place.root), SPACE, quarantine)
            received = ReceivedPush(quarantine, found, start, pusher, self.limits, self.records)
            return receive_push(opened, received, self.judge)

    def refused(self, data: bytes, new: str = "1" * 40, ref: str = "refs/heads/topic") -> str:
        """Push a pack for one new branch; return the reason for which it is refused, and check that nothing is left."""
        before = self.files()
        report = self.push(request([(ZERO, new, ref)], data)).report
        assert self.files() == before
        assert self.ref(ref) == ""
        reason = report.fault or report.statuses[0].refusal
        assert reason, "the push was accepted"
        return reason

    def accept(self, data: bytes, new: bytes, ref: str = "refs/heads/topic") -> Reception:
        """Push a pack for one branch, and check that it moved and that the repository is valid."""
        found = self.push(request([(self.ref(ref) or ZERO, new.hex(), ref)], data))
        assert (found.report.fault, found.report.statuses[0].refusal) == ("", "")
        assert self.ref(ref) == new.hex()
        self.check()
        return found

    def files(self) -> set[Path]:
        """Return all files of objects and refs."""
        return {path for name in ("objects", "refs") for path in (self.repository / name).rglob("*") if path.is_file()}

    def ref(self, name: str) -> str:
        """Return the commit of a ref; empty if there is none."""
        return git(self.repository, "for-each-ref", "--format=%(objectname)", name)

    def check(self) -> None:
        """Fail unless git finds every object present and valid."""
        self.place.fsck()

    def statuses(self, body: bytes) -> dict[str, str]:
        """Push; return the reason for which each ref is refused, empty for one that moved."""
        return {status.ref: status.refusal for status in self.push(body).report.statuses}

    def clone(self, folder: Path) -> Path:
        """Clone the namespace."""
        git(folder.parent, "clone", "-q", str(self.repository), str(folder))
        return folder


def made_pack(clone: Path, *revisions: str, thin: bool = True) -> bytes:
    """Return the pack that C git makes for revisions, such as `topic` and `^release`."""
    words = ["git", "pack-objects", "--stdout", "--revs", "-q", "--delta-base-offset", *(["--thin"] if thin else [])]
    done = subprocess.run(words, cwd=clone, input="\n".join(revisions).encode(), capture_output=True, check=True)
    return done.stdout
