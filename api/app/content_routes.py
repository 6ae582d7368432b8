"""The content routes: reads for agents, changes for people."""

from api.db.agents.fleet import Fleet
from api.http.response.compression import CompressionCache
from api.http.response.signed_replies import ManifestSigner
from api.http.routing import Route
from api.resources.agents.changes import Changes
from api.resources.agents.manifest import ManifestResource, VersionedManifest
from api.resources.agents.published import PublishedList, VersionedList, VersionResource
from api.resources.content.conflicts import DraftResolve
from api.resources.content.draft_fixes import DraftFixList
from api.resources.content.draft_items import DraftItem, DraftItems
from api.resources.content.draft_operations import DraftDiff, DraftReplace, DraftRevert
from api.resources.content.draft_tests import DraftTestList
from api.resources.content.drafts import DraftEdits, DraftList, DraftResource
from api.resources.content.inspection import Diff, Lint, Test
from api.resources.content.namespaces import (
    ArchivedNamespaces,
    NamespaceResource,
    NamespaceRestore,
    Namespaces,
    RecordsOf,
)
from api.resources.content.overview import Overview
from api.resources.content.projects import ProjectResource, Projects
from api.resources.content.proposal_reviews import ProposalReview
from api.resources.content.proposals import (
    ProposalMerge,
    ProposalResource,
    Proposals,
    ProposalSummaries,
    ProposalUpdate,
)
from api.resources.content.publishing import History, HistoryEntry, Publish, Rollback
from api.resources.content.reviews import DraftReview, PublishReview
from api.resources.content.shared_records import SharedRecords
from api.resources.content.transfer import Export, Import
from api.resources.service.web_keys import WebKeys
from api.reviews.reviewing import Reviews
from api.runtime.serving.convergence import Convergence
from api.runtime.serving.fleet_summary import FleetSummaries
from api.runtime.serving.long_poll import LongPolls
from api.runtime.serving.release_loader import ReleaseLoader
from api.settings import Settings
from api.upstreams.pull_publishes import PullPublishes
from content.records.vocabulary import Kind
from gitstore.store.store import Store

_NAMESPACE = "/api/namespace/{namespace}"
_PROJECT = _NAMESPACE + "/project/{project}"
_PROPOSAL = _NAMESPACE + "/proposal/{id}"


def content_routes(  # noqa: PLR0913, PLR0917 - every dependency of the content routes, by its name
    store: Store,
    releases: ReleaseLoader,
    settings: Settings,
    compressed: CompressionCache,
    long_polls: LongPolls,
    convergence: Convergence,
    reviews: Reviews,
    records: RecordsOf,
    pulls: PullPublishes,
    signer: ManifestSigner,
    fleet: Fleet,
) -> list[Route]:
    """Return every route of the content store; `records` returns the records of namespaces that an actor changes."""
    single = [
        Route("/.well-known/waypost-keys", WebKeys(signer)),
        Route("/api/overview", _overview(store, releases, reviews, fleet, settings)),
        Route("/api/namespaces", Namespaces(store, records)),
        Route("/api/namespaces/archived", ArchivedNamespaces(store)),
        Route(_NAMESPACE, NamespaceResource(store, records)),
        Route(_NAMESPACE + "/restore", NamespaceRestore(store, records)),
        Route(_NAMESPACE + "/projects", Projects(releases, store)),
        Route(_NAMESPACE + "/proposals", Proposals(store, reviews, settings.proposal_stale_days)),
        Route(_PROPOSAL, ProposalResource(store, reviews, settings.proposal_stale_days)),
        Route(_PROPOSAL + "/merge", ProposalMerge(store, reviews)),
        Route(_PROPOSAL + "/review", ProposalReview(store, reviews)),
        Route(
            _PROPOSAL + "/update", ProposalUpdate(store, reviews, settings.proposal_stale_days, settings.import_limit)
        ),
        Route(_PROJECT, ProjectResource(store)),
        Route(_PROJECT + "/version", VersionResource(releases, long_polls)),
        Route(_PROJECT + "/changes", Changes(releases, store)),
        Route(_PROJECT + "/manifest", ManifestResource(releases, signer)),
        Route(_PROJECT + "/versions/{version}/manifest", VersionedManifest(store, signer)),
        Route(_PROJECT + "/drafts", DraftList(store, reviews)),
        Route(_PROJECT + "/draft", DraftResource(store, reviews, pulls)),
        Route(_PROJECT + "/draft/changes", DraftEdits(store, settings.import_limit)),
        Route(_PROJECT + "/draft/diff", DraftDiff(store)),
        Route(_PROJECT + "/draft/shared", SharedRecords(store)),
        Route(_PROJECT + "/draft/tests", DraftTestList(store, settings.import_limit)),
        Route(_PROJECT + "/draft/fixes", DraftFixList(store, settings.import_limit)),
        Route(_PROJECT + "/draft/revert", DraftRevert(store, settings.import_limit)),
        Route(_PROJECT + "/draft/replace", DraftReplace(store, settings.import_limit)),
        Route(_PROJECT + "/draft/resolve", DraftResolve(store, settings.import_limit)),
        Route(_PROJECT + "/draft/review", DraftReview(store, reviews)),
        Route(_PROJECT + "/publish", Publish(store, convergence, reviews, pulls)),
        Route(_PROJECT + "/rollback", Rollback(store)),
        Route(_PROJECT + "/history", History(store, reviews)),
        Route(_PROJECT + "/history/{version}", HistoryEntry(store, signer)),
        Route(_PROJECT + "/history/{version}/review", PublishReview(store, reviews)),
        Route(_PROJECT + "/test", Test(releases, store)),
        Route(_PROJECT + "/lint", Lint(store)),
        Route(_PROJECT + "/diff", Diff(store)),
        Route(_PROJECT + "/import", Import(store, settings.import_limit)),
        Route(_PROJECT + "/export", Export(store)),
    ]
    return single + [route for kind in Kind for route in _of_kind(kind, releases, store, settings, compressed)]


def _overview(store: Store, releases: ReleaseLoader, reviews: Reviews, fleet: Fleet, settings: Settings) -> Overview:
    summaries = ProposalSummaries(store, reviews, settings.proposal_stale_days)
    return Overview(releases, store, reviews, fleet, FleetSummaries(fleet, store.publishes), summaries)


def _of_kind(
    kind: Kind, releases: ReleaseLoader, store: Store, settings: Settings, compressed: CompressionCache
) -> list[Route]:
    limit = settings.page_limit if kind is Kind.PAGES else settings.json_limit
    return [
        Route(f"{_PROJECT}/{kind}", PublishedList(releases, store, kind, compressed)),
        Route(f"{_PROJECT}/versions/{{version}}/{kind}", VersionedList(releases, store, kind, compressed)),
        Route(f"{_PROJECT}/draft/{kind}", DraftItems(store, kind, limit)),
        Route(f"{_PROJECT}/draft/{kind}/{{id}}", DraftItem(store, kind, limit)),
    ]
