"""Plans of bulk imports: each row is added, changed, identical, skipped or invalid, before any write."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import NamedTuple

from content.changes.diff import Counts
from content.formats.annotations import dump_tags
from content.formats.packed_rows import PackedRows
from content.formats.tsv import (
    COLUMNS,
    FILE_PROBLEM_CODES,
    PLACES,
    Row,
    column_of,
    field_of,
    shorten_row,
)
from content.formats.unused_columns import UnusedColumn
from content.records.problem import Problem, errors
from content.records.record import Placed, Redirect

# Invalid rows that are reported; a file with more of them has one fault that the first ones show.
MAX_REPORTED_ROWS = 1_000
MAX_LISTED_SKIPPED = 100
_GROUPS = ("added", "changed", "identical", "skipped")


class SkippedRow(NamedTuple):
    """A row that is skipped, and the redirect that is kept in its place."""

    row: Row
    kept: Redirect

    def report(self) -> dict[str, object]:
        """Return the line, the source, and the fields that differ, with the value that is kept and that of the row."""
        old, new = _texts(self.kept), _texts(self.row.fields) if self.row.fields else {}
        absent = {name for name, has in (("note", self.row.has_note), ("tags", self.row.has_tags)) if not has}
        new = {name: value for name, value in new.items() if name not in absent}
        fields = {name: {"old": old[name], "new": value} for name, value in new.items() if value != old[name]}
        return {"line": self.row.line, "source": self.kept.source, "fields": fields}


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The rows of an import by outcome, each group in the order of the file.

    Rows of `changed` carry the note and tags of the redirect that they change, if the file has no columns for those.
    Only the first 1,000 invalid rows are stored; `unreported_rows` and `unreported_errors` count the rest. `listed_skipped` has
    the first 100 skipped rows with what is kept.
    """

    added: PackedRows = field(default_factory=PackedRows)
    changed: PackedRows = field(default_factory=PackedRows)
    identical: PackedRows = field(default_factory=PackedRows)
    skipped: PackedRows = field(default_factory=PackedRows)
    wrong: tuple[Row, ...] = ()
    unreported_rows: int = 0
    unreported_errors: int = 0
    listed_skipped: tuple[SkippedRow, ...] = ()
    columns: tuple[int, ...] = PLACES
    unused: tuple[UnusedColumn, ...] = ()

    @property
    def wanted(self) -> list[Placed[Redirect]]:
        """The redirects to write, new and changed, in the order of the file; `line` is the row's, `file` is empty."""
        return [placed_row(row) for row in self.wanted_rows()]

    def wanted_rows(self) -> PackedRows:
        """Return the rows to write, in the order of the file."""
        if not (self.added and self.changed):
            return self.added or self.changed
        return _pack(merge(self.added, self.changed, key=_line_of))

    def planned_again(self, existing: Mapping[str, Redirect], *, overwrite: bool) -> "ImportPlan":
        """Plan the same rows for other redirects; this plan has no problems of the set yet."""
        read = merge(self.added, self.changed, self.identical, self.skipped, self.wrong, key=_line_of)
        rows = (_as_in_file(row._replace(columns=self.columns)) for row in read)
        plan = plan_import(existing, rows, overwrite=overwrite)
        return replace(
            plan,
            unreported_rows=plan.unreported_rows + self.unreported_rows,
            unreported_errors=plan.unreported_errors + self.unreported_errors,
            columns=self.columns,
            unused=self.unused,
        )

    @property
    def wanted_count(self) -> int:
        """The number of redirects to write."""
        return len(self.added) + len(self.changed)

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
            at = column_of(problem, self.columns)
            found[problem.line].append(replace(problem, column=at, pointer=f"/{field_of(problem) or 'source'}"))
        if not found:
            return self
        moved = (
            Row(row.line, None, tuple(found[row.line]), text=_text_of(row.fields))
            for rows in (self.added, self.changed)
            for row in rows
            if row.line in found
        )
        invalid = _InvalidRows()
        for row in sorted((*self.wrong, *moved), key=_line_of):
            invalid.add(row)
        return replace(
            self,
            added=_pack(row for row in self.added if row.line not in found),
            changed=_pack(row for row in self.changed if row.line not in found),
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
            "skippedRows": [each.report() for each in self.listed_skipped],
            "unusedColumns": [each._asdict() for each in self.unused],
            "wrong": self.wrong_count,
            "errorsTotal": len(self.errors) + self.unreported_errors,
            "errors": [
                {
                    "line": each.line,
                    "column": each.column,
                    "code": each.code,
                    "message": each.message,
                    **({"field": field} if (field := field_of(each)) else {}),
                    **({"text": row.text} if row.text else {}),
                }
                for row in self.wrong
                for each in row.problems
            ],
        }


