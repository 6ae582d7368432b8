"""Discarding some changes of a draft: their records stand again as they did where the draft began."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from content.diff import Change
from content.record import Page, Placed, Record, identity_id
from content.rule_order import put_back
from content.vocabulary import Kind
from gitstore.changes import differing
from gitstore.compiler import Compiler
from gitstore.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    must_exist,
    must_stand_at,
    read_draft,
    snapshot_of,
    write_project,
)
from gitstore.dump import EMPTY_FILES, LAYOUTS, dump_item
from gitstore.errors import NotAllowed, NotFound
from gitstore.layout import CommitId, TreeId
from gitstore.messages import edit_message
from gitstore.repository import Author
from gitstore.rewrite import rewrite
from gitstore.rule_lists import Place, ReadBlob, RuleLists
from gitstore.snapshot import Snapshot, body_path
from gitstore.update import Update
from gitstore.workspace import Files

_Sides = tuple[Placed[Record] | None, Placed[Record] | None]
"""A record where the draft began and as it is now."""


@dataclass(frozen=True, slots=True)
class RevertOrder:
    """What to discard: the changes of the records with these ids, of `kinds` that the caller may write."""

    name: DraftName
    ids: frozenset[str]
    author: Author
    head: str = ""
    kinds: frozenset[Kind] = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Reverted:
    """What a revert did; `head` is None where nothing was left of the draft, so that it ended."""

    head: CommitId | None
    changes: tuple[Change, ...]


def revert(compiler: Compiler, update: Update, order: RevertOrder) -> Reverted:
    """Discard changes of a draft, all or none; NotFound where the draft does not change one of them."""
    state = read_draft(update, order.name)
    must_stand_at(state, order.head)
    must_exist(state)
    base = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
    working = snapshot_of(compiler, state)
    chosen = _chosen(base, working, order)
    reverting = _Reverting(base, working, update.blob, frozenset(chosen[Kind.PAGES]))
    for kind, sides in chosen.items():
        reverting.restore(kind, sides)
    tree = write_project(update, state, reverting.files)
    changes = tuple(reverting.lists.changes)
    return Reverted(_commit(update, state, tree, order.author, changes), changes)


def _commit(
    update: Update, state: DraftState, tree: TreeId, author: Author, changes: tuple[Change, ...]
) -> CommitId | None:
    if tree == state.base_tree:
        end_draft(update, state)
        return None
    return commit_draft(update, state, tree, author, f"Revert: {edit_message(changes)}")


def _chosen(base: Snapshot | None, working: Snapshot, order: RevertOrder) -> dict[Kind, dict[str, _Sides]]:
    found = {kind: dict(_changed(kind, base, working)) for kind in Kind}
    ids = {kind: {identity_id(key): key for key in sides} for kind, sides in found.items()}
    unknown = order.ids - {id_ for known in ids.values() for id_ in known}
    if unknown:
        raise NotFound(f"The draft changes nothing with the id {min(unknown)[:40]!r}; nothing was reverted.")
    chosen = {kind: {ids[kind][id_]: found[kind][ids[kind][id_]] for id_ in order.ids & {*ids[kind]}} for kind in Kind}
    if any(sides and kind not in order.kinds for kind, sides in chosen.items()):
        raise NotAllowed("Your permissions do not cover every one of these records; nothing was reverted.")
    return chosen


def _changed(kind: Kind, base: Snapshot | None, working: Snapshot) -> Iterator[tuple[str, _Sides]]:
    """Every record that is not as it was, or not in the file where it was."""
    before, after = differing(kind, base, working), differing(kind, working, base)
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old is None or new is None or (old.record, old.file) != (new.record, new.file):
            yield key, (old, new)


class _Reverting:
    def __init__(self, base: Snapshot | None, working: Snapshot, read_blob: ReadBlob, first: Collection[str]) -> None:
        self._base = base
        self._working = working
        self._read_blob = read_blob
        self._before = RuleLists(base or replace(working, rule_files=dict.fromkeys(Kind, ()), bodies={}))
        self.lists = RuleLists(working, base, first)

    def restore(self, kind: Kind, sides: Mapping[str, _Sides]) -> None:
        """Put records of a kind back as they were."""
        for path in {self._path(placed) for pair in sides.values() for placed in pair if placed}:
            self._restore_file(kind, path, sides)

    def _restore_file(self, kind: Kind, path: str, sides: Mapping[str, _Sides]) -> None:
        stood = {key: old.record for key, (old, _) in sides.items() if old and self._path(old) == path}
        here = {key: self._readable(path, record) for key, record in stood.items()}
        present = [each for each in self.lists.read(kind, path) if each.identity not in sides or each.identity in here]
        order = [record.identity for record in self._before.read(kind, path)]
        self.lists.write(kind, path, put_back(present, order, here))

    def _readable(self, path: str, record: Record) -> Record:
        """The record with what its content's file holds now, where that could not be read before: so it stays."""
        if not (isinstance(record, Page) and record.content_file and self._base):
            return record
        body = body_path(path, record.content_file)
        return record if body in self._base.bodies else replace(record, content=self._working.bodies.get(body, ""))

    @property
    def files(self) -> Files:
        """The new bytes of every file that changes; None for one that goes."""
        changed = self.lists.changed
        dumped = self.lists.dump(self._read_blob)
        nearest = {place[1]: self._nearest(place, dumped[place[1]] or b"") for place in changed}
        return {**dumped, **self._emptied_before(), **nearest}

    def _emptied_before(self) -> Files:
        """Files that the draft began, and that other edits had left without a rule already."""
        empty = [(kind, file) for kind in Kind for file in self._working.rule_files[kind] if not len(file.part)]
        new = [file for kind, file in empty if self._before.text((kind, file.path), self._read_blob) is None]
        return {file.path: None for file in new if self._read_blob(file.blob) in EMPTY_FILES}

    def _nearest(self, place: Place, edited: bytes) -> bytes | None:
        """The file as it was with the changes that stay, where that keeps every line of the draft that would stay."""
        now, before = self.lists.text(place, self._read_blob), self._before.text(place, self._read_blob)
        wanted = self.lists.changed[place]
        if before is None:
            return None if not wanted and b"#" not in edited else edited
        restored = rewrite(before, self._working.full_path(place[1]), wanted)
        lost = (_lines(edited) & _lines(now or b"")) - _lines(restored)
        if restored == before:
            # a file that is as it was takes its old bytes back from lines that only the service has written
            lost = _unquoted(lost) - _unquoted(_lines(restored)) - _unquoted(_dumped(wanted))
        return edited if lost else restored

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._working.project}/") if placed else ""


def _lines(data: bytes) -> Counter[bytes]:
    """The lines without indentation and line breaks, but for blank ones."""
    return Counter(filter(None, map(bytes.strip, data.splitlines())))


def _unquoted(lines: Counter[bytes]) -> Counter[bytes]:
    """The lines without the quotes and spaces that make no difference to what they say."""
    return Counter(line.translate(None, b"'\" ") for line in lines.elements())


def _dumped(records: Sequence[Record]) -> Counter[bytes]:
    """The lines that the service writes for these records, in either layout."""
    return _lines("".join(dump_item(record, layout) for record in records for layout in LAYOUTS).encode())
