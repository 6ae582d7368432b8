"""The check of a push to release: each commit that it adds goes through the gate of a publish, oldest first.

The repository's lock is held, so nothing else moves release. The manifest of the new tip is built last, when every
commit has passed.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.compiled.indexes.served_record import read_served
from gitstore.errors import ApprovalRequired, Invalid, NotAllowed, Rewound
from gitstore.git.repository import Author, CommitInfo
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import (
    APPROVED_BY,
    OVERRIDE,
    PUBLISHED_BY,
    VERIFIED_SIGNER,
    dump_trailers,
    load_message,
    signature,
)
from gitstore.history.name_collisions import require_unique_name
from gitstore.history.numbering import PublishDelta, read_index
from gitstore.history.pristine import is_pristine
from gitstore.history.rewinds import require_continuous
from gitstore.layout import CommitId
from gitstore.publish.gate import NextState, Served, check_and_compile, read_served_state
from gitstore.pushes import branch_changes
from gitstore.pushes.answer import Refused, in_commit, problem_lines, short, show
from gitstore.pushes.approved_heads import ApprovedHeads, needs_approval
from gitstore.pushes.branch_changes import Needs, ProjectChange, changed_projects, find_missing, find_needs
from gitstore.pushes.change_size import count_changed_bytes
from gitstore.pushes.publish_summary import summarize_publish
from gitstore.pushes.push import Progress, Publish, Pusher, PushRecords, RefUpdate, RefVerdict
from gitstore.pushes.signature_check import SignatureCheck
from gitstore.signatures.allowed_signers import FILE

PROPOSE = "git push origin HEAD:refs/heads/<name>"
_WITHOUT_REVIEW = "git push -o override='<reason>' origin HEAD:release"
_REBASE = ("git fetch origin", "git rebase origin/release", "git push origin HEAD:release")
_MOST_SUMMARIES = 10
_LARGE = 4 << 20  # bytes of changed files, whose check takes some seconds


class _Checked(NamedTuple):
    """A commit that has passed: the changes of each project, the approvers, and the projects that were overridden.

    `signer` is the verified signer, empty without one; a commit that changes `allowed_signers` gets a note as a publish does.
    """

    commit: CommitId
    deltas: tuple[PublishDelta, ...]
    approvers: tuple[Author, ...]
    overridden: frozenset[str]
    signer: str = ""
    changes_signers: bool = False


class ReleaseCheck:
    """The check of one push to release, by one pusher; `override` is the reason of an override, if any."""

    def __init__(
        self, compiler: Compiler, pusher: Pusher, override: str, records: PushRecords, progress: Progress
    ) -> None:
        self._compiler = compiler
        self._repository = compiler.repository
        self._pusher = pusher
        self._override = override
        self._records = records
        self._approved_heads = ApprovedHeads(compiler, records)
        self._progress = progress
        self._served = dict[str, Served]()  # the states that this push has published so far

    def check(self, update: RefUpdate, *, is_mirror: bool = False) -> RefVerdict:
        """Return the verdict; raises Refused.

        A push of a mirror may have trailers of the service, and gives a pristine namespace its history.
        """
        release = self._require_newest(update)
        if update.new is None:
            raise Refused("release cannot be deleted", "Release cannot be deleted; it is what agents get.")
        takes_all = is_mirror and is_pristine(self._repository, release)
        commits = self._list_commits(release, update.new, takes_all=takes_all)
        pairs = list(pairwise([self._repository.commit(release), *commits]))
        self._require_grants(pairs)
        for info in commits if not is_mirror else ():
            _require_own_message(info)
        signatures = SignatureCheck(self._repository, release)
        signers = [signatures.find_signer(*pair) for pair in pairs]
        checked = [
            self._check_commit(parent, info, number, len(pairs))._replace(signer=signer)
            for number, ((parent, info), signer) in enumerate(zip(pairs, signers, strict=True), 1)
        ]
        verdict = self._accept(update, [each for each in checked if each.deltas or each.changes_signers])
        if takes_all and commits and release not in commits[0].parents:
            self._compiler.paths.served.unlink(missing_ok=True)  # what was served is not in the new history
        return verdict

    def _require_newest(self, update: RefUpdate) -> CommitId:
        release = self._repository.release()
        if update.old != release:
            raise Refused("fetch first", "Release has moved since it was fetched:", *_commands(_REBASE))
        try:
            require_continuous(self._repository, release, read_served(self._compiler.paths))
        except Rewound as ex:
            raise Refused("release was rewound", show(str(ex)), "An operator has to accept it first.") from ex
        return release

    def _list_commits(self, release: CommitId, tip: CommitId, *, takes_all: bool = False) -> list[CommitInfo]:
        """List the commits that a push adds along the first parents, oldest first; the whole history with `takes_all`."""
        found = list[CommitInfo]()
        for info in self._repository.first_parents(tip):
            if info.id == release:
                return found[::-1]
            found.append(info)
        if takes_all:
            return found[::-1]
        is_merged = self._repository.merge_base(release, tip) == release
        why = (
            "Release is merged into these commits, so it is not their first parent. Rebase onto release:"
            if is_merged
            else "These commits do not continue from release. Rebase onto release:"
        )
        raise Refused("rebase onto release", why, *_commands(_REBASE))

    def _require_grants(self, pairs: Sequence[tuple[CommitInfo, CommitInfo]]) -> None:
        writes = Needs()
        for parent, info in pairs:
            for place, grants in find_needs(self._repository, parent.tree, info.tree).items():
                writes.setdefault(place, set()).update(grants)
        publishes = {place: {branch_changes.PUBLISH} for place in writes if place != branch_changes.BESIDE}
        unwritten, unpublished = (find_missing(self._pusher, each) for each in (writes, publishes))
        missing = sorted({*unwritten, *unpublished})
        if missing:
            why = f"This push to release needs {', '.join(missing)}, which you do not have. Ask for it"
            raise Refused(
                "not allowed", *([f"{why}."] if unwritten else [f"{why}, or propose the change:", f"  {PROPOSE}"])
            )

    def _check_commit(self, parent: CommitInfo, info: CommitInfo, number: int, total: int) -> _Checked:
        changes = self._changes(parent, info)
        if changes and total > 1:
            self._progress(f"Checking commit {number:,} of {total:,}")
        approvers, overridden = self._require_approvals(parent, info, changes)
        deltas, problems = list[PublishDelta](), list[Problem]()
        for change in changes:
            try:
                deltas.append(self._check_project(info, change))
            except Invalid as ex:
                if not ex.problems:
                    raise Refused("invalid content", show(str(ex))) from ex
                problems += ex.problems
            except NotAllowed as ex:
                raise Refused("policy", show(str(ex))) from ex
        if problems:
            lines = problem_lines(self._repository, info.tree, problems)
            raise Refused("invalid content", *lines, in_commit(len(problems), info.id, is_tip=number == total))
        before, after = (self._repository.named_entries(each.tree, FILE) for each in (parent, info))
        return _Checked(info.id, tuple(deltas), approvers, overridden, changes_signers=before != after)

    def _changes(self, parent: CommitInfo, info: CommitInfo) -> list[ProjectChange]:
        return changed_projects(self._repository, parent.tree, info.tree)

    def _check_project(self, info: CommitInfo, change: ProjectChange) -> PublishDelta:
        """Check and compile the next state of a project; raises Invalid or NotAllowed."""
        project = change.project
        if change.after:
            require_unique_name(self._repository, info.id, project)
        served = self._served.get(project) or read_served_state(self._compiler, self._repository.release(), project)
        self._report_large(change)
        may_change_policy = self._pusher.override.covers(project)
        state = NextState(project, change.before, change.after, served, requires_same_policy=not may_change_policy)
        delta = check_and_compile(self._compiler, state)
        self._served[project] = Served(change.after, is_newest=bool(change.after))
        return delta

    def _report_large(self, change: ProjectChange) -> None:
        """Report what is checked next, where that takes seconds."""
        if count_changed_bytes(self._repository, change, _LARGE) <= _LARGE or change.after is None:
            return
        self._progress(f"Reading the rules of {change.project}")
        rules = sum(map(self._compiler.snapshot(change.project, change.after).count, Kind))
        self._progress(f"Checking {rules:,} rules of {change.project}")

    def _require_approvals(
        self, parent: CommitInfo, info: CommitInfo, changes: Sequence[ProjectChange]
    ) -> tuple[tuple[Author, ...], frozenset[str]]:
        """Return the approvers of a commit, and the projects that are published without; raises Refused."""
        approvers, overridden = dict[str, Author](), set[str]()
        for change in changes:
            if not needs_approval(self._compiler, change):
                continue
            approval = self._approved_heads.find(parent.id, info, change)
            if approval.approvers is not None:
                approvers |= {author.email: author for author in approval.approvers}
            elif self._override and self._pusher.override.covers(change.project):
                self._records.ask_override(change.project, info.id, self._override)
                overridden.add(change.project)
            else:
                raise self._unapproved(info, change.project, approval.reasons)
        return tuple(approvers.values()), frozenset(overridden)

    def _unapproved(self, info: CommitInfo, project: str, reasons: Sequence[str]) -> Refused:
        lines = [
            f"{project} requires a review: no other person has approved the commit {short(info.id)}, or one that it merges.",
            *map(show, reasons[-1:]),
        ]
        if self._override:
            lines.append(f"The push option override needs project:override on {project}.")
        lines += ["Push it as a proposal:", *_commands([PROPOSE])]
        if self._pusher.override.covers(project):
            lines += ["Or publish it without a review:", *_commands([_WITHOUT_REVIEW])]
        return Refused("review required", *lines)

    def _accept(self, update: RefUpdate, checked: Sequence[_Checked]) -> RefVerdict:
        """Build the manifest of the new tip, and return the verdict with its publishes."""
        tip = CommitId(str(update.new))
        deltas = [delta for each in checked for delta in each.deltas]
        manifest = ensure_manifest(self._compiler, tip, deltas, waits=False)
        for project in dict.fromkeys(delta.project for delta in deltas):
            if fault := manifest.projects[project].failed:
                raise Refused("invalid content", show(fault), "Nothing was published.")
        published = list(self._list_publishes(manifest, checked))
        lines = [
            line
            for publish, delta in zip(published[:_MOST_SUMMARIES], deltas, strict=False)
            for line in (
                *summarize_publish(self._compiler, publish.commit, publish.number, delta),
                *(
                    [show(f"  Published without a review, by an override: {publish.override}")]
                    if publish.override
                    else []
                ),
            )
        ]
        more = len(published) - _MOST_SUMMARIES
        lines += [f"… and {more:,} more publishes"] if more > 0 else []
        lines = lines or ["No project changes; no version was made."]
        notes = tuple((each.commit, self._note(each)) for each in checked)
        try:
            self._approved_heads.confirm()
        except ApprovalRequired as ex:
            raise Refused("review required", "The review changed while the push was checked.", show(str(ex))) from ex
        return RefVerdict(update, lines=tuple(lines), publishes=tuple(published), notes=notes)

    def _list_publishes(self, manifest: Manifest, checked: Sequence[_Checked]) -> Iterator[Publish]:
        for each in checked:
            for delta in each.deltas:
                number = read_index(self._compiler, manifest, delta.project).resolve(each.commit).number
                override = self._override if delta.project in each.overridden else ""
                yield Publish(delta.project, each.commit, number, override)

    def _note(self, checked: _Checked) -> str:
        """Return the note on a commit: who published it, and who approved it."""
        return dump_trailers(
            {
                PUBLISHED_BY: signature(self._pusher.author),
                APPROVED_BY: tuple(map(signature, checked.approvers)),
                VERIFIED_SIGNER: checked.signer,
                OVERRIDE: self._override if checked.overridden else "",
            }
        )


def require_mirror_grants(pusher: Pusher) -> None:
    """Refuse the push of a mirror by a pusher who could not publish all of it without a review."""
    if not (pusher.publish.everywhere and pusher.override.everywhere):
        raise Refused(
            "not allowed",
            "The push option mirror needs project:publish and project:override on every project (*).",
        )


def _require_own_message(info: CommitInfo) -> None:
    """Refuse a commit whose message claims to be of the service: history would show its trailers as facts."""
    claimed = sorted(load_message(info.message).trailers)
    if claimed:
        raise Refused(
            "reserved trailer",
            f"The message of commit {short(info.id)} has a line {claimed[0]}: which only the service writes.",
            "Remove the line: git commit --amend",
        )


def _commands(commands: Sequence[str]) -> list[str]:
    return [f"  {command}" for command in commands]
