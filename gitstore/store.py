"""The content store: everything that the service and the command line can ask of the content, one method each.

A store is cheap and holds no open repository; pickled, it arrives in another process as that process's own. Methods
block, and raise `gitstore.errors` only (and OSError where the machine fails).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from content.diff import Counts, count
from content.matching import Matcher
from content.names import DEFAULT_DRAFT
from content.problem import Problem
from content.record import Record
from content.tsv import Row
from content.vocabulary import Kind
from gitstore import adoption, history, namespaces, projects, publishing
from gitstore.advance import Published
from gitstore.authorship import UnderReview, read_under_review
from gitstore.changes import ChangesByKind, changes_between
from gitstore.checkout import Watch
from gitstore.checks import check_snapshot, matcher_of
from gitstore.compiler import Compiler
from gitstore.directory import DataDirectory
from gitstore.draft_changes import DraftChanges, draft_changes
from gitstore.drafts import DraftName, DraftState, Edited, discard_draft, edit_draft, read_draft
from gitstore.edits import Edit
from gitstore.errors import BadRequest, Invalid, NotFound, StoreError
from gitstore.file_changes import FileChange, file_changes
from gitstore.founding import Founding
from gitstore.history import Publish
from gitstore.importing import Imported, ImportOptions, import_rows
from gitstore.layout import CommitId, TreeId
from gitstore.listing import Draft, Item, Listed, Query, Span, find_item, list_items
from gitstore.live import Live, LiveNamespace, LiveProject
from gitstore.lives import Lived, read_life
from gitstore.manifest import Manifest
from gitstore.namespaces import Namespace
from gitstore.numbering import ensure_manifest
from gitstore.part_store import PartStore
from gitstore.project_file import ProjectFile
from gitstore.publishing import PublishOrder
from gitstore.recent import Recent
from gitstore.refs import list_drafts
from gitstore.release import Release
from gitstore.reopening import reopen
from gitstore.replacement_plan import ReplaceOrder
from gitstore.replacing import Preview, Replacing, preview_replacement, replace_all
from gitstore.repository import Author, Update, update, view
from gitstore.resolving import Resolved, ResolveOrder, resolve
from gitstore.reverting import Reverted, RevertOrder, revert
from gitstore.review_view import ReviewView, view_draft
from gitstore.snapshot import Snapshot
from gitstore.states import BASE, PUBLISHED, State, must_be_readable, read_base, read_state
from gitstore.versions import Version

_DRAFTS_AT_HAND = 4
"""States of drafts whose changes are kept, for paging; one with 100,000 changes takes some 8 MB."""


@dataclass(frozen=True, slots=True)
class DraftReport:
    """What there is to know of a draft before it is published."""

    state: DraftState
    counts: Mapping[Kind, Counts]
    problems: Sequence[Problem]
    conflicts: Sequence[dict[str, object]]
    under_review: UnderReview
    files: Sequence[FileChange]


@lru_cache(maxsize=8)
def store_at(root: Path) -> "Store":
    """This process's store of a data directory."""
    return Store(root)


