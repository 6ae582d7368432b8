"""Compiled parts by blob: in memory for the files at hand, on disk for every process of the machine.

What was published is kept a second time, packed, for as long as the history can go back to it: a fifth of the size, and
read in a fifteenth of the time that the YAML takes.
"""

import time
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from os.path import exists
from pathlib import Path
from threading import Lock

from gitstore.durable import replace_file
from gitstore.errors import OutOfSpace
from gitstore.layout import BlobId
from gitstore.part import Part, compile_part, dump_part, load_part
from gitstore.sections import Damaged

_FORMAT = "4"
"""Part of every name: raise it when what a part holds, or how a rule is judged, changes."""
PART_SUFFIX = f".{_FORMAT}"
_KEEP = 1000
_TOUCH_AFTER = 86_400
_QUICKEST = 1


class PartStore:
    """Parts of one namespace; a cache, so a missing or damaged file only costs reading the YAML again.

    `folder` holds those that were looked at lately, `kept` those that were published; None: nothing is written.
    """

    def __init__(self, folder: Path | None, kept: Path | None = None) -> None:
        self._folder = folder
        self._packed = kept
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
        if loaded is None:  # not `or`: a part without rules is false
            loaded = self._unpack(blob)
        return None if loaded is None else self._keep(blob, loaded)

    def keep(self, parts: Iterable[tuple[BlobId, Part]]) -> None:
        """Pack parts that are published now, those that are not packed yet; half a millisecond for 500 rules."""
        if self._packed is None:
            return
        for blob, part in parts:
            if not self.is_kept(blob):
                _store(_path(self._packed, blob), zlib.compress(dump_part(part), _QUICKEST))

    def is_kept(self, blob: BlobId) -> bool:
        """Tell whether a part is packed."""
        path = f"{self._packed}/{blob[:2]}/{blob[2:]}{PART_SUFFIX}"
        return exists(path)  # noqa: PTH110 - asked for each file of a project; pathlib takes ten times as long

    def _keep(self, blob: BlobId, part: Part) -> Part:
        with self._lock:
            self._kept[blob] = part
            while len(self._kept) > _KEEP:
                self._kept.popitem(last=False)
        return part

    def _compile(self, blob: BlobId, data: bytes) -> Part:
        part = compile_part(data)
        if self._folder:
            _store(_path(self._folder, blob), dump_part(part))
        return part

    def _load(self, blob: BlobId) -> Part | None:
        if self._folder is None:
            return None
        path = _path(self._folder, blob)
        try:
            part = load_part(path.read_bytes())
            if time.time() - path.stat().st_mtime > _TOUCH_AFTER:
                path.touch()  # what is in use stays young, so that cleaning leaves it
        except (OSError, Damaged):
            return None
        return part

    def _unpack(self, blob: BlobId) -> Part | None:
        """A part that was kept; one that is damaged goes, so that the next publish of it packs it anew."""
        if self._packed is None:
            return None
        path = _path(self._packed, blob)
        try:
            return load_part(zlib.decompress(path.read_bytes()))
        except OSError:
            return None
        except (zlib.error, Damaged):
            with suppress(OSError):
                path.unlink()
            return None


def _path(folder: Path, blob: BlobId) -> Path:
    return folder / blob[:2] / f"{blob[2:]}{PART_SUFFIX}"


def _store(path: Path, data: bytes) -> None:
    with suppress(OutOfSpace, OSError):  # a cache: a full or read-only disk must not stop a read
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, sync=False)
