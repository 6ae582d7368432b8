"""Putting rules back among others: each where it stood, as near as what else has changed allows."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from content.record import Record


def put_back(present: Sequence[Record], order: Sequence[str], restored: Mapping[str, Record]) -> list[Record]:
    """`present` with the restored records, by identity; one that stands in its place stays there.

    `order` are the identities of the file as it was: a restored record follows the nearest of those before it.
    """
    staying = _in_place(present, order, restored)
    rest = [record for record in present if record.identity not in restored or record.identity in staying]
    known = {record.identity for record in rest}
    followers: dict[str | None, list[Record]] = defaultdict(list)
    anchor: str | None = None
    for key in order:
        if key in known:
            anchor = key
        elif key in restored:
            followers[anchor].append(restored[key])
    result = followers[None]
    for record in rest:
        result.append(restored.get(record.identity, record))
        result += followers.get(record.identity, ())
    placed = known.union(order)
    return result + [record for key, record in restored.items() if key not in placed]


def _in_place(present: Sequence[Record], order: Sequence[str], restored: Collection[str]) -> set[str]:
    """The restored identities that are present once, below the same unaffected rule as in `order`."""
    identities = [record.identity for record in present]
    fixed = {*identities} & {*order} - {*restored}
    now, before = _anchors(identities, fixed), _anchors(order, fixed)
    unmoved = {key for key in restored if key in now and len(now[key]) == 1 and now[key] == before.get(key)}
    numbers = {key: number for number, key in enumerate(order)}
    staying, last = set(), -1
    for key in identities:
        if key in fixed:
            last = -1
        elif key in unmoved and numbers[key] > last:
            staying.add(key)
            last = numbers[key]
    return staying


def _anchors(identities: Sequence[str], fixed: Collection[str]) -> dict[str, list[str | None]]:
    """For each identity the last fixed one before it, once for each time that it is there."""
    found: dict[str, list[str | None]] = defaultdict(list)
    anchor: str | None = None
    for key in identities:
        if key in fixed:
            anchor = key
        else:
            found[key].append(anchor)
    return found
