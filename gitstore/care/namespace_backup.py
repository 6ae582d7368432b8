"""The backup of one namespace: a Git bundle of its refs and objects, and what the repository has beside them."""

from collections.abc import Mapping
from typing import NamedTuple

from gitstore.care.backup_files import BackupWriter
from gitstore.care.bundle import write_bundle
from gitstore.care.digests import IdsDigest, RefsDigest, digest_marked, digest_refs
from gitstore.care.reach import Loss, mark_reached
from gitstore.compiled.indexes.served_record import read_served
from gitstore.directory import NamespacePaths
from gitstore.file_lock import hold_lock_file
from gitstore.git.lock import hold
from gitstore.git.new_pack import DamagedObject
from gitstore.git.object_log import restore_missed
from gitstore.git.packing import LOCK_FILE
from gitstore.git.ref_moves import finish_moves, has_unfinished_moves
from gitstore.git.refs import list_refs
from gitstore.git.stored_objects import open_objects
from gitstore.history.refusals import REFUSALS_FILE

BUNDLE = "bundle"
PARTS = ("config", "description", "HEAD", REFUSALS_FILE)
SERVED = "the record of the served commit"
_ATTEMPTS = 3
_PACKING_SECONDS = 30.0
_WRITER_SECONDS = 900.0  # a large push is checked under the lock, for as long as `job_timeout` allows


class SavedNamespace(NamedTuple):
    """The parts of one namespace in a backup, to compare a restored one with."""

    folder: str
    name: str
    refs: RefsDigest
    objects: IdsDigest
    served: str
    created_at: int

    def facts(self) -> Mapping[str, object]:
        """Return the fields for the list of contents."""
        return {**self._asdict(), "refs": self.refs._asdict(), "objects": self.objects._asdict()}


def save_namespace(paths: NamespacePaths, folder: str, writer: BackupWriter) -> SavedNamespace:
    """Write the bundle and the settings of a namespace below a folder of a backup.

    The refs are those of one moment, after the call began, and all of their objects are there. Objects are not packed by
    the service meanwhile; where another program packs, it begins again. Raises Broken for a damaged repository.
    """
    restore_missed(paths.repository)
    with hold_lock_file(paths.repository / LOCK_FILE, _PACKING_SECONDS, mode=0o644):
        for left in reversed(range(_ATTEMPTS)):
            try:
                return _save(paths, folder, writer)
            except (DamagedObject, FileNotFoundError):  # packs were merged by another program
                writer.forget(folder)
                if not left:
                    raise
    raise AssertionError  # the last attempt returned or raised


def _save(paths: NamespacePaths, folder: str, writer: BackupWriter) -> SavedNamespace:
    # The record is never ahead of release, if it is read first.
    served = read_served(paths) or ""
    with hold(paths.repository, _WRITER_SECONDS) as lock:  # no writer is between the refs of one push
        if has_unfinished_moves(paths.repository):
            finish_moves(paths.repository, lock)
        refs: Mapping[str, str] = list_refs(paths.repository)
    with open_objects(paths.repository) as objects:
        # After a release was moved back, the served commit may be gone.
        has_served = served and objects.find(bytes.fromhex(served))
        roots = {**refs, **({SERVED: served} if has_served else {})}
        marks = mark_reached(objects, roots, _refuse)
        with writer.file(f"{folder}/{BUNDLE}") as file:
            write_bundle(file, refs, objects, marks)
        digest = digest_marked(objects, marks)
    for part in PARTS:
        if (paths.repository / part).exists():
            writer.copy(f"{folder}/{part}", paths.repository / part)
    created = int((paths.repository / "config").stat().st_mtime)
    return SavedNamespace(folder, paths.name, digest_refs(refs), digest, served, created)


def _refuse(loss: Loss) -> None:
    raise DamagedObject(f"object {loss.step.id.hex()} {loss.reason} ({loss.step.describe()}); it")
