"""The verdicts on a push: each change of a ref is accepted, or refused with its problems and the way on.

Begin with `judge_push`. Nothing is written but compiled files, which are caches.
"""

from collections.abc import Sequence
from contextlib import closing, suppress
from typing import NamedTuple

from content.records.problem import Problem, errors
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.errors import Broken, StoreError
from gitstore.git.repository import CommitInfo, Repository
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, RELEASE_REF, TAG_PREFIX, CommitId, is_proposal_ref
from gitstore.publish.approval import read_reason
from gitstore.pushes.answer import Refused, branch_name, in_commit, problem_lines, show
from gitstore.pushes.branch_changes import ProjectChange, changed_projects
from gitstore.pushes.branch_check import BranchCheck
from gitstore.pushes.push import MIRROR_OPTION, NoRecords, Progress, Push, PushRecords, PushRules, RefUpdate, RefVerdict
from gitstore.pushes.pushed_files import FileCheck, find_new_commits
from gitstore.pushes.ref_names import require_ref_name
from gitstore.pushes.release_check import ReleaseCheck, require_mirror_grants
from gitstore.pushes.tag_check import check_tag, peel, read_tags

_NO_RECORDS, _DEFAULT_RULES = NoRecords(), PushRules()
_OVERRIDE = "override"
_MIRRORED = "published on another Waypost, whose mirror this is"
_LONGEST_REASON = 500  # characters, as in the API
LEAKED = "API token found"
_ATOMIC = "another ref of this atomic push is refused"


def judge_push(
    compiler: Compiler,
    push: Push,
    progress: Progress = lambda _line: None,
    records: PushRecords = _NO_RECORDS,
    rules: PushRules = _DEFAULT_RULES,
) -> tuple[RefVerdict, ...]:
    """Return the verdict on each change of a ref, in their order.

    `compiler.repository` sees the new objects. Hold the repository's lock, from before this call until the ref has
    moved, if the push moves release: then the compiled files and the manifest are complete as soon as it moves.
    """
    with closing(Repository(compiler.repository.path)) as known:
        verdicts = _Judgement(compiler, known, push, progress, records, rules).verdicts()
    if push.is_atomic and any(verdict.refusal for verdict in verdicts):
        return tuple(each if each.refusal else RefVerdict(each.update, _ATOMIC) for each in verdicts)
    return verdicts


