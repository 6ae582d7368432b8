"""The summary of a pushed publish: its number and version, its changes rule by rule, and their impact."""

from collections.abc import Sequence
from itertools import chain

from content.changes.diff import Change
from content.changes.impact import Impact, find_changed_responses
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook
from content.records.problem_report import never_answer_text
from content.records.vocabulary import Kind
from gitstore.comparison.change_lines import file_lines, text_lines
from gitstore.comparison.descriptions import published_text
from gitstore.comparison.file_changes import file_changes
from gitstore.comparison.state_impact import find_state_impact
from gitstore.comparison.tree_changes import read_tree_changes
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.compiled.validation.checks import build_matcher
from gitstore.history.numbering import PublishDelta
from gitstore.layout import CommitId, TreeId
from gitstore.pushes.answer import first, impact_lines, show

_MOST_LINES = 20  # of changes
_MOST_CHANGES = 200  # more of them are counted, and not listed


def summarize_publish(compiler: Compiler, commit: CommitId, number: int, delta: PublishDelta) -> list[str]:
    """Return the lines of one publish."""
    project, trees = delta.project, delta.trees
    lines = [published_text(project, number, delta.counts), f"  version {commit}"]
    if trees[1] is None:
        lines.append(f"  The project {project} is removed; its agents get 404.")
    if sum(sum(counts) for counts in delta.counts.values()) <= _MOST_CHANGES:
        changes = list(chain.from_iterable(read_tree_changes(compiler, project, *trees).values()))
        differences = [*file_lines(file_changes(compiler, project, *trees)), *text_lines(changes)]
        lines += [f"  {line}" for line in first(differences, _MOST_LINES)]
        lines += [f"  {line}" for line in impact_lines(_find_impact(compiler, delta, changes))]
    if trees[1] and (never := compiler.count_never_answering(project, trees[1])):
        lines.append(f"  {never_answer_text(never)}: waypost validate --never-answer")
    return [show(line) for line in lines]


def _find_impact(compiler: Compiler, delta: PublishDelta, changes: Sequence[Change]) -> Impact:
    """Return the impact; of a large project only the requests that have another answer."""
    old, new = (compiler.snapshot(delta.project, tree) if tree else None for tree in delta.trees)
    states = [state for state in (old, new) if state]
    if not changes:
        return Impact((), (), ())
    if all(sum(map(state.count, Kind)) <= MAX_UNLINTED_RULES for state in states):
        return find_state_impact(compiler, old, new, changes)
    matchers = [_matcher(compiler, delta.project, tree) for tree in delta.trees]
    return Impact((), (), list(find_changed_responses(matchers[0], matchers[1], changes)))


def _matcher(compiler: Compiler, project: str, tree: TreeId | None) -> Matcher:
    """Return the matcher of a compiled state, which reads only the rules that it needs."""
    release = compiler.find_compiled(project, tree) if tree else None
    if release:
        return release.matcher
    return build_matcher(compiler.snapshot(project, tree)) if tree else Matcher(RuleBook((), ()))
