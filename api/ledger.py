"""The counts of all workers, as small files in one directory.

Every worker writes a page of its own once a second. The pages of workers that ended are added to one page by the
master, so that their counts stay and their files do not pile up. Files that are replaced, and not memory maps as
prometheus_client has them: on a full disk a write fails, while a store to a map kills the worker.
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

from api.tally import Counts, Key

DIRECTORY = "metrics"
"""The folder below the data directory."""

_ENDED = "ended.json"
_MOST_REMEMBERED = 1000


class Page(NamedTuple):
    """What one worker tells: counts, which only grow, and levels, which end with it."""

    counts: Counts
    levels: Counts


class Totals(NamedTuple):
    """What all workers tell together; counts also of those that ended."""

    counts: Counts
    levels: Counts
    workers: int


class Ledger:
    """The pages in one directory; `write` is for a worker, `clear` and `close` are for the master."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def clear(self) -> None:
        """Begin anew: what an earlier service counted is over."""
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, page: Page) -> None:
        """Put a worker's page in the place of its last one; `name` is one that `page_name` gave. Raises OSError."""
        self._replace(name, {"counts": _dumped(page.counts), "levels": _dumped(page.levels)})

    def close(self, living: Container[int]) -> None:
        """Add the pages of all workers but those with these process ids to the page of the ended."""
        ended = [name for name in self._names() if int(name.partition("-")[0]) not in living]
        if not ended:
            return
        found = self._read(_ENDED)
        counts = _added([_counts(found), *(_counts(self._read(name)) for name in ended)])
        names = [*found.get("names", []), *ended][-_MOST_REMEMBERED:]
        self._replace(_ENDED, {"counts": _dumped(counts), "names": names})
        for name in ended:
            (self._directory / name).unlink(missing_ok=True)

    def read(self) -> Totals:
        """What all tell together.

        The ended come last: a page that was added to theirs after it was read here is then left out, never lost.
        """
        pages = {name: self._read(name) for name in self._names()}
        found = self._read(_ENDED)
        living = [page for name, page in pages.items() if page and name not in set(found.get("names", []))]
        counts = _added([_counts(found), *map(_counts, living)])
        return Totals(counts, _added(_loaded(page["levels"]) for page in living), len(living))

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [path.name for path in self._directory.iterdir() if path.name[:1].isdigit()]
        return []

    def _read(self, name: str) -> dict[str, Any]:
        """A page, or an empty one: it may have been added to the ended meanwhile."""
        try:
            found: dict[str, Any] = orjson.loads((self._directory / name).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):  # nothing is fsynced: a power cut may leave an empty file
            return {}
        return found

    def _replace(self, name: str, page: Mapping[str, Any]) -> None:
        written = self._directory / f".{name}"
        written.write_bytes(orjson.dumps(page))
        written.replace(self._directory / name)


def page_name() -> str:
    """A name for the page of this process that no other process had or will have."""
    return f"{os.getpid()}-{time.time_ns()}"


def _counts(page: Mapping[str, Any]) -> Counts:
    return _loaded(page.get("counts", []))


def _added(parts: Iterable[Counts]) -> Counts:
    total: defaultdict[Key, float] = defaultdict(float)
    for part in parts:
        for key, number in part.items():
            total[key] += number
    return dict(total)


def _dumped(counts: Counts) -> list[Any]:
    return list(counts.items())


def _loaded(pairs: Iterable[Any]) -> Counts:
    return {tuple(key): number for key, number in pairs}
