"""The changes of a list, as `P/draft/changes` makes them and `P/test` tries them: read, and checked one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.errors import ApiError
from content.checks.pattern_budget import CallBudget, is_pattern
from content.checks.record_rules import record_problems
from content.records.problem import Problem, errors
from content.records.record import identity_id, record_of
from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Delete, Edit, Put
from gitstore.errors import Invalid

_MAX_PROBLEMS = 50
_MAX_SHOWN = 200
_KINDS = {"redirect": Kind.REDIRECTS, "page": Kind.PAGES}


def read_edits(changes: Sequence[Mapping[str, Any]]) -> list[Edit]:
    """Return the edits of a list that has been checked against `draft-changes`."""
    return [_read_edit(change) for change in changes]


def _read_edit(change: Mapping[str, Any]) -> Edit:
    kind = _KINDS[change["kind"]]
    if change["op"] == "put":
        return Put(kind, record_of(kind, change["item"]), file=change["item"].get("file", ""))
    identity = change.get("source", change.get("path", ""))
    return Delete(kind, change.get("id") or identity_id(identity))


def find_faults(edits: Sequence[Edit], budget: CallBudget, pointer: str = "") -> list[Problem]:
    """Return why records of the list are invalid in themselves; each problem points to its place, below `pointer`."""
    found: list[Problem] = []
    for place, edit in enumerate(edits):
        if isinstance(edit, Put) and not budget.is_spent:
            record = edit.record
            problems = (is_pattern(record) and budget.spend(record.identity)) or errors(record_problems(record))
            found += [problem.under(f"{pointer}/{place}/item") for problem in problems]
    return found


def check_records(edits: Sequence[Edit], budget: CallBudget) -> None:
    """Raise Invalid if records of the list are invalid in themselves."""
    found = find_faults(edits, budget)
    if found:
        what = "1 problem was" if len(found) == 1 else f"{len(found)} problems were"
        raise Invalid(f"{what} found in the records; nothing was changed.", found[:_MAX_PROBLEMS])


def unknown_record(change: Mapping[str, Any], pointer: str) -> ApiError:
    """Return a 404 for the deletion of an unknown record, with the id, source or path as it was sent."""
    field = next(name for name in ("id", "source", "path") if name in change)
    what = f"There is no {change['kind']} with the {field} {change[field][:_MAX_SHOWN]!r} in this draft"
    problem = Problem("unknown_record", f"{what}.", pointer=f"{pointer}/{field}")
    return ApiError(404, "not_found", f"{what} ({pointer}/{field}); nothing was changed.", [problem])
