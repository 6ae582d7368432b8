"""Pushes by path or SSH: Git's `pre-receive` hook has them checked as those over HTTP are, before any ref moves.

Git has received the objects into a quarantine of its own, and moves no ref if one is refused. The files of the repository are
enough for the checks. See docs/adr/0046-hooks-for-plain-pushes.md.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import NamespacePaths
from gitstore.errors import InvalidPush
from gitstore.git.packs.new_pack import BLOB, TYPES
from gitstore.git.refs import is_ref
from gitstore.git.repository import Author, Repository, open_repository
from gitstore.layout import RELEASE_REF, BlobId, CommitId
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.answer import Refused
from gitstore.pushes.judging import judge_push
from gitstore.pushes.push import NoRecords, Progress, Push, Pusher, PushRules, RefUpdate, RefVerdict, Scope
from gitstore.pushes.pushed_files import TokenFinder
from gitstore.pushes.release_check import PROPOSE
from gitstore.wire.push.object_rules import check_object, check_special
from gitstore.wire.push.push_limits import MOST_REFS, PushLimits
from gitstore.wire.push.push_request import Command, parse_command, refuse_repeated

_QUARANTINE = "GIT_QUARANTINE_PATH"
_OPTION = "GIT_PUSH_OPTION_{}"
_MOST_OPTIONS = 100
_MOST_LINE = 65_536  # bytes of `old new ref`; Git's own limit of a name is lower
_MOST_BYTES = PushLimits().object_bytes
_EVERYWHERE = Scope(everywhere=True)


class PlainPush(NamedTuple):
    """A push as Git passes it to the hook: its commands, its options, and the folder with its objects, if it has any."""

    commands: tuple[Command, ...]
    options: tuple[str, ...] = ()
    quarantine: Path | None = None


class PlainAnswer(NamedTuple):
    """The answer to a push: whether Git may move the refs, and the lines for the pusher."""

    is_accepted: bool
    lines: tuple[str, ...]


class PlainRecords(NoRecords):
    """The records for a push without the database: no approval can be read, and no override recorded."""

    def __init__(self, find_token: TokenFinder) -> None:
        self._find_token = find_token

    def verdicts(self, project: str, subject: ReviewSubject) -> Sequence[Verdict]:
        """Raise Refused: reviews are in the database of the service."""
        del subject
        raise Refused(
            "review required",
            f"{project} requires a review. Approvals and overrides are in the database of the service, which a push by path "
            "or SSH does not read. If this commit is approved, push it over HTTP. If not, push it as a proposal:",
            f"  {PROPOSE}",
        )

    def find_token(self, data: bytes) -> int | None:
        """Return the position of a text that has the form of an API token; whether it is valid now is not known here."""
        return self._find_token(data)


def read_plain_push(lines: BinaryIO, environment: Mapping[str, str]) -> PlainPush:
    """Read the standard input and the environment of the hook. Raises InvalidPush, MalformedRequest."""
    commands = [parse_command(line) for line in islice(iter(partial(lines.readline, _MOST_LINE), b""), MOST_REFS + 1)]
    if len(commands) > MOST_REFS:
        raise InvalidPush(f"a push may change at most {MOST_REFS:,} refs; push fewer at once")
    quarantine = environment.get(_QUARANTINE)
    options = tuple(_read_options(environment))
    return PlainPush(refuse_repeated(commands), options, Path(quarantine) if quarantine else None)


def _read_options(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the push options: https://git-scm.com/docs/githooks#pre-receive."""
    count = environment.get("GIT_PUSH_OPTION_COUNT", "")
    if count.isdecimal() and int(count) > _MOST_OPTIONS:
        raise InvalidPush(f"a push may have at most {_MOST_OPTIONS} options")
    for number in range(int(count) if count.isdecimal() else 0):
        yield environment.get(_OPTION.format(number), "")


