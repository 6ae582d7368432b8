"""`store.proposals`: the branches that people push, and their merge into release."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from content.cache import LruCache
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName, project_tree
from gitstore.drafts.shared_records import MOST_SHARED, ChangedRecords, SharedRecord
from gitstore.errors import StoreError
from gitstore.git.refs import list_proposals, list_refs
from gitstore.layout import DRAFT_PREFIX, CommitId
from gitstore.merge.file_texts import FileTexts
from gitstore.proposals import branches
from gitstore.proposals.branches import UpdateRequest
from gitstore.proposals.merges import GoneMerge, find_gone_merge
from gitstore.proposals.merging import plain_paths_beside
from gitstore.proposals.proposal import Proposal, ProposalKey, read_proposal, read_proposals
from gitstore.proposals.publishing import (
    MergeRequest,
    MergeResult,
    ProjectVerdicts,
    merge_into_release,
    no_project_verdicts,
)
from gitstore.proposals.report import ProposalReport, report_proposal, with_subjects
from gitstore.pushes.push import Scope
from gitstore.store.access import Component, StoreAccess
from gitstore.store.publishes import Publishes

_CACHED_REPORTS = 200
_CACHED_PROPOSALS = 5_000  # one is less than a kilobyte


class Proposals(Component):
    """The proposals of namespaces."""

    def __init__(self, access: StoreAccess) -> None:
        super().__init__(access)
        self._publishes = Publishes(access)
        self._reports: LruCache[tuple[str, Proposal], ProposalReport] = LruCache(_CACHED_REPORTS)
        self._changed = ChangedRecords()
        self._known: LruCache[ProposalKey, Proposal] = LruCache(_CACHED_PROPOSALS)

    def all(self, namespace: str) -> list[Proposal]:
        """Return all proposals of a namespace, the newest first, with the projects that each changes."""
        with self._access.reading(namespace) as compiler:
            return read_proposals(compiler.repository, self._known)

    def unmerged(self, namespaces: Collection[str]) -> list[tuple[str, Proposal]]:
        """Return the open proposals of namespaces; none of one that cannot be read."""
        found: list[tuple[str, Proposal]] = []
        for namespace in namespaces:
            with suppress(StoreError, OSError):
                if list_proposals(self._access.directory.namespace(namespace).repository):
                    found += ((namespace, each) for each in self.all(namespace) if not each.is_merged)
        return found

    def read(self, namespace: str, wanted: str, head: str = "") -> Proposal:
        """Return the proposal with an id; raises NotFound, or StaleProposal where it is not at the head."""
        with self._access.reading(namespace) as compiler:
            return read_proposal(compiler.repository, wanted, head)

    def reports(self, namespace: str, proposals: Sequence[Proposal]) -> list[ProposalReport]:
        """Return the reports on proposals; cached until the branch or release moves."""
        with self._access.reading(namespace) as compiler:
            return [
                self._reports.get((namespace, each), partial(report_proposal, compiler, each)) for each in proposals
            ]

    def report(self, namespace: str, wanted: str) -> ProposalReport:
        """Return the report on the proposal with an id."""
        [found] = self.reports(namespace, [self.read(namespace, wanted)])
        return found

    def report_with_texts(self, namespace: str, proposal: Proposal) -> ProposalReport:
        """Return the report on a proposal with the texts of its files in conflict and the subjects of its problems, which are not cached."""
        [found] = self.reports(namespace, [proposal])
        with self._access.reading(namespace) as compiler:
            texts = FileTexts(compiler.repository)
            projects = [
                replace(with_subjects(compiler, proposal, each), conflicts=texts.add(each.name, each.conflicts))
                for each in found.projects
            ]
            conflicts = found.conflicts and texts.add_beside(
                found.conflicts, plain_paths_beside(compiler.repository, proposal)
            )
        return replace(found, projects=projects, conflicts=conflicts)

    def identities(
        self, namespace: str, proposal: Proposal, wanted: Collection[tuple[str, Kind, str]]
    ) -> dict[tuple[str, Kind, str], str]:
        """Return the sources and paths of records by project, kind and id, as in the proposal, else as in its base."""
        ends = [commit for commit in (proposal.head, proposal.base) if commit]
        found: dict[tuple[str, Kind, str], str] = {}
        with self._access.reading(namespace) as compiler:
            for project, kind, record_id in wanted:
                trees = (project_tree(compiler.repository, commit, project) for commit in ends)
                sides = (compiler.snapshot(project, tree) for tree in trees if tree)
                placed = next(filter(None, (side.find(kind, record_id) for side in sides)), None)
                if placed:
                    found[project, kind, record_id] = placed.record.identity
        return found

    def shared(
        self, namespace: str, name: DraftName, kinds: Collection[Kind], ids: Collection[str]
    ) -> list[tuple[Proposal, list[SharedRecord]]]:
        """Return the newest open proposals with those of the records that they change, but for a branch at the head of a draft."""
        found = list[tuple[Proposal, list[SharedRecord]]]()
        own, prefix = self._access.directory.namespace(namespace).repository, f"{DRAFT_PREFIX}{name.project}/"
        if not list_proposals(own):
            return found
        drafts = {commit for ref, commit in list_refs(own, is_lenient=True).items() if ref.startswith(prefix)}
        opened = [each for each in self.all(namespace) if name.project in each.projects and not each.is_merged]
        with self._access.reading(namespace) as compiler:
            for proposal in [each for each in opened if each.base and each.head not in drafts][:MOST_SHARED]:
                with suppress(StoreError, OSError):
                    before, after = (
                        project_tree(compiler.repository, commit, name.project)
                        for commit in (proposal.base, proposal.head)
                        if commit
                    )
                    found.append((proposal, self._changed.find(compiler, name.project, (before, after), kinds, ids)))
        return found

    def create(self, namespace: str, branch: str, name: DraftName, head: str = "") -> Proposal:
        """Make a proposal from a draft: a branch at its head."""
        return self._access.write(namespace, lambda _, opened: branches.create_from_draft(opened, branch, name, head))

    def merge(
        self, namespace: str, request: MergeRequest, verdicts: ProjectVerdicts = no_project_verdicts
    ) -> MergeResult:
        """Merge a proposal into release: all its projects, or none; `verdicts` is called under the lock."""
        merged = self._access.write(
            namespace, lambda compiler, opened: merge_into_release(compiler, opened, request, verdicts)
        )
        counted = {
            name: self._publishes.with_never_answering(namespace, name, published)
            for name, published in merged.projects.items()
        }
        return merged._replace(projects=counted)

    def find_gone_merge(self, namespace: str, wanted: str, heads: Collection[CommitId]) -> GoneMerge | None:
        """Return the newest merge of a proposal whose branch is gone, by its id or by one of its heads."""
        with self._access.reading(namespace) as compiler:
            return find_gone_merge(compiler, wanted, heads)

    def update(self, namespace: str, request: UpdateRequest) -> Proposal:
        """Merge release into the branch of a proposal, its conflicts by choices; return it as it is then."""
        return self._access.write(namespace, lambda compiler, opened: branches.update_branch(compiler, opened, request))

    def delete(self, namespace: str, wanted: str, scope: Scope, head: str = "") -> CommitId | None:
        """Remove the branch of a proposal; return the commit it was at, None if it cannot be read."""
        return self._access.write(namespace, lambda _, opened: branches.delete_branch(opened, wanted, scope, head))

    def sweep(self, namespace: str) -> list[str]:
        """Remove the branches that release has merged; return their names. The lock is taken only if there are any."""
        if not list_proposals(self._access.directory.namespace(namespace).repository):
            return []
        with self._access.reading(namespace) as compiler:
            found = branches.find_swept(compiler.repository)
        return self._access.write(namespace, lambda _, opened: branches.sweep(opened)) if found else []
