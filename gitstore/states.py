"""The words for the states of a project, and what each stands for: the one place that decides.

In this order: `published`; `draft`; `refs/heads/NAME` or `branch:NAME`, which can only be a branch; a version by publish
number or SHA; a branch by its name alone. So a branch whose name reads as one of the others needs its prefix.
"""

from dataclasses import dataclass, replace

from content.problem import Problem, errors
from content.vocabulary import Kind
from gitstore.changes import differing_files
from gitstore.compiler import Compiler
from gitstore.drafts import DraftName, project_tree, read_draft
from gitstore.errors import BadRequest, Invalid, NotFound
from gitstore.history import version_index
from gitstore.layout import BRANCH_PREFIX, CommitId, TreeId
from gitstore.manifest import ProjectEntry
from gitstore.refs import is_branch_ref
from gitstore.snapshot import Snapshot
from gitstore.versions import Version, is_version_word

PUBLISHED = "published"
DRAFT = "draft"
BASE = "base"
_BRANCH = "branch:"
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class State:
    """What a word stands for: the project's folder at a commit. `version` is set where it is a published version."""

    commit: CommitId
    tree: TreeId
    version: Version | None = None
    proposed: bool = False
    """It is a draft or a branch: something that has a base on release."""


def read_state(compiler: Compiler, project: str, entry: ProjectEntry, word: str, draft: str) -> State:
    """The state that a word names; `entry` is what the project serves, `draft` the name of the draft that is meant.

    Raises NotFound, saying what was looked for, or BadRequest where the word can be no name of a state at all.
    """
    if word == PUBLISHED:
        return State(entry.version, _there(project, word, entry.tree))
    if word == DRAFT:
        found = read_draft(compiler.repository, DraftName(project, draft))
        return State(found.head or found.release, _there(project, f"draft {draft}", found.tree), proposed=True)
    if word.startswith((BRANCH_PREFIX, _BRANCH)):
        return _branch(compiler, project, word.removeprefix(BRANCH_PREFIX).removeprefix(_BRANCH))
    return _version(compiler, project, word) or _branch(compiler, project, word)


def read_base(compiler: Compiler, project: str, state: State) -> TreeId | None:
    """The project where a draft or branch left release: what it changes is counted from there. None: it was not there."""
    if not state.proposed:
        raise BadRequest("'base' is where a draft or a branch left release; a published version has none.")
    base = compiler.repository.merge_base(compiler.repository.release(), state.commit)
    if base is None:
        raise NotFound("There is no base: the branch shares no history with release.")
    return project_tree(compiler.repository, base, project)


def must_be_readable(old: Snapshot | None, new: Snapshot) -> None:
    """Raise Invalid where a file that differs cannot be read whole: its rules would be told as removed, or as added."""
    files = ((one, kind, file) for kind in Kind for one, file in differing_files(kind, old, new))
    found = [
        replace(problem, file=one.full_path(file.path))
        for one, kind, file in files
        for problem in (*errors(list(file.part.problems)), *_misplaced(kind, file.part.kind))
    ]
    if found:
        raise Invalid("A file that differs cannot be read whole, so what changed in it cannot be told.", found)


def _misplaced(kind: Kind, held: Kind | None) -> list[Problem]:
    wrong = held not in {kind, None}
    return [Problem("wrong_kind", f"This file must hold `{kind}:`, not `{held}:`.", line=1)] if wrong else []


def _version(compiler: Compiler, project: str, word: str) -> State | None:
    """The published version that a word names; None where there is none, and it may be a branch."""
    try:
        version = version_index(compiler, project).resolve(word)
    except NotFound:
        return None
    except BadRequest:
        if is_version_word(word):  # several versions begin so
            raise
        return None
    return State(version.commit, _there(project, f"publish {version.number}", version.tree), version)


def _branch(compiler: Compiler, project: str, name: str) -> State:
    ref = f"{BRANCH_PREFIX}{name}"
    if not is_branch_ref(ref):
        raise BadRequest(
            f"{name[:_SHOWN]!r} is no state: give published, draft, a publish number, 7 to 40 hex digits of a version, "
            "or the name of a branch."
        )
    commit = compiler.repository.ref(ref)
    if commit is None:
        raise NotFound(f"There is no version and no branch {name[:_SHOWN]!r} of {project}.")
    tree = project_tree(compiler.repository, commit, project)
    return State(commit, _there(project, f"branch {name[:_SHOWN]}", tree), proposed=True)


def _there(project: str, where: str, tree: TreeId | None) -> TreeId:
    if tree is None:
        raise NotFound(f"The project {project} is not there in the state {where!r}.")
    return tree
