"""The pack of a fetch: its objects are found, and written to a file; that of a whole clone is kept."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gitstore.git.atomic_io import translate_os_error
from gitstore.git.repository import open_repository
from gitstore.wire.fetch.shallow import Cut
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.packs.id_lists import Contents, IdList
from gitstore.wire.packs.kept_packs import MOST_BYTES, KeptPack, KeptPacks, key_of, mapped, may_grow
from gitstore.wire.packs.object_source import ObjectSource
from gitstore.wire.packs.release_list import read_release_list
from gitstore.wire.packs.selection import ObjectFilter, Selection
from gitstore.wire.packs.sent_pack import DamagedPack, PackBody, PackFormat, SentPack
from gitstore.wire.packs.whole_history import list_packed_history

_MANY = 1_000  # commits from which the indexes of packs are read whole


class PackOrder(NamedTuple):
    """The ingredients of a pack: the wanted objects, the client's commits, where its history is cut off, and the format.

    `tags` are annotated tags that go with the commit that they name, if that is in the pack.
    """

    wants: tuple[bytes, ...]
    common: tuple[bytes, ...] = ()
    cut: Cut = Cut()
    filter: ObjectFilter = ObjectFilter()
    format: PackFormat = PackFormat()
    tags: tuple[bytes, ...] = ()

    @property
    def form(self) -> str:
        """A text that is the same for orders that differ in the wanted objects only; empty for a pack that is not kept."""
        if self.common or self.cut.known:
            return ""
        cut = sha256(b"".join(sorted(self.cut.added))).hexdigest() if self.cut.added else "whole"
        return f"{cut} {self.filter.blob_bytes} {self.filter.depth} {self.format.has_offsets}"

    @property
    def can_grow(self) -> bool:
        """True if the pack for an earlier state of the refs can begin this one."""
        return bool(self.form) and not self.cut.added and self.filter.depth is None


class MadePack(NamedTuple):
    """A pack in a file, which is to be removed once it is open unless it is kept."""

    path: Path
    is_kept: bool


def make_pack(repository: Path, folder: Path, order: PackOrder) -> MadePack:
    """Make the pack of a fetch, or find it among those that are kept in a folder. Raises Broken, or OutOfSpace."""
    kept = KeptPacks(folder)
    try:
        kept.create_folder()
        with open_repository(repository) as opened, closing(ObjectSource(opened)) as source:
            return _PackMaker(source, kept, order).make()
    except OSError as ex:
        raise translate_os_error(ex) from ex


@dataclass
class _PackMaker:
    source: ObjectSource
    kept: KeptPacks
    order: PackOrder

    def __post_init__(self) -> None:
        self.graph = CommitGraph(self.source)
        self.named = {want: self.graph.follow(want) for want in self.order.wants}
        removed = self.order.cut.removed
        self.starts = [
            *(each.target for each in self.named.values() if each.is_commit),
            *(parent for commit in removed for parent in self.graph.parents(commit)),
        ]

    def make(self) -> MadePack:
        if not self.order.form:
            return MadePack(self._write(self._select(), None)[0], is_kept=False)
        contents = Contents(self.order.form, frozenset([*self.order.wants, *self._tags_of_whole()]))
        found = self.kept.find(key_of(contents))
        if found is None:
            with self.kept.making():
                found = self.kept.find(key_of(contents))  # made meanwhile
                if found is None:
                    return self._make_kept(contents)
        return MadePack(found, is_kept=True)

    def _make_kept(self, contents: Contents) -> MadePack:
        for kept in self.kept.list_similar(contents.form) if self.order.can_grow else ():
            try:
                if (grown := self._grow(kept, contents)) is not None:
                    return grown
            except DamagedPack:
                self.kept.drop(kept.path)
        selection = self._select_released(contents) or self._select(contents.roots - self.named.keys())
        path, size = self._write(selection, None)
        return self._keep(path, size, contents, selection.ids)

    def _keep(self, path: Path, size: int, contents: Contents, ids: Iterable[bytes]) -> MadePack:
        if size > MOST_BYTES:
            return MadePack(path, is_kept=False)
        return MadePack(self.kept.keep(path, contents, ids), is_kept=True)

    def _grow(self, kept: KeptPack, contents: Contents) -> MadePack | None:
        """Make a pack from one of an earlier state and what is new; None if that has objects that are not wanted now."""
        selection = self._select_beyond(IdList(kept.contents, kept.ids), contents)
        if selection is None or not may_grow(kept, len(selection.ids)):
            return None
        path, size = self._write(selection, kept)
        added = kept.contents.added + len(selection.ids)
        return self._keep(path, size, contents._replace(added=added), [*kept.ids, *selection.ids])

    def _select_released(self, contents: Contents) -> Selection | None:
        """Find the objects of a whole pack by the list of what the release branch reaches, or of what packed commits reach.

        None for a pack that is not whole.
        """
        if not self.order.can_grow or self.order.filter != ObjectFilter():
            return None
        return self._select_with(read_release_list(self.source.repository.path), contents) or self._select_with(
            list_packed_history(self.source, self.graph, self.starts), contents
        )

    def _select_with(self, listed: IdList | None, contents: Contents) -> Selection | None:
        selection = self._select_beyond(listed, contents) if listed else None
        if selection and listed:
            selection.ids |= dict.fromkeys(listed.ids)
        return selection

    def _select_beyond(self, old: IdList, contents: Contents) -> Selection | None:
        """Find the objects that are not in a list; None if the list has some that are not wanted now."""
        gone = old.contents.roots - contents.roots
        if any(not self.graph.is_commit(root) for root in gone) or self.graph.find_reached(self.starts, gone) != gone:
            return None
        commits = [root for root in old.contents.roots if self.graph.is_commit(root)]
        selection = Selection(self.source, self.order.filter, old.ids.__contains__)
        self._add(selection, self.graph.lacking(self.starts, commits, self.graph.parents, self.graph.parents))
        for root in contents.roots - self.named.keys():
            selection.add(root)
        return selection

    def _select(self, others: Iterable[bytes] = ()) -> Selection:
        """Find the objects of the pack; `others` are added by themselves."""
        cut = self.order.cut
        parents = cut.wanted_parents(self.graph)
        if not self.order.common:
            self.source.index_all()
        commits = self.graph.lacking(self.starts, self.order.common, parents, cut.held_parents(self.graph))
        if len(commits) > _MANY:
            self.source.index_all()
        selection = Selection(self.source, self.order.filter)
        self._add(selection, commits)
        for tag in [*others, *self._tags_of(commits)]:
            selection.add(tag)
        return selection

    def _add(self, selection: Selection, commits: Sequence[bytes]) -> None:
        selection.add_commits(self.graph, commits, self.order.cut.wanted_parents(self.graph))
        for named in self.named.values():
            for tag in named.tags:
                selection.add(tag)
            if not named.is_commit:
                selection.add_wanted(named.target)

    def _tags_of(self, commits: Sequence[bytes]) -> list[bytes]:
        """Return the tags to send along with commits, with those that they name."""
        inside = set(commits)
        found = [self.graph.follow(tag) for tag in self.order.tags] if commits else []
        return [tag for each in found if each.target in inside for tag in each.tags]

    def _tags_of_whole(self) -> set[bytes]:
        """Return the tags to send along with a whole history."""
        tags = {tag: self.graph.follow(tag) for tag in self.order.tags if tag not in self.named}
        targets = {each.target for each in tags.values() if each.is_commit}
        if not targets:
            return set()
        parents = self.order.cut.wanted_parents(self.graph)
        reached = targets.intersection(self.graph.newest_first(self.starts, parents))
        return {tag for each in tags.values() if each.target in reached for tag in each.tags}

    def _write(self, selection: Selection, kept: KeptPack | None) -> tuple[Path, int]:
        path = self.kept.temporary()
        is_partial = self.order.filter != ObjectFilter()  # its client may lack the older versions
        thin = self.order.format.is_thin and not is_partial
        try:
            with path.open("xb") as file:
                pack = SentPack(file, self.source, PackFormat(self.order.format.has_offsets, thin))
                if kept is None:
                    pack.write(selection.ids, selection.earlier)
                else:
                    with kept.path.open("rb") as old, mapped(old) as data:
                        pack.write(selection.ids, selection.earlier, PackBody(data, kept.ids))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path, pack.size
