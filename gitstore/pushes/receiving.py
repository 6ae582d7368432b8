"""The reception of a push: from the bytes in its quarantine to refs that have moved, and the answer.

The pack is read strictly, everything that it needs is found, and every change of a ref is checked, before the repository
has any of it. Then, under the repository's lock, the refs' values are compared, the objects installed, and the refs
moved. Begin with `receive_push`. See docs/adr/0042-pushes-over-http.md.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple, Protocol, Self

from gitstore.compiled.compiler import Compiler
from gitstore.errors import InvalidPush, LostRace, StoreError
from gitstore.git.after_commit import after_commit
from gitstore.git.quarantine import Quarantine
from gitstore.git.ref_moves import RefMove
from gitstore.git.repository import Repository
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.history.notes import write_notes
from gitstore.layout import BRANCH_PREFIX, RELEASE_REF, CommitId
from gitstore.publish.advance import follow_release
from gitstore.pushes.judging import judge_push
from gitstore.pushes.push import NoRecords, Progress, Push, Pusher, PushRecords, PushRules, RefUpdate, RefVerdict
from gitstore.wire.push.connectivity import ANY_KIND, COMMITS, Connectivity
from gitstore.wire.push.installation import install
from gitstore.wire.push.pack_reader import PackReader, ReceivedPack
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.push_report import PushReport, RefStatus
from gitstore.wire.push.push_request import PushRequest
from gitstore.wire.push.references import References

_NO_PACK = ReceivedPack.none()
_PROGRESS_SECONDS = 1.0
_MANY_OBJECTS = 1_000
_STALE = "another push moved it first; fetch, then push again"
NO_ACCESS = "your grants have changed since the push began; push again"
_NOT_ATOMIC = "atomic push failed: another ref was refused"

Judge = Callable[[Compiler, Push, Progress, PushRecords, PushRules], tuple[RefVerdict, ...]]


class ReceivedPush(NamedTuple):
    """A push whose request is in its quarantine; its pack begins at the byte `start` of the body."""

    quarantine: Quarantine
    request: PushRequest
    start: int
    pusher: Pusher
    limits: PushLimits = PushLimits()
    records: PushRecords = NoRecords()
    rules: PushRules = PushRules()


class Reception(NamedTuple):
    """The answer to a push, and the verdicts on the refs that have moved."""

    report: PushReport
    moved: tuple[RefVerdict, ...] = ()


class Opened(Protocol):
    """The namespace that is pushed to, with the objects of the push."""

    def reading(self) -> AbstractContextManager[Compiler]:
        """Open it to read, without a lock."""
        ...

    def writing(self) -> AbstractContextManager[tuple[Compiler, Transaction]]:
        """Open it to write, under the repository's lock."""
        ...


def receive_push(namespace: Opened, push: ReceivedPush, judge: Judge = judge_push) -> Reception:
    """Receive a push. Whatever is invalid or fails is in the answer; a push that is refused leaves nothing behind."""
    with push.quarantine.locked(), _ProgressFile(push.quarantine) as progress:
        reception = _Reception(namespace, push, judge, progress)
        try:
            reception.check()
            reception.move()
            reception.note_moved()
        except InvalidPush as ex:
            return Reception(reception.report(str(ex)))
        except StoreError as ex:
            return Reception(reception.report(str(ex).rstrip(".")))
        return Reception(reception.report(), reception.moved())


