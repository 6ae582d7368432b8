"""Any state of a project: what is published, a draft, a version or a branch, as `gitstore.states` tells from a word."""

from content.matching import Matcher
from content.names import DEFAULT_DRAFT
from content.problem import Problem
from content.record import Record
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind, changes_between
from gitstore.checks import check_snapshot, matcher_of
from gitstore.compiler import Compiler
from gitstore.doors import Doors
from gitstore.file_changes import FileChange, file_changes
from gitstore.snapshot import Snapshot
from gitstore.states import BASE, PUBLISHED, State, must_be_readable, read_base, read_state


class StateDoors(Doors):
    """The part of the store that answers for a state; `draft` is the name of the draft that is meant."""

    def matcher(self, namespace: str, project: str, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT) -> Matcher:
        """Answers requests as a state of the project does."""
        if at == PUBLISHED:
            return self.project(namespace, project).release.matcher
        with self._reading(namespace) as compiler:
            state = self._state(compiler, project, at, draft)
            if state.version:
                return compiler.release(project, state.tree).matcher
            return matcher_of(compiler.snapshot(project, state.tree))

    def lint(self, namespace: str, project: str, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT) -> list[Problem]:
        """Every error and warning of a state of the project."""
        return check_snapshot(self.snapshot(namespace, project, at, draft))

    def records(
        self, namespace: str, project: str, kind: Kind, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT
    ) -> list[Record]:
        """All records of a kind in a state of the project."""
        return [placed.record for placed in self.snapshot(namespace, project, at, draft).placed(kind)]

    def diff(self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT) -> ChangesByKind:
        """What leads from one state of the project to another, rule by rule; see `difference`."""
        return self.difference(namespace, project, old, new, draft)[0]

    def difference(
        self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT
    ) -> tuple[ChangesByKind, list[FileChange]]:
        """What leads from one state to another, by rule and by file; as `old`, `base` is where `new` left release."""
        with self._reading(namespace) as compiler:
            after = self._state(compiler, project, new, draft)
            is_base = old == BASE
            start = read_base(compiler, project, after) if is_base else self._state(compiler, project, old, draft).tree
            before, working = (
                compiler.snapshot(project, start) if start else None,
                compiler.snapshot(project, after.tree),
            )
            files = file_changes(compiler, project, start, after.tree)
        must_be_readable(before, working)
        return changes_between(before, working), files

    def snapshot(self, namespace: str, project: str, at: str, draft: str = DEFAULT_DRAFT) -> Snapshot:
        """A state of the project, whole."""
        with self._reading(namespace) as compiler:
            return compiler.snapshot(project, self._state(compiler, project, at, draft).tree)

    def _state(self, compiler: Compiler, project: str, at: str, draft: str) -> State:
        entry = self.project(compiler.paths.name, project).entry
        return read_state(compiler, project, entry, at, draft)
