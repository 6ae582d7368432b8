"""The effects of a proposed change on a project: rules, answers, and the results of checks and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from content.changes.diff import Change, ChangeType, Counts, count
from content.changes.impact import Impact
from content.records.problem import Problem, Severity
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange

TEST_FAILED = "test_failed"
NO_IMPACT = Impact((), (), ())


@dataclass(frozen=True, slots=True)
class ProjectChanges:
    """The difference between two states of a project, and the state of the new one.

    `change` is that of the project itself. `impact` is None where it could not be found. `problems` are those of the new
    state; its `tests` were run unless it has errors of other kinds. `is_compared` is false if a changed file has errors:
    then the changes are unknown.
    """

    project: str
    change: ChangeType
    changes: Sequence[Change]
    files: Sequence[FileChange]
    impact: Impact | None
    problems: Sequence[Problem]
    tests: int
    is_compared: bool = True

    @property
    def counts(self) -> Mapping[Kind, Counts]:
        """The numbers of changes of each kind."""
        return {kind: count(change for change in self.changes if change.kind is kind) for kind in Kind}

    @property
    def errors(self) -> list[Problem]:
        """The problems that stop a publish."""
        return [problem for problem in self.problems if problem.severity is Severity.ERROR]

    @property
    def failed_tests(self) -> list[Problem]:
        """The tests with another answer than they expect."""
        return [problem for problem in self.problems if problem.code == TEST_FAILED]

    @property
    def were_tested(self) -> bool:
        """True if the tests were run."""
        return len(self.errors) == len(self.failed_tests)

    @property
    def differs(self) -> bool:
        """True if any rule or file differs."""
        return bool(self.changes or self.files or not self.is_compared or self.change is not ChangeType.CHANGED)
