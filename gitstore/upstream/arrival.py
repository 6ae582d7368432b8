"""The arrival of an upstream's commits: they pass the gate of a push, except that only the tip must be valid.

A first-parent commit on the way that is invalid keeps its number, is noted as refused, and is never served.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import NamedTuple, Protocol

from content.records.problem import Problem
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.served_record import read_served
from gitstore.errors import Invalid, NotAllowed, Rewound, StoreError
from gitstore.git.quarantine import Quarantine
from gitstore.git.repository import CommitInfo, Repository
from gitstore.git.transaction import Transaction
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import HIGHEST_NUMBER, load_highest_numbers
from gitstore.history.name_collisions import require_unique_name
from gitstore.history.numbering import PublishDelta, may_skip
from gitstore.history.pristine import is_pristine
from gitstore.history.refusals import note_refusals
from gitstore.history.rewinds import require_continuous
from gitstore.layout import RELEASE_REF, CommitId, TreeId
from gitstore.publish.advance import follow_release
from gitstore.publish.gate import NextState, Served, check_and_compile, read_served_state
from gitstore.pushes.branch_changes import ProjectChange, changed_projects
from gitstore.pushes.pushed_files import FileCheck, TokenFinder, find_no_token
from gitstore.upstream.upstream_state import UpstreamFault, shorten
from gitstore.wire.push.connectivity import COMMITS, Connectivity
from gitstore.wire.push.installation import install
from gitstore.wire.push.pack_reader import PackReader, ReceivedPack
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

UPSTREAM_REF = "refs/waypost/upstream"
"""The tip of the upstream's branch as it was fetched last, also a refused one; it is not advertised."""
_MOST_SKIPPED = 10**9  # the highest publish number that the first history of a namespace may begin with
_MOST_CHECKED = 1_000  # commits on the way; of older ones a rollback still checks the content, as the tip's is checked
INVALID, REWOUND, DIVERGED = "upstream_invalid", "upstream_rewound", "upstream_diverged"


