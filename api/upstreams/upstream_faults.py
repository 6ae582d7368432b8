"""The faults of the upstreams of a node: one file, which the worker that syncs writes and the readiness of each worker reads.

It is written when a fault begins, changes or ends, so that readiness costs one `stat` for any number of namespaces.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import orjson

from api import logs
from api.readiness import Fault, Status
from gitstore.errors import StoreError
from gitstore.git.atomic_io import replace_file
from gitstore.git.refs import FileSignature, file_signature
from gitstore.upstream.upstream_state import UpstreamFault

_FILE = ".upstreams.faults"
_MODE = 0o600

_log = logs.logger("upstreams")


class UpstreamFaults:
    """The faults by namespace, with a copy of the file in memory. Its calls block briefly."""

    def __init__(self, repositories: Path) -> None:
        self._path = repositories / _FILE
        self._seen: tuple[FileSignature | None, Mapping[str, UpstreamFault]] = (None, {})

    def note(self, faults: Mapping[str, UpstreamFault]) -> None:
        """Replace the faults of this node; a failure is logged, and the next call tries again."""
        if self.all() != faults:
            data = orjson.dumps({namespace: asdict(fault) for namespace, fault in faults.items()})
            try:
                replace_file(self._path, data, sync=False, mode=_MODE)
            except (StoreError, OSError) as ex:
                _log.warning("upstream_faults_not_written", error=str(ex))

    def all(self) -> Mapping[str, UpstreamFault]:
        """Return the faults; the file is read only where it has changed."""
        now = file_signature(str(self._path))
        before, known = self._seen
        if now != before:
            known = self._read()
            self._seen = now, known
        return known

    def find(self) -> Sequence[Fault]:
        """Return the faults for readiness."""
        return [_to_fault(namespace, fault) for namespace, fault in self.all().items()]

    def _read(self) -> Mapping[str, UpstreamFault]:
        with suppress(
            OSError, ValueError, TypeError, KeyError, AttributeError
        ):  # none, or damaged: it is written again
            found = orjson.loads(self._path.read_bytes())
            return {
                namespace: UpstreamFault(each["code"], each["message"], tuple(each["problems"]))
                for namespace, each in found.items()
            }
        return {}


def _to_fault(namespace: str, fault: UpstreamFault) -> Fault:
    return Fault(
        Status.DEGRADED,
        fault.code,
        "The last sync of a namespace with its upstream failed.",
        "Ask for the upstream's state: GET /api/namespace/{namespace}/upstream, or `waypost upstream show`.",
        namespace=namespace,
        detail=" ".join([fault.message, *fault.problems]),
    )
