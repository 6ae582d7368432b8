"""The check of data against a schema, with problems in Waypost's own words."""

from collections.abc import Iterable
from itertools import islice

from content.records.problem import Problem
from schemas.acceptance import validator_for

MAX_PROBLEMS = 50


def check(name: str, instance: object, limit: int = MAX_PROBLEMS) -> list[Problem]:
    """Return the problems of the data by the schema of that name: [] where it is valid, else 1 to `limit` problems.

    The data comes from a JSON or YAML reader (str keys, no dates); raises KeyError for an unknown schema.
    Pointers are JSON Pointers into the data: to the invalid value, the unknown key, or where a missing field
    would be. Messages are bounded for any data.
    """
    if validator_for(name)(instance):
        return []
    from schemas.explanation import violations  # noqa: PLC0415 - loads jsonschema, which only invalid data needs
    from schemas.wording import translate_error  # noqa: PLC0415 - its parameter is an error of jsonschema

    found = islice(violations(name, instance), limit)
    return [translate_error(violation) for violation in found] or [_generic_problem(name)]


def invalid_fields(problems: Iterable[Problem]) -> frozenset[str]:
    """Return the names of the fields of the data with problems, also of those that are missing."""
    steps = (problem.pointer.split("/")[1] for problem in problems if problem.pointer)
    return frozenset(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _generic_problem(name: str) -> Problem:
    # The refusal is final even without an explanation; a property test shows that this does not happen.
    return Problem("invalid_value", f"the data does not match the schema '{name}'")
