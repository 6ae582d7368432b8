"""The quick half of checking: jsonschema-rs says yes or no, for one entry or a hundred thousand.

Its verdict is final; `schemas.explanation` only finds the words for a no.
"""

from collections.abc import Callable
from functools import cache, partial

from jsonschema_rs import Draft202012Validator, RegexOptions, Registry

from schemas.exactness import EXACT, Exact
from schemas.loader import documents, uri


@cache
def _registry() -> Registry:
    return Registry([(address, dict(document)) for address, document in documents()])


@cache
def acceptor(name: str) -> Callable[[object], bool]:
    """The test of one schema by its name; compiled once, patterns without backtracking."""
    return acceptor_of(uri(name))


@cache
def acceptor_of(address: str) -> Callable[[object], bool]:
    """The test of what an absolute reference points at."""
    validator = Draft202012Validator(
        {"$ref": address},
        registry=_registry(),
        pattern_options=RegexOptions(),
        keywords={EXACT: Exact},
        offline=True,
    )
    return partial(_accepts, validator.is_valid)


def _accepts(is_valid: Callable[[object], bool], instance: object) -> bool:
    try:
        return is_valid(instance)
    except UnicodeEncodeError:  # half of a surrogate pair where a pattern is asked for; readers refuse it before
        return False
