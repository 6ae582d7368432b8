"""Floors for the answers to each role, so that a run that is refused everywhere does not pass."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

import schemas
from api.auth.permissions.grants import BUILT_IN_ROLES, Grant, covers
from schemas import Operation
from tests.fuzz.site import ROLES

Counts = Counter[tuple[str, str, int]]
"""Requests by role, operation and status."""

_SHARE = 0.08  # of the requests, for each role
_SUCCEEDED = 0.4  # of the operations that a role may do
_ANSWERED = 1.5  # requests with a 2xx for each of these
_FIRST_OTHER = 300
# what needs a provider, a browser, a key or Git: each must have succeeded where it was sent
_NEEDED = {
    "getOpenid",
    "openidCallback",
    "openidLogout",
    "openBrowserSession",
    "refreshBrowserSession",
    "closeBrowserSession",
    "advertiseRefs",
    "fetchPack",
    "receivePush",
    "getKeys",
    "getManifest",
    "publish",
}


class Answered(NamedTuple):
    """The answers to a role: requests, those with a 2xx, the operations of these, and those that it may do."""

    requests: int
    successes: int
    succeeded: Collection[str]
    allowed: Collection[str]


def count(counts: Counts, role: str) -> Answered:
    """Return what a role was answered; of operations that are public, those that succeeded do not count."""
    sent = {key: number for key, number in counts.items() if key[0] == role}
    tried = {name for _, name, _ in sent}
    good = {key: number for key, number in sent.items() if key[2] < _FIRST_OTHER and _ASKING[key[1]]}
    allowed = [each.operation_id for each in schemas.operations() if each.operation_id in tried and _may(role, each)]
    return Answered(sum(sent.values()), sum(good.values()), {name for _, name, _ in good}, allowed)


def find_shortfalls(counts: Counts) -> Iterator[str]:
    """Yield where a role was too rarely heard or answered, or did what it may not do, and what never succeeded but had to."""
    good = {name for _, name, status in counts if status < _FIRST_OTHER}
    if lacking := _NEEDED & {name for _, name, _ in counts} - good:
        yield f"no one succeeded with {' '.join(sorted(lacking))}"
    for role in ROLES:
        found = count(counts, role)
        if found.requests < _SHARE * counts.total():
            yield f"{role} sent {found.requests} of {counts.total()} requests"
        if forbidden := set(found.succeeded) - set(found.allowed):
            yield f"{role} did what it may not do: {' '.join(sorted(forbidden))}"
        if len(found.succeeded) < _SUCCEEDED * len(found.allowed):
            missed = sorted(set(found.allowed) - set(found.succeeded))
            yield f"{role} succeeded with {len(found.succeeded)} of {len(found.allowed)} operations, without {missed}"
        if found.successes < _ANSWERED * len(found.allowed):
            yield f"{role} got {found.successes} answers with 2xx to {len(found.allowed)} operations"


def _may(role: str, operation: Operation) -> bool:
    if operation.audience != "grant":
        return operation.audience == "any" and role != "nobody"
    held = BUILT_IN_ROLES[role][1] if role in BUILT_IN_ROLES else ()
    return any(covers(held, [Grant("*", "*", *pair)]) for pair in operation.accepted)


_ASKING = {each.operation_id: each.audience != "public" for each in schemas.operations()}
