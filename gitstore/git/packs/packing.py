"""Packing: a repository's loose objects become a pack, and small packs become larger ones, beside readers and writers.

Nothing is removed before it is in a pack that is durable, so neither a crash nor a full disk costs anything. A reader that looked for a file before it was packed reads again. See docs/adr/0030-packing.md.
"""

import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from itertools import accumulate, chain
from pathlib import Path

from gitstore.errors import Busy
from gitstore.file_lock import hold_lock_file
from gitstore.git.lock import hold
from gitstore.git.packs.new_pack import DamagedObject, hash_object, write_pack
from gitstore.git.packs.object_files import ObjectFiles, PackFile, count_packs, open_object_files, sample_loose
from gitstore.git.packs.pack_order import group_versions, list_children
from gitstore.git.refs import list_refs

LOCK_FILE = "waypost-packing.lock"
MOST_LOOSE = 400
"""The number of loose objects above which they are packed."""
FEWEST_LOOSE = 50
"""The number of loose objects that are not worth a pack, whatever their age."""
MOST_SECONDS = 3600.0
"""The age of the oldest loose object above which more than `FEWEST_LOOSE` are packed."""
# Objects that one pack is made of, so that the memory for it is bounded: 100 MB.
_BATCH = 50_000
_MOST_MERGED = 500_000
# A pack is merged with smaller ones that have together a third of its objects: so there are few packs, and an object is
# copied about a dozen times until there are a million.
_FACTOR = 3
_MOST_PACKS = 50
"""The number of packs above which small ones are merged, as C git's `gc.autoPackLimit`."""
_SAMPLE = 8  # one of 8 folders is looked at to count loose objects
_LOCK_SECONDS = 2.0
_REMOVED_AT_ONCE = 200  # 5 ms under the lock

Places = Mapping[bytes, PackFile | None]
"""The pack of each object, or None for one with a file of its own."""


@contextmanager
def hold_packing(repository: Path) -> Iterator[bool]:
    """Hold the lock of those who pack a repository; yield False if another process packs it."""
    with hold_lock_file(repository / LOCK_FILE, wait=0, mode=0o644) as is_held:
        yield is_held


def is_git_packing(repository: Path) -> bool:
    """Tell whether a `git gc` runs in a repository. A pack that is removed meanwhile would end it with an error."""
    try:
        # Its process id and host: https://github.com/git/git/blob/master/builtin/gc.c (`lock_repo_for_gc`)
        process, host = (repository / "gc.pid").read_text("utf-8", errors="replace").split()[:2]
        os.kill(int(process), 0)
    except (OSError, ValueError):
        return False
    return host == socket.gethostname()


def is_packing_due(repository: Path, now: float | None = None) -> bool:
    """Tell whether a repository has loose objects to pack, from a sample of them, or many packs."""
    now = time.time() if now is None else now
    turn = int(now) % _SAMPLE
    times = sample_loose(repository, range(turn, 256, _SAMPLE))
    most, fewest = MOST_LOOSE // _SAMPLE, FEWEST_LOOSE // _SAMPLE
    is_due = len(times) > most or (len(times) > fewest and now - min(times) > MOST_SECONDS)
    return is_due or count_packs(repository) > _MOST_PACKS


def pack_loose(repository: Path) -> None:
    """Pack loose objects, with the small packs that they outgrow. The caller holds the packing.

    An object that no ref reaches stays loose for an hour: a publish under way may need it, and `git repack -ad` drops such
    objects from packs. Damaged objects stay as they are. Raises OutOfSpace if the disk is full, and FileNotFoundError if
    another program packs at the same time; nothing is lost then, and the next call begins again.
    """
    with open_object_files(repository) as files:
        files.remove_leftovers()
        times = dict(files.list_loose())
        reached = _find_reached(files, times.keys(), list_refs(repository, is_lenient=True).values())
        oldest = time.time() - MOST_SECONDS
        aged = {each: at for each, at in times.items() if at < oldest and each not in reached}
        packed = sorted([*reached, *aged], key=times.__getitem__)
        for at in range(0, len(packed), _BATCH):
            batch = packed[at : at + _BATCH]
            try:
                name = _write_batch(files, batch, select_merged(files.list_packs(), len(batch)))
            except DamagedObject:
                batch = [each for each in batch if _is_intact(files, each)]
                name = _write_batch(files, batch, ())
            _remove_packed(files, name, {each: times[each] for each in batch})
        _merge_packs(files)


