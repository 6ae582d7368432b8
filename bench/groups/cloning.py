"""Clones and fetches by C git over HTTP, against the same client and `git upload-pack` on the same repository."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import httpx

from bench.figure import Figure, at_most
from bench.groups.histories import LONG, PUBLISHES, write_history
from bench.groups.polling import compare, during
from bench.workbench import AUTHOR, NAMESPACE, Site, Workbench, bearer, make_token, scope
from gitstore.directory import NamespacePaths
from gitstore.store.store import create_store
from gitstore.wire.packs.release_list import is_list_due
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import Service, wait_until

_CLONES = 7
_FETCHES = 15
_MOST_RATIO = at_most(1.5)
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the figures of clones, of fetches, and of polls during clones."""
    data = bench.new_folder("cloning")
    data.mkdir()
    store = create_store(data)
    store.namespaces.create(NAMESPACE, "", AUTHOR)
    store.projects.create(NAMESPACE, LONG, ProjectFile(), AUTHOR)
    write_history(store, PUBLISHES - 1)
    paths = store.directory.namespace(NAMESPACE)
    site = Site(data, (), make_token(data, "agent"), make_token(data, "admin"))
    with site.serving(workers=2) as service, service.as_token(site.admin) as client:
        client.get(f"{scope(LONG)}/version").raise_for_status()
        yield from _clones(bench, service, site, paths)
        yield from _fetches(bench, service, site, client)
        yield from _polls(bench, service, site)


def _clones(bench: Workbench, service: Service, site: Site, paths: NamespacePaths) -> Iterator[Figure]:
    url, folder = _url(service, site), bench.new_folder("clones")
    folder.mkdir()
    wait_until(lambda: not is_list_due(paths.repository, paths.clones), 120, "the list of objects")
    _git(folder, "ls-remote", url)  # starts a process, which a service has after its first job
    own, first, later = [], [], []
    for _ in bench.rounds(_CLONES, 60):  # in turns, so that other load on the machine affects all alike
        own.append(_clone(folder, f"file://{paths.repository}"))
        for pack in paths.clones.glob("*.pack"):
            pack.unlink()
        first.append(_clone(folder, url))
        later.append(_clone(folder, url))
    detail = f"{1000 * median(own):.0f} ms by `git upload-pack`; medians of {len(own)}"
    for label, times in (("after a publish", first), ("again", later)):
        ratio = median(times) / median(own)
        yield Figure(
            f"clone of {PUBLISHES:,} publishes, {label}, in times of git's own", ratio, "", _MOST_RATIO, detail
        )
    shutil.rmtree(paths.clones)
    yield Figure("the same without anything kept", _clone(folder, url) / median(own), "", None, "once")


def _clone(folder: Path, url: str) -> float:
    target = folder / "clone"
    elapsed = _elapsed(lambda: _git(folder, "clone", "-q", "--bare", url, str(target)))
    shutil.rmtree(target)
    return elapsed


def _fetches(bench: Workbench, service: Service, site: Site, client: httpx.Client) -> Iterator[Figure]:
    folder = bench.new_folder("fetches")
    _git(folder.parent, "clone", "-q", _url(service, site), str(folder))
    times, empty = [], []
    for turn in bench.rounds(_FETCHES, 30):
        body = {"type": "BASIC", "source": f"/fetched/{turn}", "target": "/new", "status": "MOVED_PERMANENT"}
        client.post(f"{scope(LONG)}/draft/redirects", json=body).raise_for_status()
        client.post(f"{scope(LONG)}/publish").raise_for_status()
        times.append(1000 * _elapsed(lambda: _git(folder, "fetch", "-q")))
        empty.append(1000 * _elapsed(lambda: _git(folder, "fetch", "-q")))
    detail = (
        f"median of {len(times)} `git fetch`, the slowest {max(times):.0f} ms; with nothing new {median(empty):.0f} ms"
    )
    yield Figure("fetch of one new publish", median(times), "ms", at_most(100), detail)


def _polls(bench: Workbench, service: Service, site: Site) -> Iterator[Figure]:
    folder = bench.new_folder("polled")
    folder.mkdir()
    url, headers = _url(service, site), bearer(site.agent)
    work = (lambda: time.sleep(3), lambda: _clone_for(folder, url, 3))
    turns = [[during(service, headers, each, LONG) for each in work] for _ in bench.rounds(3, 45)]
    idle, cloning = (min((turn[part] for turn in turns), key=lambda polls: polls.load.slow) for part in range(2))
    yield compare(f"while {PUBLISHES:,} publishes are cloned again and again", idle, cloning, None)


def _clone_for(folder: Path, url: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _clone(folder, url)


def _url(service: Service, site: Site) -> str:
    return f"http://bench:{site.admin}@127.0.0.1:{service.port}/git/{NAMESPACE}.git"


def _git(folder: Path, *words: str) -> None:
    subprocess.run(("git", *words), cwd=folder, env={**os.environ, **_ALONE}, check=True, capture_output=True)


def _elapsed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
