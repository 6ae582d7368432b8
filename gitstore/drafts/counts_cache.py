"""The counts of the changes of drafts on disk, for every process of the machine: found without reading a rule."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.directory import make_folder
from gitstore.drafts.drafts import DraftName, Trees
from gitstore.errors import OutOfSpace
from gitstore.git.atomic_io import TEMPORARY_PREFIX, replace_file

_FORMAT = "1"  # part of every file name: raise it when a draft is counted otherwise
_MOST_FILES = 1_000  # of some 150 bytes


class CountsCache:
    """The last counts of each draft in a folder; a cache, so a missing or damaged file only hides them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: DraftName, trees: Trees) -> Mapping[Kind, Counts] | None:
        """Return the counts of a draft in this state; None where they are not cached."""
        try:
            found = orjson.loads(self._path(name).read_bytes())
            return {kind: Counts(*found[kind]) for kind in Kind} if found["trees"] == [*trees] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, name: DraftName, trees: Trees, counts: Mapping[Kind, Counts]) -> Mapping[Kind, Counts]:
        """Store the counts of a draft in this state in place of earlier ones, and return them."""
        path = self._path(name)
        data = orjson.dumps({"trees": trees, **{kind.value: [*counts[kind]] for kind in Kind}})
        with suppress(OutOfSpace, OSError):  # a full or read-only disk must not stop a read
            make_folder(self._folder, levels=2)
            is_new = not path.exists()
            replace_file(path, data, sync=False)
            if is_new:
                self._remove_oldest()
        return counts

    def _path(self, name: DraftName) -> Path:
        return self._folder / f"{name.draft}.{name.project}.{_FORMAT}"

    def _remove_oldest(self) -> None:
        files = [each for each in self._folder.iterdir() if not each.name.startswith(TEMPORARY_PREFIX)]
        if len(files) > _MOST_FILES:
            min(files, key=lambda path: path.stat().st_mtime).unlink(missing_ok=True)
