"""Every answer to requests that the contract allows, and to those that it does not, is one of the contract.

In parts, so that they can run in parallel: each has some of the operations, and content of its own. `make fuzz` goes on
with other data until FUZZ_MINUTES are over; FUZZ_SEED says which.
"""

import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator

import pytest

import schemas
from tests.e2e.world import World
from tests.fuzz.cases import Cases
from tests.fuzz.contract import load
from tests.fuzz.sender import Sender
from tests.fuzz.site import ROLES, open_service, open_site

PARTS = 4
LEAST = 2_500  # requests of a part
_DRAWN = 2  # valid requests for each operation, and as many others
_SECONDS = 60 * int(os.environ.get("FUZZ_MINUTES", "0"))
_SEED = int(os.environ.get("FUZZ_SEED", "1"))
_FIRST_ERROR = 400


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_service(tmp_path_factory.mktemp("fuzz")) as found:
        yield found


@pytest.mark.timeout(1200 + 20 * _SECONDS)  # it is bounded by its number of requests; the machine may be busy
@pytest.mark.parametrize("part", range(PARTS))
def test_every_answer_is_one_of_the_contract(world: World, part: int) -> None:
    """No 5xx, no status, type, header or body that is not described, no method or caller that should be refused."""
    site = open_site(world, str(part))
    operations = [found.ok() for found in load(site.known).get_all_operations()][part::PARTS]
    began = time.monotonic()
    with Sender(site) as sender:
        for number in itertools.count(_SEED):
            for operation in operations:
                _fire(sender, Cases(operation, site.known, number), boundaries=number == _SEED)
            sys.stdout.write(f"part {part}, FUZZ_SEED={number}: {_summary(sender.counts)}\n")
            assert not sender.faults, f"FUZZ_SEED={number}\n" + "\n".join(
                f"{at}\n{fault}" for at, fault in sender.faults.items()
            )
            if time.monotonic() - began >= _SECONDS / PARTS:
                break
    assert sender.counts.total() >= LEAST
    assert len({name for _, name, status in sender.counts if status < _FIRST_ERROR}) > len(operations) / 2


def _fire(sender: Sender, cases: Cases, *, boundaries: bool) -> None:
    """Send the requests of an operation: its boundary values as who may do everything, all others as each role."""
    for case in itertools.chain(cases.examples(), cases.drawn(_DRAWN)):
        for role in ROLES:
            sender.send(role, cases.name, case)
    for case in cases.boundaries() if boundaries else ():
        sender.send("admin", cases.name, case)


def _summary(counts: Counter[tuple[str, str, int]]) -> str:
    """Describe what the roles were answered."""
    lines = [f"{counts.total()} requests"]
    for role in ROLES:
        statuses = Counter[int]()
        for (caller, _, status), number in counts.items():
            statuses[status] += number if caller == role else 0
        good = {name for caller, name, status in counts if caller == role and status < _FIRST_ERROR}
        lines.append(f"{role}: {dict(sorted((+statuses).items()))}, {len(good)} operations succeeded")
    never = {name for _, name, _ in counts} - {name for _, name, status in counts if status < _FIRST_ERROR}
    return "\n  ".join([*lines, f"never succeeded: {' '.join(sorted(never))}"])


def test_the_parts_are_ten_thousand_requests() -> None:
    assert PARTS * LEAST >= 10_000
    assert len(schemas.operations()) > 140
