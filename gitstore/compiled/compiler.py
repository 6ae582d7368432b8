"""From a project's tree in Git to the compiled release that agents read, with the checks in between."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain

from content.changes.diff import Change
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.problem import Problem, Severity
from content.records.problem_codes import count_never_answering
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release import Release
from gitstore.compiled.releases.release_changes import PreviousState, dump_changes, needs_base
from gitstore.compiled.releases.release_dump import Parts, PreviousRelease, list_release_parts, store_release
from gitstore.compiled.releases.release_file import (
    ReleaseFile,
    map_release,
    read_base_name,
    read_file_counts,
    release_path,
)
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.sections import Damaged
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.compiled.segments.snapshot import File, Snapshot
from gitstore.compiled.segments.snapshot_cache import SnapshotCache
from gitstore.compiled.segments.snapshot_reader import SnapshotReader
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.checks import check_change, check_snapshot, find_blocking_problems
from gitstore.compiled.validation.lint import Lint
from gitstore.compiled.validation.lint_cache import LintCache
from gitstore.compiled.validation.never_answering import count_after_change
from gitstore.compiled.validation.validation_cache import ValidatedTrees
from gitstore.directory import NamespacePaths, make_folder
from gitstore.errors import Busy, Invalid, OutOfSpace, is_disk_full
from gitstore.file_lock import hold_lock_file
from gitstore.git.file_paths import printable_path
from gitstore.git.repository import Repository
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, BlobId, TreeId, role_of
from gitstore.yamlfiles.rule_file import EMPTY_VALUE, RuleFile

# Problems of single files that earlier programs did not know.
_NEW_CODES = frozenset({EMPTY_VALUE, "regex_encoding"})
_WAIT_SECONDS = 120.0
_RULES = frozenset(ROLE_OF_KIND.values())
# If more than one rule in so many changed, all rules are checked: reading them together is then faster.
_RULES_PER_CHANGE = 20
_MAPPED = 16 << 20  # bytes of a release that is mapped as soon as it is written
# The first lint of so many rules takes about a second.
MAX_UNLINTED_RULES = 50_000


class Compiler:
    """A compiler of one namespace's trees, for one operation: it keeps the repository open.

    With `read_only`, a full disk does not stop it: it keeps its results in memory.
    """

    def __init__(
        self,
        paths: NamespacePaths,
        repository: Repository,
        segments: SegmentStore,
        *,
        read_only: bool = False,
        limits: PatternLimits = DEFAULT_LIMITS,
        cache: SnapshotCache | None = None,
    ) -> None:
        self.limits = limits
        self._accepted: frozenset[Problem] = frozenset()
        self._only_reads = read_only
        self.paths = paths
        self.repository = repository
        self._segments = segments
        self._reader = SnapshotReader(repository, segments, cache)
        self._validated = ValidatedTrees(paths.validations, repository)
        self._releases: dict[tuple[str, TreeId], Release] = {}

    def snapshot(self, project: str, tree: TreeId) -> Snapshot:
        """Return the snapshot of a project's tree, read once per operation."""
        return self._reader.snapshot(project, tree)

    def snapshot_files(self, project: str, files: Sequence[File]) -> Snapshot:
        """Return a snapshot of some files of a project, as if no others existed."""
        return self._reader.snapshot_files(project, files)

    def list_files(self, tree: TreeId) -> list[File]:
        """List the files of a project's tree, in path order."""
        return self._reader.list_files(tree)

    def clear_snapshots(self) -> None:
        """Drop the snapshots, for a walk through a long history."""
        self._reader.clear()

    def lint(self, project: str, tree: TreeId) -> Sequence[Problem]:
        """Return every error and warning of a project's tree, cached on disk."""
        return self.lint_state(project, tree).problems()

    def lint_state(self, project: str, tree: TreeId, near: Lint | None = None) -> Lint:
        """Return the lint of a project's tree, cached on disk; `near` is that of a similar state, for speed."""
        return LintCache(self.paths.lints).lint(project, tree, lambda: self.snapshot(project, tree), near)

    def count_never_answering(self, project: str, tree: TreeId) -> int | None:
        """Count the rules of a tree that can never answer; None where that would take long.

        That is with many rules and no lint of this very state, or with regular expressions over the budget.
        """
        snapshot = self.snapshot(project, tree)
        lints = LintCache(self.paths.lints)
        if sum(map(snapshot.count, Kind)) > MAX_UNLINTED_RULES:
            found = lints.find(project, tree)
            return None if found is None else count_never_answering(found)
        if find_budget_problems(None, snapshot, self.limits):
            return None
        release = self.find_compiled(project, tree)
        known = lints.newest(project) if release else None
        count = count_after_change(known, snapshot, release.matcher.source) if known and release else None
        return count_never_answering(self.lint_state(project, tree, known).problems()) if count is None else count

    def store_segment(self, blob: BlobId, rules: RuleFile) -> None:
        """Store the segment of a file that is parsed already; it is not kept in memory."""
        self._segments.store(blob, rules)

    def release(self, project: str, tree: TreeId) -> Release:
        """Return the release of a tree, compiled if its file is missing or damaged. Raises Invalid for invalid content."""
        found = self.find_compiled(project, tree)
        if found is None:
            with hold_compile_lock(self.paths):
                found = self._open(project, tree) or self._compile_again(self.snapshot(project, tree))
        return found

    def _compile_again(self, snapshot: Snapshot) -> Release:
        """Compile a state to serve it; problems that an earlier program did not know do not stop it."""
        if self.was_validated(snapshot.tree):
            self.accept(snapshot)
        return self._compile(snapshot)

    def accept(self, published: Snapshot) -> None:
        """Accept the problems of a published state that an earlier program did not know: only new ones are an accident."""
        self._accepted |= {problem for problem in published.problems if problem.code in _NEW_CODES}

    def _require_publishable(self, snapshot: Snapshot, problems: Sequence[Problem]) -> None:
        require_publishable(snapshot, [problem for problem in problems if problem not in self._accepted])

    def file_counts(self, project: str, tree: TreeId) -> Mapping[Kind, Mapping[str, int]]:
        """Return the number of records of each rule file of a release, by path; the lists are not read."""
        try:
            return read_file_counts(release_path(self.paths.releases, tree))
        except (OSError, ValueError):  # missing or damaged
            return self.release(project, tree).file_counts()

    def find_compiled(self, project: str, tree: TreeId) -> Release | None:
        """Return the release of a tree, or None if it is not compiled."""
        return self._releases.get((project, tree)) or self._open(project, tree)

    def find_validated(self, project: str, tree: TreeId) -> Release | None:
        """Return the release of a tree that today's checks validated, assembled if its file is missing; else None."""
        if not self.is_validated(tree):
            return None
        found = self.find_compiled(project, tree)
        if found is None or (
            self._is_strict(project, tree) and not self._validated.are_valid(tree, without_warnings=True)
        ):
            found = self._compile(self.snapshot(project, tree))
        return found

    def validated_release(self, project: str, tree: TreeId) -> Release:
        """Return the release of a tree to publish; a compiled one counts only if today's checks validated it.

        Raises Invalid if they refuse it.
        """
        return self.find_validated(project, tree) or self._compile(self.snapshot(project, tree))

    def compile_change(self, before: Snapshot, snapshot: Snapshot, changes: Sequence[Change]) -> Release:
        """Compile a state. Check only what changed since `before`, or everything if `before` is not validated.

        Raises Invalid for invalid content.
        """
        is_comparable = self.is_validated(before.tree) and not self.is_validated(snapshot.tree)
        if not is_comparable or is_rewritten(snapshot, len(changes)):
            return self.compile_rewritten(before, snapshot)
        return self._store(snapshot, *self._dump_checked(before, snapshot, changes))

    def compile_rewritten(self, before: Snapshot, snapshot: Snapshot) -> Release:
        """Compile a state of which so much changed since `before` that all of it is checked."""
        if self.is_validated(snapshot.tree) or not self.is_validated(before.tree):
            return self.validated_release(snapshot.project, snapshot.tree)
        self._require_checked(snapshot)
        return self._store(snapshot, *self._dump(before, snapshot))

    def is_validated(self, tree: TreeId) -> bool:
        """Tell whether today's checks passed a tree's rules, so that it has no duplicates."""
        return self._validated.are_valid(tree)

    def record_validated(self, tree: TreeId) -> None:
        """Record that the rules of a tree have passed the checks of a publish elsewhere, so that it checks them no more."""
        self._validated.record(tree, without_warnings=False)

    def find_blocking_problems(self, before: Snapshot | None, snapshot: Snapshot) -> Sequence[Problem]:
        """Return the problems that block a publish of a state; checks only the change if `before` is validated."""
        try:
            if self.is_validated(snapshot.tree):
                require_publishable(snapshot, snapshot.problems)
            elif before is None or not self.is_validated(before.tree):
                self._check_all(snapshot)
            else:
                self._check_change(before, snapshot)
        except Invalid as ex:
            return ex.problems
        return ()

    def _check_change(self, before: Snapshot, snapshot: Snapshot) -> None:
        changes = list(chain.from_iterable(changes_between(before, snapshot).values()))
        if is_rewritten(snapshot, len(changes)):
            self._check_all(snapshot)
        else:
            self._dump_checked(before, snapshot, changes)

    def is_prepared(self, tree: TreeId) -> bool:
        """Tell whether a release of the tree could be assembled without reading YAML or checking rules."""
        if not self.is_validated(tree):
            return False
        files = ((printable_path(path), entry) for path, entry in self.repository.files(tree))
        return all(self._segments.is_archived(BlobId(entry.id)) for path, entry in files if role_of(path) in _RULES)

    def prepare(self, project: str, tree: TreeId, near: Snapshot | None) -> Snapshot:
        """Validate a tree, and archive the segments for its release. Raises Invalid for invalid content.

        `near` is a valid state; if little differs from it, only the difference is checked.
        """
        snapshot = self.snapshot(project, tree)
        if not self.is_validated(tree):
            if near is None:
                self._check_all(snapshot)
            else:
                self._check_change(near, snapshot)
        self._archive_segments(snapshot)
        return snapshot

    def _dump_checked(
        self, before: Snapshot, snapshot: Snapshot, changes: Sequence[Change]
    ) -> tuple[Parts, ReleaseFile | None]:
        parts, base = self._dump(before, snapshot)
        data = b"".join(parts)
        matcher = Release(snapshot.project, ReleaseFile(memoryview(data), trusted=True), base).matcher
        self._require_publishable(snapshot, check_change(before, snapshot, matcher, changes))
        self._validated.record(snapshot.tree, without_warnings=False)  # other rules may have new warnings
        return [data], base

    def _dump(self, before: Snapshot, snapshot: Snapshot) -> tuple[Parts, ReleaseFile | None]:
        """Compile a state: as changes since the base of the one before, which is returned too, or else as a whole.

        A file that is there may be the base of others, so only a whole release replaces it.
        """
        is_new = not release_path(self.paths.releases, snapshot.tree).exists()
        release = self.find_compiled(before.project, before.tree) if is_new else None
        data = dump_changes(snapshot, PreviousState(before, release)) if release else None
        if release and data:
            return [data], release.base
        return list_release_parts(snapshot, self._previous_release(before)), None

    def _check_all(self, snapshot: Snapshot) -> None:
        problems = check_snapshot(snapshot)
        self._require_publishable(snapshot, problems)
        self._validated.record(snapshot.tree, without_warnings=not problems)

    def _compile(self, snapshot: Snapshot) -> Release:
        self._require_checked(snapshot)
        return self._store(snapshot, list_release_parts(snapshot))

    def _require_checked(self, snapshot: Snapshot) -> None:
        """Raise Invalid if a state cannot be published; a set of rules that was validated is not checked again."""
        if self._validated.are_valid(snapshot.tree, without_warnings=snapshot.settings.strict):
            self._require_publishable(snapshot, snapshot.problems)
        else:
            self._check_all(snapshot)

    def was_validated(self, tree: TreeId) -> bool:
        """Tell whether the checks of this program, or of an earlier one, validated the rules of a tree."""
        return self._validated.were_valid(tree)

    def _is_strict(self, project: str, tree: TreeId) -> bool:
        """Tell whether a tree's own project.yaml requires strict lint; no other file is read."""
        found = self.repository.files_named(tree, PROJECT_FILE).values()
        files = [File(entry.name, entry.mode, BlobId(entry.id)) for entry in found]
        return self.snapshot_files(project, files).settings.strict

    @contextmanager
    def tolerate_full_disk(self) -> Iterator[None]:
        """Write to the cache inside; on a full disk, a reader continues without it and a writer stops."""
        try:
            yield
        except (OutOfSpace, OSError) as ex:
            if not self._only_reads or not is_disk_full(ex):
                raise

    def _previous_release(self, snapshot: Snapshot) -> PreviousRelease | None:
        """Return a previous state with its release, to reuse parts of it; None if that is missing, or no whole one."""
        path = release_path(self.paths.releases, snapshot.tree)
        with suppress(OSError, ValueError):
            return None if read_base_name(path) else PreviousRelease(snapshot, map_release(path))
        return None

    def _open(self, project: str, tree: TreeId) -> Release | None:
        return open_release(self.paths, project, tree)

    def _archive_segments(self, snapshot: Snapshot) -> None:
        self._segments.archive_all(
            (file.blob, file.segment) for files in snapshot.rule_files.values() for file in files
        )

    def _store(self, snapshot: Snapshot, parts: Parts, base: ReleaseFile | None = None) -> Release:
        project, tree = snapshot.project, snapshot.tree
        data: memoryview | None = None
        with self.tolerate_full_disk():
            path = release_path(self.paths.releases, tree)
            store_release(path, parts)
            data = map_release(path) if sum(map(len, parts)) > _MAPPED else None  # else its bytes are twice in memory
        self._archive_segments(snapshot)
        own = ReleaseFile(memoryview(b"".join(parts)) if data is None else data, trusted=True)
        release = self._releases[project, tree] = Release(project, own, base)
        if needs_base(release):
            self._mark_unfolded(project)
        return release

    def _mark_unfolded(self, project: str) -> None:
        with suppress(OSError):  # the next publish marks it
            make_folder(self.paths.unfolded, levels=2)
            (self.paths.unfolded / project).touch()

    def fold(self, project: str, tree: TreeId) -> None:
        """Write a release as a whole, which is the base of later ones then; a whole one stays."""
        if read_base_name(release_path(self.paths.releases, tree)):
            store_release(release_path(self.paths.releases, tree), list_release_parts(self.snapshot(project, tree)))
            self._releases.clear()

    def rebase(self, project: str, base: TreeId, tree: TreeId) -> None:
        """Write a release as changes since another one, which is whole, in place of those since an older one."""
        path = release_path(self.paths.releases, tree)
        before = self.find_compiled(project, base)
        if before is None or before.own is not before.base or not read_base_name(path):
            return
        data = dump_changes(self.snapshot(project, tree), PreviousState(self.snapshot(project, base), before))
        if data:
            store_release(path, [data])