class Store:
    """See the module. Methods are grouped by what they are about: namespaces, the served state, projects, drafts."""

    def __init__(self, root: Path) -> None:
        self.directory = DataDirectory(root)
        self.live = Live(self.directory)
        self._parts: dict[str, PartStore] = {}
        self._changes: Recent[tuple[str, str, Kind], DraftChanges] = Recent(_DRAFTS_AT_HAND)

    def __reduce__(self) -> tuple[Callable[[Path], "Store"], tuple[Path]]:
        return store_at, (self.directory.root,)

    # Namespaces

    def namespaces(self) -> list[str]:
        """The names of all namespaces."""
        return self.directory.namespaces()

    def namespace(self, name: str) -> Namespace:
        """One namespace."""
        self.served(name)
        return namespaces.read_namespace(self.directory.namespace(name))

    def create_namespace(self, name: str, description: str, author: Author) -> Namespace:
        """Make a namespace."""
        return namespaces.create_namespace(self.directory, name, description, author)

    def adopt_folder(
        self, name: str, description: str, folder: Path, author: Author, watch: Watch = str
    ) -> list[Published]:
        """Make a namespace of a folder of projects; Invalid, with nothing made, where that could not be published."""
        return adoption.adopt_folder(self.directory, Founding(name, description, author), folder, watch)

    def describe_namespace(self, name: str, description: str) -> Namespace:
        """Change a namespace's description."""
        self.served(name)
        namespaces.describe_namespace(self.directory.namespace(name), description)
        return self.namespace(name)

    def delete_namespace(self, name: str) -> Path:
        """Move a namespace aside; gives the folder that it is in now."""
        self.served(name)
        return namespaces.delete_namespace(self.directory, self.directory.namespace(name))

    def was_deleted(self, name: str) -> bool:
        """Tell whether a namespace was set aside, and none has its name now; not so one whose repository was lost."""
        return name not in self.namespaces() and any(self.directory.trash.glob(f"{name}-*/{name}.git"))

    # What is served

    def served(self, namespace: str) -> LiveNamespace:
        """What is served of a namespace now."""
        return self.live.peek(namespace) or self.live.refresh(namespace)

    def project(self, namespace: str, project: str) -> LiveProject:
        """What is served of a project now."""
        return self.served(namespace).project(project)

    def manifest(self, namespace: str) -> Manifest:
        """What release names now, read from disk: never older than anything that was read before."""
        with self._reading(namespace) as compiler:
            return ensure_manifest(compiler, compiler.repository.release())

    def warm(self, namespace: str) -> None:
        """Compile whatever is missing to serve a namespace, for every process of the machine."""
        self.served(namespace)

    def drafts(self, namespace: str, project: str) -> list[str]:
        """The names of a project's drafts."""
        return sorted(list_drafts(self.directory.namespace(namespace).repository, project))

    def version(self, namespace: str, project: str, word: str) -> Version:
        """A version by publish number or SHA (7 digits or more)."""
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return history.version_index(compiler, project).resolve(word)

    def release(self, namespace: str, project: str, word: str) -> tuple[Version, Release]:
        """The release of any version; NotFound where it is the removal of the project."""
        version = self.version(namespace, project, word)
        with self._reading(namespace) as compiler:
            return version, compiler.release(project, _tree(version))

    # Projects

    def create_project(self, namespace: str, name: str, settings: ProjectFile, author: Author) -> Published:
        """Make and publish a project with empty lists."""
        with self._writing(namespace) as (compiler, opened):
            return projects.create_project(compiler, opened, name, settings, author)

    def change_project(self, namespace: str, name: str, changes: Mapping[str, str], author: Author) -> Published:
        """Publish new settings."""
        with self._writing(namespace) as (compiler, opened):
            return projects.change_project(compiler, opened, name, author, dict(changes))

    def delete_project(self, namespace: str, name: str, author: Author) -> Published:
        """Publish the removal of a project."""
        with self._writing(namespace) as (compiler, opened):
            return projects.delete_project(compiler, opened, name, author)

    # Drafts

    def report(self, namespace: str, name: DraftName) -> DraftReport:
        """What a draft changes, what is wrong with it, and what conflicts with release."""
        with self._reading(namespace) as compiler:
            state = read_draft(compiler.repository, name)
            before, working = self._states(compiler, state)
            counts = {kind: count(changes) for kind, changes in changes_between(before, working).items()}
            under_review = read_under_review(compiler, state)
            files = file_changes(compiler, name.project, state.base_tree, state.tree)
            try:
                conflicts = publishing.merge_draft(compiler, state).conflicts
            except Invalid as ex:
                return DraftReport(state, counts, ex.problems, (), under_review, files)
            problems = list(working.problems) if conflicts else check_snapshot(working)
            return DraftReport(state, counts, problems, conflicts, under_review, files)

    def under_review(self, namespace: str, name: DraftName) -> UnderReview:
        """A draft as its reviewers see it: its head, its commits and who wrote them, and whether they are asked for."""
        with self._reading(namespace) as compiler:
            return read_under_review(compiler, read_draft(compiler.repository, name))

    def in_draft(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> bool:
        """Tell whether a draft has a record of this id, or removes it."""
        with self._reading(namespace) as compiler:
            before, working = self._states(compiler, read_draft(compiler.repository, name))
            changed = {change.id for change in changes_between(before, working)[kind]}
        return record_id in changed or working.find(kind, record_id) is not None

    def identities(
        self, namespace: str, name: DraftName, wanted: Collection[tuple[Kind, str]]
    ) -> dict[tuple[Kind, str], str]:
        """The sources and paths of these records, by kind and id, as they are in a draft or were where it began."""
        if not wanted:
            return {}
        with self._reading(namespace) as compiler:
            sides = self._states(compiler, read_draft(compiler.repository, name))
        found = {each: [side.find(*each) for side in reversed(sides) if side] for each in wanted}
        return {each: next(filter(None, placed)).record.identity for each, placed in found.items() if any(placed)}

    def items(
        self,
        namespace: str,
        name: DraftName,
        kind: Kind,
        query: Query,
        span: Span,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> Listed:
        """A window of the working state, and how many items the query has in all; no items where its etag is known."""
        with self._reading(namespace) as compiler:
            draft = self._draft(compiler, read_draft(compiler.repository, name), kind)
            etag = draft.window_etag(query, span)
            return Listed((), 0, etag) if is_known(etag) else list_items(draft, query, span)

    def item(self, namespace: str, name: DraftName, kind: Kind, record_id: str) -> Item:
        """One record of the working state; NotFound where there is none of that id."""
        with self._reading(namespace) as compiler:
            found = find_item(self._draft(compiler, read_draft(compiler.repository, name), kind), record_id)
        if found is None:
            raise NotFound(f"There is no {kind.removesuffix('s')} with the id {record_id[:40]!r} in this draft.")
        return found

    def edit(self, namespace: str, name: DraftName, edits: Sequence[Edit], author: Author, head: str = "") -> Edited:
        """Make edits on a draft, all or nothing, as one commit."""
        with self._writing(namespace) as (compiler, opened):
            return edit_draft(compiler, opened, name, edits, author, head)

    def import_rows(
        self, namespace: str, name: DraftName, rows: Iterable[Row], options: ImportOptions, author: Author
    ) -> Imported:
        """Import rows into a draft as one commit, or say what is wrong with them."""
        with self._writing(namespace) as (compiler, opened):
            return import_rows(compiler, opened, read_draft(opened, name), rows, options, author)

    def revert(self, namespace: str, order: RevertOrder) -> Reverted:
        """Discard some changes of a draft, all or none, as one commit."""
        with self._writing(namespace) as (compiler, opened):
            return revert(compiler, opened, order)

    def preview_replacement(self, namespace: str, order: ReplaceOrder, offset: int, limit: int) -> Preview:
        """What a search-and-replace would do to a draft: a window of it, and totals."""
        with self._reading(namespace) as compiler:
            return preview_replacement(compiler, compiler.repository, order, offset, limit)

    def replace_all(self, namespace: str, order: ReplaceOrder, author: Author) -> Replacing:
        """Search and replace in a draft, all or nothing, as one commit."""
        with self._writing(namespace) as (compiler, opened):
            return replace_all(compiler, opened, order, author)

    def resolve(self, namespace: str, order: ResolveOrder) -> Resolved:
        """Settle conflicts of a draft with release; the last one merges release into the draft."""
        with self._writing(namespace) as (compiler, opened):
            return resolve(compiler, opened, order)

    def view_draft(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], offset: int, limit: int
    ) -> ReviewView:
        """What a draft changes, rule by rule, in a window, and what that does."""
        with self._reading(namespace) as compiler:
            return view_draft(compiler, name, kinds, offset, limit)

    def reopen(
        self, namespace: str, name: DraftName, word: str, author: Author, message: str = "", head: str = ""
    ) -> tuple[CommitId, dict[Kind, Counts]]:
        """Make a draft of an old version's rules and pages; gives its head, and how much it changes against release."""
        version = self.version(namespace, name.project, word)
        with self._writing(namespace) as (compiler, opened):
            commit, changes = reopen(compiler, opened, name, version, author, message, head)
            return commit, {kind: count(of_kind) for kind, of_kind in changes.items()}

    def discard(self, namespace: str, name: DraftName) -> None:
        """Throw a draft away."""
        with self._writing(namespace) as (_, opened):
            discard_draft(opened, name)

    # Publishing and history

    def publish(self, namespace: str, order: PublishOrder) -> Published:
        """Publish a draft."""
        with self._writing(namespace) as (compiler, opened):
            return publishing.publish(compiler, opened, order)

    def roll_back(self, namespace: str, project: str, word: str, publisher: Author, message: str = "") -> Published:
        """Publish an earlier version's rules and pages again."""
        version = self.version(namespace, project, word)
        with self._writing(namespace) as (compiler, opened):
            return publishing.roll_back(compiler, opened, project, version, publisher, message)

    def history(self, namespace: str, project: str, offset: int, limit: int) -> tuple[list[Publish], int]:
        """A window of a project's publishes, newest first, and how many there are."""
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return history.list_publishes(compiler, project, offset, limit)

    def life(
        self, namespace: str, project: str, kind: Kind, identity: str, window: slice, patience: float = float("inf")
    ) -> tuple[list[Lived], int]:
        """A window of what publishes did to one record, newest first, and how many they are.

        Busy where a history that nobody read yet takes longer than the seconds of `patience`; what was read stays.
        """
        self.project(namespace, project)
        with self._reading(namespace) as compiler:
            return read_life(compiler, project, kind, identity, window, patience)

    def publishes_after(self, namespace: str, project: str, number: int, limit: int) -> list[tuple[Publish, Version]]:
        """What followed a publish, oldest first; also of a project that was deleted. Quick: nothing is counted for it."""
        with self._reading(namespace) as compiler:
            return history.publishes_after(compiler, project, number, limit)

    def publish_detail(
        self, namespace: str, project: str, word: str
    ) -> tuple[Publish, ChangesByKind, list[FileChange]]:
        """One publish with what it changed, rule by rule, and beside the rules file by file."""
        version = self.version(namespace, project, word)
        with self._reading(namespace) as compiler:
            index = history.version_index(compiler, project)
            changes = history.publish_changes(compiler, project, index, version)
            files = history.publish_files(compiler, project, index, version)
            return history.read_publish(compiler, project, index, version), changes, files

    # Any state: what a word stands for, as `gitstore.states` tells; `draft` is the name of the draft that is meant

    def matcher(self, namespace: str, project: str, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT) -> Matcher:
        """Answers requests as a state of the project does."""
        if at == PUBLISHED:
            return self.project(namespace, project).release.matcher
        with self._reading(namespace) as compiler:
            state = self._state(compiler, project, at, draft)
            if state.version:
                return compiler.release(project, state.tree).matcher
            return matcher_of(compiler.snapshot(project, state.tree))

    def lint(self, namespace: str, project: str, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT) -> list[Problem]:
        """Every error and warning of a state of the project."""
        return check_snapshot(self.snapshot(namespace, project, at, draft))

    def records(
        self, namespace: str, project: str, kind: Kind, at: str = PUBLISHED, draft: str = DEFAULT_DRAFT
    ) -> list[Record]:
        """All records of a kind in a state of the project."""
        return [placed.record for placed in self.snapshot(namespace, project, at, draft).placed(kind)]

    def diff(self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT) -> ChangesByKind:
        """What leads from one state of the project to another, rule by rule; see `difference`."""
        return self.difference(namespace, project, old, new, draft)[0]

    def difference(
        self, namespace: str, project: str, old: str, new: str, draft: str = DEFAULT_DRAFT
    ) -> tuple[ChangesByKind, list[FileChange]]:
        """What leads from one state to another, by rule and by file; as `old`, `base` is where `new` left release."""
        with self._reading(namespace) as compiler:
            after = self._state(compiler, project, new, draft)
            is_base = old == BASE
            start = read_base(compiler, project, after) if is_base else self._state(compiler, project, old, draft).tree
            before, working = (
                compiler.snapshot(project, start) if start else None,
                compiler.snapshot(project, after.tree),
            )
            files = file_changes(compiler, project, start, after.tree)
        must_be_readable(before, working)
        return changes_between(before, working), files

    def snapshot(self, namespace: str, project: str, at: str, draft: str = DEFAULT_DRAFT) -> Snapshot:
        """A state of the project, whole."""
        with self._reading(namespace) as compiler:
            return compiler.snapshot(project, self._state(compiler, project, at, draft).tree)

    def _state(self, compiler: Compiler, project: str, at: str, draft: str) -> State:
        entry = self.project(compiler.paths.name, project).entry
        return read_state(compiler, project, entry, at, draft)

    # For the parts of the service that are not about content

    def project_version(self, namespace: str, project: str) -> LiveProject:
        """The version that a project serves now."""
        return self.project(namespace, project)

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """SHA and publish number of what an agent reported, where it is known."""
        try:
            found = self.version(namespace, project, str(reported).strip())
        except (NotFound, BadRequest):
            return None
        return found.commit, found.number

    def failures(self) -> list[str]:
        """What keeps a namespace from being served as it is on disk; empty when all is well."""
        return [f"{name}: {failure}" for name in self.namespaces() for failure in self._failures(name)]

    def _failures(self, name: str) -> list[str]:
        try:
            with self._reading(name) as compiler:
                compiler.repository.entries(compiler.repository.commit(compiler.repository.release()).tree)
            return self.served(name).failures
        except (StoreError, OSError) as ex:
            return [str(ex)]

    def _states(self, compiler: Compiler, state: DraftState) -> tuple[Snapshot | None, Snapshot]:
        before = compiler.snapshot(state.name.project, state.base_tree) if state.base_tree else None
        if state.tree is None:
            raise NotFound(f"The draft {state.name.draft} has no project {state.name.project}.")
        return before, compiler.snapshot(state.name.project, state.tree)

    def _draft(self, compiler: Compiler, state: DraftState, kind: Kind) -> Draft:
        before, working = self._states(compiler, state)
        key = (state.base_tree or "", working.tree, kind)
        return Draft(kind, before, working, self._changes.get(key, lambda: draft_changes(kind, before, working)))

    @contextmanager
    def _reading(self, namespace: str) -> Iterator[Compiler]:
        paths = self.directory.namespace(namespace)
        self.live.must_exist(namespace)
        with view(paths.repository) as repository:
            yield Compiler(paths, repository, self._part_store(namespace), only_reads=True)

    @contextmanager
    def _writing(self, namespace: str) -> Iterator[tuple[Compiler, Update]]:
        paths = self.directory.namespace(namespace)
        self.live.must_exist(namespace)
        with update(paths.repository) as opened:
            paths.bear_witness()
            yield Compiler(paths, opened, self._part_store(namespace)), opened

    def _part_store(self, namespace: str) -> PartStore:
        return self._parts.setdefault(namespace, PartStore(self.directory.namespace(namespace).parts))


def _tree(version: Version) -> TreeId:
    if version.tree is None:
        raise NotFound(f"Publish {version.number} removed the project; it has no lists.")
    return version.tree
