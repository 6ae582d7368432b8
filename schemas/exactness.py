"""The keyword `x-exact`, which refuses 301.0 in place of 301.

JSON Schema treats the two as the same number (https://json-schema.org/draft/2020-12/json-schema-core#section-4.2.1),
but Python reads one as a float, which would fail far from here.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # jsonschema takes a tenth of the time of a start, and only invalid data needs it
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

EXACT_KEYWORD = "x-exact"


def is_exact(instance: object) -> bool:
    """Return false for a float with the value of a whole number; other keywords check all other data."""
    return not (isinstance(instance, float) and instance.is_integer())


class ExactKeyword:
    """The keyword in the interface of jsonschema-rs."""

    def __init__(self, _parent: object, _value: object, _path: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        """Raise ValueError for a whole number that was written as a float."""
        if not is_exact(instance):
            raise ValueError(EXACT_KEYWORD)


def exact_errors(
    _validator: "Validator", _value: object, instance: object, _schema: object
) -> "Iterator[ValidationError]":
    """Yield the errors of the keyword, in the interface of jsonschema."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 - its caller has imported it

    if not is_exact(instance):
        yield ValidationError(EXACT_KEYWORD)
