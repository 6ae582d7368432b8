"""From a project's tree in Git to the compiled release that agents read, checked on the way."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain

from content.diff import Change
from content.problem import Problem, Severity
from content.vocabulary import Kind
from gitstore.changes import changes_between
from gitstore.checks import check_change, check_snapshot, stopping
from gitstore.directory import NamespacePaths
from gitstore.durable import is_full
from gitstore.errors import Busy, Invalid, OutOfSpace
from gitstore.file_paths import shown
from gitstore.judgements import note_right, was_right
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, BlobId, TreeId, role_of
from gitstore.lock import acquire
from gitstore.part_store import PartStore
from gitstore.release import Release, map_release, release_path
from gitstore.release_dump import Before, dump_release, store_release
from gitstore.repository import Repository
from gitstore.sections import Damaged
from gitstore.snapshot import File, Snapshot, take_snapshot

_WAIT_SECONDS = 120.0
_RULES = frozenset(ROLE_OF_KIND.values())
_FEW = 20
"""Changes of more than one rule in so many are checked with all the others: then reading all at once is quicker."""


class Compiler:
    """Compiles the trees of one namespace; held for one operation, for it keeps the repository open.

    One that `only_reads` does without what a full disk does not take: it holds what it made in memory.
    """

    def __init__(
        self, paths: NamespacePaths, repository: Repository, parts: PartStore, *, only_reads: bool = False
    ) -> None:
        self._only_reads = only_reads
        self.paths = paths
        self.repository = repository
        self._parts = parts
        self._snapshots: dict[tuple[str, TreeId], Snapshot] = {}
        self._made: dict[tuple[str, TreeId], Release] = {}

    def snapshot(self, project: str, tree: TreeId) -> Snapshot:
        """A project's tree, read once an operation."""
        found = self._snapshots.get((project, tree))
        if found is None:
            found = self._snapshots[project, tree] = self._read(project, tree)
        return found

    def _read(self, project: str, tree: TreeId) -> Snapshot:
        files = [File(shown(path), entry.mode, BlobId(entry.id)) for path, entry in self.repository.files(tree)]
        return take_snapshot(project, tree, files, self.repository, self._parts)

    def forget(self) -> None:
        """Let go of what was read: for a walk through a long history."""
        self._snapshots.clear()

    def excerpt(self, project: str, files: Sequence[File]) -> Snapshot:
        """Some files of a project, as if there were no others."""
        return take_snapshot(project, TreeId(""), files, self.repository, self._parts)

    def release(self, project: str, tree: TreeId) -> Release:
        """The release of a tree; compiled where the file is missing or damaged. Invalid where its content is wrong."""
        found = self.at_hand(project, tree)
        if found is None:
            with once_at_a_time(self.paths):
                found = self._open(project, tree) or self._compile(self.snapshot(project, tree))
        return found

    def at_hand(self, project: str, tree: TreeId) -> Release | None:
        """The release of a tree if it is compiled."""
        return self._made.get((project, tree)) or self._open(project, tree)

    def known(self, project: str, tree: TreeId) -> Release | None:
        """The release of a tree that today's checks found right, put together anew where its file is gone; else None."""
        if not self._was_right(tree, clean=False):
            return None
        found = self.at_hand(project, tree)
        if found is None or (self._is_strict(project, tree) and not self._was_right(tree, clean=True)):
            found = self._compile(self.snapshot(project, tree))
        return found

    def judged(self, project: str, tree: TreeId) -> Release:
        """The release of a tree that is to be published: one that is at hand counts only where today's checks know it.

        Invalid where they refuse it.
        """
        return self.known(project, tree) or self._compile(self.snapshot(project, tree))

    def compile_change(self, before: Snapshot, snapshot: Snapshot, changes: Sequence[Change]) -> Release:
        """Compile a state, checking what the changes touch since `before`, or all where that is not known to be right.

        Invalid where it is wrong.
        """
        if self._was_right(snapshot.tree, clean=False) or not self._was_right(before.tree, clean=False):
            return self.judged(snapshot.project, snapshot.tree)
        if self._must_check_all(snapshot, changes):
            return self._compile(snapshot)
        return self._store(snapshot, self._dump_checked(before, snapshot, changes))

    def is_prepared(self, tree: TreeId) -> bool:
        """Tell whether a release of the tree could be put together without reading YAML or checking rules."""
        if not self._was_right(tree, clean=False):
            return False
        files = ((shown(path), entry) for path, entry in self.repository.files(tree))
        return all(self._parts.is_kept(BlobId(entry.id)) for path, entry in files if role_of(path) in _RULES)

    def prepare(self, project: str, tree: TreeId, near: Snapshot | None) -> Snapshot:
        """Find out whether a tree is right, and keep what a release of it needs; Invalid where it is wrong.

        `near` is a state that is right; where little differs from it, only that is checked.
        """
        snapshot = self.snapshot(project, tree)
        if not self._was_right(tree, clean=False):
            changes = list(chain.from_iterable(changes_between(near, snapshot).values())) if near else None
            if near is None or changes is None or self._must_check_all(snapshot, changes):
                self._check_all(snapshot)
            else:
                self._dump_checked(near, snapshot, changes)
        self._keep_parts(snapshot)
        return snapshot

    @staticmethod
    def _must_check_all(snapshot: Snapshot, changes: Sequence[Change]) -> bool:
        return snapshot.settings.strict or len(changes) * _FEW > snapshot.count(Kind.REDIRECTS)

    def _dump_checked(self, before: Snapshot, snapshot: Snapshot, changes: Sequence[Change]) -> bytes:
        data = dump_release(snapshot, self._before(before))
        matcher = Release(snapshot.project, memoryview(data), trusted=True).matcher
        refuse(snapshot, check_change(before, snapshot, matcher, changes))
        self._note_right(snapshot, clean=False)  # of warnings, others may have got some
        return data

    def _check_all(self, snapshot: Snapshot) -> None:
        problems = check_snapshot(snapshot)
        refuse(snapshot, problems)
        self._note_right(snapshot, clean=not problems)

    def _compile(self, snapshot: Snapshot) -> Release:
        if self._was_right(snapshot.tree, clean=snapshot.settings.strict):
            refuse(snapshot, snapshot.problems)
        else:
            self._check_all(snapshot)
        return self._store(snapshot, dump_release(snapshot))

    def _was_right(self, tree: TreeId, *, clean: bool) -> bool:
        """Tell whether the set of a tree's rules was checked before; project.yaml, which says nothing of rules, aside."""
        return was_right(self.paths.judged, self.repository.id_without(tree, PROJECT_FILE), clean=clean)

    def _is_strict(self, project: str, tree: TreeId) -> bool:
        """Tell whether a tree's own project.yaml asks for strict lint; no other file is read."""
        files = [
            File(entry.name, entry.mode, BlobId(entry.id))
            for entry in self.repository.entries(tree)
            if entry.name == PROJECT_FILE and not entry.is_folder
        ]
        return self.excerpt(project, files).settings.strict

    def _note_right(self, snapshot: Snapshot, *, clean: bool) -> None:
        with suppress(OutOfSpace, OSError):  # a cache: it is checked again then
            note_right(self.paths.judged, self.repository.id_without(snapshot.tree, PROJECT_FILE), clean=clean)

    @contextmanager
    def storing(self) -> Iterator[None]:
        """Write to the cache inside; where the disk is full a reader goes on without, and a writer stops."""
        try:
            yield
        except (OutOfSpace, OSError) as ex:
            if not self._only_reads or not is_full(ex):
                raise

    def _before(self, snapshot: Snapshot) -> Before | None:
        """What can be taken over from a state before; None where its release is not there."""
        with suppress(OSError, ValueError):
            return Before(snapshot, map_release(release_path(self.paths.releases, snapshot.tree)))
        return None

    def _open(self, project: str, tree: TreeId) -> Release | None:
        try:
            return Release.open(project, release_path(self.paths.releases, tree))
        except (FileNotFoundError, Damaged, ValueError):  # ValueError: an empty file cannot be mapped
            return None

    def _keep_parts(self, snapshot: Snapshot) -> None:
        self._parts.keep((file.blob, file.part) for files in snapshot.rule_files.values() for file in files)

    def _store(self, snapshot: Snapshot, data: bytes) -> Release:
        project, tree = snapshot.project, snapshot.tree
        with self.storing():
            store_release(release_path(self.paths.releases, tree), data)
        self._keep_parts(snapshot)
        made = self._made[project, tree] = Release(project, memoryview(data), trusted=True)
        return made


