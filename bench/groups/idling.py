"""Idle nodes: the processor time of a service without requests, with few and with many namespaces."""

import time
from collections.abc import Iterator

from bench.figure import Figure
from bench.processes import descendants, processor_seconds
from bench.workbench import AUTHOR, BIG, Workbench
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import WAYPOST, Service, running

_NAMESPACES = (1, 150, 1_000)
_SETTLING = 60  # seconds: the first rounds of the background, and the processes that start in advance
_SECONDS = 80  # two rounds of the checks on a node of many namespaces
_QUICK_DIVISOR = 4


def measure(bench: Workbench) -> Iterator[Figure]:
    """Yield the share of a core for each number of namespaces."""
    divisor = _QUICK_DIVISOR if bench.quick else 1
    for count in _NAMESPACES:
        data = bench.new_folder(f"idle-{count}")
        data.mkdir()
        store = create_store(data)
        for number in range(count):
            store.namespaces.create(f"space-{number}", "", AUTHOR)
            store.projects.create(f"space-{number}", BIG, ProjectFile(), AUTHOR)
        with running(WAYPOST, data) as service:
            time.sleep(_SETTLING / divisor)
            used = _used(service, _SECONDS / divisor)
        label = f"idle node of {count:,} namespaces, two workers"
        yield Figure(label, 100 * used, "% of a core", None, f"over {_SECONDS / divisor:.0f} s, all its processes")


def _used(service: Service, seconds: float) -> float:
    """Return the share of a core that the processes of a service use meanwhile; those that end meanwhile are left out."""
    processes = {service.process.pid, *descendants(service.process.pid)}
    before = {pid: processor_seconds(pid) for pid in processes}
    begun = time.monotonic()
    time.sleep(seconds)
    left = {service.process.pid, *descendants(service.process.pid)}
    used = sum(processor_seconds(pid) - before.get(pid, 0.0) for pid in left)
    return used / (time.monotonic() - begun)
