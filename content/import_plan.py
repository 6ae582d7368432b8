"""What a bulk import would do: each row is added, changed, identical, skipped or wrong, before anything is written."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from content.diff import Counts
from content.problem import Problem, errors
from content.record import Placed, Redirect
from content.tsv import COLUMNS, FILE_CODES, Row, column_of

MOST_TOLD = 1_000
"""Wrong rows whose problems are told; a file of which more is wrong has one fault that the first ones show."""
_GROUPS = ("added", "changed", "identical", "skipped", "wrong")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The rows of an import by what becomes of them, each in the order of the file.

    Rows of `changed` carry the note and tags of the redirect that they change: the file has no columns for those.
    Of the wrong rows the first 1,000 are kept; of the rest, `untold_rows` and `untold_errors` say how many there are.
    """

    added: tuple[Row, ...] = ()
    changed: tuple[Row, ...] = ()
    identical: tuple[Row, ...] = ()
    skipped: tuple[Row, ...] = ()
    wrong: tuple[Row, ...] = ()
    untold_rows: int = 0
    untold_errors: int = 0

    @property
    def wanted(self) -> list[Placed[Redirect]]:
        """The redirects to write, new and changed, in the order of the file; `line` is the row's, `file` is empty."""
        rows = sorted((*self.added, *self.changed), key=lambda row: row.line)
        return [Placed(row.fields, line=row.line) for row in rows if row.fields is not None]

    @property
    def errors(self) -> list[Problem]:
        """What is wrong with the wrong rows that are kept, with line and column."""
        return [problem for row in self.wrong for problem in row.problems]

    @property
    def is_unreadable(self) -> bool:
        """True where something is wrong with the file as a whole: then nothing of it is to be imported."""
        return any(problem.code in FILE_CODES for problem in self.errors)

    @property
    def counts(self) -> Counts:
        """What the import adds and changes."""
        return Counts(len(self.added), len(self.changed), 0)

    @property
    def wrong_rows(self) -> int:
        """How many rows are wrong."""
        return len(self.wrong) - sum(map(_is_about_the_file, self.wrong)) + self.untold_rows

    @property
    def total(self) -> int:
        """How many rows stand below the header."""
        return sum(map(len, (self.added, self.changed, self.identical, self.skipped))) + self.wrong_rows

    def without(self, problems: Iterable[Problem]) -> "ImportPlan":
        """The plan with the rows at which the errors among `problems` stand reported as wrong instead.

        Made for what is wrong only in the set: check `wanted` among all redirects of the project and pass what was
        found. Warnings, and problems that stand in a file of the project, are left aside.
        """
        found = defaultdict(list)
        for problem in errors([each for each in problems if each.line and not each.file]):
            found[problem.line].append(replace(problem, column=column_of(problem)))
        moved = [
            Row(row.line, None, tuple(found[row.line])) for row in (*self.added, *self.changed) if row.line in found
        ]
        told = _Told()
        for row in sorted((*self.wrong, *moved), key=lambda row: row.line):
            told.add(row)
        return replace(
            self,
            added=tuple(row for row in self.added if row.line not in found),
            changed=tuple(row for row in self.changed if row.line not in found),
            wrong=tuple(told.rows),
            untold_rows=self.untold_rows + told.untold_rows,
            untold_errors=self.untold_errors + told.untold_errors,
        )

    def report(self) -> dict[str, object]:
        """The JSON shape of the API's report."""
        return {
            "total": self.total,
            "added": len(self.added),
            "changed": len(self.changed),
            "identical": len(self.identical),
            "skipped": len(self.skipped),
            "wrong": self.wrong_rows,
            "errorsTotal": len(self.errors) + self.untold_errors,
            "errors": [
                {"line": each.line, "column": each.column, "code": each.code, "message": each.message}
                for each in self.errors
            ],
        }


def plan_import(existing: Mapping[str, Redirect], rows: Iterable[Row], *, overwrite: bool) -> ImportPlan:
    """Sort the rows by what they would do to the redirects that are there, keyed by source.

    A row that differs from what is there is changed with `overwrite`, skipped without. A source that stands a second
    time in the file is wrong there, even when the two rows are equal.
    """
    groups: dict[str, list[Row]] = {name: [] for name in _GROUPS}
    told = _Told()
    for row in _single(rows):
        group, kept = _judge(row, existing, overwrite=overwrite)
        if group == "wrong":
            told.add(kept)
        else:
            groups[group].append(kept)
    groups["wrong"] = told.rows
    found = {name: tuple(group) for name, group in groups.items()}
    return ImportPlan(**found, untold_rows=told.untold_rows, untold_errors=told.untold_errors)


class _Told:
    """Wrong rows as they come: the first ones are kept, and what is wrong with the file; the others are counted."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.untold_rows = 0
        self.untold_errors = 0

    def add(self, row: Row) -> None:
        if len(self.rows) < MOST_TOLD or _is_about_the_file(row):
            self.rows.append(row)
        else:
            self.untold_rows += 1
            self.untold_errors += len(row.problems)


def _is_about_the_file(row: Row) -> bool:
    return any(problem.code in FILE_CODES for problem in row.problems)


def _single(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each whose source stood before turned into a wrong one."""
    first_lines: dict[str, int] = {}
    for row in rows:
        first = first_lines.setdefault(row.fields.source, row.line) if row.fields else row.line
        yield row if first == row.line else Row(row.line, None, (_duplicate(row.line, first),))


def _judge(row: Row, existing: Mapping[str, Redirect], *, overwrite: bool) -> tuple[str, Row]:
    """The name of the plan's group that the row belongs to, and the row as it stands there."""
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
    message = f"this source stands already in line {first}: keep one of the two rows"
    return Problem("duplicate_source", message, line=line, column=COLUMNS.index("source") + 1)
