"""Messages for violations of a schema: a sentence for each, with the fault and the action.

A schema may replace the end of the sentence "'name' must …" in `x-must`, where the keyword alone is not clear.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from content.records.nearness import nearest
from content.records.problem import Problem
from schemas.exactness import EXACT_KEYWORD

if TYPE_CHECKING:  # as in `schemas.exactness`
    from jsonschema.exceptions import ValidationError

_MAX_LENGTH = 40
_MAX_BITS = 128  # at most 39 digits; Python refuses to print an integer of more than 4,300
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number with a fraction or exponent",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class _Violation(NamedTuple):
    """A violation in the shape that the sentences need; `field` only where a field is missing or unknown."""

    pointer: str
    subject: str
    field: str
    value: Any
    limit: Any
    schema: Mapping[str, Any]

    def problem(self, code: str, predicate: str) -> Problem:
        return Problem(code, f"{self.subject} {predicate}", pointer=self.pointer)

    def must_problem(self, code: str, otherwise: str) -> Problem:
        return self.problem(code, f"must {self.schema.get('x-must', otherwise)}")


def translate_error(error: "ValidationError") -> Problem:
    """Return the problem of a violation."""
    steps = list(error.absolute_path)
    schema: Any = error.schema if isinstance(error.schema, Mapping) else {}
    found = _Violation(
        dump_pointer(steps), describe_subject(steps), error.message, error.instance, error.validator_value, schema
    )
    return _RULES.get(str(error.validator), _other)(found)


def dump_pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) of a path of keys and positions."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def describe_subject(steps: Sequence[str | int]) -> str:
    """Return the subject of a sentence for the value at a path: 'source', item 3 of 'urls' (from 1), the document."""
    if not steps:
        return "the document"
    last = steps[-1]
    if isinstance(last, str):
        return f"'{clip(last)}'"
    owner = next((f" of '{clip(step)}'" for step in reversed(steps) if isinstance(step, str)), "")
    return f"item {last + 1}{owner}"


def clip(text: str) -> str:
    """Return the text on one line, cut at 40 characters; unprintable (and bidirectional) characters as their number."""
    shown = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text[:_MAX_LENGTH])
    return shown if len(text) <= _MAX_LENGTH else shown + "…"


def _type_of(value: object) -> str:
    return _WORDS.get(type(value), "something else")


def _show(value: object) -> str:
    """Return a scalar's value, cut at 40 characters; the type of another value, or of a very long number."""
    if isinstance(value, str):
        return f"'{clip(value)}'"
    if isinstance(value, (bool, float)) or (isinstance(value, int) and value.bit_length() <= _MAX_BITS):
        return json.dumps(value)
    return _type_of(value)


def _wrong_type(found: _Violation) -> Problem:
    wanted = [found.limit] if isinstance(found.limit, str) else found.limit
    words = " or ".join(_TYPES[name] for name in wanted if name != "null")  # null omits the value: not useful advice
    return found.problem("wrong_type", f"must be {words}, not {_type_of(found.value)}")


def _inexact(found: _Violation) -> Problem:
    return found.problem("wrong_type", "must be a whole number, written without a fraction or exponent")


def _missing(found: _Violation) -> Problem:
    place = "" if found.subject == "the document" else f" in {found.subject}"
    return Problem(
        "missing_field", f"'{found.field}' is missing{place}", pointer=found.pointer + dump_pointer([found.field])
    )


def _unknown(found: _Violation) -> Problem:
    allowed = list(found.schema.get("properties", {}))
    suggestion = nearest(found.field, allowed)
    advice = f"did you mean '{suggestion}'?" if suggestion else f"allowed: {', '.join(allowed)}"
    return Problem("unknown_field", f"unknown field {found.subject}; {advice}", pointer=found.pointer)


def _not_listed(found: _Violation) -> Problem:
    words = ", ".join("null" if word is None else str(word) for word in found.limit)
    requirement = found.schema.get("x-must", f"be one of {words}" if len(found.limit) > 1 else f"be {words}")
    return found.problem("not_allowed", f"must {requirement}, not {_show(found.value)}")


def _too_long(found: _Violation) -> Problem:
    unit = "entries" if isinstance(found.value, list) else "characters"
    return found.problem("too_long", f"must have at most {found.limit} {unit}, not {len(found.value)}")


def _too_short(found: _Violation) -> Problem:
    if found.limit == 1:
        return found.problem("too_short", "cannot be empty")
    unit = "entries" if isinstance(found.value, list) else "characters"
    return found.problem("too_short", f"must have at least {found.limit} {unit}")


def _empty(found: _Violation) -> Problem:
    return found.problem("too_short", f"must hold at least one of: {', '.join(found.schema.get('properties', {}))}")


def _too_small(found: _Violation) -> Problem:
    return found.problem("out_of_range", f"must be at least {found.limit}")


def _too_big(found: _Violation) -> Problem:
    return found.problem("out_of_range", f"must be at most {found.limit}")


def _malformed(found: _Violation) -> Problem:
    return found.must_problem("bad_format", "have another format")


def _forbidden(found: _Violation) -> Problem:
    return found.must_problem("not_allowed", "be left out")


def _not_constant(found: _Violation) -> Problem:
    return found.must_problem("invalid_value", "be empty" if found.limit == "" else f"be {found.limit}")


def _other(found: _Violation) -> Problem:
    return found.must_problem("invalid_value", "match the schema")


_RULES: Mapping[str, Callable[[_Violation], Problem]] = {
    "type": _wrong_type,
    EXACT_KEYWORD: _inexact,
    "required": _missing,
    "dependentRequired": _missing,
    "additionalProperties": _unknown,
    "enum": _not_listed,
    "const": _not_constant,
    "maxLength": _too_long,
    "maxItems": _too_long,
    "minLength": _too_short,
    "minItems": _too_short,
    "minProperties": _empty,
    "minimum": _too_small,
    "maximum": _too_big,
    "pattern": _malformed,
    "not": _forbidden,
}
