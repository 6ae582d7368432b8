"""Lists of a draft of 100,000 rules: the processor time of one response, for all kinds of queries."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from bench.drafts import TAG, change_some, import_all
from bench.figure import Figure, at_most
from bench.rules import FEW, MANY, sample_evenly
from bench.workbench import BIG, Workbench, scope
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from gitstore.drafts.drafts import DraftName
from gitstore.store.store import Store
from tests.service import Service

_DRAFT = "listings"
_NEW = "unpublished"
_TURNS = 15
_MOST = 50
_WINDOW = 50
Query = Mapping[str, str | int]


class _ListingCase(NamedTuple):
    label: str
    query: Query
    total: int | None = None


_ALL = MANY + FEW // 10
_CASES = (
    _ListingCase("plain", {}, _ALL),
    _ListingCase("q with few hits", {"q": "-00001"}),
    _ListingCase("q with no hit", {"q": "nothing has this"}, 0),
    _ListingCase("q that matches all", {"q": "/"}, _ALL),
    _ListingCase("type", {"type": "BASIC"}, _ALL),
    _ListingCase("status", {"status": "302"}),
    _ListingCase("tag", {"tag": TAG}, FEW),
    _ListingCase("change=changed", {"change": "changed"}, FEW),
    _ListingCase("change=added", {"change": "added"}, FEW // 10),
    _ListingCase("change=removed", {"change": "removed"}, FEW // 10),
    *(_ListingCase(f"sort={sort}", {"sort": sort}, _ALL) for sort in ("source", "-source", "target", "-target")),
    _ListingCase("all at once", {"q": "legacy", "type": "BASIC", "status": "302", "sort": "-target"}),
    _ListingCase("last page", {"offset": MANY - _WINDOW}, _ALL),
    _ListingCase(
        "last page, q that matches all, sort=target", {"offset": MANY - _WINDOW, "q": "/", "sort": "target"}, _ALL
    ),
    _ListingCase(
        "page in the middle, q that matches all, sort=-target", {"offset": MANY // 2, "q": "/", "sort": "-target"}, _ALL
    ),
    _ListingCase("change=changed, sort=-target", {"change": "changed", "sort": "-target"}, FEW),
    _ListingCase("500 items, sort=source", {"limit": 500, "sort": "source"}, _ALL),
)


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the figures, from one service with one worker."""
    site = bench.plain
    change_some(Store(site.data), site.rules, DraftName(BIG, _DRAFT))
    import_all(Store(site.data), _NEW)
    with site.serving() as service, service.as_token(site.admin) as client:
        lists = _ListingClient(service, client, BIG, _DRAFT)
        yield Figure("first list after the start, q", lists.cost({"q": "legacy"}), "ms")
        yield Figure("first sorted list after the start", lists.cost({"sort": "source"}), "ms")
        for case in _CASES:
            yield _figure(case.label, [lists.cost(case.query, case.total) for _ in bench.rounds(_TURNS, 5)])
        yield from _after_edits(bench, lists, lists, site.rules, "")
        with site.serving() as other, other.as_token(site.admin) as elsewhere:
            editor = _ListingClient(other, elsewhere, BIG, _DRAFT)
            yield from _after_edits(bench, lists, editor, site.rules, " by another worker")
        yield _effects(bench, lists, site.rules, ", 1,200 changes")
        new = _ListingClient(service, client, _NEW, DEFAULT_DRAFT)
        yield _effects(bench, new, site.rules, ", all 100,000 new")
        yield from _after_edits(bench, new, new, site.rules, ", all 100,000 new")


def _figure(label: str, elapsed: list[float]) -> Figure:
    detail = f"median of {len(elapsed)}; slowest {max(elapsed):.1f} ms"
    return Figure(f"draft list of 100,000: {label}", median(elapsed), "ms", at_most(_MOST), detail)


def _after_edits(
    bench: Workbench, lists: "_ListingClient", editor: "_ListingClient", rules: Sequence[Redirect], note: str
) -> Iterator[Figure]:
    """Measure the first page after an edit, each time of another file."""
    for label, query in {"plain": {}, "q": {"q": "legacy"}, "sort=source": {"sort": "source"}}.items():
        lists.cost(query)
        elapsed = []
        for turn, rule in zip(bench.rounds(_TURNS, 10), sample_evenly(rules, _TURNS), strict=False):
            editor.edit(rule, turn)
            elapsed.append(lists.cost(query))
        yield _figure(f"{label}, first after an edit{note}", elapsed)


def _effects(bench: Workbench, client: "_ListingClient", rules: Sequence[Redirect], note: str) -> Figure:
    """Measure what a draft changes for visitors, after an edit each: a job of another process."""
    client.effects()
    elapsed = []
    for turn, rule in zip(bench.rounds(_TURNS, 20), sample_evenly(rules, _TURNS), strict=False):
        client.edit(rule, turn)
        elapsed.append(client.effects())
    detail = f"median of {len(elapsed)}, answered; slowest {max(elapsed):.1f} ms"
    return Figure(f"effects of a draft of 100,000, first after an edit{note}", median(elapsed), "ms", None, detail)


class _ListingClient:
    """The lists of one draft, by the API."""

    def __init__(self, service: Service, client: httpx.Client, project: str, draft: str) -> None:
        self._worker = next(iter(service.workers()))
        self._client = client
        self._scope = scope(project)
        self._url = f"{self._scope}/draft/redirects"
        self._draft = draft

    def cost(self, query: Query, total: int | None = None) -> float:
        """Return the milliseconds of processor time of the worker for one response."""
        before = _processor(self._worker)
        answer = self._client.get(self._url, params={"limit": _WINDOW, "draft": self._draft, **query})
        elapsed = (_processor(self._worker) - before) / 1e6
        found = answer.json()["total"]
        if total is not None and found != total:
            raise AssertionError(f"The list for {query} has {found} rules, not {total}.")
        return elapsed

    def effects(self) -> float:
        """Return the milliseconds until the effects of the draft are here, without its changes."""
        begun = time.perf_counter()
        url = f"{self._scope}/draft/diff"
        self._client.get(url, params={"limit": 0, "draft": self._draft}, timeout=60).raise_for_status()
        return (time.perf_counter() - begun) * 1000

    def edit(self, rule: Redirect, turn: int) -> None:
        """Change a rule's target."""
        url = f"{self._url}/{rule.id}"
        target = f"{rule.target}/{turn}/{time.monotonic_ns()}"
        self._client.patch(url, params={"draft": self._draft}, json={"target": target}).raise_for_status()


def _processor(pid: int) -> int:
    """Return the nanoseconds of processor time of all threads of a process."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads)
