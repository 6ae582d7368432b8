"""The restoration of one namespace from a backup: a new repository, with every object read and every ref checked."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitstore.care.backup_files import BackupReader
from gitstore.care.bundle import unpack_bundle
from gitstore.care.digests import IdsDigest, RefsDigest, digest_marked, digest_refs
from gitstore.care.namespace_backup import BUNDLE, PARTS, SERVED
from gitstore.care.reach import Loss, mark_reached
from gitstore.compiled.indexes.served_record import write_served
from gitstore.directory import NamespacePaths
from gitstore.errors import Broken
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.git.lock import PACKED_REFS
from gitstore.git.packs.stored_objects import open_objects
from gitstore.git.push_hook import PushHook, apply_hook
from gitstore.git.refs import list_refs
from gitstore.git.repository_creation import init_repository, restore_config
from gitstore.layout import RELEASE_REF, CommitId

_HEAD = re.compile(rb"(?:ref: refs/heads/[^\s]+|[0-9a-f]{40})\n?")


def restore_namespace(
    reader: BackupReader, facts: Mapping[str, Any], paths: NamespacePaths, hook: PushHook | None = None
) -> list[str]:
    """Build the repository of a namespace from a backup, and return notes on what was left out.

    Every object is read and compared with its id, and what the refs reach has to be what was saved. Hooks are never
    restored, nor are settings that name programs; the repository gets `hook`. Raises Broken for a backup that is damaged.
    """
    folder, repository = facts["folder"], paths.repository
    repository.parent.mkdir(parents=True, exist_ok=True)
    init_repository(repository)
    with reader.file(f"{folder}/{BUNDLE}") as file:
        refs = unpack_bundle(file, repository)
    notes = [_restore_part(reader, f"{folder}/{part}", repository, part) for part in PARTS]
    _write_refs(repository, refs)
    apply_hook(repository, hook)
    compare_namespace(paths, facts)
    os.utime(
        repository / "config", (facts["created_at"], facts["created_at"])
    )  # the time of the creation is taken from it
    paths.compiled.mkdir(parents=True, exist_ok=True)
    paths.write_marker()
    if facts["served"]:
        write_served(paths, CommitId(facts["served"]))
    _sync(repository, paths.compiled)
    return [note for each in notes for note in each]


def compare_namespace(paths: NamespacePaths, facts: Mapping[str, Any]) -> None:
    """Raise Broken unless a restored repository has the refs and objects that were saved, each of them readable."""
    refs = list_refs(paths.repository)
    served = {SERVED: facts["served"]} if facts["served"] else {}
    with open_objects(paths.repository) as objects:
        served = {name: each for name, each in served.items() if objects.find(bytes.fromhex(each))}
        found = digest_marked(objects, mark_reached(objects, {**refs, **served}, _refuse))
    saved = IdsDigest(**facts["objects"])
    if found != saved or digest_refs(refs) != RefsDigest(**facts["refs"]):
        raise Broken(
            f"The restored namespace {paths.name} has {len(refs)} refs and {found.number} objects, which are not the "
            f"{facts['refs']['number']} refs and {saved.number} objects that were saved. Use another backup."
        )


def _refuse(loss: Loss) -> None:
    raise Broken(
        f"Object {loss.step.id.hex()} {loss.reason} in the backup ({loss.step.describe()}). Use another backup."
    )


def _restore_part(reader: BackupReader, name: str, repository: Path, part: str) -> list[str]:
    if not reader.has(name):
        return []
    data = reader.read(name)
    if part == "config":
        left_out = restore_config(repository, data)
        return [
            f"{repository.stem}: the setting {each} was not restored, since it can name a program" for each in left_out
        ]
    if part == "HEAD" and not _HEAD.fullmatch(data):
        return [f"{repository.stem}: HEAD was damaged, and names {RELEASE_REF} now"]
    replace_file(repository / part, data)
    return []


def _write_refs(repository: Path, refs: Mapping[str, str]) -> None:
    lines = (f"{object_id} {ref}\n" for ref, object_id in sorted(refs.items()))
    replace_file(repository / PACKED_REFS, "".join(lines).encode(errors="surrogateescape"))


def _sync(*folders: Path) -> None:
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                with Path(root, name).open("rb") as file:
                    os.fsync(file.fileno())
            sync_directory(Path(root))