class FaultyTip(StoreError):
    """The upstream's tip cannot be release; nothing was moved."""

    def __init__(self, fault: UpstreamFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Opened(Protocol):
    """The namespace, with the objects of a quarantine."""

    def reading(self) -> AbstractContextManager[Compiler]:
        """Open it to read, without a lock."""
        ...

    def writing(self) -> AbstractContextManager[tuple[Compiler, Transaction]]:
        """Open it to write, under the repository's lock."""
        ...


def bring_in(
    namespace: Opened,
    quarantine: Quarantine,
    tip: CommitId,
    allowed_files: Sequence[str],
    limits: PushLimits,
    find_token: TokenFinder = find_no_token,
) -> None:
    """Read the fetched pack, keep its objects, and move release to the tip. Raises FaultyTip, InvalidPush, LostRace.

    The objects of a tip that is refused are kept too, by a ref of their own.
    """
    with namespace.reading() as compiler, References(quarantine.path) as references:
        pack = _read_pack(compiler.repository, quarantine, references, tip, limits)
    with namespace.writing() as (compiler, transaction):
        transaction.around_release = None  # it is the upstream that moved
        if transaction.ref(UPSTREAM_REF) != tip:
            install(transaction, quarantine, pack, [tip], all_accepted=True)
            transaction.move(UPSTREAM_REF, transaction.ref(UPSTREAM_REF), tip)
            quarantine.release()
            transaction.reopen()
        accept_tip(compiler, transaction, tip, allowed_files, find_token)


def _read_pack(
    repository: Repository, quarantine: Quarantine, references: References, tip: CommitId, limits: PushLimits
) -> ReceivedPack:
    with quarantine.request.open("rb", buffering=0) as file:
        pack = PackReader(file, quarantine.packs, repository, references, limits).read(lambda _done, _total: None)
    repository.reopen()
    connectivity = Connectivity(repository, pack.kinds)
    connectivity.require(lambda: references.outside(pack.kinds))
    connectivity.require_tip(tip, COMMITS)
    return pack


def accept_tip(
    compiler: Compiler,
    transaction: Transaction,
    tip: CommitId,
    allowed_files: Sequence[str],
    find_token: TokenFinder = find_no_token,
) -> None:
    """Move release to a commit whose objects are here, or raise FaultyTip; at the tip already, do nothing."""
    release = transaction.release()
    if tip == release:
        return
    try:
        require_continuous(transaction, release, read_served(compiler.paths))
    except Rewound as ex:
        raise FaultyTip(UpstreamFault("release_rewound", str(ex))) from ex
    commits = _list_commits(transaction, release, tip)
    _require_own_numbers(commits, is_first_history=commits[0].id != release)
    check = _TipCheck(compiler, release, allowed_files, find_token)
    deltas = check.check(commits)
    manifest = ensure_manifest(compiler, tip, deltas, waits=False)
    projects = dict.fromkeys(delta.project for delta in deltas)
    for project in projects:
        if fault := manifest.projects[project].failed:
            raise FaultyTip(UpstreamFault(INVALID, _invalid(tip), (fault,)))
    if commits[0].id != release:  # the first history of a namespace that has published nothing
        compiler.paths.served.unlink(missing_ok=True)
    transaction.move(RELEASE_REF, release, tip)
    follow_release(compiler, transaction, manifest, projects)


def _list_commits(repository: Repository, release: CommitId, tip: CommitId) -> list[CommitInfo]:
    """List the first-parent commits from release to the tip, oldest first, release among them.

    Of a namespace that has published nothing, release is left out, and the whole history of the tip is taken.
    """
    found = list[CommitInfo]()
    for info in repository.first_parents(tip):
        found.append(info)
        if info.id == release:
            return found[::-1]
    if is_pristine(repository, release):
        return found[::-1]
    raise FaultyTip(_find_divergence(repository, release, tip))


def _require_own_numbers(commits: Sequence[CommitInfo], *, is_first_history: bool) -> None:
    """Raise FaultyTip for commits of the upstream that would move publish numbers permanently: anyone can write their trailers.

    The history that a new namespace takes may begin with such numbers, within a bound.
    """
    before: TreeId | None = None
    for info in commits if is_first_history else commits[1:]:
        numbers = load_highest_numbers(info.message) if may_skip(info, before or commits[0].tree) else {}
        before = info.tree
        if numbers and not (is_first_history and max(numbers.values()) <= _MOST_SKIPPED):
            problem = (
                f"The message of commit {info.id[:12]} has a line {HIGHEST_NUMBER}: that would change publish numbers. Rewrite "
                "that commit there without the line."
            )
            raise FaultyTip(UpstreamFault(INVALID, _invalid(commits[-1].id), (problem,)))


def _find_divergence(repository: Repository, release: CommitId, tip: CommitId) -> UpstreamFault:
    base = repository.merge_base(release, tip)
    if base == tip:
        return UpstreamFault(
            REWOUND,
            f"The upstream's branch was moved back to {tip[:12]}; release stays at {release[:12]}. Push release there "
            "(git push UPSTREAM release:BRANCH in a clone of the namespace), or restore the branch on the host.",
        )
    if base == release:
        return UpstreamFault(
            DIVERGED,
            f"The upstream's commit {tip[:12]} has release ({release[:12]}) merged into it, not as its first parent. Publish "
            "numbers would change. Rebase the branch onto release, and push it again.",
        )
    return UpstreamFault(
        DIVERGED,
        f"The upstream's branch is at {tip[:12]}, which does not continue from release ({release[:12]}): it was replaced, or "
        "is another history. Release stays where it is. Restore the branch on the host, or push a commit to it that has release "
        "as its first parent and the new history as its second.",
    )


class _NothingKnown:
    """The objects of what is fetched are in the repository already, though none was checked."""

    def has(self, object_id: str, /) -> bool:
        """Return False."""
        del object_id
        return False


class _State(NamedTuple):
    """The last valid state of a project on the way: its folder, and what stops the newest one, if anything does."""

    tree: TreeId | None
    served: Served
    problems: tuple[str, ...] = ()


class _TipCheck:
    """The check of the commits that lead to a tip; each is compared with the last valid state of its projects."""

    def __init__(
        self, compiler: Compiler, release: CommitId, allowed_files: Sequence[str], find_token: TokenFinder
    ) -> None:
        self._find_token = find_token
        self._compiler = compiler
        self._repository = compiler.repository
        self._release = release
        self._allowed = allowed_files
        self._states = dict[str, _State]()
        self._refused = dict[str, list[CommitId]]()

    def check(self, commits: Sequence[CommitInfo]) -> list[PublishDelta]:
        """Check the commits after the first one, or all if that is not release. Raises FaultyTip."""
        is_first_history = commits[0].id != self._release
        pairs: list[tuple[CommitInfo | None, CommitInfo]] = list(pairwise(commits))
        if is_first_history:
            pairs.insert(0, (None, commits[0]))
        deltas = list[PublishDelta]()
        for number, (parent, info) in enumerate(pairs, 1):
            if number == len(pairs) or len(pairs) - number < _MOST_CHECKED:
                deltas += self._check_commit(parent, info, is_first_history=is_first_history)
        if len(pairs) > _MOST_CHECKED:  # what only older commits change is checked at the tip
            base = None if is_first_history else commits[0]
            deltas += self._check_commit(base, commits[-1], is_first_history=is_first_history, known=set(self._states))
        self._require_valid_tip(commits, is_first_history=is_first_history)
        for project, refused in self._refused.items():
            note_refusals(self._repository.path, project, refused)
        return deltas

    def _check_commit(
        self,
        parent: CommitInfo | None,
        info: CommitInfo,
        *,
        is_first_history: bool,
        known: Collection[str] = (),
    ) -> list[PublishDelta]:
        """Check the projects that differ between two commits, except those that are `known`."""
        deltas = list[PublishDelta]()
        faulty = {problem.file.partition("/")[0]: problem for problem in self._find_file_problems(info, parent)}
        for change in changed_projects(self._repository, parent.tree if parent else None, info.tree):
            if change.project in known:
                continue
            before = self._state_of(change, is_first_history=is_first_history)
            problem = faulty.get(change.project)
            try:
                if problem and change.after:
                    raise Invalid(problem.text(), [problem])  # noqa: TRY301 - one way for all faults of a project
                if change.after != before.tree:  # else it is the state of before the refused ones
                    deltas.append(self._check_project(info, change, before))
            except Invalid as ex:
                self._refuse(change.project, info, before, [each.text() for each in ex.problems] or [str(ex)])
            except NotAllowed as ex:
                self._refuse(change.project, info, before, [str(ex)])
            else:
                self._states[change.project] = _State(change.after, Served(change.after, is_newest=bool(change.after)))
        return deltas

    def _refuse(self, project: str, info: CommitInfo, before: _State, problems: Sequence[str]) -> None:
        self._refused.setdefault(project, []).append(info.id)
        self._states[project] = before._replace(problems=tuple(f"{project}: {each}" for each in problems))

    def _check_project(self, info: CommitInfo, change: ProjectChange, before: _State) -> PublishDelta:
        if change.after:
            require_unique_name(self._repository, info.id, change.project)
        return check_and_compile(self._compiler, NextState(change.project, before.tree, change.after, before.served))

    def _state_of(self, change: ProjectChange, *, is_first_history: bool) -> _State:
        known = self._states.get(change.project)
        if known is not None:
            return known
        served = Served() if is_first_history else read_served_state(self._compiler, self._release, change.project)
        return _State(served.tree, served)

    def _find_file_problems(self, info: CommitInfo, parent: CommitInfo | None) -> list[Problem]:
        files = FileCheck(self._repository, _NothingKnown(), self._allowed, self._find_token)
        return files.find_problems(info._replace(parents=(parent.id,) if parent else ()))

    def _require_valid_tip(self, commits: Sequence[CommitInfo], *, is_first_history: bool) -> None:
        tip = commits[-1]
        problems = [each for state in self._states.values() for each in state.problems]
        beside = self._find_file_problems(tip, None if is_first_history else commits[0])
        found = ((each.file.partition("/")[0], each.text()) for each in beside)
        problems += [text for project, text in found if f"{project}: {text}" not in problems]
        if problems:
            raise FaultyTip(UpstreamFault(INVALID, _invalid(tip.id), shorten(tuple(problems))))


def _invalid(tip: CommitId) -> str:
    return f"The upstream's commit {tip[:12]} does not pass the checks, so the last valid one is served. Fix it there."
