"""The merge of a proposal with release: each project by rule and field, the files beside them each as a whole."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from content.changes.decision import Decisions
from content.records.names import is_name
from content.records.problem import Problem
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.decisions import read_decisions
from gitstore.drafts.drafts import project_tree
from gitstore.errors import Invalid, ProposalConflicts
from gitstore.git.modes import EXECUTABLE_MODE, FILE_MODE
from gitstore.git.repository import Repository, TreeEntry
from gitstore.git.transaction import Transaction
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.merge.merging import MergedFiles, MergeTrees, merge_trees
from gitstore.merge.page_bodies import merge_value
from gitstore.proposals.proposal import Proposal, require_intact

Folders = tuple[TreeId | None, TreeId | None, TreeId | None]  # of base, release and proposal
_Conflict = dict[str, object]


class Ends(NamedTuple):
    """The three commits of a merge."""

    base: CommitId
    release: CommitId
    head: CommitId


@dataclass(frozen=True, slots=True)
class ProjectMerge:
    """The result for one project: its whole folder (None: removed), or changes to release's files of it."""

    before: TreeId | None
    tree: TreeId | None = None
    files: Mapping[str, BlobId | bytes | None] | None = None

    @property
    def is_empty(self) -> bool:
        """True where release has all of it already."""
        return not self.files if self.files is not None else self.tree == self.before


@dataclass(frozen=True, slots=True)
class ProposalMerge:
    """The changes of a proposal to release; each of the conflicts of a project has its name as `project`.

    `failures` has the reason why a project cannot be merged, such as a file that cannot be read.
    """

    projects: Mapping[str, ProjectMerge] = field(default_factory=dict)
    files: Mapping[str, BlobId | None] = field(default_factory=dict)
    conflicts: Sequence[_Conflict] = ()
    failures: Mapping[str, Invalid] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True where release has all changes already."""
        return not (self.projects or self.files or self.conflicts or self.failures)

    def require_clean(self, branch: str) -> None:
        """Raise Invalid or ProposalConflicts where the merge of a branch is not complete."""
        if self.failures:
            found = list(self.failures.values())
            raise Invalid(" ".join(map(str, found)), [problem for each in found for problem in each.problems])
        if self.conflicts:
            count = "1 field was" if len(self.conflicts) == 1 else f"{len(self.conflicts)} fields were"
            name = shlex.quote(branch)
            raise ProposalConflicts(
                f"{count} changed differently on the branch {branch} and on release; nothing changed. Update the proposal with "
                "a choice for each, or merge release into the branch with Git, decide there, then retry: "
                f"git fetch origin && git switch {name} && git merge origin/release && git push origin {name}",
                self.conflicts,
            )


def merge_proposal(compiler: Compiler, proposal: Proposal) -> ProposalMerge:
    """Return the changes of a proposal to release, with conflicts; nothing is written."""
    base, head = require_intact(proposal)
    ends = Ends(base, proposal.release, head)
    decisions = Decisions(read_decisions(compiler.repository, head, base))
    projects, conflicts, failures = dict[str, ProjectMerge](), list[_Conflict](), dict[str, Invalid]()
    for name in proposal.projects:
        try:
            merged, found = _merge_project(compiler, name, ends, decisions)
        except Invalid as ex:
            failures[name] = ex
            continue
        conflicts += [{**each, "project": name} for each in found]
        if not merged.is_empty:
            projects[name] = merged
    files, found = _merge_files(compiler.repository, ends) if proposal.changes_files else ({}, [])
    return ProposalMerge(projects, files, [*conflicts, *found], failures)


def _merge_project(
    compiler: Compiler, project: str, ends: Ends, decisions: Decisions
) -> tuple[ProjectMerge, Sequence[_Conflict]]:
    _require_folder(compiler.repository, project, ends.head)
    base, release, head = folders = folders_of(compiler.repository, project, ends)
    if release in {base, head}:
        return ProjectMerge(release, head), ()
    if head == base:
        return ProjectMerge(release, release), ()
    if release is None or head is None:
        return ProjectMerge(release, release), [_folder_conflict(project, folders)]
    merged: MergedFiles = merge_trees(compiler, project, MergeTrees(base, release, head), decisions)
    return ProjectMerge(release, files=merged.files), merged.conflicts


def folders_of(repository: Repository, project: str, ends: Ends) -> Folders:
    """Return the folders of a project in the three commits of a merge."""
    base, release, head = (project_tree(repository, commit, project) for commit in ends)
    return base, release, head


def _require_folder(repository: Repository, project: str, head: CommitId) -> None:
    """Raise Invalid where the branch has something else in the place of the project's folder."""
    found = repository.named_entries(repository.commit(head).tree, project)
    if any(not entry.is_folder for entry in found):
        message = f"{project} is not a folder in this proposal. Put the folder back, then push it again."
        raise Invalid(message, [Problem("path_taken", message, file=project)])


