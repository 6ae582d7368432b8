"""Going back in a project of 100,000 rules, by the API: from the call until its answer."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from bench.figure import Figure, at_most
from bench.processes import processor_seconds
from bench.rules import MANY, table
from bench.workbench import AUTHOR, BIG, NAMESPACE, Site, Workbench, make_token, publish_rules, scope
from content.names import DEFAULT_DRAFT
from content.record import Redirect
from content.tsv import read_rows
from content.vocabulary import Kind
from gitstore.directory import NamespacePaths
from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.importing import ImportOptions
from gitstore.publishing import PublishOrder
from gitstore.release import release_path
from gitstore.store import Store
from tests.service import Service, children_of

_TURNS = 5
_TO_REACH = at_most(300)
_LIFE = at_most(100)
_NAME = DraftName(BIG, DEFAULT_DRAFT)
_EMPTY, _FIRST, _ONE, _ALL = 1, 2, 3, 4
"""Publishes: without rules; with 100,000; with another target of one; with another target of each."""


class _Step(NamedTuple):
    """Back to a publish, after its compiled files were cleaned away, or those of the parts too."""

    what: str
    version: int
    cleaned: bool = False
    weeks_later: bool = False


_STEPS = (
    _Step("all differ", _FIRST),
    _Step("one differs", _ONE),
    _Step("one differs, compiled file cleaned away", _FIRST, cleaned=True),
    _Step("all differ, compiled file cleaned away", _ALL, cleaned=True),
    _Step("all differ, compiled file and parts cleaned away", _FIRST, cleaned=True, weeks_later=True),
    _Step("all go", _EMPTY),
    _Step("all come back, compiled file and parts cleaned away", _ALL, cleaned=True, weeks_later=True),
)


class _Taken(NamedTuple):
    """Milliseconds of a call, and of processor in all processes of the service."""

    wall: float
    processor: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """A row for each step, and one for the first rollback after a start."""
    data = bench.new_folder("back")
    data.mkdir()
    store = Store(data)
    store.create_namespace(NAMESPACE, "", AUTHOR)
    _publish_all(store, bench.plain.rules[:MANY])
    admin = make_token(data, "admin")
    site, paths = Site(data, (), "", admin), store.directory.namespace(NAMESPACE)
    with site.serving() as service, service.as_token(admin) as client:
        time.sleep(4)
        first = _roll_back(service, client, _STEPS[0].version)
        yield _figure("all differ, the first call after the start", [first])
        _roll_back(service, client, _ALL)
        turns = [[_step(service, client, store, paths, step) for step in _STEPS] for _ in bench.turns(_TURNS, 25)]
        yield from (_figure(step.what, taken) for step, taken in zip(_STEPS, zip(*turns, strict=True), strict=True))
        yield _life(client, bench.plain.rules[7].source)


def _publish_all(store: Store, rules: Sequence[Redirect]) -> None:
    publish_rules(store, BIG, rules)
    one = rules[MANY // 2]
    store.edit(NAMESPACE, _NAME, [Put(Kind.REDIRECTS, replace(one, target="/elsewhere"))], AUTHOR)
    store.publish(NAMESPACE, PublishOrder(_NAME, AUTHOR))
    others = table([replace(rule, target=f"{rule.target}?other") for rule in rules])
    store.import_rows(NAMESPACE, _NAME, read_rows(others), ImportOptions(overwrite=True), AUTHOR)
    store.publish(NAMESPACE, PublishOrder(_NAME, AUTHOR))


def _step(service: Service, client: httpx.Client, store: Store, paths: NamespacePaths, step: _Step) -> _Taken:
    if step.cleaned:
        _clean(paths.releases.glob("*"), store)
    if step.weeks_later:
        _clean(paths.parts.glob("*/*"), store)
    return _roll_back(service, client, step.version)


def _clean(files: Iterator[Path], store: Store) -> None:
    """Remove compiled files that are not served, as cleaning does after some more publishes or a week."""
    paths, manifest = store.directory.namespace(NAMESPACE), store.manifest(NAMESPACE)
    served = {release_path(paths.releases, entry.tree) for entry in manifest.projects.values() if entry.tree}
    for file in set(files) - served:
        file.unlink()


def _roll_back(service: Service, client: httpx.Client, version: int) -> _Taken:
    used, begun = _processor(service), time.perf_counter()
    client.post(f"{scope(BIG)}/rollback", json={"version": version}).raise_for_status()
    taken = time.perf_counter() - begun
    return _Taken(1000 * taken, 1000 * (_processor(service) - used))


def _life(client: httpx.Client, source: str) -> Figure:
    taken = []
    for _ in range(2):
        begun = time.perf_counter()
        client.get(f"{scope(BIG)}/history", params={"source": source}).raise_for_status()
        taken.append(1000 * (time.perf_counter() - begun))
    what = "life of a rule of 100,000 that changed, came and went with all"
    return Figure(what, taken[1], "ms", _LIFE, f"the first {taken[0]:,.0f} ms")


def _processor(service: Service) -> float:
    workers = service.workers()
    return sum(processor_seconds(pid) for worker in workers for pid in (worker, *children_of(worker)))


def _figure(what: str, taken: Sequence[_Taken]) -> Figure:
    walls = [each.wall for each in taken]
    detail = f"median of {len(taken)}, best {min(walls):.0f}, slowest {max(walls):.0f} ms; processor {median(each.processor for each in taken):.0f} ms"
    return Figure(f"rollback, 100,000 rules, {what}", median(walls), "ms", _TO_REACH, detail)
