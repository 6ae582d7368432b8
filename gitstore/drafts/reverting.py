"""Reverts of some changes of a draft: their records are restored from the draft's base."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from content.changes.diff import Change, chosen_names, item_kind
from content.changes.rule_order import restore_rules
from content.records.record import Page, Placed, Record, identity_id
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import edit_message
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import find_records_in_differing_files
from gitstore.compiled.segments.snapshot import Snapshot, body_path
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    read_draft,
    require_draft,
    require_head,
    snapshot_of,
    write_project,
)
from gitstore.drafts.editing.rule_lists import Place, ReadBlob, RuleLists
from gitstore.drafts.editing.workspace import Files
from gitstore.errors import NotAllowed, NotFound
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId, TreeId
from gitstore.yamlfiles.dump import EMPTY_FILES
from gitstore.yamlfiles.restored_file import restore_file
from gitstore.yamlfiles.rewrite import RewrittenFile, rewrite_file

FEW = 100  # changes, which are looked up one by one
_ID = re.compile("[0-9a-f]{16}")
_Sides = tuple[Placed[Record] | None, Placed[Record] | None]  # a record in the draft's base and now


@dataclass(frozen=True, slots=True)
class RevertRequest:
    """The changes to revert, by ids of records; `kinds` are those that the caller may write."""

    name: DraftName
    ids: frozenset[str]
    author: Author
    head: str = ""
    kinds: frozenset[Kind] = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The result of a revert; `head` is None where the draft had no other change and ended.

    `rewritten` are files of rules that the revert wrote, as they read back.
    """

    head: CommitId | None
    changes: tuple[Change, ...]
    rewritten: Sequence[RewrittenFile]


def revert(compiler: Compiler, transaction: Transaction, order: RevertRequest) -> RevertResult:
    """Revert changes of a draft, all or none; raises NotFound where the draft does not change one of the records."""
    state = read_draft(transaction, order.name)
    require_head(state, order.head)
    require_draft(state)
    base = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
    working = snapshot_of(compiler, state)
    chosen = _chosen(base, working, order)
    reverter = _DraftReverter(base, working, transaction.blob, frozenset(chosen[Kind.PAGES]))
    for kind, sides in chosen.items():
        reverter.restore(kind, sides)
    tree = write_project(transaction, state, reverter.files)
    changes = tuple(reverter.lists.changes)
    return RevertResult(_commit(transaction, state, tree, order.author, changes), changes, reverter.rewritten)


def _commit(
    transaction: Transaction, state: DraftState, tree: TreeId, author: Author, changes: tuple[Change, ...]
) -> CommitId | None:
    if tree == state.base_tree:
        end_draft(transaction, state)
        return None
    return commit_draft(transaction, state, tree, author, f"Revert: {edit_message(changes)}")


def _chosen(base: Snapshot | None, working: Snapshot, order: RevertRequest) -> dict[Kind, dict[str, _Sides]]:
    few = len(order.ids) <= FEW and _find_few(base, working, {each.rpartition(":")[2] for each in order.ids})
    found = few or {kind: dict(_changed(kind, base, working)) for kind in Kind}
    names = {
        kind: {name: key for key in sides for name in chosen_names(item_kind(kind), identity_id(key))}
        for kind, sides in found.items()
    }
    unknown = order.ids.difference(*names.values())
    if unknown:
        raise NotFound(f"The draft has no change with the id {min(unknown)[:40]!r}; nothing was reverted.")
    keys = {kind: {names[kind][each] for each in order.ids & names[kind].keys()} for kind in Kind}
    chosen = {kind: {key: found[kind][key] for key in keys[kind]} for kind in Kind}
    if any(sides and kind not in order.kinds for kind, sides in chosen.items()):
        raise NotAllowed("Your permissions do not cover all of these records; nothing was reverted.")
    return chosen