def plan_import(existing: Mapping[str, Redirect], rows: Iterable[Row], *, overwrite: bool) -> ImportPlan:
    """Sort the rows by their effect on the existing redirects, which are keyed by source.

    A row that differs from its redirect is changed with `overwrite`, skipped without. A source that is repeated in the
    file is invalid there, even when the two rows are equal.
    """
    groups = {name: PackedRows() for name in _GROUPS}
    sources = _Sources(groups.values())
    invalid = _InvalidRows()
    listed = list[SkippedRow]()
    add: dict[str, Callable[[Row], None]] = {name: group.append for name, group in groups.items()}
    add["wrong"] = invalid.add
    columns, unused = PLACES, tuple[UnusedColumn, ...]()
    for row in rows:
        columns, unused = row.columns, row.unused or unused
        if not (row.fields or row.problems):  # the header of a table without rows
            continue
        first = sources.find_first(row.fields.source, row.line) if row.fields else row.line
        unique = row if first == row.line else _duplicate(row, first)
        group, kept = _classify(unique, existing, overwrite=overwrite)
        add[group](kept)
        if group == "skipped" and len(listed) < MAX_LISTED_SKIPPED and kept.fields:
            listed.append(SkippedRow(kept, existing[kept.fields.source]))
    return ImportPlan(
        **groups,
        wrong=tuple(invalid.rows),
        unreported_rows=invalid.unreported_rows,
        unreported_errors=invalid.unreported_errors,
        listed_skipped=tuple(listed),
        columns=columns,
        unused=unused,
    )


def placed_row(row: Row) -> Placed[Redirect]:
    """Return the redirect of a valid row, at its line."""
    if row.fields is None:
        raise ValueError("an invalid row has no redirect")
    return Placed(row.fields, line=row.line)


def _as_in_file(row: Row) -> Row:
    """Return a row without the note and tags for which the file has no columns."""
    rule = row.fields
    if rule is None or ((row.has_note or not rule.note) and (row.has_tags or not rule.tags)):
        return row
    note, tags = rule.note if row.has_note else "", rule.tags if row.has_tags else ()
    return row._replace(fields=replace(rule, note=note, tags=tags))


def _texts(redirect: Redirect) -> dict[str, str]:
    """Return all fields of a redirect as texts."""
    return {**redirect.wire(), "note": redirect.note, "tags": dump_tags(redirect.tags)}


def _line_of(row: Row) -> int:
    return row.line


def _pack(rows: Iterable[Row]) -> PackedRows:
    packed = PackedRows()
    for row in rows:
        packed.append(row)
    return packed


class _Sources:
    """The first line of each source: by its hash, since the rows hold the texts."""

    def __init__(self, groups: Iterable[PackedRows]) -> None:
        self._groups = tuple(groups)
        self._lines: dict[int, int] = {}
        self._others: dict[str, int] = {}  # of sources that share the hash of another one

    def find_first(self, source: str, line: int) -> int:
        """Return the first line of a source, which is this one for a new source."""
        first = self._lines.setdefault(hash(source), line)
        if first == line or self._has(first, source):
            return first
        return self._others.setdefault(source, line)

    def _has(self, line: int, source: str) -> bool:
        rows = (group.find_line(line) for group in self._groups)
        return any(row.fields.source == source for row in rows if row and row.fields)


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


def _classify(row: Row, existing: Mapping[str, Redirect], *, overwrite: bool) -> tuple[str, Row]:
    """Return the name of the row's group in the plan, and the row for that group."""
    if row.fields is None:
        return "wrong", row
    known = existing.get(row.fields.source)
    if known is None:
        return "added", row
    note = row.fields.note if row.has_note else known.note
    tags = row.fields.tags if row.has_tags else known.tags
    wanted = Redirect(row.fields.type, known.source, row.fields.target, row.fields.status, note, tags)
    if wanted == known:
        return "identical", row
    return ("changed", row._replace(fields=wanted)) if overwrite else ("skipped", row)


def _duplicate(row: Row, first: int) -> Row:
    message = f"this source is already in line {first}: keep one of the two rows"
    found = Problem("duplicate_source", message, line=row.line, pointer="/source")
    problem = replace(found, column=column_of(found, row.columns))
    return row._replace(fields=None, problems=(problem,), text=_text_of(row.fields))


def _text_of(redirect: Redirect | None) -> str:
    """Return a row that was valid by itself as the strict format has it, as far as reports show it."""
    return shorten_row("\t".join(str(getattr(redirect, name)) for name in COLUMNS)) if redirect else ""
