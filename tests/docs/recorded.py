"""A service that records its calls, and the calls of single operations in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.recorder import RECORD
from tests.e2e.world import Place, open_world
from tests.service import WAYPOST, running, wait_until

COMMAND = (WAYPOST[0], "-m", "bench.recorded_service", *WAYPOST[2:])
_SECONDS = 20.0


class Call(NamedTuple):
    """A call of a function of the product: its file in the project, and its qualified name."""

    file: str
    function: str


class Recording(NamedTuple):
    """The calls that the service recorded after a moment: all later ones, whether or not their operation is complete."""

    record: Path
    begin: int

    def calls(self) -> list[Call]:
        """Return the calls so far, in order."""
        lines = self.record.read_bytes()[self.begin :].decode().splitlines()
        fields = [line.split(" ", 4) for line in lines]
        return [Call(each[2], each[4]) for each in fields if len(each) == 5 and each[1] == "call"]

    def wait_for(self, expected: Sequence[Call], repeat: Callable[[], object] = object) -> None:
        """Wait until these calls are made in this order, and `repeat` meanwhile; name the first that is missing."""
        try:
            wait_until(lambda: not self.missing(expected) or not repeat(), _SECONDS, "the calls")
        except AssertionError as ex:
            file, function = self.missing(expected)[0]
            raise AssertionError(f"{file}: {function} is not called, or not at this place") from ex

    def missing(self, expected: Sequence[Call]) -> Sequence[Call]:
        """Return the expected calls from the first that was not made after its predecessors."""
        made = iter(self.calls())
        for place, call in enumerate(expected):
            if call not in made:
                return expected[place:]
        return ()


class Recorded(NamedTuple):
    """A project in a recorded service."""

    place: Place
    record: Path

    def begin(self) -> Recording:
        """Begin a recording; the rest of an earlier operation may still come into it."""
        return Recording(self.record, self.record.stat().st_size)


@contextmanager
def recorded_service(folder: Path) -> Iterator[Recorded]:
    """Run a recorded service with one worker and one project."""
    record = folder / "record"
    settings = {"WAYPOST_WORKERS": "1", RECORD: str(record)}
    with running(COMMAND, folder / "data", settings) as service, open_world(service) as world:
        yield Recorded(world.place(), record)
