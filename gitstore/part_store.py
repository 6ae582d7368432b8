"""Compiled parts by blob: in memory for the files at hand, on disk for every process of the machine."""

import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock

from gitstore.durable import replace_file
from gitstore.errors import OutOfSpace
from gitstore.layout import BlobId
from gitstore.part import Part, compile_part, dump_part, load_part
from gitstore.sections import Damaged

_FORMAT = "3"
"""Part of every name: raise it when what a part holds, or how a rule is judged, changes."""
_KEEP = 1000
_TOUCH_AFTER = 86_400


class PartStore:
    """Parts of one namespace; a cache, so a missing or damaged file only costs reading the YAML again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: OrderedDict[BlobId, Part] = OrderedDict()
        self._lock = Lock()

    def get(self, blob: BlobId, data: bytes) -> Part:
        """The part of a blob whose bytes are at hand."""
        found = self.known(blob)
        return self._keep(blob, self._compile(blob, data)) if found is None else found

    def known(self, blob: BlobId) -> Part | None:
        """The part of a blob, if it was compiled before."""
        with self._lock:
            found = self._kept.get(blob)
            if found is not None:
                self._kept.move_to_end(blob)
                return found
        loaded = self._load(blob)
        return None if loaded is None else self._keep(blob, loaded)

    def _keep(self, blob: BlobId, part: Part) -> Part:
        with self._lock:
            self._kept[blob] = part
            while len(self._kept) > _KEEP:
                self._kept.popitem(last=False)
        return part

    def _compile(self, blob: BlobId, data: bytes) -> Part:
        part = compile_part(data)
        if self._folder:
            self._store(self._path(self._folder, blob), part)
        return part

    @staticmethod
    def _store(path: Path, part: Part) -> None:
        with suppress(OutOfSpace, OSError):  # a cache: a full or read-only disk must not stop a read
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, dump_part(part), sync=False)

    def _load(self, blob: BlobId) -> Part | None:
        if self._folder is None:
            return None
        path = self._path(self._folder, blob)
        try:
            part = load_part(path.read_bytes())
            if time.time() - path.stat().st_mtime > _TOUCH_AFTER:
                path.touch()  # what is in use stays young, so that cleaning leaves it
        except (OSError, Damaged):
            return None
        return part

    @staticmethod
    def _path(folder: Path, blob: BlobId) -> Path:
        return folder / blob[:2] / f"{blob[2:]}.{_FORMAT}"
