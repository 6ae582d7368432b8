"""The overview: the projects that a caller may see with their agents, and what waits for someone, in one response."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from falcon.asgi import Request, Response

from api import logs
from api.auth.permissions.principal import Principal as Account
from api.auth.permissions.principal import as_principal
from api.db.agents.fleet import Fleet
from api.db.errors import StateBroken, StateBusy
from api.db.namespaces.reviews import DraftKey
from api.http.guard.access import any_principal, principal_of
from api.http.guard.proposal_access import is_visible
from api.http.request.parameters import read_number, read_text, read_window
from api.http.response import json_views
from api.interfaces import Principal
from api.resources.content.proposals import ProposalSummaries
from api.reviews import review_json
from api.reviews.reviewing import Reviews
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.serving.fleet_summary import FleetSummaries
from api.runtime.serving.release_loader import ReleaseLoader
from content.cache import LruCache
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound, StoreError
from gitstore.history.live import LiveProject
from gitstore.proposals.proposal import Proposal
from gitstore.publish.open_drafts import DraftHead, OpenDraft
from gitstore.store.store import Store

_MOST_WAITING = 50  # drafts, and proposals, of a window: each is compared with release
_LAST_PUBLISHES = 3  # of each project
_MOST_REMEMBERED = 2_000  # projects whose last publishes are kept in memory, a kilobyte each

_log = logs.logger("overview")


_Head = tuple[str, DraftHead]  # with its namespace


class _Draft(NamedTuple):
    """A draft with changes, and their counts where they are known."""

    namespace: str
    head: DraftHead
    opened: OpenDraft
    counts: Mapping[Kind, Counts] | None


class _Shown(NamedTuple):
    """A project, and whether the caller may read its agents and its history."""

    project: LiveProject
    reads_agents: bool
    reads_history: bool


class Overview:
    """The overview of everything that the caller may see."""

    def __init__(
        self,
        releases: ReleaseLoader,
        store: Store,
        reviews: Reviews,
        fleet: Fleet,
        fleets: FleetSummaries,
        summaries: ProposalSummaries,
    ) -> None:
        self._releases = releases
        self._store = store
        self._reviews = reviews
        self._fleet = fleet
        self._fleets = fleets
        self._summaries = summaries
        self._publishes: LruCache[tuple[str, str, str], list[dict[str, Any]]] = LruCache(_MOST_REMEMBERED)

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the projects by name, the namespaces, and a window of what waits, as far as the caller may.

        What waits for the caller comes first, then the newest. With `q`, only the projects and namespaces that match the text, and what waits there.
        """
        principal, (limit, offset) = principal_of(req), read_window(req)
        visible = await self._served(principal)
        served = await run_in_thread(_matching, visible, read_text(req, "q") or "")
        every = [project for projects in served.values() for project in projects]
        shown = [
            _Shown(each, _reads(principal, "agent", each), _reads(principal, "project", each))
            for each in every[offset : offset + limit]
        ]
        drafted = {
            name: frozenset(each.name for each in projects if _reads(principal, "project", each))
            for name, projects in served.items()
        }
        begin = read_number(req, "waitingOffset", 0)
        heads: list[_Head] = await run_in_process(self._store.drafts.heads, drafted)
        proposals = await self._find_proposals(principal, served)
        waiting = await run_in_thread(self._find_waiting, heads, proposals, as_principal(principal))
        chosen = sorted(heads, key=lambda each: _draft_order(each, waiting))[begin : begin + _MOST_WAITING]
        drafts: list[_Draft] = await run_in_process(_read_drafts, self._store, chosen)
        proposals.sort(key=lambda each: (waiting.isdisjoint(_proposal_keys(*each)), -each[1].time))
        resp.media = {
            "items": await run_in_thread(self._show_projects, shown),
            "total": len(every),
            "limit": limit,
            "offset": offset,
            "namespaces": await run_in_thread(self._show_namespaces, {name: visible[name] for name in served}),
            "drafts": await run_in_thread(self._show_drafts, drafts, as_principal(principal)),
            "draftsTotal": len(heads) - len(chosen) + len(drafts),
            "proposals": await self._show_proposals(req, proposals[begin : begin + _MOST_WAITING]),
            "proposalsTotal": len(proposals),
            **await run_in_thread(
                self._show_failing,
                {(each.namespace, each.name) for each in every if _reads(principal, "agent", each)},
                begin,
            ),
        }

    async def _served(self, principal: Principal) -> dict[str, list[LiveProject]]:
        """Return the visible projects by namespace; none of one that cannot be read."""
        names = await run_in_thread(self._store.namespaces.names)
        found: dict[str, list[LiveProject]] = {}
        for namespace in filter(principal.can_see, names):
            try:
                projects = (await self._releases.namespace(namespace)).projects
            except NotFound:  # deleted meanwhile
                continue
            except (StoreError, OSError):  # P/health and the namespace itself tell why
                projects = {}
            found[namespace] = [projects[name] for name in sorted(projects) if principal.can_see(namespace, name)]
        return found

    def _show_namespaces(self, served: Mapping[str, Sequence[LiveProject]]) -> list[dict[str, Any]]:
        return [
            {"name": name, "description": self._describe(name), "projects": len(projects)}
            for name, projects in served.items()
        ]

    def _describe(self, namespace: str) -> str:
        try:
            return self._store.namespaces.read(namespace).description
        except (StoreError, OSError):
            return ""

    def _show_projects(self, shown: Sequence[_Shown]) -> list[dict[str, Any]]:
        named = [self._store.drafts.names(each.namespace, each.name) for each, *_ in shown]
        return [
            {
                **json_views.project(each, drafts),
                "drafts": len(drafts) if reads_history else None,
                "agents": self._count_agents(each) if reads_agents else None,
                "publishes": self._list_publishes(each) if reads_history else None,
            }
            for (each, reads_agents, reads_history), drafts in zip(shown, named, strict=True)
        ]

    def _list_publishes(self, project: LiveProject) -> list[dict[str, Any]]:
        """Return the last publishes, the newest first; none of a history that cannot be read."""
        key = (project.namespace, project.name, project.version)
        try:
            return self._publishes.get(key, lambda: self._read_publishes(project))
        except (StoreError, OSError) as ex:
            _log.warning("publishes_not_read", namespace=project.namespace, project=project.name, exc_info=ex)
            return []

    def _read_publishes(self, project: LiveProject) -> list[dict[str, Any]]:
        before = max(0, project.number - _LAST_PUBLISHES)
        found = self._store.publishes.after(project.namespace, project.name, before, _LAST_PUBLISHES)
        return [json_views.publish_line(each) for each, _ in reversed(found) if each.number <= project.number]

    def _count_agents(self, project: LiveProject) -> dict[str, Any] | None:
        try:
            found = self._fleets.find(project.namespace, project.name, project)
        except (StateBusy, StateBroken) as ex:
            _log.warning("agents_not_counted", namespace=project.namespace, project=project.name, exc_info=ex)
            return None
        measured = found.convergence
        return {
            "total": found.total,
            "online": measured["agents"],
            "current": measured["current"],
            "behind": measured["behind"],
            "failing": found.failing,
            "taken": measured["taken"],
        }

    def _show_failing(self, readable: Collection[tuple[str, str]], begin: int) -> dict[str, Any]:
        """Show a window of the readable projects with failing agents."""
        try:
            found = [(key, agents) for key, agents in self._fleet.count_failing() if key[:2] in readable]
        except (StateBusy, StateBroken) as ex:
            _log.warning("failing_agents_not_counted", exc_info=ex)
            return {"failing": [], "failingTotal": 0}
        shown = [
            {"namespace": key.namespace, "project": key.project, "first": key.name, "agents": agents}
            for key, agents in sorted(found)[begin : begin + _MOST_WAITING]
        ]
        return {"failing": shown, "failingTotal": len(found)}

    async def _find_proposals(self, principal: Principal, namespaces: Collection[str]) -> list[tuple[str, Proposal]]:
        found: list[tuple[str, Proposal]] = await run_in_process(self._store.proposals.unmerged, tuple(namespaces))
        return [(name, each) for name, each in found if is_visible(principal, name, each)]

    def _find_waiting(
        self, heads: Sequence[_Head], proposals: Sequence[tuple[str, Proposal]], caller: Account
    ) -> frozenset[DraftKey]:
        """Return what waits for the caller, by project."""
        drafts: dict[DraftKey, str | None] = {DraftKey(name, *head.name): head.commit for name, head in heads}
        pushed = {key: each.head for name, each in proposals for key in _proposal_keys(name, each)}
        return self._reviews.find_waiting(drafts | pushed, caller)

    def _show_drafts(self, drafts: Sequence[_Draft], caller: Account) -> list[dict[str, Any]]:
        keys = [DraftKey(each.namespace, *each.head.name) for each in drafts]
        reviews = self._reviews.find_reviews(
            {key: each.opened.review_subject for key, each in zip(keys, drafts, strict=True)}, caller
        )
        return [
            {
                "namespace": key.namespace,
                "project": key.project,
                "draft": key.draft,
                "head": each.opened.head,
                "updatedAt": json_views.dump_timestamp(each.head.time),
                "changes": None if each.counts is None else json_views.counts(each.counts),
                "conflicts": each.opened.conflicts,
                "review": review_json.review(review) if (review := reviews[key]) else None,
            }
            for key, each in zip(keys, drafts, strict=True)
        ]

    async def _show_proposals(self, req: Request, proposals: Sequence[tuple[str, Proposal]]) -> list[dict[str, Any]]:
        shown: dict[tuple[str, str], dict[str, Any]] = {}
        for namespace in {name for name, _ in proposals}:
            own = [each for name, each in proposals if name == namespace]
            shown |= {(namespace, each["id"]): each for each in await self._summaries.show(req, namespace, own)}
        return [{"namespace": name, **shown[name, each.id]} for name, each in proposals if (name, each.id) in shown]


