"""Like events, counted by minute in the database until the minute has passed: then they are one row of the trail.

The trail cannot be filled: of one event of one actor, such as the refusals of anonymous callers, a minute has a number of kinds from
each address, and a number from all of them. The others are counted together in one more row, of the address or of all.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, select

from api.db.audit import ANONYMOUS, Actor, AuditEntry, record
from api.db.audit_caller import UsedToken
from api.db.tables import audit_repeats
from api.db.upserts import upsert

MOST_KINDS = 100  # of one event and actor in a minute, also those of the rest of an address
MOST_OF_ADDRESS = 20  # of these, from one address
_GRACE = timedelta(seconds=5)  # in which the workers bring what they counted in a minute that has passed
_GROUP = 16  # characters of a key, the same for one event and actor in a minute
TOO_MANY = "too_many_kinds"
_SITE = (
    64  # bits of the address that all hosts of a site with IPv6 have in common: https://www.rfc-editor.org/rfc/rfc6177
)


class Repeat(NamedTuple):
    """The fields that like events share: refusals, and logins by a password that comes with every request.

    All texts are the service's own, or names that it has checked.
    """

    event: str
    actor: Actor
    subject: str
    address: str | None
    method: str
    route: str
    status: int
    error: str
    token: UsedToken | None = None
    session: str | None = None

    def overflow(self) -> "Repeat":
        """Return the kind that counts what is beyond the other kinds of this event and actor."""
        return Repeat(self.event, self.actor, "", None, "", "", 0, TOO_MANY)

    def overflow_of_address(self) -> "Repeat":
        """Return the kind that counts what is beyond the other kinds of this event and actor from the same address."""
        return self.overflow()._replace(address=self.address)

    def from_network(self) -> "Repeat":
        """Return the event of an unknown caller with the network of its site, since one host with IPv6 has many addresses."""
        return self._replace(address=_network(self.address)) if self.actor == ANONYMOUS else self


class KindLimit:
    """The kinds of one event and actor in a minute, which are limited for each address first, so that a noisy one hides no other.

    The rows for the rest of an address count as kinds too; the row for the rest of all of them does not.
    """

    def __init__(self) -> None:
        self._known = dict[Hashable, str | None]()  # kinds, by whatever names one
        self._of_address = Counter[str | None]()

    def add_known(self, kinds: Iterable[tuple[Hashable, str | None]]) -> None:
        """Add kinds that have a row already, each with its address."""
        for key, address in kinds:
            self._known[key] = address
            self._of_address[address] += 1

    def admit(self, repeat: Repeat, name: Callable[[Repeat], Hashable] = lambda each: each) -> Repeat:
        """Return the kind that an event is counted as, and remember it by its name."""
        rest = repeat.overflow()
        for kind, most in ((repeat, MOST_OF_ADDRESS), (repeat.overflow_of_address(), MOST_OF_ADDRESS + 1)):
            if kind == rest or name(kind) in self._known:
                return kind
            if self._of_address[kind.address] < most and len(self._known) < MOST_KINDS:
                self.add_known([(name(kind), kind.address)])
                return kind
        return rest


def add_repeats(connection: Connection, minute: datetime, counts: Mapping[Repeat, int]) -> None:
    """Add counts of events in a minute to those of other workers."""
    groups = defaultdict[str, dict[Repeat, int]](dict)
    for repeat, count in counts.items():
        groups[_group(minute, repeat)][repeat] = count
    rows = [row for group, kinds in groups.items() for row in _limit(connection, minute, group, kinds)]
    for row in sorted(
        rows, key=lambda row: str(row["key"])
    ):  # in one order, so that two writers never wait for each other
        adding = upsert(connection, audit_repeats).values(**row)
        total = audit_repeats.c.count + adding.excluded.count
        connection.execute(adding.on_conflict_do_update(index_elements=["key"], set_={"count": total}))


def close_minutes(connection: Connection, now: datetime) -> int:
    """Move the events of past minutes into the trail, each with its count; return the number of rows."""
    rows = connection.execute(delete(audit_repeats).where(_has_passed(now)).returning(audit_repeats)).mappings().all()
    for row in sorted(rows, key=lambda row: (row["minute"], row["key"])):
        record(connection, _entry(row["minute"], row["entry"], row["count"]))
    return len(rows)


def has_past_minutes(connection: Connection, now: datetime) -> bool:
    """Tell whether `close_minutes` has rows to move."""
    return connection.execute(select(audit_repeats.c.key).where(_has_passed(now)).limit(1)).first() is not None


def _has_passed(now: datetime) -> ColumnElement[bool]:
    return audit_repeats.c.minute <= now - timedelta(minutes=1) - _GRACE


def minute_of(moment: datetime) -> datetime:
    """Return the start of the minute of a time."""
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def _limit(connection: Connection, minute: datetime, group: str, kinds: Mapping[Repeat, int]) -> list[dict[str, Any]]:
    """Return the rows to add for one event and actor; beyond the most kinds of a minute, one row has the rest."""
    of_group = (audit_repeats.c.minute == minute) & audit_repeats.c.key.startswith(group)
    known = connection.execute(select(audit_repeats.c.key, audit_repeats.c.entry).where(of_group)).all()
    limit, rows = KindLimit(), Counter[Repeat]()
    rests = {_key(group, minute, each.overflow()) for each in kinds}
    limit.add_known((row.key, row.entry["address"]) for row in known if row.key not in rests)
    for repeat, count in kinds.items():
        rows[limit.admit(repeat, lambda each: _key(group, minute, each))] += count
    return [
        {"key": _key(group, minute, repeat), "minute": minute, "entry": _dump(repeat), "count": count}
        for repeat, count in rows.items()
    ]


def _dump(repeat: Repeat) -> dict[str, Any]:
    return {**repeat._asdict(), "actor": [repeat.actor.kind, repeat.actor.id, repeat.actor.name]}


def _group(minute: datetime, repeat: Repeat) -> str:
    """Return the beginning of the keys of one event and actor in a minute."""
    return _digest([minute.isoformat(), repeat.event, _dump(repeat)["actor"]])[:_GROUP]


def _key(group: str, minute: datetime, repeat: Repeat) -> str:
    return group + _digest([minute.isoformat(), _dump(repeat)])[_GROUP:]


def _digest(parts: list[Any]) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _network(address: str | None) -> str | None:
    """Return the network of a site with IPv6; any other address as it is."""
    try:
        found = ip_address(address or "")
    except ValueError:
        return address
    if not isinstance(found, IPv6Address) or found.ipv4_mapped or found.is_loopback:
        return address
    return str(ip_network((found, _SITE), strict=False))


def _entry(minute: datetime, entry: Mapping[str, Any], count: int) -> AuditEntry:
    detail = {name: entry[name] for name in ("method", "route", "status", "error") if entry[name]}
    token = entry.get("token")
    return AuditEntry(
        minute,
        entry["event"],
        Actor(*entry["actor"]),
        entry["subject"],
        detail,
        address=entry["address"],
        session=entry.get("session"),
        count=count,
        token=UsedToken(*token) if token else None,
    )
