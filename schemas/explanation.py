"""Slow validation: jsonschema finds every violation in refused data.

Some of its keywords are replaced: `pattern`, so that both validators read patterns alike and in linear time (Python's
`$` also matches before a final line break, https://docs.python.org/3/library/re.html#regular-expression-syntax);
`items`, so that only invalid entries of a long list are explained (100,000 valid rules before an invalid one: 0.1 s
instead of 6 s); and those about fields, which report an error for each field, with the field's name as its message.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import urljoin

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012, SchemaRegistry

from schemas.acceptance import compile_validator
from schemas.exactness import EXACT_KEYWORD, exact_errors
from schemas.loader import ROOT, documents, uri

_MAX_DEPTH = 12


def _pattern_errors(
    _validator: Validator, pattern: str, instance: object, _schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches_pattern(pattern, instance):
        yield ValidationError("pattern")


def _matches_pattern(pattern: str, text: str) -> bool:
    try:
        return re2.search(pattern, text) is not None
    except UnicodeEncodeError:  # half of a surrogate pair matches no pattern; google-re2 1.1 encodes texts as UTF-8
        return False


def _item_errors(
    validator: Any, items: Mapping[str, Any], instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, list) or len(instance) > schema.get("maxItems", len(instance)):
        return  # a list above `maxItems` is refused for its length alone: it may have any number of entries
    is_good = _item_acceptor(items)
    for position, item in enumerate(instance):
        if not is_good(item):
            yield from validator.descend(item, items, path=position)


def _item_acceptor(items: Mapping[str, Any]) -> Callable[[object], bool]:
    reference = items.get("$ref", "#")
    return _never if reference.startswith("#") else compile_validator(urljoin(ROOT + "/schemas/", reference))


def _never(_item: object) -> bool:
    return False


def _missing_errors(
    _validator: Validator, fields: list[str], instance: object, _schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        yield from (ValidationError(field) for field in fields if field not in instance)


def _dependent_errors(
    validator: Validator, needs: Mapping[str, list[str]], instance: object, schema: object
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for field, needed in needs.items():
            yield from _missing_errors(validator, needed if field in instance else [], instance, schema)


def _unknown_errors(
    validator: Any, rest: Any, instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    for field in (name for name in instance if name not in known):
        if rest is False:
            yield ValidationError(field, path=[field])
        else:
            yield from validator.descend(instance[field], rest, path=field)


_Explainer: Any = extend(  # type: ignore[no-untyped-call]  # the stubs do not type it
    Draft202012Validator,
    {
        "additionalProperties": _unknown_errors,
        "dependentRequired": _dependent_errors,
        "items": _item_errors,
        "pattern": _pattern_errors,
        "required": _missing_errors,
        EXACT_KEYWORD: exact_errors,
    },
)


@cache
def _registry() -> SchemaRegistry:
    # A registry of the packaged documents only, with no way to fetch others: no reference leaves the process.
    # Without `$schema`: for a subschema with that keyword jsonschema 4.26 changes to its own class, see `evolve` in
    # https://github.com/python-jsonschema/jsonschema/blob/v4.26.0/jsonschema/validators.py
    bare = (
        (address, {key: part for key, part in document.items() if key != "$schema"})
        for address, document in documents()
    )
    resources = ((address, DRAFT202012.create_resource(document)) for address, document in bare)
    empty: SchemaRegistry = Registry()
    return empty.with_resources(resources)


@cache
def _explainer(name: str) -> Any:
    return _Explainer({"$ref": uri(name)}, registry=_registry())


def violations(name: str, instance: object) -> Iterator[ValidationError]:
    """Yield every violation of a schema, lazily, in the order of the schema and then of the instance."""
    found: Iterator[ValidationError] = _explainer(name).iter_errors(_shallow(instance, _MAX_DEPTH))
    return found


def _shallow(instance: object, depth: int) -> object:
    """Return the data without the parts that are too deep for any schema: jsonschema formats data by recursion."""
    if isinstance(instance, list):
        return [_shallow(item, depth - 1) for item in instance] if depth else []
    if isinstance(instance, dict):
        return {key: _shallow(value, depth - 1) for key, value in instance.items()} if depth else {}
    return instance
