"""Changes with their impact as a comment on a pull request, in the Markdown of GitHub, GitLab, Gitea and Forgejo.

The counts come first, then the riskiest changes, then all others in folded tables, as many as a comment can hold. Text of
rules and files is always code, so that it is shown literally and is no mention.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from content.changes.diff import Change, ChangeType, Counts
from content.changes.impact import ChangedResponse, Effect
from content.changes.risk import Risk, effect_risk, is_pattern_risk, response_risk
from content.formats.markdown import as_code, as_html_code
from content.records.problem import Problem, Severity
from content.records.problem_codes import NEVER_ANSWER
from content.records.vocabulary import Kind
from gitstore.comparison.change_lines import format_value, shorten, shown_fields
from gitstore.comparison.descriptions import DIFFERENCE_LABELS, count_text
from gitstore.comparison.file_changes import FileChange
from gitstore.comparison.project_changes import ProjectChanges
from gitstore.comparison.tests_changes import ExpectationChange

MAX_BYTES = 60_000
"""Bytes of a comment: GitHub takes 65,536 characters, GitLab 1,000,000."""
_RISKY_SHARE = 24_000  # bytes of the riskiest changes
_MOST_RISKY = 8  # rows of one risk
_MOST_PROJECTS = 40
_MOST_SECTIONS = 40


def render_comment(projects: Sequence[ProjectChanges], heading: str = "", folder: str = "") -> str:
    """Return the comment on the changes of these projects.

    `heading` is Markdown of the caller, such as a link to a preview. `folder` is that of the projects in their repository:
    comments on different folders have different markers.
    """
    differing = [each for each in projects if each.differs or each.errors]
    head = [comment_marker(folder), f"### {_title(differing)}", *([heading] if heading else [])]
    if differing:
        head += [_summary_table(differing)]
    risky = _risky_rows(differing)
    if risky:
        head += [_cut(_Section("", ("risk", "rule, request or file", "change"), risky), _RISKY_SHARE)]
    text = "\n\n".join(head)
    sections = [section for section in _sections(differing) if section.rows]
    left_out = len(sections) - _MOST_SECTIONS
    sections = sections[:_MOST_SECTIONS]
    for number, section in enumerate(sections):
        share = (MAX_BYTES - _size(text)) // (len(sections) - number)
        text += f"\n\n{_fold(section, share)}"
    if left_out > 0:
        text += f"\n\n… and {_count(left_out, 'other table')}."
    return f"{text}\n"


def comment_marker(folder: str = "") -> str:
    """Return the hidden first line, by which a later run finds the comment."""
    name = quote(folder.strip("/"), safe="/").replace("--", "-%2D")
    return f"<!-- waypost-diff: {name or '.'} -->"


class _Section(NamedTuple):
    """A table; `title` is its HTML."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Callable[[], str]]


def _title(projects: Sequence[ProjectChanges]) -> str:
    """Describe the change as a whole, as `Redirects and pages: 2 redirects added`."""
    totals = {kind: _sum(each.counts[kind] for each in projects) for kind in Kind}
    text = count_text(totals) if any(map(any, totals.values())) else "no rule changed"
    errors, failed = (
        (sum(map(len, found)) for found in zip(*map(_faults, projects), strict=True)) if projects else (0, 0)
    )
    ends = [*([_count(errors, "error")] if errors else []), *([_count(failed, "failed test")] if failed else [])]
    return f"Redirects and pages: {', '.join([text, *ends])}"


def _faults(each: ProjectChanges) -> tuple[list[Problem], list[Problem]]:
    return [problem for problem in each.errors if problem not in each.failed_tests], each.failed_tests


def _sum(counts: Iterable[Counts]) -> Counts:
    return Counts(*map(sum, zip(Counts(0, 0, 0), *counts, strict=True)))


def _summary_table(projects: Sequence[ProjectChanges]) -> str:
    lines = ["| project | changes | other answers | new problems | tests |", "|---|---|---|---|---|"]
    lines += [_summary_row(each) for each in projects[:_MOST_PROJECTS]]
    if len(projects) > _MOST_PROJECTS:
        lines += ["", f"… and {_count(len(projects) - _MOST_PROJECTS, 'other project')}."]
    return "\n".join(lines)


