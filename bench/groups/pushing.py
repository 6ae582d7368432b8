"""Pushes by C git over HTTP: one changed rule among 100,000, and 100 MB, with the memory and the polls meanwhile."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import httpx

from bench.figure import Figure, at_most
from bench.git_client import address, elapsed, git
from bench.groups.polling import compare, during
from bench.processes import descendants, proportional_megabytes
from bench.workbench import BIG, Workbench, bearer, scope
from tests.service import Service

_PUSHES = 15
_MOST_SECONDS = at_most(0.5)
_MOST_MEGABYTES = at_most(100)
_FILES, _FILE_BYTES = 10, 10_000_000
_SAMPLE_SECONDS = 0.02


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the figures of a small push, of the memory for large ones, and of polls during one."""
    site = bench.plain
    with site.serving(workers=2) as service, service.as_token(site.admin) as client:
        client.get(f"{scope(BIG)}/version").raise_for_status()
        clone = _Clone(bench.new_folder("pushes"), address(service, site))
        yield from _changes(bench, clone, client)
        yield from _memory(service, clone)
        yield from _polls(bench, service, clone, bearer(site.agent))


class _Clone:
    """A clone over HTTP that is pushed from."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        git(folder.parent, "clone", "-q", url, str(folder))
        self._files = sorted((folder / BIG / "redirects").glob("*.yaml"))

    def change_rule(self, turn: int) -> str:
        """Change the target of one rule and commit it; return the number of its file's rules."""
        path = self._files[turn * 7 % len(self._files)]
        lines = path.read_text(encoding="utf-8").split("\n")
        at = [number for number, line in enumerate(lines) if "https://www.shop.example/new/" in line]
        lines[at[len(at) // 2]] = lines[at[len(at) // 2]].replace("/new/", f"/pushed-{turn}/", 1)
        path.write_text("\n".join(lines), encoding="utf-8")
        self.commit()
        return f"{len(at):,}"

    def commit(self) -> None:
        """Commit everything."""
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", "Change")

    def push(self, branch: str, *settings: str) -> float:
        """Push HEAD to a branch; return the seconds that it took."""
        options = [word for setting in settings for word in ("-c", setting)]
        return elapsed(lambda: git(self.folder, *options, "push", "-q", "origin", f"HEAD:{branch}"))

    def write_large(self, seed: int) -> None:
        """Write and commit 100 MB that nothing makes smaller."""
        for number in range(_FILES):
            path = self.folder / BIG / "pages" / f"large-{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(random.Random(seed * _FILES + number).randbytes(_FILE_BYTES))  # noqa: S311 - test data
        self.commit()

    def edit_large(self) -> None:
        """Change a few bytes of each large file, and commit: a push of it has deltas against what was pushed before."""
        for path in sorted((self.folder / BIG / "pages").glob("large-*.txt")):
            data = bytearray(path.read_bytes())
            data[len(data) // 2 : len(data) // 2] = b"changed"
            path.write_bytes(data)
        self.commit()


def _changes(bench: Workbench, clone: _Clone, client: httpx.Client) -> Iterator[Figure]:
    own = clone.folder.parent / "own.git"
    git(clone.folder, "clone", "-q", "--bare", str(clone.folder), str(own))
    times, plain, rules = list[float](), list[float](), ""
    for turn in bench.rounds(_PUSHES + 1, 60):
        rules = clone.change_rule(turn)
        before = client.get(f"{scope(BIG)}/version").headers["X-Publish-Number"]
        seconds = clone.push("release")
        after = client.get(f"{scope(BIG)}/version").headers["X-Publish-Number"]
        if int(after) != int(before) + 1:
            raise AssertionError("The push to release made no publish.")
        if turn:  # the first one starts a process
            times.append(seconds)
            plain.append(elapsed(lambda: git(clone.folder, "push", "-q", str(own), "HEAD:release")))
    detail = (
        f"median of {len(times)}, best {min(times):.2f}, slowest {max(times):.2f} s; files of {rules} rules, served after the "
        f"answer; {median(plain):.2f} s to a bare repository by `git receive-pack`"
    )
    yield Figure("push of one changed rule into 100,000, with its publish", median(times), "s", _MOST_SECONDS, detail)


def _memory(service: Service, clone: _Clone) -> Iterator[Figure]:
    clone.write_large(0)
    loose = ("core.compression=0", "core.bigFileThreshold=1m")
    yield _grown("a push of 100 MB", service, lambda: clone.push("large", *loose))
    clone.edit_large()
    yield _grown("a second one with deltas against it", service, lambda: clone.push("large"))


def _grown(label: str, service: Service, work: Callable[[], float]) -> Figure:
    """Measure the growth of the memory of all processes of the service."""
    pid = service.process.pid

    def megabytes() -> float:
        return sum(map(proportional_megabytes, {pid, *descendants(pid)}))

    before, found, done = megabytes(), list[float](), threading.Event()

    def watch() -> None:
        while not done.wait(_SAMPLE_SECONDS):
            found.append(megabytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seconds = work()
    finally:
        done.set()
        watcher.join()
    detail = f"proportional memory of all processes, {before:.0f} MB before; {len(found)} samples in {seconds:.1f} s"
    return Figure(f"memory during {label}", max(found, default=before) - before, "MB more", _MOST_MEGABYTES, detail)


def _polls(bench: Workbench, service: Service, clone: _Clone, headers: dict[str, str]) -> Iterator[Figure]:
    idle, busy = [], []
    for turn in bench.rounds(3, 60):
        clone.write_large(1 + turn)
        idle.append(during(service, headers, lambda: time.sleep(3), BIG))
        branch = f"polled-{turn}"
        busy.append(
            during(service, headers, lambda: clone.push(branch, "core.compression=0", "core.bigFileThreshold=1m"), BIG)  # noqa: B023 - it is called in this turn
        )
    quiet, held = (min(polls, key=lambda each: each.load.slow) for polls in (idle, busy))
    yield compare("during a push of 100 MB", quiet, held, at_most(3))
