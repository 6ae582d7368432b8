"""Clones and fetches by C git over HTTP, against the same client and `git upload-pack` on the same repository."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import httpx

from bench.figure import Figure, at_most
from bench.git_client import address, elapsed, git
from bench.groups.histories import LONG, PUBLISHES, write_history
from bench.groups.polling import compare, during
from bench.workbench import AUTHOR, NAMESPACE, Site, Workbench, bearer, make_token, scope
from gitstore.directory import NamespacePaths
from gitstore.store.store import create_store
from gitstore.wire.packs.release_list import FILE_NAME, is_list_due
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import Service, wait_until

_CLONES = 7
_FETCHES = 15
_MOST_RATIO = at_most(1.5)
_LABELS = {
    "nothing": "the first one ever",
    "first": "the first one after a publish",
    "later": "later ones",
    "unlisted": "before the background has listed its objects",
}


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
        yield from _clones(bench, service, site, client, paths)
        yield from _fetches(bench, service, site, client)
        yield from _polls(bench, service, site)


def _clones(
    bench: Workbench, service: Service, site: Site, client: httpx.Client, paths: NamespacePaths
) -> Iterator[Figure]:
    url, folder = address(service, site), bench.new_folder("clones")
    folder.mkdir()
    git(folder, "ls-remote", url)  # starts a process, which a service has after its first job
    times: dict[str, list[float]] = {part: [] for part in ("own", *_LABELS)}
    for turn in bench.rounds(_CLONES, 75):  # in turns, so that other load on the machine affects all alike
        wait_until(lambda: not is_list_due(paths.repository), 120, "the list of objects")
        times["own"].append(_clone(folder, f"file://{paths.repository}"))
        _remove(paths.clones, "*")
        times["nothing"].append(_clone(folder, url))
        _publish(client, f"/cloned/{turn}")
        times["first"].append(_clone(folder, url))
        times["later"].append(_clone(folder, url))
        _remove(paths.clones, "*")
        (paths.repository / FILE_NAME).unlink(missing_ok=True)
        times["unlisted"].append(_clone(folder, url))
    own = times["own"]
    for part, label in _LABELS.items():
        ratio = median(times[part]) / median(own)
        detail = (
            f"{1000 * median(times[part]):.0f} ms against {1000 * median(own):.0f} by `git upload-pack`, best "
            f"{1000 * min(times[part]):.0f} against {1000 * min(own):.0f}; medians of {len(own)}, in turns"
        )
        yield Figure(f"clone of {PUBLISHES:,} publishes, {label}", ratio, "times git's own", _MOST_RATIO, detail)


def _publish(client: httpx.Client, source: str) -> None:
    body = {"type": "BASIC", "source": source, "target": "/new", "status": "MOVED_PERMANENT"}
    client.post(f"{scope(LONG)}/draft/redirects", json=body).raise_for_status()
    client.post(f"{scope(LONG)}/publish").raise_for_status()


def _remove(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        path.unlink(missing_ok=True)


def _clone(folder: Path, url: str) -> float:
    target = folder / "clone"
    seconds = elapsed(lambda: git(folder, "clone", "-q", "--bare", url, str(target)))
    shutil.rmtree(target)
    return seconds


def _fetches(bench: Workbench, service: Service, site: Site, client: httpx.Client) -> Iterator[Figure]:
    folder = bench.new_folder("fetches")
    git(folder.parent, "clone", "-q", address(service, site), str(folder))
    times, empty = [], []
    for turn in bench.rounds(_FETCHES, 30):
        _publish(client, f"/fetched/{turn}")
        times.append(1000 * elapsed(lambda: git(folder, "fetch", "-q")))
        empty.append(1000 * elapsed(lambda: git(folder, "fetch", "-q")))
    detail = (
        f"median of {len(times)} `git fetch`, the slowest {max(times):.0f} ms; with nothing new {median(empty):.0f} ms"
    )
    yield Figure("fetch of one new publish", median(times), "ms", at_most(100), detail)


def _polls(bench: Workbench, service: Service, site: Site) -> Iterator[Figure]:
    folder = bench.new_folder("polled")
    folder.mkdir()
    url, headers = address(service, site), bearer(site.agent)
    work = (lambda: time.sleep(3), lambda: _clone_for(folder, url, 3))
    turns = [[during(service, headers, each, LONG) for each in work] for _ in bench.rounds(3, 45)]
    idle, cloning = (min((turn[part] for turn in turns), key=lambda polls: polls.load.slow) for part in range(2))
    yield compare(f"while {PUBLISHES:,} publishes are cloned again and again", idle, cloning, None)


def _clone_for(folder: Path, url: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _clone(folder, url)
