"""The metrics of all workers, as small files in one directory.

Every worker writes its page once a second. The master adds the pages of ended workers to one page, so that their counts
stay and their files do not pile up. Files are replaced, unlike the memory maps of prometheus_client's multiprocess mode
(https://prometheus.github.io/client_python/multiprocess/): on a full disk a write fails, but a store to a memory map
kills the worker (SIGBUS, https://man7.org/linux/man-pages/man2/mmap.2.html).
"""

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from api.metrics.counters import Counts, Key

DIRECTORY = "metrics"  # in the data directory

_ENDED = "ended.json"
_MOST_REMEMBERED = 1000


class WorkerMetrics(NamedTuple):
    """The metrics of one worker: counts, which only grow, and gauges, which end with it."""

    counts: Counts
    gauges: Counts


class Totals(NamedTuple):
    """The metrics of all workers together; counts include ended workers."""

    counts: Counts
    gauges: Counts
    workers: int


class MetricsStore:
    """The pages in one directory; `write` is for workers, `clear` and `close` are for the master."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def clear(self) -> None:
        """Remove the pages of an earlier run."""
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(exist_ok=True)

    def write(self, name: str, page: WorkerMetrics) -> None:
        """Replace a worker's page; `name` is from `create_file_name`. Raises OSError."""
        self._replace(name, {"counts": _dump(page.counts), "levels": _dump(page.gauges)})

    def close(self, alive: Container[int]) -> None:
        """Add the pages of all workers except those with these process ids to the page of ended workers."""
        ended = [name for name in self._names() if int(name.partition("-")[0]) not in alive]
        if not ended:
            return
        found = self._read(_ENDED)
        counts = _sum([_counts(found), *(_counts(self._read(name)) for name in ended)])
        names = [*found.get("names", []), *ended][-_MOST_REMEMBERED:]
        self._replace(_ENDED, {"counts": _dump(counts), "names": names})
        for name in ended:
            (self._directory / name).unlink(missing_ok=True)

    def read(self) -> Totals:
        """Return the metrics of all workers together.

        The page of ended workers is read last: a page that is added to it meanwhile is then ignored here, never lost.
        """
        pages = {name: self._read(name) for name in self._names()}
        found = self._read(_ENDED)
        alive = [page for name, page in pages.items() if page and name not in set(found.get("names", []))]
        counts = _sum([_counts(found), *map(_counts, alive)])
        return Totals(counts, _sum(_load(page["levels"]) for page in alive), len(alive))

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [path.name for path in self._directory.iterdir() if path.name[:1].isdigit()]
        return []

    def _read(self, name: str) -> dict[str, Any]:
        """Read a page; empty if it was added to the ended workers meanwhile."""
        try:
            found: dict[str, Any] = orjson.loads((self._directory / name).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):  # nothing is fsynced: a power cut may leave an empty file
            return {}
        return found

    def _replace(self, name: str, page: Mapping[str, Any]) -> None:
        written = self._directory / f".{name}"
        written.write_bytes(orjson.dumps(page))
        written.replace(self._directory / name)


def create_file_name() -> str:
    """Return a name for the page of this process that no other process has had or will have."""
    return f"{os.getpid()}-{time.time_ns()}"


def _counts(page: Mapping[str, Any]) -> Counts:
    return _load(page.get("counts", []))


def _sum(parts: Iterable[Counts]) -> Counts:
    total: defaultdict[Key, float] = defaultdict(float)
    for part in parts:
        for key, number in part.items():
            total[key] += number
    return dict(total)


def _dump(counts: Counts) -> list[Any]:
    return list(counts.items())


def _load(pairs: Iterable[Any]) -> Counts:
    return {tuple(key): number for key, number in pairs}
