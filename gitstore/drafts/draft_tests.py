"""The tests of a project in a draft: the list with what each test gets now, and its replacement as one commit."""

from collections.abc import Sequence
from dataclasses import dataclass

from content.checks.expectations import Expectation, failed_expectations
from content.records.problem import Problem
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.validation.checks import build_matcher
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    read_draft,
    require_head,
    snapshot_of,
    write_project,
)
from gitstore.errors import Invalid
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import TESTS_FILE, BlobId, CommitId
from gitstore.yamlfiles.project_file import load_tests
from gitstore.yamlfiles.tests_edit import rewrite_tests

MOST_TESTS = 10_000


@dataclass(frozen=True, slots=True)
class DraftTests:
    """The tests with the problem of each that fails (None: it passes), and why the file cannot be read, if so."""

    head: CommitId | None
    tests: Sequence[tuple[Expectation, Problem | None]]
    problems: Sequence[Problem]


def run_tests(compiler: Compiler, name: DraftName) -> DraftTests:
    """Read and run the tests of a draft; those of release where there is no draft."""
    state = read_draft(compiler.repository, name)
    snapshot = snapshot_of(compiler, state)
    matcher = build_matcher(snapshot) if snapshot.expectations else None
    found = [
        (test, next(iter(failed_expectations(matcher, [test])), None) if matcher else None)
        for test in snapshot.expectations
    ]
    unread = [problem for problem in snapshot.problems if problem.file.endswith(f"/{TESTS_FILE}")]
    return DraftTests(state.head, found, unread)


def write_tests(
    transaction: Transaction,
    name: DraftName,
    tests: Sequence[Expectation],
    author: Author,
    head: str = "",
    *,
    adds: bool = False,
) -> tuple[CommitId | None, int]:
    """Replace the tests of a draft, or add to them, as one commit; return the draft's head and the number of tests.

    Tests that are there already are not added again. Without a change, there is no commit.
    """
    state = read_draft(transaction, name)
    require_head(state, head)
    data = _read(transaction, state)
    before, problems = load_tests(data, TESTS_FILE) if data and adds else ([], [])
    if problems:
        raise Invalid(f"{TESTS_FILE} has errors, so nothing can be added to it. Fix it, or replace the list.", problems)
    known = {(test.url, test.status, test.location) for test in before}
    wanted = [*before, *(test for test in tests if (test.url, test.status, test.location) not in known)]
    if len(wanted) > MOST_TESTS:
        raise Invalid(f"A project has at most {MOST_TESTS:,} tests; these would be {len(wanted):,}.", ())
    if not data and not wanted:
        return state.head, 0
    tree = write_project(transaction, state, {TESTS_FILE: rewrite_tests(data, wanted)})
    if tree == state.tree:
        return state.head, len(wanted)
    return commit_draft(transaction, state, tree, author, f"Tests: {len(wanted):,} in {TESTS_FILE}"), len(wanted)


def _read(transaction: Transaction, state: DraftState) -> bytes:
    """Return the file of the draft; empty if it has none."""
    found = transaction.files_named(state.tree, TESTS_FILE) if state.tree else {}
    return transaction.blob(BlobId(found[TESTS_FILE].id)) if TESTS_FILE in found else b""