def _summary_row(each: ProjectChanges) -> str:
    answers = _answers_text(each.impact.changed_responses) if each.impact else "unknown"
    cells = (as_code(each.project or "."), _changes_text(each), answers, _problems_text(each), _tests_text(each))
    return f"| {' | '.join(cells)} |"


def _changes_text(each: ProjectChanges) -> str:
    parts = [f"project {each.change}"] if each.change is not ChangeType.CHANGED else []
    if not each.is_compared:
        parts.append("unknown: a changed file has errors")
    if each.changes:
        parts.append(count_text(each.counts))
    if each.files:
        parts.append(f"{_count(len(each.files), 'other file')}")
    return ", ".join(parts) or "none"


def _answers_text(responses: Sequence[ChangedResponse]) -> str:
    lost = sum(response_risk(each) is Risk.LOST for each in responses)
    return f"{len(responses):,}{f' ({lost:,} lost)' if lost else ''}" if responses else "none"


def _problems_text(each: ProjectChanges) -> str:
    errors, _ = _faults(each)
    added = Counter(effect_risk(effect) for effect in (each.impact.added_effects if each.impact else ()))
    parts = [
        _count(len(errors), "error"),
        f"{_count(added[Risk.NEVER], 'rule')} that never {'answers' if added[Risk.NEVER] == 1 else 'answer'}",
        _count(added[Risk.CHAIN], "chain"),
    ]
    shown = [
        part for part, number in zip(parts, (len(errors), added[Risk.NEVER], added[Risk.CHAIN]), strict=True) if number
    ]
    return ", ".join(shown) or "none"


def _tests_text(each: ProjectChanges) -> str:
    if not each.tests:
        return "none"
    if not each.were_tested:
        return "not run: errors"
    failed = len(each.failed_tests)
    return f"**{failed:,} of {each.tests:,} failed**" if failed else f"{each.tests:,} passed"


def _risky_rows(projects: Sequence[ProjectChanges]) -> list[Callable[[], str]]:
    """Return the rows of the riskiest changes: by risk, the first of each, and how many more there are."""
    found: dict[Risk, list[Callable[[], str]]] = {risk: [] for risk in Risk}
    for project in projects:
        for problem in project.errors:
            found[Risk.ERROR].append(_bind(_problem_row, problem))
        for change in filter(is_pattern_risk, project.changes):
            found[Risk.PATTERN].append(_bind(_pattern_row, project, change))
        for effect in project.impact.added_effects if project.impact else ():
            if effect.problem.severity is not Severity.ERROR:
                found[effect_risk(effect)].append(_bind(_effect_row, effect))
        for response in project.impact.changed_responses if project.impact else ():
            found[response_risk(response)].append(_bind(_risky_response_row, response))
    found.pop(Risk.ADDED)
    return [row for risk, rows in found.items() for row in _first(risk, rows)]


def _first(risk: Risk, rows: Sequence[Callable[[], str]]) -> Iterator[Callable[[], str]]:
    yield from rows[:_MOST_RISKY]
    if len(rows) > _MOST_RISKY:
        more = len(rows) - _MOST_RISKY
        yield lambda: f"| {risk} | … and {more:,} more | |"


def _bind(function: Callable[..., str], *values: object) -> Callable[[], str]:
    return lambda: function(*values)


def _problem_row(problem: Problem) -> str:
    name = "failed test" if problem.code == "test_failed" else f"error `{problem.code}`"
    return f"| {name} | {_place(problem.file, problem.line)} | {_code(problem.message)} |"


def _pattern_row(project: ProjectChanges, change: Change) -> str:
    return f"| {Risk.PATTERN} {change.change} | {_code(change.identity)} in {_code(project.project or '.')} | {_fields(change)} |"


def _effect_row(effect: Effect) -> str:
    return f"| {effect_risk(effect)} | {_place(effect.rule.file, effect.rule.line)} | {_code(effect.problem.message)} |"


def _risky_response_row(response: ChangedResponse) -> str:
    return f"| {response_risk(response)} | {_answer_cells(response)} |"


