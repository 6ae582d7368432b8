"""The subjects of problems: the rule at the place of each, or the URL of a failed test, looked up and not searched for."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from content.changes.diff import identity_field, item_kind
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot

_TEST_FAILED = "test_failed"


class Subject(NamedTuple):
    """The subject of a problem: a rule of a kind by its id, with its source or path; or a test, of no kind, by its URL."""

    kind: Kind | None
    id: str
    name: str

    def wire(self) -> dict[str, object]:
        """Return the fields that a problem has with it in the API."""
        if self.kind is None:
            return {"url": self.name}
        return {"kind": item_kind(self.kind), "id": self.id, identity_field(self.kind): self.name}


def find_subjects(snapshot: Snapshot, problems: Sequence[Problem]) -> list[Subject | None]:
    """Return the subject of each problem of a state; None for a problem of a file, or in one whose rules may be unread."""
    wanted = {problem.file for problem in problems}
    files = {path: (kind, file) for path, kind, file in _rule_files(snapshot) if path in wanted}
    tests = _tested_urls(snapshot) if any(problem.code == _TEST_FAILED for problem in problems) else {}
    return [_test_at(tests, problem) or _rule_at(files, problem) for problem in problems]


def _rule_files(snapshot: Snapshot) -> Iterator[tuple[str, Kind, CompiledFile]]:
    for kind in Kind:
        for file in snapshot.rule_files[kind]:
            yield snapshot.full_path(file.path), kind, file


def _tested_urls(snapshot: Snapshot) -> dict[tuple[str, int], str]:
    return {(test.file, test.line): test.url for test in snapshot.expectations}


def _test_at(tests: Mapping[tuple[str, int], str], problem: Problem) -> Subject | None:
    url = tests.get((problem.file, problem.line)) if problem.code == _TEST_FAILED else None
    return None if url is None else Subject(None, "", url)


def _rule_at(files: Mapping[str, tuple[Kind, CompiledFile]], problem: Problem) -> Subject | None:
    if problem.line == 0 or problem.file not in files:
        return None
    kind, file = files[problem.file]
    if file.segment.hiding_problems_for(kind):
        return None
    segment = file.segment.whole
    position = bisect_right(segment.lines, problem.line) - 1
    if position < 0:
        return None
    record = segment.record(position)
    return Subject(kind, record.id, record.identity)