def _matching(served: Mapping[str, Sequence[LiveProject]], text: str) -> Mapping[str, Sequence[LiveProject]]:
    """Return the projects with each word of a text in their namespace, name and title, and the namespaces that have it in their name."""
    words = text.casefold().split()
    if not words:
        return served

    def has_words(name: str) -> bool:
        return all(word in name.casefold() for word in words)

    found = {
        namespace: [each for each in projects if has_words(f"{namespace}/{each.name}: {each.release.settings.title}")]
        for namespace, projects in served.items()
    }
    return {namespace: projects for namespace, projects in found.items() if projects or has_words(namespace)}


def _reads(principal: Principal, resource: str, project: LiveProject) -> bool:
    return principal.can(resource, "read", project.namespace, project.name)


def _draft_order(found: _Head, waiting: Collection[DraftKey]) -> tuple[bool, int, str, DraftName]:
    namespace, head = found
    return DraftKey(namespace, *head.name) not in waiting, -head.time, namespace, head.name


def _proposal_keys(namespace: str, proposal: Proposal) -> list[DraftKey]:
    return [DraftKey(namespace, project, proposal.review_name) for project in proposal.projects]


def _read_drafts(store: Store, heads: Sequence[_Head]) -> list[_Draft]:
    """Return those of the drafts that have changes."""
    read = ((namespace, head, store.drafts.read_open(namespace, head)) for namespace, head in heads)
    return [
        _Draft(namespace, head, draft, store.drafts.find_counts(namespace, head, draft))
        for namespace, head, draft in read
        if draft
    ]