def _find_few(base: Snapshot | None, working: Snapshot, ids: Collection[str]) -> dict[Kind, dict[str, _Sides]] | None:
    """Find the changes with these ids by looking up each; None where a record is there twice, which a push may bring."""
    found: dict[Kind, dict[str, _Sides]] = {kind: {} for kind in Kind}
    known_ids = [each for each in ids if _ID.fullmatch(each)]
    numbers = [int(each, 16) for each in known_ids]
    if any(side.has_repeated(kind, numbers) for side in (base, working) if side for kind in Kind):
        return None
    for kind, record_id in product(Kind, known_ids):
        old, new = base.find(kind, record_id) if base else None, working.find(kind, record_id)
        known = new or old
        if known and not (old and new and (old.record, old.file) == (new.record, new.file)):
            found[kind][known.record.identity] = old, new
    return found


def _changed(kind: Kind, base: Snapshot | None, working: Snapshot) -> Iterator[tuple[str, _Sides]]:
    """Yield every record that differs from the base, or is in another file."""
    before, after = (
        find_records_in_differing_files(kind, base, working),
        find_records_in_differing_files(kind, working, base),
    )
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old is None or new is None or (old.record, old.file) != (new.record, new.file):
            yield key, (old, new)


class _DraftReverter:
    def __init__(self, base: Snapshot | None, working: Snapshot, read_blob: ReadBlob, first: Collection[str]) -> None:
        self._base = base
        self._working = working
        self._read_blob = read_blob
        self._before = RuleLists(base or replace(working, rule_files=dict.fromkeys(Kind, ()), bodies={}))
        self.lists = RuleLists(working, base, first)

    def restore(self, kind: Kind, sides: Mapping[str, _Sides]) -> None:
        """Restore records of a kind."""
        for path in {self._path(placed) for pair in sides.values() for placed in pair if placed}:
            self._restore_file(kind, path, sides)

    def _restore_file(self, kind: Kind, path: str, sides: Mapping[str, _Sides]) -> None:
        stood = {key: old.record for key, (old, _) in sides.items() if old and self._path(old) == path}
        here = {key: self._with_current_body(path, record) for key, record in stood.items()}
        present = [each for each in self.lists.read(kind, path) if each.identity not in sides or each.identity in here]
        order = [record.identity for record in self._before.read(kind, path)]
        self.lists.write(kind, path, restore_rules(present, order, here))

    def _with_current_body(self, path: str, record: Record) -> Record:
        """Return the record with the current text of its content file, where the base's was unreadable: it stays."""
        if not (isinstance(record, Page) and record.content_file and self._base):
            return record
        body = body_path(path, record.content_file)
        return record if body in self._base.bodies else replace(record, content=self._working.bodies.get(body, ""))

    @property
    def rewritten(self) -> Sequence[RewrittenFile]:
        """The files of rules that were rewritten."""
        return list(self.lists.rewritten.values())

    @property
    def files(self) -> Files:
        """The new bytes of every changed file; None for a removed file."""
        changed = self.lists.changed
        dumped = self.lists.dump(self._read_blob)
        nearest = {place[1]: self._choose_bytes(place, dumped[place[1]] or b"") for place in changed}
        return {**dumped, **self._find_emptied(), **nearest}

    def _find_emptied(self) -> Files:
        """Return the files, as removed, that the draft added and that have no rule any more."""
        empty = [(kind, file) for kind in Kind for file in self._working.rule_files[kind] if not len(file.segment)]
        new = [file for kind, file in empty if not self._before.has((kind, file.path))]
        return {file.path: None for file in new if self._read_blob(file.blob) in EMPTY_FILES}

    def _choose_bytes(self, place: Place, edited: bytes) -> bytes | None:
        """Return the base's file with the remaining changes if that keeps every remaining line of the draft, else `edited`."""
        path, wanted = self._working.full_path(place[1]), self.lists.changed[place]
        before, now = self._before.file(place, self._read_blob), self.lists.file(place, self._read_blob)
        if before is None:
            return None if not wanted and b"#" not in edited else edited
        known = self.lists.rewritten.get(place[1])
        if now and known:
            restored = restore_file(before, now, known, path)
        else:
            restored = rewrite_file(before.data, path, wanted, known=before.rules)
        self.lists.rewritten[place[1]] = restored._replace(before=known.before if known else None)
        return restored.data

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._working.project}/") if placed else ""
