"""Listing a draft of 100,000 rules: the processor time of one answer, whatever is asked of the list."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from bench.figure import Figure, at_most
from bench.rules import FEW, MANY, exact_rules, spread, table
from bench.workbench import AUTHOR, BIG, NAMESPACE, Workbench, scope
from content.names import DEFAULT_DRAFT
from content.record import Redirect
from content.tsv import read_rows
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Delete, Edit, Put
from gitstore.importing import ImportOptions
from gitstore.project_file import ProjectFile
from gitstore.states import DRAFT
from gitstore.store import Store
from tests.service import Service

_DRAFT = "listings"
_NEW = "unpublished"
_TURNS = 15
_MOST = 50
_WINDOW = 50
_TAG = "sale"
Query = Mapping[str, str | int]


class _Asked(NamedTuple):
    what: str
    query: Query
    total: int | None = None


_ALL = MANY + FEW // 10
_QUESTIONS = (
    _Asked("plain", {}, _ALL),
    _Asked("q with few hits", {"q": "-00001"}),
    _Asked("q with no hit", {"q": "nothing has this"}, 0),
    _Asked("q that all have", {"q": "/"}, _ALL),
    _Asked("type", {"type": "BASIC"}, _ALL),
    _Asked("status", {"status": "302"}),
    _Asked("tag", {"tag": _TAG}, FEW),
    _Asked("change=changed", {"change": "changed"}, FEW),
    _Asked("change=added", {"change": "added"}, FEW // 10),
    _Asked("change=removed", {"change": "removed"}, FEW // 10),
    *(_Asked(f"sort={sort}", {"sort": sort}, _ALL) for sort in ("source", "-source", "target", "-target")),
    _Asked("all at once", {"q": "legacy", "type": "BASIC", "status": "302", "sort": "-target"}),
    _Asked("last page", {"offset": MANY - _WINDOW}, _ALL),
    _Asked("last page, q that all have, sort=target", {"offset": MANY - _WINDOW, "q": "/", "sort": "target"}, _ALL),
    _Asked(
        "page in the middle, q that all have, sort=-target", {"offset": MANY // 2, "q": "/", "sort": "-target"}, _ALL
    ),
    _Asked("change=changed, sort=-target", {"change": "changed", "sort": "-target"}, FEW),
    _Asked("500 items, sort=source", {"limit": 500, "sort": "source"}, _ALL),
)


def measure(bench: Workbench) -> Iterator[Figure]:
    """The rows, from one service with one worker."""
    site = bench.plain
    _change(Store(site.data), site.rules)
    _import(Store(site.data))
    _compile(Store(site.data))
    with site.serving() as service, service.as_token(site.admin) as client:
        lists = _Lists(service, client, BIG, _DRAFT)
        yield Figure("first list after the start, q", lists.cost({"q": "legacy"}), "ms")
        yield Figure("first sorted list after the start", lists.cost({"sort": "source"}), "ms")
        for asked in _QUESTIONS:
            yield _figure(asked.what, [lists.cost(asked.query, asked.total) for _ in bench.turns(_TURNS, 5)])
        yield from _after_edits(bench, lists, lists, site.rules, "")
        with site.serving() as other, other.as_token(site.admin) as elsewhere:
            editor = _Lists(other, elsewhere, BIG, _DRAFT)
            yield from _after_edits(bench, lists, editor, site.rules, " by another worker")
        new = _Lists(service, client, _NEW, DEFAULT_DRAFT)
        yield from _after_edits(bench, new, new, site.rules, ", all 100,000 new")


def _figure(what: str, taken: list[float]) -> Figure:
    detail = f"median of {len(taken)}; slowest {max(taken):.1f} ms"
    return Figure(f"draft list of 100,000: {what}", median(taken), "ms", at_most(_MOST), detail)


def _after_edits(
    bench: Workbench, lists: "_Lists", editor: "_Lists", rules: Sequence[Redirect], note: str
) -> Iterator[Figure]:
    """The first page after one edit, each time of another file."""
    for what, query in {"plain": {}, "q": {"q": "legacy"}, "sort=source": {"sort": "source"}}.items():
        lists.cost(query)
        taken = []
        for turn, rule in zip(bench.turns(_TURNS, 10), spread(rules, _TURNS), strict=False):
            editor.edit(rule, turn)
            taken.append(lists.cost(query))
        yield _figure(f"{what}, first after an edit{note}", taken)


class _Lists:
    """The lists of one draft, by the API."""

    def __init__(self, service: Service, client: httpx.Client, project: str, draft: str) -> None:
        self._worker = next(iter(service.workers()))
        self._client = client
        self._url = f"{scope(project)}/draft/redirects"
        self._draft = draft

    def cost(self, query: Query, total: int | None = None) -> float:
        """Milliseconds of processor that the worker spends on one answer."""
        before = _processor(self._worker)
        answer = self._client.get(self._url, params={"limit": _WINDOW, "draft": self._draft, **query})
        taken = (_processor(self._worker) - before) / 1e6
        found = answer.json()["total"]
        if total is not None and found != total:
            raise AssertionError(f"{query} finds {found}, not {total}")
        return taken

    def edit(self, rule: Redirect, turn: int) -> None:
        """Change a rule's target."""
        url = f"{self._url}/{rule.id}"
        target = f"{rule.target}/{turn}/{time.monotonic_ns()}"
        self._client.patch(url, params={"draft": self._draft}, json={"target": target}).raise_for_status()


def _processor(pid: int) -> int:
    """Nanoseconds of processor that all threads of a process have used."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads)


def _change(store: Store, rules: Sequence[Redirect]) -> None:
    """Tag 1,000 rules of the draft, remove 100 and add 100."""
    chosen = spread(rules, FEW + FEW // 10)
    edits: list[Edit] = [
        Put(Kind.REDIRECTS, Redirect(rule.type, rule.source, rule.target, rule.status, "Seen", (_TAG,)))
        for rule in chosen[:FEW]
    ]
    edits += [Delete(Kind.REDIRECTS, rule.id) for rule in chosen[FEW:]]
    edits += [
        Put(Kind.REDIRECTS, Redirect(rule.type, f"{rule.source}/new", rule.target, rule.status))
        for rule in chosen[FEW:]
    ]
    store.edit(NAMESPACE, DraftName(BIG, _DRAFT), edits, AUTHOR)


def _import(store: Store) -> None:
    """A project whose 100,000 rules are all in its draft."""
    store.create_project(NAMESPACE, _NEW, ProjectFile(), AUTHOR)
    name = DraftName(_NEW, DEFAULT_DRAFT)
    store.import_rows(NAMESPACE, name, read_rows(table(exact_rules(MANY))), ImportOptions(), AUTHOR)


def _compile(store: Store) -> None:
    """Leave the compiled files on disk, as the first list after an import does."""
    for project, draft in ((BIG, _DRAFT), (_NEW, DEFAULT_DRAFT)):
        store.snapshot(NAMESPACE, project, DRAFT, draft)
