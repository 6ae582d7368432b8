"""Fast validation: jsonschema-rs accepts or refuses, for an entry or a hundred thousand.

Its result is final; `schemas.explanation` only explains a refusal.
"""

from collections.abc import Callable
from functools import cache, partial

from jsonschema_rs import Draft202012Validator, RegexOptions, Registry

from schemas.exactness import EXACT_KEYWORD, ExactKeyword
from schemas.loader import documents, uri


@cache
def _registry() -> Registry:
    return Registry([(address, dict(document)) for address, document in documents()])


@cache
def validator_for(name: str) -> Callable[[object], bool]:
    """Return the validator of a schema by its name; compiled once, patterns without backtracking."""
    return compile_validator(uri(name))


@cache
def compile_validator(address: str) -> Callable[[object], bool]:
    """Return the validator of the target of an absolute reference."""
    validator = Draft202012Validator(
        {"$ref": address},
        registry=_registry(),
        pattern_options=RegexOptions(),
        keywords={EXACT_KEYWORD: ExactKeyword},
        offline=True,
    )
    return partial(_is_valid, validator.is_valid)


def _is_valid(is_valid: Callable[[object], bool], instance: object) -> bool:
    try:
        return is_valid(instance)
    # jsonschema-rs 0.60 raises this for half of a surrogate pair, since a Rust string is UTF-8,
    # https://doc.rust-lang.org/std/primitive.str.html. The readers refuse such text earlier.
    except UnicodeEncodeError:
        return False
