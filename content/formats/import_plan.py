"""Plans of bulk imports: each row is added, changed, identical, skipped or invalid, before any write."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from content.changes.diff import Counts
from content.formats.tsv import COLUMNS, FILE_PROBLEM_CODES, Row, column_of
from content.records.problem import Problem, errors
from content.records.record import Placed, Redirect

# Invalid rows that are reported; a file with more of them has one fault that the first ones show.
MAX_REPORTED_ROWS = 1_000
_GROUPS = ("added", "changed", "identical", "skipped", "wrong")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The rows of an import by outcome, each group in the order of the file.

    Rows of `changed` carry the note and tags of the redirect that they change: the file has no columns for those.
    Only the first 1,000 invalid rows are stored; `unreported_rows` and `unreported_errors` count the rest.
    """

    added: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    identical: tuple[Row, ...] = ()
    skipped: tuple[Row, ...] = ()
    wrong: tuple[Row, ...] = ()
    unreported_rows: int = 0
    unreported_errors: int = 0

    @property
    def wanted(self) -> list[Placed[Redirect]]:
        """The redirects to write, new and changed, in the order of the file; `line` is the row's, `file` is empty."""
        rows = sorted((*self.added, *self.changed), key=lambda row: row.line)
        return [Placed(row.fields, line=row.line) for row in rows if row.fields is not None]

    @property
    def errors(self) -> list[Problem]:
        """The problems of the stored invalid rows, with line and column."""
        return [problem for row in self.wrong for problem in row.problems]

    @property
    def is_unreadable(self) -> bool:
        """True where the file as a whole is invalid: then no row may be imported."""
        return any(problem.code in FILE_PROBLEM_CODES for problem in self.errors)

    @property
    def counts(self) -> Counts:
        """The numbers of added and changed redirects."""
        return Counts(len(self.added), len(self.changed), 0)

    @property
    def wrong_count(self) -> int:
        """The number of invalid rows."""
        return len(self.wrong) - sum(map(_is_file_problem, self.wrong)) + self.unreported_rows

    @property
    def total(self) -> int:
        """The number of rows below the header."""
        return sum(map(len, (self.added, self.changed, self.identical, self.skipped))) + self.wrong_count

    def with_problems(self, problems: Iterable[Problem]) -> "ImportPlan":
        """Return the plan with the rows at which `problems` has errors reported as invalid.

        For problems of the set: check `wanted` among all redirects of the project and pass the result. Warnings, and
        problems in a file of the project, are ignored.
        """
        found = defaultdict(list)
        for problem in errors([each for each in problems if each.line and not each.file]):
            found[problem.line].append(replace(problem, column=column_of(problem)))
        moved = [
            Row(row.line, None, tuple(found[row.line])) for row in (*self.added, *self.changed) if row.line in found
        ]
        invalid = _InvalidRows()
        for row in sorted((*self.wrong, *moved), key=lambda row: row.line):
            invalid.add(row)
        return replace(
            self,
            added=tuple(row for row in self.added if row.line not in found),
            changed=tuple(row for row in self.changed if row.line not in found),
            wrong=tuple(invalid.rows),
            unreported_rows=self.unreported_rows + invalid.unreported_rows,
            unreported_errors=self.unreported_errors + invalid.unreported_errors,
        )

    def report(self) -> dict[str, object]:
        """Return the JSON shape of the API's report."""
        return {
            "total": self.total,
            "added": len(self.added),
            "changed": len(self.changed),
            "identical": len(self.identical),
            "skipped": len(self.skipped),
            "wrong": self.wrong_count,
            "errorsTotal": len(self.errors) + self.unreported_errors,
            "errors": [
                {"line": each.line, "column": each.column, "code": each.code, "message": each.message}
                for each in self.errors
            ],
        }


def plan_import(existing: Mapping[str, Redirect], rows: Iterable[Row], *, overwrite: bool) -> ImportPlan:
    """Sort the rows by their effect on the existing redirects, which are keyed by source.

    A row that differs from its redirect is changed with `overwrite`, skipped without. A source that is repeated in the
    file is invalid there, even when the two rows are equal.
    """
    groups: dict[str, list[Row]] = {name: [] for name in _GROUPS}
    invalid = _InvalidRows()
    for row in _reject_duplicates(rows):
        group, kept = _classify(row, existing, overwrite=overwrite)
        if group == "wrong":
            invalid.add(kept)
        else:
            groups[group].append(kept)
    groups["wrong"] = invalid.rows
    found = {name: tuple(group) for name, group in groups.items()}
    return ImportPlan(**found, unreported_rows=invalid.unreported_rows, unreported_errors=invalid.unreported_errors)


class _InvalidRows:
    """Invalid rows as they are read: the first ones and problems of the file are stored, the others counted."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.unreported_rows = 0
        self.unreported_errors = 0

    def add(self, row: Row) -> None:
        if len(self.rows) < MAX_REPORTED_ROWS or _is_file_problem(row):
            self.rows.append(row)
        else:
            self.unreported_rows += 1
            self.unreported_errors += len(row.problems)


def _is_file_problem(row: Row) -> bool:
    return any(problem.code in FILE_PROBLEM_CODES for problem in row.problems)


def _reject_duplicates(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, with each repeated source as an invalid row."""
    first_lines: dict[str, int] = {}
    for row in rows:
        first = first_lines.setdefault(row.fields.source, row.line) if row.fields else row.line
        yield row if first == row.line else Row(row.line, None, (_duplicate(row.line, first),))


def _classify(row: Row, existing: Mapping[str, Redirect], *, overwrite: bool) -> tuple[str, Row]:
    """Return the name of the row's group in the plan, and the row for that group."""
    if row.fields is None:
        return "wrong", row
    known = existing.get(row.fields.source)
    if known is None:
        return "added", row
    wanted = Redirect(row.fields.type, known.source, row.fields.target, row.fields.status, known.note, known.tags)
    if wanted == known:
        return "identical", row
    return ("changed", row._replace(fields=wanted)) if overwrite else ("skipped", row)


def _duplicate(line: int, first: int) -> Problem:
    message = f"this source is already in line {first}: keep one of the two rows"
    return Problem("duplicate_source", message, line=line, column=COLUMNS.index("source") + 1)
