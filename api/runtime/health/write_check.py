"""The check that the service's user may change each file of its next change: files of another user refuse some writes.

It runs in the background, a few namespaces at a time and with long rests, so that it costs no request anything. It
writes nothing: `disk_check` does that.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from api import logs
from api.data.served_data import ServedData
from api.readiness import Fault, FaultReport, Status
from api.runtime.health.disk_check import refused_fault
from api.runtime.jobs.background_task import TaskService
from api.runtime.jobs.pace import Pace
from gitstore.directory import DataDirectory, NamespacePaths

ROUND_SECONDS = 10.0
"""The shortest time between the starts of two rounds."""
_LONGEST_ROUND = 40.0  # seconds with its rests, so that findings stay young
_MOST_REST = 400  # times the duration of a step, so that an idle node uses little of a core …
_LEAST_REST = 20  # … and a large one no more than a twentieth, even if its rounds take longer
_SAMPLES = 3
_FOLDER = os.R_OK | os.W_OK | os.X_OK
_OBJECTS, _DIGITS = "objects", 2

_log = logs.logger("write_check")


class WriteCheck(TaskService):
    """A background service that reports each place where the service cannot write."""

    def __init__(self, directory: DataDirectory, served: ServedData) -> None:
        super().__init__()
        self._directory = directory
        self._served = served
        self.report = FaultReport()
        self._found: dict[str, Fault] = {}

    async def _run(self) -> None:
        pace = Pace(
            shortest=ROUND_SECONDS, longest=_LONGEST_ROUND, most=_MOST_REST, least=_LEAST_REST, first=_LEAST_REST
        )
        while True:
            is_complete = self._served.fault is None
            if is_complete:
                await self._look_at_all(pace)
            else:
                self._note({})
            self.report.end_round(pace.begun)
            await pace.end_round(is_complete=is_complete)

    async def _look_at_all(self, pace: Pace) -> None:
        known = set[str]()
        async for step in pace.steps(self._list, self._look):
            known.update(namespace for namespace, _ in step)
            self._note({**self._found, **dict(step)})
        self._note({name: fault for name, fault in self._found.items() if name in known})

    def _list(self) -> Sequence[str]:
        return ["", *self._directory.namespaces()]

    def _look(self, namespace: str) -> tuple[str, Fault | None]:
        try:
            return namespace, self.find(namespace)
        except OSError as ex:  # such as a namespace that is removed meanwhile; the next round looks again
            _log.warning("write_check_failed", namespace=namespace, error=str(ex))
            return namespace, self._found.get(namespace)

    def _note(self, found: Mapping[str, Fault | None]) -> None:
        faults = {name: fault for name, fault in found.items() if fault}
        for name, fault in faults.items():
            if self._found.get(name) != fault:
                _log.warning("cannot_write", namespace=name, reason=fault.detail or fault.message)
        self._found = faults
        self.report.report(self._found.values())

    def find(self, namespace: str) -> Fault | None:
        """Look at one namespace, or without a name at the data directory itself."""
        if self._served.check() is not None:
            return None
        if not namespace:
            return self._find_shared()
        refused = list(_refused(self._directory.namespace(namespace)))
        return _namespace_fault(namespace, refused) if refused else None

    def _find_shared(self) -> Fault | None:
        """Look at the files of the data directory itself."""
        root, keys = self._directory.root, self._served.parts.keys
        files = [*root.glob("*.db"), *root.glob("*.lock"), *root.glob("generation"), *keys.glob("*.json")]
        return refused_fault("Permission denied") if any(map(_is_closed, files)) else None


def _refused(paths: NamespacePaths) -> Iterator[Path]:
    """Find the folders and files of a namespace that an edit or a publish would fail to change."""
    for top in (paths.repository, paths.compiled):
        if top.exists() and not os.access(top, _FOLDER):
            yield top
    yield from map(Path, _refused_in(str(paths.repository), {"": "waypost"}))
    yield from map(Path, _refused_in(str(paths.compiled), {"": "", "versions": "", "changes": ""}))


def _refused_in(top: str, changed: Mapping[str, str], below: str = "") -> Iterator[str]:
    """Find them below a folder. Files are opened to be changed in a few folders, by the begin of their names.

    All others are replaced, which needs only their folder; objects are never changed. Paths are texts: 150 namespaces have
    some 10,000 entries, and a path object takes longer than the kernel.
    """
    folder = f"{top}/{below}" if below else top
    begin = changed.get(below)
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:  # it is gone, or it was reported from its parent
        return
    for entry in entries:
        if _is_folder(entry):
            # Objects are in folders by the first digits of their hash, and in packs; other folders are of pushes under way.
            is_of_push = below == _OBJECTS and len(entry.name) != _DIGITS and entry.name != "pack"
            if not is_of_push and _is_closed(entry.path, _FOLDER):
                yield entry.path
            if below != _OBJECTS and not entry.is_symlink():
                yield from _refused_in(top, changed, f"{below}/{entry.name}" if below else entry.name)
        elif begin is not None and entry.name.startswith(begin) and _is_closed(entry.path):
            yield entry.path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads nowhere, or to a folder that may not be entered
        return False


def _is_closed(path: str | Path, rights: int = os.R_OK | os.W_OK) -> bool:
    """Tell whether the service lacks rights to what exists; it may be removed meanwhile."""
    return not os.access(path, rights) and os.path.lexists(path)


def _namespace_fault(namespace: str, refused: Sequence[Path]) -> Fault:
    shown = ", ".join(f"{'/'.join(path.parts[-3:])} ({_owner(path)})" for path in refused[:_SAMPLES])
    more = f" and {len(refused) - _SAMPLES} more" if len(refused) > _SAMPLES else ""
    return Fault(
        Status.DEGRADED,
        "cannot_write",
        "Some files cannot be changed by the service's user, so some edits and publishes fail.",
        "Give all files in the data directory to the service's user (chown -R).",
        namespace=namespace,
        detail=f"Not writable: {shown}{more}.",
    )


def _owner(path: Path) -> str:
    with suppress(OSError):
        return f"user {path.stat().st_uid}"
    return "missing"