class PlainCheck(NamedTuple):
    """The check of pushes to one repository, whose compiled files may be temporary ones."""

    paths: NamespacePaths
    author: Author
    find_token: TokenFinder
    rules: PushRules = PushRules()
    limits: PatternLimits = DEFAULT_LIMITS
    held_back: tuple[str, ...] = ()
    """The lines for a push to release, if it has to go elsewhere."""

    def answer(self, push: PlainPush, progress: Progress) -> PlainAnswer:
        """Check a push: Git moves all of its refs, or none. Raises StoreError."""
        refused = [each for each in push.commands if each.refusal]
        if refused:
            return PlainAnswer(is_accepted=False, lines=tuple(dict.fromkeys(map(_refusal, refused))))
        updates = tuple(RefUpdate(each.ref, each.old, each.new) for each in push.commands)
        if self.held_back and any(each.name == RELEASE_REF for each in updates):
            return PlainAnswer(is_accepted=False, lines=self.held_back)
        with open_repository(self.paths.repository, push.quarantine) as repository:
            try:
                with closing(Repository(self.paths.repository)) as known:
                    require_valid_objects(repository, known, [each.new for each in updates if each.new])
            except InvalidPush as ex:
                return PlainAnswer(is_accepted=False, lines=(f"The push is invalid: {ex}.",))
            verdicts = judge_push(
                self._compiler(repository),
                Push(updates, self._pusher(), push.options),
                progress,
                PlainRecords(self.find_token),
                self.rules,
            )
        return _answer(verdicts)

    def _compiler(self, repository: Repository) -> Compiler:
        paths = self.paths

        def read(blob: BlobId) -> bytes:
            return repository.blob(blob)

        segments = SegmentStore(paths.segments, paths.archive, paths.outlines, read)
        return Compiler(paths, repository, segments, read_only=True, limits=self.limits)

    def _pusher(self) -> Pusher:
        """Return the pusher, who may change every file of the repository, and so has all grants."""
        return Pusher(self.author, _EVERYWHERE, _EVERYWHERE, _EVERYWHERE, _EVERYWHERE, _EVERYWHERE)


def _refusal(command: Command) -> str:
    """Return why a command is refused; not with a text that is no name of a ref, since the answer is noted."""
    return f"{command.ref!r}: {command.refusal}" if is_ref(command.ref) else f"A name that is none: {command.refusal}"


def _answer(verdicts: Iterable[RefVerdict]) -> PlainAnswer:
    found = list(verdicts)
    refused = [each for each in found if each.refusal]
    lines = [line for each in refused or found for line in (each.lines or _reason(each))]
    if refused and len(refused) < len(found):
        lines.append("Nothing of this push was accepted, also none of its other refs.")
    return PlainAnswer(not refused, tuple(lines))


def _reason(verdict: RefVerdict) -> tuple[str, ...]:
    return (f"{verdict.update.name}: {verdict.refusal}",) if verdict.refusal else ()


def require_valid_objects(repository: Repository, known: Repository, tips: Iterable[CommitId]) -> None:
    """Raise InvalidPush unless new commits, folders and tags are as Git demands; it does so itself only if it is set to.

    `known` is the repository without what is pushed. That every object is there, Git has checked.
    """
    ahead, seen = list[str](tips), set[str]()
    while ahead:
        object_id = ahead.pop()
        if object_id in seen or known.has(object_id):
            continue
        seen.add(object_id)
        kind, data = _read_loose(repository.quarantine, object_id) or repository.raw(object_id)
        found = check_object(kind, bytes.fromhex(object_id), data)
        ahead += (each.id.hex() for each in found.references if each.kind != BLOB)
        for special in found.special:
            check_special(special.name, repository.raw(special.id.hex())[1])


def _read_loose(quarantine: Path | None, object_id: str) -> tuple[int, bytes] | None:
    """Read an object that Git has unpacked into its quarantine, in whatever form it is; dulwich parses it first."""
    if quarantine is None:
        return None
    try:
        stored = (quarantine / object_id[:2] / object_id[2:]).read_bytes()
        content = zlib.decompressobj().decompress(stored, _MOST_BYTES + 1)
    except (OSError, zlib.error):
        return None
    if len(content) > _MOST_BYTES:
        raise InvalidPush(f"the object {object_id} has more than {_MOST_BYTES >> 20} MiB")
    head, _, data = content.partition(b"\0")
    kind = TYPES.get(head.partition(b" ")[0])
    return (kind, data) if kind else None
