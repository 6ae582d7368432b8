"""Putting a release together from the compiled parts of its files: copied, not parsed.

Where the release before is at hand, what did not change of its key tables is taken over, for sorting those is most of
the work; the bytes that come out are the same.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from content.vocabulary import Kind
from gitstore.durable import replace_file, sync_directory
from gitstore.key_table import Held, dump_table, joined_entries, patched_table
from gitstore.part_tables import prints_of
from gitstore.sections import Damaged, Run, dump_sections, load_section, run_of
from gitstore.snapshot import RuleFile, Snapshot

_READ_ONLY = 0o444
"""Workers have the file mapped: whoever cuts it short in place kills them all, which nobody shall do by accident."""


class Before(NamedTuple):
    """A state of the same project, and the bytes of its release, which nobody has looked at yet."""

    snapshot: Snapshot
    compiled: memoryview


class LaidOut(NamedTuple):
    """The JSON of a file's records, where in it each begins, and their prints."""

    items: Run
    starts: bytes | memoryview
    prints: bytes | memoryview


def dump_release(snapshot: Snapshot, before: Before | None = None) -> bytes:
    """Compile a snapshot. What it costs follows its bytes (copied, not parsed) and its files."""
    sections: dict[str, Sequence[Run | bytes | memoryview]] = {}
    meta: dict[str, Any] = {"hosts": sorted(snapshot.hosts), "settings": asdict(snapshot.settings)}
    for kind in Kind:
        files = snapshot.rule_files[kind]
        laid_out = [lay_out(snapshot, file) for file in files]
        meta[kind.value] = {
            "total": sum(len(file.part) for file in files),
            "files": [
                [file.path, len(file.part), len(data.items.data)] for file, data in zip(files, laid_out, strict=True)
            ],
        }
        sections[f"{kind}.items"] = [data.items for data in laid_out]
        sections[f"{kind}.offsets"] = [b"".join(data.starts for data in laid_out)]
        sections[f"{kind}.keys"] = [_key_table(kind, snapshot, before)]
        sections[f"{kind}.lines"] = [b"".join(_raw("I", file.part.lines) for file in files)]
        sections[f"{kind}.ids"] = [b"".join(_raw("Q", file.part.ids) for file in files)]
        sections[f"{kind}.prints"] = [b"".join(data.prints for data in laid_out)]
    sections["patterns"] = [orjson.dumps(list(_patterns(snapshot.rule_files[Kind.REDIRECTS])))]
    return dump_sections({"meta": [orjson.dumps(meta)], **sections})


def store_release(path: Path, data: bytes) -> None:
    """Put a compiled release in its place, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data, mode=_READ_ONLY)
    sync_directory(path.parent)


def lay_out(snapshot: Snapshot, file: RuleFile) -> LaidOut:
    """A file's records as they are sent; one that leaves contents to files is written with them."""
    part = file.part
    if not any("file" in extra for extra in part.extras.values()):
        return LaidOut(part.run, _raw("Q", part.offsets)[: 8 * len(part)], _raw("Q", part.prints))
    items = [orjson.dumps(snapshot.whole(file, record).wire()) + b"," for record in part.records]
    starts = array("Q", accumulate(map(len, items), initial=0))
    prints = _raw("Q", prints_of(items, part.extras))
    return LaidOut(run_of(b"".join(items)), starts.tobytes()[: 8 * len(part)], prints)


def _raw(code: str, numbers: Sequence[int]) -> bytes | memoryview:
    """The bytes of an array; what was read from a file is that already."""
    return numbers.cast("B") if isinstance(numbers, memoryview) else array(code, numbers).tobytes()


def _key_table(kind: Kind, snapshot: Snapshot, before: Before | None) -> bytes | memoryview:
    files = snapshot.rule_files[kind]
    return (before and _kept_table(kind, files, before)) or dump_table(joined_entries(map(_held, files)))


def _kept_table(kind: Kind, files: Sequence[RuleFile], before: Before) -> bytes | memoryview | None:
    """The table before, where one file at most has other keys than it had; else None."""
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
    return patched_table(table, sum(len(file.part) for file in files[:at]), _held(old[at]), _held(files[at]))


def _has_keys_of(one: RuleFile, other: RuleFile) -> bool:
    if one.blob == other.blob:
        return True
    return len(one.part) == len(other.part) and list(one.part.keys) == list(other.part.keys)


def _held(file: RuleFile) -> Held:
    return Held(file.part.keys, len(file.part))


def _patterns(files: Sequence[RuleFile]) -> Iterator[tuple[int, str, str]]:
    base = 0
    for file in files:
        for position, type_, source in file.part.patterns:
            yield base + position, type_, source
        base += len(file.part)
