"""One bare repository in memory, in which trees of a project are written, merged and read by the store itself."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from content.problem import errors
from content.record import Page, Record
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.drafts import DraftState
from gitstore.errors import Conflicts
from gitstore.layout import CommitId, TreeId
from gitstore.part_store import PartStore
from gitstore.publishing import merged_tree
from gitstore.update import Update, update
from tests.gitstore.merge_sides import IDENTITY, Flat, body_of
from tests.gitstore.places import MAIN, SHOP, found

_NOWHERE = CommitId("0" * 40)


@dataclass
class Bench:
    """One bare repository in which everything is merged."""

    compiler: Compiler
    update: Update

    def tree(self, files: Mapping[str, bytes]) -> TreeId:
        """A project's folder of these files."""
        written = self.update.write_files(None, {path: self.update.write_blob(data) for path, data in files.items()})
        assert written
        return written

    def merge(self, base: TreeId, ours: TreeId, theirs: TreeId) -> TreeId | set[tuple[str, str, str]]:
        """The merged folder, or what is in its way as (kind, identity or path, field)."""
        state = DraftState(MAIN, None, None, _NOWHERE, _NOWHERE, theirs, base, ours)
        try:
            return merged_tree(self.compiler, self.update, state)
        except Conflicts as ex:
            told = [_conflict(each) for each in ex.conflicts]
            assert len(told) == len(set(told)), "a conflict is told twice"
            return set(told)

    def read(self, tree: TreeId) -> tuple[Flat, dict[str, list[str]]]:
        """The rules of a folder as the oracle has them, and the order of each file; nothing may be wrong with it."""
        snapshot = self.compiler.snapshot(SHOP, tree)
        assert errors(list(snapshot.problems)) == []
        rules: Flat = {}
        order: dict[str, list[str]] = {}
        for kind in Kind:
            for placed in snapshot.placed(kind):
                key = (kind.value, placed.record.identity)
                assert key not in rules, f"{key} stands there twice"
                path = placed.file.removeprefix(f"{SHOP}/")
                rules[key] = flat(placed.record, path)
                order.setdefault(path, []).append(placed.record.identity)
        return rules, order


def _conflict(wire: dict[str, Any]) -> tuple[str, str, str]:
    if wire["kind"] == "file":
        return "file", wire["file"].removeprefix(f"{SHOP}/"), wire["field"]
    kind = f"{wire['kind']}s"
    return kind, wire[IDENTITY[kind]], wire["field"]


def flat(record: Record, path: str) -> dict[str, Any]:
    """A rule as the oracle has it."""
    body = {"body": body_of(path, record.content_file)} if isinstance(record, Page) and record.content_file else {}
    return {**record.fields(), **body, "place": path}


@contextmanager
def bench() -> Iterator[Bench]:
    """A repository in memory where there is such a folder: what is merged here need not survive a power cut."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        paths = found(Path(folder) / "data").begin(SHOP).paths
        with update(paths.repository) as opened:
            yield Bench(Compiler(paths, opened, PartStore(None)), opened)
