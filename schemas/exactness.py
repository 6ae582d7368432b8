"""Our one keyword that checks: `x-exact` refuses 301.0 where 301 is meant.

JSON Schema calls the two the same number, but one is a float in Python and would fail far from here.
"""

from collections.abc import Iterator

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

EXACT = "x-exact"


def is_exact(instance: object) -> bool:
    """False for a float that stands for a whole number; whatever else there is is the other keywords' business."""
    return not (isinstance(instance, float) and instance.is_integer())


class Exact:
    """The keyword as jsonschema-rs wants it."""

    def __init__(self, _parent: object, _value: object, _path: object) -> None:
        pass

    def validate(self, instance: object) -> None:
        """Raise ValueError for a whole number that was written as a float."""
        if not is_exact(instance):
            raise ValueError(EXACT)


def exact_errors(_validator: Validator, _value: object, instance: object, _schema: object) -> Iterator[ValidationError]:
    """The keyword as jsonschema wants it."""
    if not is_exact(instance):
        yield ValidationError(EXACT)
