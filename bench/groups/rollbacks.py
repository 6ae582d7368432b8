"""Rollbacks in a project of 100,000 rules, by the API: the time from the call until its response."""

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
from content.formats.tsv import read_rows
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.releases.release_file import release_path
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from tests.service import Service, wait_until

_TURNS = 5
_TARGET = at_most(300)
_HISTORY_TARGET = at_most(100)
_NAME = DraftName(BIG, DEFAULT_DRAFT)
# Publishes: without rules; with 100,000; with another target of one; with another target of each.
_EMPTY, _FIRST, _ONE, _ALL = 1, 2, 3, 4


class _Step(NamedTuple):
    """A rollback to a publish, after the removal of its compiled files, or of the segments too."""

    label: str
    version: int
    cleaned: bool = False
    weeks_later: bool = False


_STEPS = (
    _Step("all differ", _FIRST),
    _Step("one differs", _ONE),
    _Step("one differs, compiled file removed", _FIRST, cleaned=True),
    _Step("all differ, compiled file removed", _ALL, cleaned=True),
    _Step("all are removed", _EMPTY),
    _Step("all are restored, compiled file removed", _ALL, cleaned=True),
)
_FIRST_STEPS = (
    _Step("all differ, the first call after a start", _FIRST),
    _Step("all differ, the first call after a start, compiled file and segments removed", _ALL, weeks_later=True),
)


class _Duration(NamedTuple):
    """Milliseconds of a call, and of processor time in all processes of the service."""

    wall: float
    processor: float


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield a figure for each step: with filled caches, then each as the first call after a start."""
    data = bench.new_folder("back")
    data.mkdir()
    store = create_store(data)
    store.namespaces.create(NAMESPACE, "", AUTHOR)
    _publish_all(store, bench.plain.rules[:MANY])
    admin = make_token(data, "admin")
    site = Site(data, (), "", admin)
    with site.serving() as service, service.as_token(admin) as client:
        _roll_back(service, client, _FIRST)
        _roll_back(service, client, _ALL)
        yield _measure_history(client, bench.plain.rules[7].source)
        rounds = [[_step(service, client, store, step) for step in _STEPS] for _ in bench.rounds(_TURNS, 25)]
        yield from _figures(_STEPS, rounds)
    rounds = [[_first(site, store, step) for step in _FIRST_STEPS] for _ in bench.rounds(_TURNS, 60)]
    yield from _figures(_FIRST_STEPS, rounds)


def _first(site: Site, store: Store, step: _Step) -> _Duration:
    """Take a step as the first call after a start, once the worker has a prewarmed process."""
    with site.serving() as service, service.as_token(site.admin) as client:
        wait_until(service.job_processes, 30, "a prewarmed process")
        return _step(service, client, store, step)


def _publish_all(store: Store, rules: Sequence[Redirect]) -> None:
    publish_rules(store, BIG, rules)
    one = rules[MANY // 2]
    store.drafts.edit(NAMESPACE, _NAME, [Put(Kind.REDIRECTS, replace(one, target="/elsewhere"))], AUTHOR)
    store.publishes.publish(NAMESPACE, PublishRequest(_NAME, AUTHOR))
    others = table([replace(rule, target=f"{rule.target}?other") for rule in rules])
    store.drafts.import_rows(NAMESPACE, _NAME, read_rows(others), ImportOptions(overwrite=True), AUTHOR)
    store.publishes.publish(NAMESPACE, PublishRequest(_NAME, AUTHOR))


def _step(service: Service, client: httpx.Client, store: Store, step: _Step) -> _Duration:
    paths = store.directory.namespace(NAMESPACE)
    if step.cleaned or step.weeks_later:
        _clean(paths.releases.glob("*"), store)
    if step.weeks_later:
        _clean(paths.segments.glob("*/*"), store)
    return _roll_back(service, client, step.version)


def _clean(files: Iterator[Path], store: Store) -> None:
    """Remove compiled files that are not served, as clean-up does after some more publishes or a week."""
    paths, manifest = store.directory.namespace(NAMESPACE), store.releases.manifest(NAMESPACE)
    served = {release_path(paths.releases, entry.tree) for entry in manifest.projects.values() if entry.tree}
    for file in set(files) - served:
        file.unlink()


def _roll_back(service: Service, client: httpx.Client, version: int) -> _Duration:
    used, begun = _processor(service), time.perf_counter()
    client.post(f"{scope(BIG)}/rollback", json={"version": version}).raise_for_status()
    elapsed = time.perf_counter() - begun
    return _Duration(1000 * elapsed, 1000 * (_processor(service) - used))


def _measure_history(client: httpx.Client, source: str) -> Figure:
    elapsed = []
    for _ in range(2):
        begun = time.perf_counter()
        client.get(f"{scope(BIG)}/history", params={"source": source}).raise_for_status()
        elapsed.append(1000 * (time.perf_counter() - begun))
    label = "history of a rule of 100,000, changed, removed and restored with all"
    return Figure(label, elapsed[1], "ms", _HISTORY_TARGET, f"the first {elapsed[0]:,.0f} ms")


def _processor(service: Service) -> float:
    return sum(map(processor_seconds, service.workers() | service.job_processes()))


def _figures(steps: Sequence[_Step], rounds: Sequence[Sequence[_Duration]]) -> Iterator[Figure]:
    for step, elapsed in zip(steps, zip(*rounds, strict=True), strict=True):
        walls, processor = [each.wall for each in elapsed], median(each.processor for each in elapsed)
        slowest = f"median of {len(elapsed)}, best {min(walls):.0f}, slowest {max(walls):.0f} ms"
        detail = f"{slowest}; processor {processor:.0f} ms"
        yield Figure(f"rollback, 100,000 rules, {step.label}", median(walls), "ms", _TARGET, detail)
