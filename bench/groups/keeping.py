"""The disk space of many publishes of a large project: the size of the data directory after each tenth of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

from bench.figure import Figure, at_most
from bench.rules import MANY, sample_evenly
from bench.workbench import AUTHOR, BIG, NAMESPACE, Site, Workbench
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store

_MANY = 1000
_FEW = 50
_TENTHS = 10
_MEGABYTE = 1e6


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield one figure: the growth of the data directory, for one changed rule a publish."""
    count = _FEW if bench.quick else _MANY
    data = bench.new_folder("kept")
    copytree(bench.plain.data, data)
    sizes = [size_of(data), *_sizes(Store(data), data, bench.plain, count)]
    detail = (
        f"MB at the start and after each {count // _TENTHS}: {', '.join(f'{size / _MEGABYTE:.0f}' for size in sizes)}"
    )
    label = f"the data directory after {count:,} publishes of 100,000 rules, one changed in each"
    yield Figure(label, sizes[-1] / sizes[0], "times as large", at_most(10), detail)


def size_of(folder: Path) -> int:
    """Return the bytes of a folder's files on disk; a file with two hard links counts once."""
    found: dict[int, int] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            status = Path(root, name).lstat()
            found[status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def _sizes(store: Store, data: Path, site: Site, count: int) -> Iterator[int]:
    for turn, rule in enumerate(sample_evenly(site.rules[:MANY], count), 1):
        _publish(store, rule, turn)
        if turn % (count // _TENTHS) == 0:
            yield size_of(data)


def _publish(store: Store, rule: Redirect, turn: int) -> None:
    name = DraftName(BIG, DEFAULT_DRAFT)
    changed = Redirect(rule.type, rule.source, f"{rule.target}?turn={turn}", rule.status)
    store.drafts.edit(NAMESPACE, name, [Put(Kind.REDIRECTS, changed, replaces=rule.id)], AUTHOR)
    store.publishes.publish(NAMESPACE, PublishRequest(name, AUTHOR))
