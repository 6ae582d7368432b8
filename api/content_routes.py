"""The routes of content: what agents read, and how people change it."""

from collections.abc import Callable

from api.compression import Compressed
from api.convergence import Convergence
from api.resources.conflicts import DraftResolve
from api.resources.draft_items import DraftItem, DraftItems
from api.resources.draft_operations import DraftDiff, DraftReplace, DraftRevert
from api.resources.drafts import DraftChanges, DraftResource
from api.resources.inspection import Diff, Lint, Test
from api.resources.manifest import ManifestResource, VersionedManifest
from api.resources.namespaces import NamespaceResource, Namespaces
from api.resources.projects import ProjectResource, Projects
from api.resources.published import PublishedList, VersionedList, VersionResource
from api.resources.publishing import History, HistoryEntry, Publish, Rollback
from api.resources.reviews import DraftReview
from api.resources.transfer import Export, Import
from api.reviewing import Reviews
from api.routing import Route
from api.served import Served
from api.settings import Settings
from api.waiting import Waiting
from content.vocabulary import Kind
from gitstore.store import Store

_NAMESPACE = "/api/namespace/{namespace}"
_PROJECT = _NAMESPACE + "/project/{project}"


def content_routes(  # noqa: PLR0913 - every part that content is answered from, each by its name
    store: Store,
    served: Served,
    settings: Settings,
    compressed: Compressed,
    waiting: Waiting,
    convergence: Convergence,
    reviews: Reviews,
    forget: Callable[[str], None],
) -> list[Route]:
    """Every route that answers from the content store; `forget` is told of a namespace that was set aside."""
    single = [
        Route("/api/namespaces", Namespaces(store)),
        Route(_NAMESPACE, NamespaceResource(store, forget)),
        Route(_NAMESPACE + "/projects", Projects(served, store)),
        Route(_PROJECT, ProjectResource(store)),
        Route(_PROJECT + "/version", VersionResource(served, waiting)),
        Route(_PROJECT + "/manifest", ManifestResource(served)),
        Route(_PROJECT + "/versions/{version}/manifest", VersionedManifest(store)),
        Route(_PROJECT + "/draft", DraftResource(store, reviews)),
        Route(_PROJECT + "/draft/changes", DraftChanges(store, settings.import_limit)),
        Route(_PROJECT + "/draft/diff", DraftDiff(store)),
        Route(_PROJECT + "/draft/revert", DraftRevert(store, settings.import_limit)),
        Route(_PROJECT + "/draft/replace", DraftReplace(store, settings.import_limit)),
        Route(_PROJECT + "/draft/resolve", DraftResolve(store, settings.import_limit)),
        Route(_PROJECT + "/draft/review", DraftReview(store, reviews)),
        Route(_PROJECT + "/publish", Publish(store, convergence, reviews)),
        Route(_PROJECT + "/rollback", Rollback(store)),
        Route(_PROJECT + "/history", History(store)),
        Route(_PROJECT + "/history/{version}", HistoryEntry(store)),
        Route(_PROJECT + "/test", Test(served, store)),
        Route(_PROJECT + "/lint", Lint(store)),
        Route(_PROJECT + "/diff", Diff(store)),
        Route(_PROJECT + "/import", Import(store, settings.import_limit)),
        Route(_PROJECT + "/export", Export(store)),
    ]
    return single + [route for kind in Kind for route in _of_kind(kind, served, store, settings, compressed)]


def _of_kind(kind: Kind, served: Served, store: Store, settings: Settings, compressed: Compressed) -> list[Route]:
    limit = settings.page_limit if kind is Kind.PAGES else settings.json_limit
    return [
        Route(f"{_PROJECT}/{kind}", PublishedList(served, store, kind, compressed)),
        Route(f"{_PROJECT}/versions/{{version}}/{kind}", VersionedList(served, store, kind, compressed)),
        Route(f"{_PROJECT}/draft/{kind}", DraftItems(store, kind, limit)),
        Route(f"{_PROJECT}/draft/{kind}/{{id}}", DraftItem(store, kind, limit)),
    ]
