"""The assembly of a release from the compiled segments of its files: copied, not parsed.

From the previous release, if it is available, the unchanged part of the key tables is reused, since sorting these is
most of the work; the resulting bytes are the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from content.records.vocabulary import Kind
from gitstore.compiled.releases.canonical_dump import build_canonical_part
from gitstore.compiled.segments.encoded_file import encode_file
from gitstore.compiled.segments.key_table import KeyEntries, dump_table, join_entries, patch_table
from gitstore.compiled.segments.sections import Chunk, Damaged, list_parts, load_section, raw_numbers
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.directory import make_folder
from gitstore.git.atomic_io import open_replacement

# Workers map the file. A truncation in place would kill them all with SIGBUS, so this prevents one by accident:
# https://man7.org/linux/man-pages/man2/mmap.2.html
_READ_ONLY = 0o444


class PreviousRelease(NamedTuple):
    """A state of the same project, and the unchecked bytes of its release."""

    snapshot: Snapshot
    compiled: memoryview


Parts = Sequence[bytes | memoryview]


def list_release_parts(snapshot: Snapshot, before: PreviousRelease | None = None) -> Parts:
    """Compile a snapshot, as parts of its file. The cost depends on its bytes (not copied, not parsed) and its files."""
    sections: dict[str, Sequence[Chunk | bytes | memoryview]] = {}
    meta: dict[str, Any] = {"hosts": sorted(snapshot.hosts), "settings": asdict(snapshot.settings)}
    for kind in Kind:
        files = snapshot.rule_files[kind]
        encoded_files = [encode_file(snapshot, file) for file in files]
        keys = _key_table(kind, snapshot, before)
        canonical = build_canonical_part(kind, encoded_files, memoryview(keys).cast("Q"))
        meta[kind.value] = {
            "total": sum(len(file.segment) for file in files),
            "files": [
                [file.path, len(file.segment), len(data.items.data)]
                for file, data in zip(files, encoded_files, strict=True)
            ],
            "canonical": canonical.files,
            "runs": [data.sha256 for data in encoded_files],
        }
        sections[f"{kind}.items"] = [data.items for data in encoded_files]
        starts = (raw_numbers("Q", data.offsets)[: 8 * len(data.segment)] for data in encoded_files)
        sections[f"{kind}.offsets"] = [b"".join(starts)]
        sections[f"{kind}.keys"] = [keys]
        sections[f"{kind}.lines"] = [b"".join(raw_numbers("I", file.segment.lines) for file in files)]
        sections[f"{kind}.ids"] = [b"".join(raw_numbers("Q", file.segment.ids) for file in files)]
        sections[f"{kind}.prints"] = [b"".join(raw_numbers("Q", data.fingerprints) for data in encoded_files)]
        sections |= canonical.sections
    sections["patterns"] = [orjson.dumps(list(_patterns(snapshot.rule_files[Kind.REDIRECTS])))]
    return list_parts({"meta": [orjson.dumps(meta)], **sections})


def store_release(path: Path, parts: Parts) -> None:
    """Write a compiled release to its path; not synced, since a release that a power cut damaged is compiled again from Git."""
    make_folder(path.parent, levels=2)
    with open_replacement(path, mode=_READ_ONLY) as file:
        file.writelines(parts)


def _key_table(kind: Kind, snapshot: Snapshot, before: PreviousRelease | None) -> bytes | memoryview:
    files = snapshot.rule_files[kind]
    return (before and _reuse_table(kind, files, before)) or dump_table(join_entries(map(_key_entries, files)))


def _reuse_table(kind: Kind, files: Sequence[CompiledFile], before: PreviousRelease) -> bytes | memoryview | None:
    """Return the previous table, adapted, if at most one file has other keys than before; else None."""
    old = before.snapshot.rule_files[kind]
    if [file.path for file in old] != [file.path for file in files]:
        return None
    changed = [at for at, (one, other) in enumerate(zip(old, files, strict=True)) if not _has_keys_of(one, other)]
    if len(changed) > 1:
        return None
    try:
        table = load_section(before.compiled, f"{kind}.keys")
    except Damaged:
        return None
    if not changed:
        return table
    at = changed[0]
    return patch_table(
        table, sum(len(file.segment) for file in files[:at]), _key_entries(old[at]), _key_entries(files[at])
    )


def _has_keys_of(one: CompiledFile, other: CompiledFile) -> bool:
    if one.blob == other.blob:
        return True
    return len(one.segment) == len(other.segment) and list(one.segment.keys) == list(other.segment.keys)


def _key_entries(file: CompiledFile) -> KeyEntries:
    return KeyEntries(file.segment.keys, len(file.segment))


def _patterns(files: Sequence[CompiledFile]) -> Iterator[tuple[int, str, str]]:
    base = 0
    for file in files:
        for position, type_, source in file.segment.patterns:
            yield base + position, type_, source
        base += len(file.segment)