def _folder_conflict(project: str, folders: Folders) -> _Conflict:
    """Return the conflict of a project that one side removed and the other changed."""
    base, release, head = folders
    return {"kind": "file", "file": project, "field": "", "base": base, "release": release, "draft": head}


def _merge_files(repository: Repository, ends: Ends) -> tuple[dict[str, BlobId | None], list[_Conflict]]:
    """Merge the files beside the projects, each as one value."""
    sides = [files_beside(repository, commit) for commit in ends]
    changes: dict[str, BlobId | None] = {}
    conflicts: list[_Conflict] = []
    for path in sorted(set().union(*sides)):
        base, release, head = (side.get(path) for side in sides)
        merged, disputed = merge_value(base, release, head)
        if disputed:
            values = (entry and entry.id for entry in (base, release, head))
            conflicts.append(
                {
                    "kind": "file",
                    "file": path,
                    "field": "",
                    **dict(zip(("base", "release", "draft"), values, strict=True)),
                }
            )
        elif merged != release:
            changes[path] = plain_file(path, merged)
    return changes, conflicts


def changed_files_beside(repository: Repository, ends: Ends) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
    """Return the files beside the projects that a branch changed since its base, by path: both entries."""
    old, new = (files_beside(repository, commit) for commit in (ends.base, ends.head))
    pairs = {path: (old.get(path), new.get(path)) for path in sorted(old.keys() | new.keys())}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def plain_paths_beside(repository: Repository, proposal: Proposal) -> set[str]:
    """Return the paths of files beside the projects that are plain files in each of the three commits that has them."""
    base, head = require_intact(proposal)
    sides = [files_beside(repository, commit) for commit in Ends(base, proposal.release, head)]
    special = {path for side in sides for path, entry in side.items() if entry.mode not in {FILE_MODE, EXECUTABLE_MODE}}
    return set().union(*sides) - special


def plain_file(path: str, entry: TreeEntry | None) -> BlobId | None:
    """Return the content of a file; raises Invalid for a link, a submodule, or an executable file."""
    if entry is None:
        return None
    if entry.mode != FILE_MODE:
        message = f"{path[:100]!r} is not a plain file: its mode is {entry.mode:o}. Use {FILE_MODE:o}."
        raise Invalid(message, [Problem("not_a_file", message, file=path[:200])])
    return BlobId(entry.id)


def files_beside(repository: Repository, commit: CommitId) -> dict[str, TreeEntry]:
    """Return the files of a commit beside the projects, by path."""
    found: dict[str, TreeEntry] = {}
    for entry in repository.entries(repository.commit(commit).tree):
        if not entry.is_folder:
            found[entry.name] = entry
        elif not is_name(entry.name):
            found |= {f"{entry.name}/{path}": each for path, each in repository.files(TreeId(entry.id))}
    return found


def write_projects(transaction: Transaction, merge: ProposalMerge) -> dict[str, TreeId | None]:
    """Write the merged folders of the projects, and return them; None: removed."""
    return {name: _write_project(transaction, each) for name, each in merge.projects.items()}


def _write_project(transaction: Transaction, merged: ProjectMerge) -> TreeId | None:
    if merged.files is None:
        return merged.tree
    blobs = {
        path: transaction.write_blob(data) if isinstance(data, bytes) else data for path, data in merged.files.items()
    }
    return transaction.write_files(merged.before, blobs)


def write_files_beside(transaction: Transaction, release: CommitId, merge: ProposalMerge) -> TreeId:
    """Write release's tree of the namespace with the merged files beside the projects."""
    root = transaction.commit(release).tree
    return (transaction.write_files(root, merge.files) or root) if merge.files else root


def require_distinct_names(repository: Repository, root: TreeId, projects: Mapping[str, TreeId | None]) -> None:
    """Raise Invalid where two projects of a merged namespace would have names that differ only in case."""
    present = {entry.name for entry in repository.entries(root) if entry.is_folder and is_name(entry.name)}
    present = (present - projects.keys()) | {name for name, tree in projects.items() if tree}
    seen: dict[str, str] = {}
    for name in sorted(present):
        other = seen.setdefault(name.lower(), name)
        if other != name and (name in projects or other in projects):
            message = f"The projects {other} and {name} differ only in case. Rename or remove one of the two."
            raise Invalid(message, [Problem("duplicate_project", message, file=name)])
