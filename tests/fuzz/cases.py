"""Requests for an operation: its examples, its boundary values, and random ones that are valid or are not, by a seed."""

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation

from tests.fuzz.examples import Known, values_of

_OFTEN = 0.8  # of the values of parameters exist
# Its boundary values take two minutes to find, which is in the search of schemathesis for values that are not valid.
_SLOW = {"reviewProposal"}
_MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


class Cases:
    """The requests for an operation."""

    def __init__(self, operation: Any, known: Known, number: int) -> None:
        """Take an operation of schemathesis, what exists, and the number of the run."""
        self.operation = operation
        self.name = str(operation.definition.raw["operationId"])
        self._known = known
        self._number = number
        self._random = random.Random(f"{self.name} {number}")  # noqa: S311 - the same one for each number

    def boundaries(self) -> Iterator[Any]:
        """Yield requests with the least, the greatest and almost valid values of each parameter and property."""
        if self.name in _SLOW:
            return
        generation = self.operation.schema.config.generation_for(operation=self.operation, phase="coverage")
        found = self.operation.schema.iter_coverage_cases(
            self.operation, generation_modes=list(_MODES), generation_config=generation
        )
        yield from map(self._place, found)

    def examples(self) -> Iterator[Any]:
        """Yield requests that name what exists, with bodies that the service accepts."""
        for strategy in self.operation.get_strategies_from_examples():
            yield from map(self._place, _draw(strategy, 1, self._number))

    def drawn(self, most: int) -> Iterator[Any]:
        """Yield up to `most` requests with random values that are valid, and as many with some that are not."""
        for mode in _MODES:
            yield from map(self._place, _draw(self.operation.as_strategy(mode), most, self._number))

    def _place(self, case: Any) -> Any:
        """Let parameters name what exists, most of the time, but for those that are meant to be wrong."""
        components = case.meta.components if case.meta else {}
        for where, values in (
            (ParameterLocation.PATH, case.path_parameters),
            (ParameterLocation.QUERY, case.query),
        ):
            if where in components and components[where].mode is not GenerationMode.POSITIVE:
                continue
            for name in values or ():
                found = values_of(self.name, self.operation.path, name, self._known)
                if found and self._random.random() < _OFTEN:
                    values[name] = self._random.choice(found)
        return case


def _draw(strategy: Any, most: int, number: int) -> list[Any]:
    """Return values of a strategy, the same ones for each number; none if it has no value, as for a call without input."""
    found: list[Any] = []

    @seed(number)
    @settings(
        database=None,
        deadline=None,
        max_examples=most,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    try:
        collect()
    except Unsatisfiable:
        return []
    return found
