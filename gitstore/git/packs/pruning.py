"""Pruning: objects that no ref reaches get a pack of their own, and that pack is removed a day later.

So an object is kept for at least a day after it was found unreachable, whatever its age. The repository's lock is held
only while such a pack loses its index, and only if no ref has moved since the objects were found unreachable.
"""

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.errors import Busy
from gitstore.git.alternates import is_lender
from gitstore.git.lock import hold
from gitstore.git.packs.object_files import ObjectFiles, PackFile, open_object_files
from gitstore.git.packs.pack_order import list_children
from gitstore.git.packs.packing import LOCK_FILE, write_objects
from gitstore.git.refs import list_refs, remove_idle_folders
from gitstore.git.repository import Repository, open_repository

DAY = 86_400.0
_HEAD = re.compile(r"HEAD|[A-Z_]+_HEAD")
_ID = re.compile(r"[0-9a-f]{40}")
_NO_OBJECT = "0" * 40
# Other parts of a repository that refer to objects, which Waypost does not make: nothing is pruned beside them.
_UNKNOWN = ("worktrees", "shallow", "reftable", "index", "info/grafts")
_FEWEST = 0.01  # the part of a large pack that has to be unreachable before the pack is written again
_SMALL_PACK = 10_000
_ATTEMPTS = 5
_LOCK_SECONDS = 5.0


class RefState(NamedTuple):
    """The commits and tags that refs name, what HEAD and the like may name, and a signature of all their files."""

    roots: frozenset[str]
    heads: frozenset[str]
    signature: tuple[tuple[str, int, int, int], ...]


def is_prune_due(repository: Path, now: float | None = None) -> bool:
    """Tell whether the last prune was a day ago, and there is anything to prune; the first comes after a day."""
    now = time.time() if now is None else now
    with suppress(FileNotFoundError):
        is_old = now - (repository / LOCK_FILE).stat().st_mtime > DAY
        return is_old and any(file.suffix == ".pack" for file in (repository / "objects" / "pack").iterdir())
    return False


def prune(repository: Path, kept: Iterable[str] = ()) -> None:
    """Pack unreachable objects apart, and remove those packed apart a day ago. The caller holds the packing.

    `kept` are further commits that are in use, if they exist. Raises Broken if a ref or a reachable object cannot be read; nothing is
    removed then.
    """
    remove_idle_folders(repository, DAY)
    with open_object_files(repository) as files, open_repository(repository) as opened:
        if not any((repository / name).exists() for name in _UNKNOWN) and not is_lender(repository):
            packs = files.list_packs()  # before the refs: what arrives later is not looked at
            reachable = _Reachable(opened)
            state = read_refs(repository)
            reachable.add(state.roots, [*kept, *state.heads, *_reflog_ids(repository)])
            _separate(files, [pack for pack in packs if not pack.is_cruft], reachable.ids)
            _remove_expired(files, [pack for pack in packs if pack.is_cruft and _age(pack) > DAY], reachable)
        os.utime(repository / LOCK_FILE)


class _Reachable:
    """The ids of all objects that were reached."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.ids: set[bytes] = set()

    def add(self, roots: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Add the objects that roots reach; `optional` roots may be missing."""
        found = [each for each in optional if self._repository.has(each)]
        ahead = [bytes.fromhex(each) for each in {*roots, *found}]
        while ahead:
            object_id = ahead.pop()
            if object_id not in self.ids:
                self.ids.add(object_id)
                for child, has_children in list_children(*self._repository.raw(object_id.hex())):
                    if has_children:
                        ahead.append(child)
                    else:
                        self.ids.add(child)