def is_rewritten(snapshot: Snapshot, changes: int) -> bool:
    """Tell whether after so many changes of a state all of its rules are checked."""
    return snapshot.settings.strict or changes * _RULES_PER_CHANGE > snapshot.count(Kind.REDIRECTS)


def open_release(paths: NamespacePaths, project: str, tree: TreeId) -> Release | None:
    """Return the release of a tree from its file; None if it is missing or damaged."""
    try:
        return Release.open(project, release_path(paths.releases, tree))
    except (FileNotFoundError, Damaged, ValueError):  # ValueError: mmap refuses an empty file
        return None


def require_publishable(snapshot: Snapshot, problems: Sequence[Problem], *, strict: bool = False) -> None:
    """Raise Invalid if any of the problems blocks a publish of the snapshot; with `strict`, all of them do."""
    found = problems if strict else find_blocking_problems(snapshot, problems)
    if found:
        count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        only_warnings = all(problem.severity is Severity.WARNING for problem in found)
        why = " (with `lint: strict` in project.yaml warnings stop a publish too)" if only_warnings else ""
        raise Invalid(f"The project {snapshot.project} has {count}{why}; nothing was published.", found)


@contextmanager
def hold_compile_lock(paths: NamespacePaths) -> Iterator[None]:
    """Let one process compile a namespace's files while the others wait for its results.

    If the disk is too full even for the lock, they do not wait: no results could be stored.
    """
    with ExitStack() as stack:
        try:
            make_folder(paths.compiled)
            is_held = stack.enter_context(hold_lock_file(paths.compiled / "compile.lock", _WAIT_SECONDS))
        except OSError as ex:
            if not is_disk_full(ex):
                raise
            is_held = True
        if not is_held:
            raise Busy("This namespace is still being compiled. Try again in a moment.")
        yield
