"""The drafts of many projects that wait to be published, the newest first: found by their refs, read a few at a time."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import DraftName, DraftState, Trees, read_draft
from gitstore.errors import Broken, Invalid, NotFound
from gitstore.git.refs import list_refs
from gitstore.git.repository import Repository
from gitstore.layout import DRAFT_PREFIX, CommitId
from gitstore.merge.draft_merge import merge_draft
from gitstore.publish.authorship import ReviewSubject
from gitstore.publish.code_owners import read_owned_subject


class DraftHead(NamedTuple):
    """The branch of a draft: its commit, and the time of that in seconds since 1970, with its author's name."""

    time: int
    name: DraftName
    commit: CommitId
    author: str


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """A draft with changes: its head, the trees that differ, the number of its conflicts with release, and the subject of its review."""

    head: CommitId
    trees: Trees
    conflicts: int
    review_subject: ReviewSubject


def list_heads(repository: Repository, projects: Collection[str]) -> list[DraftHead]:
    """Return the branches of the drafts of some projects; a damaged one is left out."""
    found = []
    for ref, commit in list_refs(repository.path, is_lenient=True).items():
        project, slash, draft = ref.removeprefix(DRAFT_PREFIX).partition("/")
        if ref.startswith(DRAFT_PREFIX) and slash and project in projects:
            with suppress(Broken):
                info = repository.commit(commit)
                found.append(DraftHead(info.time, DraftName(project, draft), commit, info.author.name))
    return found


def read_open_draft(compiler: Compiler, name: DraftName) -> OpenDraft | None:
    """Return a draft; None for one without changes, or whose branch cannot be read."""
    try:
        state = read_draft(compiler.repository, name)
        if state.head is None:
            return None
        return OpenDraft(
            state.head, state.trees, _count_conflicts(compiler, state), read_owned_subject(compiler, state)
        )
    except (Broken, NotFound):
        return None


def _count_conflicts(compiler: Compiler, state: DraftState) -> int:
    """Count the conflicts; nothing is compared where release has not changed the project since."""
    if state.base_tree == state.release_tree:
        return 0
    try:
        return len(merge_draft(compiler, state).conflicts)
    except Invalid:  # a file that cannot be read is among the problems of the draft itself
        return 0