def refuse(snapshot: Snapshot, problems: Sequence[Problem], *, strict: bool = False) -> None:
    """Raise Invalid where any of the problems stops a publish of the snapshot; with `strict` all of them do."""
    found = problems if strict else stopping(snapshot, problems)
    if found:
        count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        only_warnings = all(problem.severity is Severity.WARNING for problem in found)
        why = " (with `lint: strict` in project.yaml warnings stop a publish too)" if only_warnings else ""
        raise Invalid(f"The project {snapshot.project} has {count}{why}; nothing was published.", found)


@contextmanager
def once_at_a_time(paths: NamespacePaths) -> Iterator[None]:
    """Let one process compile a namespace's files while the others wait for what it makes.

    Where the disk is too full even for the lock they do not wait: nothing that they make can be kept.
    """
    handle = _lock_file(paths)
    if handle is None:
        yield
        return
    try:
        if not acquire(handle, _WAIT_SECONDS):
            raise Busy("This namespace is still being compiled. Try again in a moment.")
        yield
    finally:
        os.close(handle)


def _lock_file(paths: NamespacePaths) -> int | None:
    try:
        paths.compiled.mkdir(parents=True, exist_ok=True)
        return os.open(paths.compiled / "compile.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as ex:
        if is_full(ex):
            return None
        raise