def _separate(files: ObjectFiles, packs: Collection[PackFile], reachable: AbstractSet[bytes]) -> None:
    """Write packs with unreachable objects again, as one of the reachable ones and one of the others."""
    inside: dict[bytes, PackFile | None] = {}
    outside: dict[bytes, PackFile | None] = {}
    replaced = []
    for pack in packs:
        ids = set(files.ids(pack))
        unreachable = ids - reachable
        if len(unreachable) > (_FEWEST * pack.count if pack.count > _SMALL_PACK else 0):
            replaced.append(pack.name)
            inside |= dict.fromkeys(ids - unreachable, pack)
            outside |= dict.fromkeys(unreachable, pack)
    written = {write_objects(files, inside)} if inside else set()
    written |= {write_objects(files, outside, is_cruft=True)} if outside else set()
    files.close_packs()
    files.remove_packs(set(replaced) - written)


def _remove_expired(files: ObjectFiles, expired: Collection[PackFile], reachable: _Reachable) -> None:
    """Remove packs of unreachable objects; those that a ref reaches by now are packed again first."""
    repository = files.path.parent
    ids = {object_id: pack for pack in expired for object_id in files.ids(pack)}
    rescued: set[bytes] = set()
    for _ in range(_ATTEMPTS if expired else 0):
        state = read_refs(repository)
        reachable.add(state.roots, state.heads)
        needed: dict[bytes, PackFile | None] = {each: pack for each, pack in ids.items() if each in reachable.ids}
        if needed.keys() - rescued:
            name = write_objects(files, needed)
            expired = [pack for pack in expired if pack.name != name]  # of the same objects: it is in use again
            rescued |= needed.keys()
        files.close_packs()
        files.note_removal([pack.name for pack in expired])
        if _hide_if_unmoved(files, expired, state):
            files.remove_packs([pack.name for pack in expired])
            for name in ("commit-graph", "commit-graphs"):  # a cache of C git that may name removed commits
                _remove_cache(files.path / "info" / name)
            return
    files.note_removal(())


def _hide_if_unmoved(files: ObjectFiles, packs: Collection[PackFile], state: RefState) -> bool:
    """Hide packs under the lock, if no ref has moved since and no pack was used; no writer is under way then."""
    repository = files.path.parent
    try:
        with hold(repository, _LOCK_SECONDS):
            now = {pack.name: pack.changed_at for pack in files.list_packs()}
            if _signature(repository) != state.signature or any(
                now.get(each.name) != each.changed_at for each in packs
            ):
                return False
            for pack in packs:
                files.hide_pack(pack.name)
            return True
    except Busy:
        return False


def _remove_cache(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_dir():
            for file in path.iterdir():
                file.unlink()
            path.rmdir()
        else:
            path.unlink()


def _age(pack: PackFile) -> float:
    return time.time() - pack.changed_at


def read_refs(repository: Path) -> RefState:
    """Read all refs of a repository. Raises Broken for a damaged repository."""
    signature = _signature(repository)
    found = set(list_refs(repository).values())
    # A stale FETCH_HEAD may name what is gone, and the name of a branch may look like an id.
    heads = {each for file in _heads(repository) for each in _ID.findall(file.read_text("ascii", errors="replace"))}
    return RefState(frozenset(found - {_NO_OBJECT}), frozenset(heads - {_NO_OBJECT}), signature)


def _heads(repository: Path) -> list[Path]:
    return [file for file in repository.iterdir() if _HEAD.fullmatch(file.name) and file.is_file()]


def _signature(repository: Path) -> tuple[tuple[str, int, int, int], ...]:
    files = [repository / "packed-refs", *_heads(repository)]
    files += [Path(folder, name) for folder, _, names in os.walk(repository / "refs") for name in names]
    return tuple(sorted(filter(None, map(_stat, map(str, files)))))


def _stat(path: str) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a thousand drafts, under the lock
    except FileNotFoundError:
        return None
    return path, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _reflog_ids(repository: Path) -> Iterator[str]:
    """Yield the commits in reflogs, which C git keeps where a person has asked for them."""
    for folder, _, names in os.walk(repository / "logs"):
        for name in names:
            lines = Path(folder, name).read_text("utf-8", errors="replace").splitlines()
            ids = {each for line in lines for each in line.split(" ")[:2]}
            yield from (each for each in ids if _ID.fullmatch(each) and each != _NO_OBJECT)