def _response_row(response: ChangedResponse) -> str:
    return f"| {_answer_cells(response)} | {response_risk(response)} |"


def _answer_cells(response: ChangedResponse) -> str:
    before, after = (_code(str(side)) if side else "nothing" for side in (response.before, response.after))
    return f"{_code(response.request.text)} | {before} → {after}"


def _sections(projects: Sequence[ProjectChanges]) -> Iterator[_Section]:
    """Yield the folded tables: other answers, fixed problems, other files, tests, and the changed rules of each project."""
    order = {risk: at for at, risk in enumerate(Risk)}
    responses = [response for each in projects if each.impact for response in each.impact.changed_responses]
    ranked = sorted(responses, key=lambda response: order[response_risk(response)])
    title = f"{_count(len(ranked), 'request')} with another answer"
    yield _Section(title, ("request", "answer", "risk"), [_bind(_response_row, each) for each in ranked])
    gone = [effect for each in projects if each.impact for effect in each.impact.removed_effects]
    yield _Section(
        f"{_count(len(gone), 'problem')} fixed", ("rule", "problem"), [_bind(_gone_row, effect) for effect in gone]
    )
    files = [file for each in projects for file in each.files]
    yield _Section(
        f"{_count(len(files), 'other file')} changed", ("", "file", ""), [_bind(_file_row, file) for file in files]
    )
    tests = [(file, test) for file in files for test in file.tests]
    title = f"{_count(len(tests), 'test')} changed"
    yield _Section(title, ("", "test", "expects", "file"), [_bind(_test_row, *each) for each in tests])
    for each in projects:
        title = f"{as_html_code(each.project or '.')}: {count_text(each.counts)}"
        yield _Section(title, ("", "rule", "fields"), [_bind(_change_row, change) for change in each.changes])


def _change_row(change: Change) -> str:
    return f"| {change.change} | {_code(change.identity)} | {_fields(change)} |"


def _gone_row(effect: Effect) -> str:
    name = "never answered" if effect.problem.code in NEVER_ANSWER else f"`{effect.problem.code}`"
    return f"| {_code(effect.rule.record.identity)} | {name} |"


def _file_row(change: FileChange) -> str:
    fields = ", ".join(
        f"{name} {_value(old or None)} → {_value(new or None)}" for name, (old, new) in change.settings.items()
    )
    return f"| {change.change} | {_code(change.file)} | {fields}{DIFFERENCE_LABELS.get(change.only, '').strip(' ()')} |"


def _test_row(file: FileChange, test: ExpectationChange) -> str:
    expected = " → ".join(_code(str(side)) for side in (test.old, test.new) if side)
    return f"| {test.change} | {_code(test.url)} | {expected} | {_code(file.file)} |"


def _fields(change: Change) -> str:
    return ", ".join(f"{name} {_change(change, *values)}" for name, values in shown_fields(change).items())


def _change(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{_value(old)} → {_value(new)}"
    return _value(new if change.new else old)


def _value(value: object) -> str:
    return "none" if value is None else as_code(format_value(value))


def _place(file: str, line: int) -> str:
    return _code(f"{file}:{line}" if line else file or ".")


def _code(text: str) -> str:
    return as_code(shorten(text))


def _fold(section: _Section, share: int) -> str:
    head, tail = f"<details><summary>{section.title}</summary>\n\n", "\n\n</details>"
    return f"{head}{_cut(section, share - _size(head) - _size(tail))}{tail}"


def _cut(section: _Section, share: int) -> str:
    """Return the table with as many rows as `share` bytes can hold, and the number of the others."""
    lines = [f"| {' | '.join(section.columns)} |", f"|{'---|' * len(section.columns)}"]
    left = share - sum(_size(line) + 1 for line in lines) - 40  # for the last line
    for number, row in enumerate(section.rows):
        line = row()
        left -= _size(line) + 1
        if left < 0:
            lines += ["", f"… and {len(section.rows) - number:,} more."]
            break
        lines.append(line)
    return "\n".join(lines)


def _size(text: str) -> int:
    return len(text.encode())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
