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
from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.importing import ImportOptions
from gitstore.publishing import PublishOrder
from gitstore.release import release_path
from gitstore.store import Store
from tests.service import Service, children_of, wait_until

_TURNS = 5
_TO_REACH = at_most(300)
_LIFE = at_most(100)
_IMPORTING = 2.0
"""Seconds."""
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
    _Step("all go", _EMPTY),
    _Step("all come back, compiled file cleaned away", _ALL, cleaned=True),
)
_FIRST_STEPS = (
    _Step("all differ, the first call after a start", _FIRST),
    _Step("all differ, the first call after a start, compiled file and parts cleaned away", _ALL, weeks_later=True),
)


class _Taken(NamedTuple):
    """Milliseconds of a call, and of processor in all processes of the service."""

    wall: float
    processor: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """A row for each step: with a process that has read it all, then each as the first call after a start."""
    data = bench.new_folder("back")
    data.mkdir()
    store = Store(data)
    store.create_namespace(NAMESPACE, "", AUTHOR)
    _publish_all(store, bench.plain.rules[:MANY])
    admin = make_token(data, "admin")
    site = Site(data, (), "", admin)
    with site.serving() as service, service.as_token(admin) as client:
        _roll_back(service, client, _FIRST)
        _roll_back(service, client, _ALL)
        yield _life(client, bench.plain.rules[7].source)
        turns = [[_step(service, client, store, step) for step in _STEPS] for _ in bench.turns(_TURNS, 25)]
        yield from _figures(_STEPS, turns)
    turns = [[_first(site, store, step) for step in _FIRST_STEPS] for _ in bench.turns(_TURNS, 60)]
    yield from _figures(_FIRST_STEPS, turns)


def _first(site: Site, store: Store, step: _Step) -> _Taken:
    """A step as the first call after a start, once the worker has a process that stands by."""
    with site.serving() as service, service.as_token(site.admin) as client:
        worker = next(iter(service.workers()))
        wait_until(lambda: len(children_of(worker)) > 1, 30, "a process to stand by")
        time.sleep(_IMPORTING)
        return _step(service, client, store, step)


def _publish_all(store: Store, rules: Sequence[Redirect]) -> None:
    publish_rules(store, BIG, rules)
    one = rules[MANY // 2]
    store.edit(NAMESPACE, _NAME, [Put(Kind.REDIRECTS, replace(one, target="/elsewhere"))], AUTHOR)
    store.publish(NAMESPACE, PublishOrder(_NAME, AUTHOR))
    others = table([replace(rule, target=f"{rule.target}?other") for rule in rules])
    store.import_rows(NAMESPACE, _NAME, read_rows(others), ImportOptions(overwrite=True), AUTHOR)
    store.publish(NAMESPACE, PublishOrder(_NAME, AUTHOR))


def _step(service: Service, client: httpx.Client, store: Store, step: _Step) -> _Taken:
    paths = store.directory.namespace(NAMESPACE)
    if step.cleaned or step.weeks_later:
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


def _figures(steps: Sequence[_Step], turns: Sequence[Sequence[_Taken]]) -> Iterator[Figure]:
    for step, taken in zip(steps, zip(*turns, strict=True), strict=True):
        walls, processor = [each.wall for each in taken], median(each.processor for each in taken)
        slowest = f"median of {len(taken)}, best {min(walls):.0f}, slowest {max(walls):.0f} ms"
        detail = f"{slowest}; processor {processor:.0f} ms"
        yield Figure(f"rollback, 100,000 rules, {step.what}", median(walls), "ms", _TO_REACH, detail)
