"""One bare repository in memory, in which the store writes, merges and reads trees of a project."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from content.records.problem import errors
from content.records.record import Page, Record
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.drafts.drafts import DraftState
from gitstore.errors import Conflicts
from gitstore.git.transaction import Transaction, update
from gitstore.layout import CommitId, TreeId
from gitstore.merge.draft_merge import merged_tree
from tests.gitstore.fixtures import MAIN, SHOP, create_place
from tests.gitstore.merge_sides import IDENTITY, Flat, body_of

_NOWHERE = CommitId("0" * 40)


@dataclass
class MergeRepository:
    """One bare repository for all merges."""

    compiler: Compiler
    update: Transaction

    def tree(self, files: Mapping[str, bytes]) -> TreeId:
        """Write a project's folder of these files."""
        written = self.update.write_files(None, {path: self.update.write_blob(data) for path, data in files.items()})
        assert written
        return written

    def merge(self, base: TreeId, ours: TreeId, theirs: TreeId) -> TreeId | set[tuple[str, str, str]]:
        """Return the merged folder, or its conflicts as (kind, identity or path, field)."""
        state = DraftState(MAIN, None, None, _NOWHERE, _NOWHERE, theirs, base, ours)
        try:
            return merged_tree(self.compiler, self.update, state)
        except Conflicts as ex:
            reported = [_conflict(each) for each in ex.conflicts]
            assert len(reported) == len(set(reported)), "a conflict is reported twice"
            return set(reported)

    def read(self, tree: TreeId) -> tuple[Flat, dict[str, list[str]]]:
        """Return the rules of a folder in the oracle's form, and the order of each file; fail on any problem."""
        snapshot = self.compiler.snapshot(SHOP, tree)
        assert errors(list(snapshot.problems)) == []
        rules: Flat = {}
        order: dict[str, list[str]] = {}
        for kind in Kind:
            for placed in snapshot.placed(kind):
                key = (kind.value, placed.record.identity)
                assert key not in rules, f"{key} is listed twice"
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
    """Return a rule in the oracle's form."""
    body = {"body": body_of(path, record.content_file)} if isinstance(record, Page) and record.content_file else {}
    return {**record.fields(), **body, "place": path}


@contextmanager
def merge_repository() -> Iterator[MergeRepository]:
    """Yield a repository in memory, where the system has such a folder: its data need not survive a power cut."""
    memory = Path("/dev/shm")  # noqa: S108 - the test creates a private folder in it
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        paths = create_place(Path(folder) / "data").begin(SHOP).paths
        with update(paths.repository) as opened:
            yield MergeRepository(Compiler(paths, opened, SegmentStore(None)), opened)