class _Reception:
    """The state of one push: the reason why each ref is refused, and the verdict on each that was checked."""

    def __init__(self, namespace: Opened, push: ReceivedPush, judge: Judge, progress: "_ProgressFile") -> None:
        self._namespace = namespace
        self._push = push
        self._judge = judge
        self._progress = progress
        self._refusals = {command.ref: command.refusal for command in push.request.commands if command.refusal}
        self._verdicts = dict[str, RefVerdict]()
        self._moved = set[str]()
        self._pack = _NO_PACK

    def check(self) -> None:
        """Read the pack, and check everything that needs no lock. Raises InvalidPush for an invalid pack."""
        if not self._accepted():
            return
        with self._namespace.reading() as compiler:
            if self._push.request.has_pack:
                self._read_pack(compiler.repository)
            self._check_refs(compiler.repository)
            self._ask(compiler, [update for update in self._accepted() if update.name != RELEASE_REF])

    def _read_pack(self, repository: Repository) -> None:
        push = self._push
        with push.quarantine.request.open("rb", buffering=0) as file, References(push.quarantine.path) as references:
            file.seek(push.start)
            reader = PackReader(file, push.quarantine.packs, repository, references, push.limits)
            self._pack = reader.read(self._progress.count)
            repository.reopen()
            Connectivity(repository, self._pack.kinds).require(lambda: references.outside(self._pack.kinds))

    def _check_refs(self, repository: Repository) -> None:
        """Refuse refs that have moved since the pusher read them, and those that would name no complete commit."""
        connectivity = Connectivity(repository, self._pack.kinds)
        for update in self._accepted():
            kinds = COMMITS if update.name.startswith(BRANCH_PREFIX) else ANY_KIND
            try:
                if repository.ref(update.name) != update.old:
                    self._refuse(update.name, _STALE)
                elif update.new:
                    connectivity.require_tip(update.new, kinds)
            except StoreError as ex:
                self._refuse(update.name, str(ex).rstrip("."))

    def _ask(self, compiler: Compiler, updates: Iterable[RefUpdate]) -> None:
        """Have changes of refs checked for their content."""
        request, asked = self._push.request, tuple(updates)
        if not asked:
            return
        push = Push(asked, self._push.pusher, request.options, is_atomic=request.is_atomic)
        for verdict in self._judge(compiler, push, self._progress.write, self._push.records, self._push.rules):
            self._verdicts[verdict.update.name] = verdict
            if verdict.refusal:
                self._refuse(verdict.update.name, verdict.refusal)

    def move(self) -> None:
        """Install the objects and move the refs that are accepted, under the repository's lock."""
        if not self._accepted():
            return
        self._note_push()
        with self._namespace.writing() as (compiler, transaction):
            self._ask(compiler, [update for update in self._accepted() if update.name == RELEASE_REF])
            self._confirm_access()
            moves = [RefMove(*update) for update in self._accepted()]
            if moves:
                self._move(transaction, moves)
            released = self._verdicts.get(RELEASE_REF)
            if released and RELEASE_REF in self._moved:
                with after_commit("completing the publish"):
                    _follow(compiler, transaction, released)

    def _note_push(self) -> None:
        """Record who pushes, and who brings the commits that release does not get; before any object: a crash loses no record."""
        accepted = self._accepted()
        found = [self._verdicts.get(update.name) for update in accepted if update.name != RELEASE_REF]
        heads = [verdict.pushed for verdict in found if verdict and verdict.pushed]
        brought = frozenset[CommitId]().union(*(verdict.brought for verdict in found if verdict))
        self._push.records.note_push(accepted, heads, brought)

    def _confirm_access(self) -> None:
        """Refuse everything if the pusher has lost access while the push was received and checked."""
        if not self._push.records.has_access():
            for update in self._accepted():
                self._refuse(update.name, NO_ACCESS)

    def note_moved(self) -> None:
        """Record the publishes that were made without an approval."""
        for publish in (each for verdict in self.moved() for each in verdict.publishes if each.override):
            self._push.records.note_override(publish)

    def _move(self, transaction: Transaction, moves: list[RefMove]) -> None:
        request = self._push.request
        with transaction.moving(moves) as prepared:
            self._refuse_all(prepared.failures)
            accepted = self._accepted()
            if not accepted:
                return
            tips = [update.new for update in accepted if update.new]
            is_whole = len(accepted) == len(request.commands)
            install(transaction, self._push.quarantine, self._pack, tips, all_accepted=is_whole)
            self._note_publishers(transaction, accepted)
            self._moved = {move.ref for move in transaction.commit_moves(prepared, is_atomic=request.is_atomic)}
            self._refuse_all(prepared.failures)
        if self._moved:
            with after_commit("releasing the pack of a push"):
                self._push.quarantine.release()
        else:
            self._push.quarantine.withdraw()

    def _note_publishers(self, transaction: Transaction, accepted: Sequence[RefUpdate]) -> None:
        """Note who publishes: before release moves, since for a reader of a publish without a note its author is its publisher.

        A note on a commit that is not published after all is replaced when it is published.
        """
        released = self._verdicts.get(RELEASE_REF)
        if released and any(update.name == RELEASE_REF for update in accepted):
            write_notes(transaction, released.notes)

    def _accepted(self) -> list[RefUpdate]:
        """Return the changes of refs that nothing is against so far; none if one is refused of all or nothing."""
        commands = self._push.request.commands
        if self._push.request.is_atomic and self._refusals:
            return []
        return [RefUpdate(each.ref, each.old, each.new) for each in commands if each.ref not in self._refusals]

    def _refuse(self, ref: str, reason: str) -> None:
        self._refusals[ref] = reason

    def _refuse_all(self, failures: Mapping[str, StoreError]) -> None:
        for ref, ex in failures.items():
            self._refuse(ref, _STALE if isinstance(ex, LostRace) else str(ex).rstrip("."))

    def report(self, fault: str = "") -> PushReport:
        """Return the answer: the status of each ref, and the lines for the terminal."""
        commands = self._push.request.commands
        statuses = tuple(RefStatus(each.ref, self._reason(each.ref, fault)) for each in commands)
        return PushReport(statuses, fault, tuple(self._lines()))

    def _reason(self, ref: str, fault: str) -> str:
        if ref in self._moved:
            return ""
        return self._refusals.get(ref, "unpacker error" if fault else _NOT_ATOMIC)

    def _lines(self) -> Iterable[str]:
        for verdict in self._verdicts.values():
            if verdict.refusal or verdict.update.name in self._moved:
                yield from verdict.lines

    def moved(self) -> tuple[RefVerdict, ...]:
        """Return the verdicts on the refs that have moved."""
        return tuple(verdict for verdict in self._verdicts.values() if verdict.update.name in self._moved)


def _follow(compiler: Compiler, transaction: Transaction, released: RefVerdict) -> None:
    """Do what follows each publish, for the commits that were pushed to release."""
    if released.update.new:
        manifest = ensure_manifest(compiler, released.update.new, waits=False)
        follow_release(compiler, transaction, manifest, {each.project for each in released.publishes})


class _ProgressFile:
    """The lines for the pusher's terminal while the push is checked; another process reads them."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._file = quarantine.progress.open("a", encoding="utf-8", buffering=1)
        self._next = time.monotonic() + _PROGRESS_SECONDS
        self._has_ended = False

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def write(self, line: str) -> None:
        """Write a line."""
        with suppress(OSError):  # a full disk must not refuse a push for its progress
            self._file.write(f"{line.rstrip()}\n")

    def count(self, done: int, total: int) -> None:
        """Write how many objects are checked, at most once a second, and not in the first one; of many also the end."""
        now = time.monotonic()
        is_end = done >= total >= _MANY_OBJECTS and not self._has_ended
        self._has_ended = self._has_ended or is_end
        if now >= self._next or is_end:
            self._next = now + _PROGRESS_SECONDS
            self.write(f"Checking objects: {min(done, total):,} of {total:,}{', done.' if is_end else ''}")
