"""The one door: is this data what its schema says, and if not, what is wrong where, in our own words."""

from itertools import islice

from content.problem import Problem
from schemas.acceptance import acceptor
from schemas.explanation import violations
from schemas.wording import problem_of

MAX_PROBLEMS = 50


def check(name: str, instance: object, limit: int = MAX_PROBLEMS) -> list[Problem]:
    """What is wrong with the data by the schema of that name: [] where it is right, else 1 to `limit` problems.

    The data is what a JSON or YAML reader gives (str keys, no dates); KeyError for a name that is no schema.
    Pointers are JSON Pointers into the data: to the value that is wrong, the key that is unknown, or the object
    that lacks a field. Messages are bounded whatever the data holds.
    """
    if acceptor(name)(instance):
        return []
    found = islice(violations(name, instance), limit)
    return [problem_of(violation) for violation in found] or [_unexplained(name)]


def _unexplained(name: str) -> Problem:
    # A refusal stands even if no words are found for it; a law in the tests says that this does not happen.
    return Problem("invalid_value", f"the data is not what the schema '{name}' asks for")
