"""The names of a project's states, and their resolution.

In this order: `published`; `draft`; `refs/heads/NAME` or `branch:NAME`, which can only be a branch; `proposal/ID`; a version
by publish number or SHA; a branch by its name alone. So a branch with the name of another state needs its prefix.
"""

import re
from dataclasses import dataclass, replace

from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import ProjectEntry
from gitstore.compiled.indexes.versions import Version, is_version_word
from gitstore.compiled.segments.changes import find_differing_files
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import DraftName, project_tree, read_draft
from gitstore.errors import BadRequest, Invalid, NotFound
from gitstore.git.refs import find_proposal, is_branch_ref
from gitstore.history.history import version_index
from gitstore.history.reached import find_base
from gitstore.layout import BRANCH_PREFIX, PROPOSAL_PREFIX, CommitId, TreeId

PUBLISHED = "published"
DRAFT = "draft"
BASE = "base"
_BRANCH = "branch:"
_PROPOSAL = re.compile(rf"{PROPOSAL_PREFIX}([0-9a-f]{{16}})")
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Revision:
    """A state of a project: its folder at a commit.

    `version` is set for a published version. `proposed` is true for a draft or branch, which has a base on release.
    `base_tree` is set for a draft.
    """

    commit: CommitId
    tree: TreeId
    version: Version | None = None
    proposed: bool = False
    base_tree: TreeId | None = None


def read_revision(compiler: Compiler, project: str, entry: ProjectEntry, word: str, draft: str) -> Revision:
    """Read the state with a name; `entry` is the served state of the project, `draft` the name of its draft.

    Raises NotFound with the name, or BadRequest where the text cannot name a state.
    """
    if word == PUBLISHED:
        return Revision(entry.version, _require_tree(project, word, entry.tree))
    if word == DRAFT:
        found = read_draft(compiler.repository, DraftName(project, draft))
        tree = _require_tree(project, f"draft {draft}", found.tree)
        return Revision(found.head or found.release, tree, proposed=True, base_tree=found.base_tree)
    if word.startswith((BRANCH_PREFIX, _BRANCH)):
        return _branch(compiler, project, word.removeprefix(BRANCH_PREFIX).removeprefix(_BRANCH))
    if found_id := _PROPOSAL.fullmatch(word):
        return _proposal(compiler, project, found_id[1])
    return _version(compiler, project, word) or _branch(compiler, project, word)


def read_base_tree(compiler: Compiler, project: str, state: Revision) -> TreeId | None:
    """Return the project where a draft or branch left release, the base of its changes. None: it did not exist there."""
    if not state.proposed:
        raise BadRequest("A published version has no base; only drafts and branches have one.")
    if state.base_tree:
        return state.base_tree
    base = find_base(compiler.repository, compiler.repository.release(), state.commit)
    if base is None:
        raise NotFound("The branch has no base: it shares no history with release.")
    return project_tree(compiler.repository, base, project)


def require_readable(old: Snapshot | None, new: Snapshot) -> None:
    """Raise Invalid where a differing file has errors: its unread rules would be shown as removed, or as added."""
    files = ((one, kind, file) for kind in Kind for one, file in find_differing_files(kind, old, new))
    found = [
        replace(problem, file=one.full_path(file.path))
        for one, kind, file in files
        for problem in (*file.segment.hiding_problems, *file.segment.kind_problems(kind))
    ]
    if found:
        raise Invalid("A changed file has errors, so its changes cannot be shown. Fix the file, then retry.", found)


def _version(compiler: Compiler, project: str, word: str) -> Revision | None:
    """Return the published version with a name; None for any other name, which may be a branch."""
    try:
        version = version_index(compiler, project).resolve(word)
    except NotFound:
        return None
    except BadRequest:
        if is_version_word(word):  # the prefix of several versions
            raise
        return None
    return Revision(version.commit, _require_tree(project, f"publish {version.number}", version.tree), version)


def _proposal(compiler: Compiler, project: str, wanted: str) -> Revision:
    ref = find_proposal(compiler.repository.path, wanted)
    if ref is None:
        raise NotFound(f"There is no proposal {wanted} in this namespace.")
    return _branch(compiler, project, ref.removeprefix(BRANCH_PREFIX))


def _branch(compiler: Compiler, project: str, name: str) -> Revision:
    ref = f"{BRANCH_PREFIX}{name}"
    if not is_branch_ref(ref):
        raise BadRequest(
            f"{name[:_SHOWN]!r} is not a state. Use published, draft, a publish number, 7 to 40 hex digits of a version, "
            "the name of a branch, or proposal/ and the id of a proposal."
        )
    commit = compiler.repository.ref(ref)
    if commit is None:
        raise NotFound(f"{project} has no version or branch {name[:_SHOWN]!r}.")
    tree = project_tree(compiler.repository, commit, project)
    return Revision(commit, _require_tree(project, f"branch {name[:_SHOWN]}", tree), proposed=True)


def _require_tree(project: str, where: str, tree: TreeId | None) -> TreeId:
    if tree is None:
        raise NotFound(f"The project {project} does not exist in the state {where!r}.")
    return tree
