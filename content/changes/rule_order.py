"""Restoring rules to a list: each at its former position, as far as other changes allow."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from content.records.record import Record


def restore_rules(present: Sequence[Record], order: Sequence[str], restored: Mapping[str, Record]) -> list[Record]:
    """Return `present` with the restored records, by identity; a record in its former position stays there.

    `order` lists the identities of the former file: a restored record follows its nearest predecessor in it.
    """
    in_order = _find_unmoved(present, order, restored)
    rest = [record for record in present if record.identity not in restored or record.identity in in_order]
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
        result += followers.pop(record.identity, ())  # once, where a push has brought the rule above twice
    placed = known.union(order)
    return result + [record for key, record in restored.items() if key not in placed]


def _find_unmoved(present: Sequence[Record], order: Sequence[str], restored: Collection[str]) -> set[str]:
    """Return the restored identities that are present once, below the same unaffected rule as in `order`."""
    identities = [record.identity for record in present]
    fixed = {*identities} & {*order} - {*restored}
    now, before = _anchors(identities, fixed), _anchors(order, fixed)
    unmoved = {key for key in restored if key in now and len(now[key]) == 1 and now[key] == before.get(key)}
    numbers = {key: number for number, key in enumerate(order)}
    in_order, last = set(), -1
    for key in identities:
        if key in fixed:
            last = -1
        elif key in unmoved and numbers[key] > last:
            in_order.add(key)
            last = numbers[key]
    return in_order


def _anchors(identities: Sequence[str], fixed: Collection[str]) -> dict[str, list[str | None]]:
    """Return the last fixed identity before each other identity, once for each of its occurrences."""
    found: dict[str, list[str | None]] = defaultdict(list)
    anchor: str | None = None
    for key in identities:
        if key in fixed:
            anchor = key
        else:
            found[key].append(anchor)
    return found