class _Judgement:
    """The checks of one push; `known` is the repository without what is pushed."""

    def __init__(
        self,
        compiler: Compiler,
        known: Repository,
        push: Push,
        progress: Progress,
        records: PushRecords,
        rules: PushRules,
    ) -> None:
        self._compiler = compiler
        self._repository = compiler.repository
        self._known = known
        self._push = push
        self._progress = progress
        self._records = records
        self._rules = rules
        self._files = FileCheck(self._repository, known, rules.allowed_files, records.find_token)
        self._branches = BranchCheck(compiler, push.pusher, rules)
        self._passed = set[CommitId]()

    def verdicts(self) -> tuple[RefVerdict, ...]:
        """Return the verdict on each change."""
        try:
            self._require_no_token("A push option", *(option.encode(errors="replace") for option in self._push.options))
            options = _read_options(self._push.options)
        except Refused as ex:
            return tuple(RefVerdict(update, ex.reason, ex.lines) for update in self._push.updates)
        return tuple(self._judge(update, options) for update in self._push.updates)

    def _judge(self, update: RefUpdate, options: "_Options") -> RefVerdict:
        try:
            self._require_plain_ref(update.name)
            self._require_no_token("The name of a branch or tag", update.name.encode(errors="replace"))
            if update.old is None:
                require_ref_name(update.name)
            brought = self._check_files(update.name, update.new) if update.new else frozenset[CommitId]()
            verdict = self._check_ref(update, options)._replace(brought=brought)
            return verdict if update.new else verdict._replace(lines=(*verdict.lines, _removed(update)))
        except Refused as ex:
            return RefVerdict(update, ex.reason, ex.lines)

    def _require_plain_ref(self, name: str) -> None:
        """Refuse a ref that is neither a branch nor a tag, or only names another one, which a push would move."""
        if not name.startswith((BRANCH_PREFIX, TAG_PREFIX)):
            why = "is neither a branch nor a tag; only refs/heads/ and refs/tags/ can change."
            raise Refused("not a branch", f"{show(name)} {why}")
        try:
            self._known.ref(name)
        except Broken as ex:
            raise Refused("damaged ref", f"{show(name)} cannot be moved: it names another ref, or is damaged.") from ex

    def _require_no_token(self, subject: str, *texts: bytes) -> None:
        """Refuse a valid API token in what is beside the commits."""
        if self._records.find_token(b"\n".join(texts)) is not None:
            message = f"{subject} contains a valid API token. Remove it, and create another token."
            raise Refused(LEAKED, f"api_token: {message}", *self._leak_lines())

    def _leak_lines(self) -> list[str]:
        return ["The API tokens that were found are revoked."] if self._records.revokes_tokens else []

    def _check_ref(self, update: RefUpdate, options: "_Options") -> RefVerdict:
        if update.name == RELEASE_REF:
            if options.is_mirror:
                require_mirror_grants(self._push.pusher)
            check = ReleaseCheck(self._compiler, self._push.pusher, options.override, self._records, self._progress)
            return check.check(update, is_mirror=options.is_mirror)
        if update.name.startswith(DRAFT_PREFIX):
            return self._branches.check_draft(update)
        if is_proposal_ref(update.name):
            return self._branches.check_proposal(update)
        return check_tag(self._repository, self._push.pusher, update)

    def _check_files(self, ref: str, target: CommitId) -> frozenset[CommitId]:
        """Check the files of the commits that are new in the repository, and return these commits."""
        tip = peel(self._repository, target)
        if tip != target and not ref.startswith(TAG_PREFIX):
            raise Refused("not a commit", f"{branch_name(ref)} cannot be a tag. Push the commit that it names.")
        self._require_no_token("The tag", *read_tags(self._repository, target))
        brought = find_new_commits(self._repository, self._known, tip)
        new = [info for info in brought if info.id not in self._passed]
        for number, info in enumerate(new, 1):
            if number % _PROGRESS_STEP == 0:
                self._progress(f"Checking files of commit {number:,} of {len(new):,}")
            problems = self._files.find_problems(info)
            if problems:
                if ref == RELEASE_REF:
                    problems += self._find_content_errors(info, problems)
                lines = problem_lines(self._repository, info.tree, problems)
                is_leak = any(problem.code == "api_token" for problem in problems)
                lines += self._leak_lines() if is_leak else []
                reason = LEAKED if is_leak else "invalid files"
                raise Refused(reason, *lines, in_commit(len(problems), info.id, is_tip=info.id == tip))
            self._passed.add(info.id)
        return frozenset(info.id for info in brought)

    def _find_content_errors(self, info: CommitInfo, found: Sequence[Problem]) -> list[Problem]:
        """Return the errors in the projects of a commit with invalid files, so that all are fixed at once."""
        before = self._repository.commit(info.parents[0]).tree if info.parents else None
        places = {(problem.file, problem.code) for problem in found}
        more = list[Problem]()
        for change in changed_projects(self._repository, before, info.tree):
            with suppress(StoreError):  # what cannot be read is named already
                more += self._list_errors(change)
        return [problem for problem in more if (problem.file, problem.code) not in places]

    def _list_errors(self, change: ProjectChange) -> list[Problem]:
        tree = change.after
        if tree is None or sum(map(self._compiler.snapshot(change.project, tree).count, Kind)) > MAX_UNLINTED_RULES:
            return []
        return errors(self._compiler.lint_state(change.project, tree).problems())


_PROGRESS_STEP = 500


def _removed(update: RefUpdate) -> str:
    name = branch_name(update.name).removeprefix(TAG_PREFIX)
    return (
        f"Removed {name}, which was at {update.old}. To bring it back: git push origin {update.old}:{show(update.name)}"
    )


class _Options(NamedTuple):
    """The options of a push: the reason of an override, empty without one, and whether it is of a mirror."""

    override: str = ""
    is_mirror: bool = False


def _read_options(options: Sequence[str]) -> _Options:
    """Return the options; raises Refused for an unknown one."""
    if list(options) == [MIRROR_OPTION]:
        return _Options(_MIRRORED, is_mirror=True)
    for option in options:
        if option.partition("=")[0] != _OVERRIDE:
            raise Refused("unknown push option", f"Unknown push option {show(option[:80])!r}. Use override=<reason>.")
    if len(options) > 1:
        raise Refused(
            "option given twice", "The push option override is given twice. Give one reason: -o override=<reason>"
        )
    if not options:
        return _Options()
    reason = read_reason(options[0].partition("=")[2])
    if not reason:
        raise Refused("no reason", "The override's reason has no letter or digit. Give it: -o override=<reason>")
    if len(reason) > _LONGEST_REASON:
        raise Refused(
            "reason too long", f"The override's reason has more than {_LONGEST_REASON} characters. Shorten it."
        )
    return _Options(reason)
