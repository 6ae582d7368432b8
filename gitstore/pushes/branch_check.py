"""The checks of pushed drafts and proposals: the branches that a publish may take changes from.

Their content may be invalid; the checks of a publish come when they are merged.
"""

from content.records.names import is_name
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import project_tree
from gitstore.git.branch_names import BranchNames
from gitstore.history.reached import find_base
from gitstore.layout import DRAFT_PREFIX, CommitId, proposal_id, proposal_name
from gitstore.pushes.answer import Refused, branch_name, show
from gitstore.pushes.branch_changes import (
    Needs,
    branch_needs,
    find_missing,
    find_needs,
    may_write,
    root_of,
)
from gitstore.pushes.branch_problems import BranchProblems
from gitstore.pushes.push import PushedHead, Pusher, PushRules, RefUpdate, RefVerdict
from gitstore.pushes.ref_names import require_not_followed, require_proposal_name

_DRAFT_PARTS = 2


class BranchCheck:
    """The check of drafts and proposals that one pusher pushes."""

    def __init__(self, compiler: Compiler, pusher: Pusher, rules: PushRules) -> None:
        self._compiler = compiler
        self._names = BranchNames(compiler.repository.path)
        self._problems = BranchProblems(compiler)
        self._repository = compiler.repository
        self._namespace = compiler.paths.name
        self._pusher = pusher
        self._rules = rules

    def check_draft(self, update: RefUpdate) -> RefVerdict:
        """Return the verdict on a draft, which changes its own project alone; raises Refused."""
        parts = update.name.removeprefix(DRAFT_PREFIX).split("/")
        if len(parts) != _DRAFT_PARTS or not all(map(is_name, parts)):
            raise Refused(
                "not a draft",
                f"{branch_name(update.name)} is not a draft: use draft/<project>/<name>, or another branch.",
            )
        project, draft = parts
        self._require_grants(update)
        self._require_distinct(update)
        if update.new is None:
            return RefVerdict(update)
        if project_tree(self._repository, self._repository.release(), project) is None:
            why = f"There is no project {project} on release. Propose it: git push origin HEAD:refs/heads/<name>"
            raise Refused("no such project", why)
        touched = self._touched(update.name, update.new)
        others = sorted(place or "files beside the projects" for place in touched if place != project)
        if others:
            raise Refused(
                "changes more than its project",
                f"A draft of {project} changes {project} only; this one also changes {', '.join(others[:5])}.",
                "Push it as a proposal: git push origin HEAD:refs/heads/<name>",
            )
        hint = f"Draft {draft} of {project}: to publish it, {self._publish_hint(project, draft)}"
        lines = (*self._list_problems(update.name, update.new, "published"), hint)
        return RefVerdict(update, lines=lines, pushed=PushedHead(draft, (project,), update.new))

    def check_proposal(self, update: RefUpdate) -> RefVerdict:
        """Return the verdict on any other branch; raises Refused."""
        require_not_followed(update.name)
        if update.old is None:
            require_proposal_name(self._repository, update.name)
        self._require_grants(update)
        self._require_distinct(update)
        if update.new is None:
            return RefVerdict(update)
        touched = self._touched(update.name, update.new)
        changed = sorted(place or "files beside the projects" for place in touched)
        pushed = PushedHead(proposal_name(update.name), tuple(sorted(filter(None, touched))), update.new)
        what = ", ".join(changed[:5]) + (", …" if len(changed) > 5 else "")  # noqa: PLR2004 - the names in one line
        lines = (
            *self._list_problems(update.name, update.new, "merged"),
            f"Proposal {proposal_id(update.name)} ({branch_name(update.name)}) changes {what or 'no project'}.",
            f"Agents do not get it until it is merged. Review it: {self._review_place(update.name)}",
        )
        return RefVerdict(update, lines=lines, pushed=pushed)

    def _require_distinct(self, update: RefUpdate) -> None:
        """Refuse a new branch whose name differs from another one only in case or Unicode form."""
        if update.old or not update.new:
            return
        if other := self._names.find_lookalike(update.name):
            why = "differs only in case or Unicode form, so some computers could not fetch both. Choose another name."
            raise Refused("name is taken", f"There is a branch {branch_name(other)}: {branch_name(update.name)} {why}")
        self._names.add(update.name)

    def _require_grants(self, update: RefUpdate) -> None:
        missing = find_missing(self._pusher, self._needs(update))
        if missing:
            name = branch_name(update.name)
            raise Refused(
                "not allowed", f"The branch {name} needs {', '.join(missing)}, which you do not have. Ask for it."
            )
        if not may_write(self._pusher):
            raise Refused("not allowed", "A push needs a write grant in a project of this namespace.")

    def _needs(self, update: RefUpdate) -> Needs:
        """Return the grants for a change of a branch; for its removal, those of all its changes."""
        repository = self._repository
        old_base = self._base(update.old) if update.old else None
        if update.new:
            base = self._require_base(update.name, update.new)
            return branch_needs(repository, (old_base, update.old), (base, update.new))
        if update.old is None:
            return Needs()
        return find_needs(repository, root_of(repository, old_base), repository.commit(update.old).tree)

    def _touched(self, ref: str, new: CommitId) -> Needs:
        base = self._require_base(ref, new)
        return find_needs(self._repository, self._repository.commit(base).tree, self._repository.commit(new).tree)

    def _list_problems(self, ref: str, new: CommitId, verb: str) -> list[str]:
        base = self._repository.commit(self._require_base(ref, new))
        return self._problems.list_lines(base.tree, self._repository.commit(new), verb)

    def _base(self, commit: CommitId) -> CommitId | None:
        return find_base(self._repository, self._repository.release(), commit)

    def _require_base(self, ref: str, commit: CommitId) -> CommitId:
        base = self._base(commit)
        if base is None:
            raise Refused(
                "no common history",
                f"{branch_name(ref)} shares no history with release, so it could not be merged. Begin it again from release:",
                "  git fetch origin",
                "  git checkout -b <name> origin/release",
            )
        return base

    def _publish_hint(self, project: str, draft: str) -> str:
        option = "" if draft == "main" else f" --draft {draft}"
        return f"waypost publish {self._namespace} {project}{option}"

    def _review_place(self, ref: str) -> str:
        found = proposal_id(ref)
        address = self._rules.proposal_address
        return (
            show(address.replace("{namespace}", self._namespace).replace("{id}", found))
            if address
            else f"waypost proposal show {self._namespace} {found}"
        )
