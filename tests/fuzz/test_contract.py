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
from tests.fuzz.floors import count, find_shortfalls
from tests.fuzz.sender import Sender
from tests.fuzz.site import PROJECT, ROLES, open_service, open_site
from tests.openid_provider import HostileProvider

PARTS = 4
LEAST = 2_500  # requests of a part
_EACH = 4  # boundary value is sent as another role than the administrator's
_DRAWN = 2  # valid requests for each operation, and as many others
_SECONDS = 60 * int(os.environ.get("FUZZ_MINUTES", "0"))
_SEED = int(os.environ.get("FUZZ_SEED", "1"))
_FIRST_ERROR = 400


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, HostileProvider]]:
    with open_service(tmp_path_factory.mktemp("fuzz")) as found:
        yield found


@pytest.mark.timeout(1200 + 20 * _SECONDS)  # it is bounded by its number of requests; the machine may be busy
@pytest.mark.parametrize("part", range(PARTS))
def test_every_answer_is_one_of_the_contract(service: tuple[World, HostileProvider], part: int) -> None:
    """No 5xx, no status, type, header or body that is not described, no method or caller that should be refused."""
    site = open_site(*service, str(part))
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
    assert [*find_shortfalls(sender.counts)] == []
    [namespace] = site.known["namespace"]
    history = service[0].root.get(f"/api/namespace/{namespace}/project/{PROJECT}/history")["items"]
    assert all(each["signedBy"] for each in history), history


def _fire(sender: Sender, cases: Cases, *, boundaries: bool) -> None:
    """Send the requests of an operation as each role, and its boundary values mostly as who may do everything."""
    for case in itertools.chain(cases.examples(), cases.drawn(_DRAWN)):
        for role in ROLES:
            sender.send(role, cases.name, case)
    others = itertools.cycle(ROLES[:-1])
    for at, case in enumerate(cases.boundaries() if boundaries else ()):
        sender.send("admin" if at % _EACH else next(others), cases.name, case)


def _summary(counts: Counter[tuple[str, str, int]]) -> str:
    """Describe what the roles were answered."""
    lines = [f"{counts.total()} requests"]
    for role in ROLES:
        statuses, found = Counter[int](), count(counts, role)
        for (caller, _, status), number in counts.items():
            statuses[status] += number if caller == role else 0
        done = f"{len(found.succeeded)} of {len(found.allowed)} operations succeeded"
        lines.append(f"{role}: {dict(sorted((+statuses).items()))}, {done}")
    never = {name for _, name, _ in counts} - {name for _, name, status in counts if status < _FIRST_ERROR}
    return "\n  ".join([*lines, f"never succeeded: {' '.join(sorted(never))}"])


def test_the_parts_are_ten_thousand_requests() -> None:
    assert PARTS * LEAST >= 10_000
    assert len(schemas.operations()) > 140


def test_a_run_that_is_refused_everywhere_does_not_pass() -> None:
    names = [each.operation_id for each in schemas.operations()]
    refused = Counter({(role, name, 401): 10 for role in ROLES for name in names})
    found = [*find_shortfalls(refused)]
    assert found[0].startswith("no one succeeded with advertiseRefs closeBrowserSession")
    assert [line.partition(" ")[0] for line in found[1:]] == [role for role in ROLES[1:] for _ in range(2)]
    answered = Counter({(role, name, 200): 10 for role in ROLES for name in count(refused, role).allowed})
    public = Counter(
        {("nobody", each.operation_id, 200): 50 for each in schemas.operations() if each.audience == "public"}
    )
    assert [*find_shortfalls(answered + public)] == []
    escalated = Counter({("viewer", "createUser", 201): 1})
    assert [*find_shortfalls(answered + public + escalated)] == ["viewer did what it may not do: createUser"]
    unheard = Counter({("agent", "createUser", 403): 50_000})
    assert f"nobody sent {sum(public.values())} of" in next(find_shortfalls(answered + public + unheard))
