"""Listing the working state of a draft: each record with what the draft did to it, filtered, sorted, in windows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from content.diff import Change, ChangeType
from content.record import Page, Placed, Record, Redirect
from content.vocabulary import Kind
from gitstore.edits import etag_of
from gitstore.errors import BadRequest
from gitstore.snapshot import Snapshot

SORTS = ("file", "source", "target", "-source", "-target")


@dataclass(frozen=True, slots=True)
class Item:
    """A record in a draft; `change` is None where the draft leaves it as release has it."""

    placed: Placed[Record]
    change: ChangeType | None

    @property
    def etag(self) -> str:
        """What changes whenever a field of the record does."""
        return etag_of(self.placed.record)


@dataclass(frozen=True, slots=True)
class Query:
    """What to list: `text` in source, target or note (any case), exact `type`, `status`, `tag`, `change`; and the order."""

    text: str = ""
    type: str = ""
    status: str = ""
    tag: str = ""
    change: str = ""
    sort: str = "file"

    @property
    def is_plain(self) -> bool:
        """Tell whether everything is wanted, in file order."""
        return self == Query()


def list_items(
    snapshot: Snapshot, kind: Kind, changes: Sequence[Change], query: Query, offset: int, limit: int
) -> tuple[list[Item], int]:
    """A window of the records that the query asks for, removed ones last, and how many there are in all."""
    by_identity = {change.identity: change for change in changes}
    removed = [Item(Placed(change.old), ChangeType.REMOVED) for change in changes if change.new is None and change.old]
    if query.is_plain:
        return _plain_window(snapshot, kind, by_identity, removed, offset, limit)
    items = chain((_item(placed, by_identity) for placed in snapshot.placed(kind)), removed)
    found = _sorted([item for item in items if _is_wanted(item, query)], query.sort)
    return found[offset : offset + limit], len(found)


def find_item(snapshot: Snapshot, kind: Kind, changes: Sequence[Change], record_id: str) -> Item | None:
    """One record of the draft; None where the draft has none of that id."""
    placed = snapshot.find(kind, record_id)
    return _item(placed, {change.identity: change for change in changes}) if placed else None


def _plain_window(
    snapshot: Snapshot, kind: Kind, changes: Mapping[str, Change], removed: list[Item], offset: int, limit: int
) -> tuple[list[Item], int]:
    """A window in file order: only the files that it touches are read."""
    count = snapshot.count(kind)
    items = [_item(placed, changes) for placed in snapshot.placed_window(kind, offset, limit)]
    rest = removed[max(offset - count, 0) :][: limit - len(items)]
    return items + rest, count + len(removed)


def _item(placed: Placed[Record], changes: Mapping[str, Change]) -> Item:
    change = changes.get(placed.record.identity)
    return Item(placed, change.change if change else None)


def _is_wanted(item: Item, query: Query) -> bool:
    record = item.placed.record
    return (
        query.text.casefold() in _searched(record)
        and query.type in {"", record.type.value}
        and query.status in {"", getattr(record, "status", "")}
        and (not query.tag or query.tag in record.tags)
        and query.change in {"", item.change.value if item.change else "none"}
    )


def _searched(record: Record) -> str:
    target = record.target if isinstance(record, Redirect) else ""
    return f"{record.identity}\n{target}\n{record.note}".casefold()


def _sorted(items: list[Item], sort: str) -> list[Item]:
    if sort not in SORTS:
        raise BadRequest(f"'sort' must be one of {', '.join(SORTS)}.")
    if sort == "file":
        return items
    return sorted(items, key=_SORT_KEYS[sort.removeprefix("-")], reverse=sort.startswith("-"))


def _target(item: Item) -> str:
    record = item.placed.record
    return record.content_type if isinstance(record, Page) else record.target


_SORT_KEYS: Mapping[str, Callable[[Item], str]] = {
    "source": lambda item: item.placed.record.identity,
    "target": _target,
}