def _merge_packs(files: ObjectFiles) -> None:
    """Merge small packs, where pushes have left many."""
    packs = [pack for pack in files.list_packs() if not pack.is_cruft]
    merged = _select_small(packs) if len(packs) > _MOST_PACKS else []
    if len(merged) > 1:
        places: Places = {object_id: pack for pack in merged for object_id in files.ids(pack)}
        name = write_objects(files, places)
        files.close_packs()
        files.remove_packs([pack.name for pack in merged if pack.name != name])


def _select_small(packs: Sequence[PackFile]) -> list[PackFile]:
    """Return the packs up to the last one that has less than three times the objects of all smaller ones."""
    sums = list(accumulate(pack.count for pack in packs))
    fitting = (
        at for at in range(1, len(packs)) if packs[at].count < _FACTOR * sums[at - 1] and sums[at] <= _MOST_MERGED
    )
    return [*packs[: max(fitting, default=-1) + 1]]


def _find_reached(files: ObjectFiles, loose: AbstractSet[bytes], roots: Iterable[str]) -> set[bytes]:
    """Return the loose objects that refs reach through loose objects; what a packed object reaches is mostly packed."""
    reached: set[bytes] = set()
    ahead = {bytes.fromhex(root) for root in roots} & loose
    while ahead:
        object_id = ahead.pop()
        reached.add(object_id)
        with suppress(DamagedObject):
            children = {child for child, _ in list_children(*files.read_loose(object_id))}
            ahead |= (children & loose) - reached
    return reached


def _write_batch(files: ObjectFiles, loose: Sequence[bytes], merged: Sequence[PackFile]) -> str:
    """Write a pack of loose objects and of the packs that it replaces; return its name, empty if there are no objects."""
    if not loose:
        return ""
    places: Places = {object_id: pack for pack in merged for object_id in files.ids(pack)}
    name = write_objects(files, {**places, **dict.fromkeys(loose)})
    files.close_packs()
    files.remove_packs([pack.name for pack in merged if pack.name != name])
    return name


def _remove_packed(files: ObjectFiles, name: str, times: Mapping[bytes, float]) -> None:
    """Remove the files of objects that are in a pack, unless a writer has used them since, or git has removed the pack.

    Under the lock, as a writer that uses an object again counts on its file; while one holds it for long, the files stay
    until the next call.
    """
    ids = list(times)
    with suppress(Busy):
        for at in range(0, len(ids), _REMOVED_AT_ONCE):
            with hold(files.path.parent, _LOCK_SECONDS):
                if files.has_pack(name):
                    part = ids[at : at + _REMOVED_AT_ONCE]
                    files.remove_loose([each for each in part if files.loose_time(each) == times[each]])


def _is_intact(files: ObjectFiles, object_id: bytes) -> bool:
    try:
        kind, data = files.read_loose(object_id)
    except DamagedObject:
        return False
    return hash_object(kind, data) == object_id


def write_objects(files: ObjectFiles, places: Places, *, is_cruft: bool = False) -> str:
    """Write a pack of objects from these packs, or (None) from their own files; return its name."""

    def read(object_id: bytes) -> tuple[int, bytes]:
        pack = places[object_id]
        return files.read_packed(pack, object_id) if pack else files.read_loose(object_id)

    groups = group_versions(places, read)
    grouped = set(chain.from_iterable(groups))
    rest = [[object_id] for object_id in places if object_id not in grouped]
    return write_pack(files.packs, [*groups, *rest], read, is_cruft=is_cruft)


def select_merged(packs: Sequence[PackFile], count: int) -> list[PackFile]:
    """Return the packs to merge with `count` other objects, from packs with the fewest objects first."""
    merged: list[PackFile] = []
    for pack in packs:
        if pack.is_cruft:
            continue
        if pack.count >= _FACTOR * count or pack.count + count > _MOST_MERGED:
            break
        merged.append(pack)
        count += pack.count
    return merged
