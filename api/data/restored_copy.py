"""The marker of a restored copy: until it is removed, no webhook is sent and no silent agent is reported.

The copy may run beside the original, for a drill. It has the webhooks of the original, deliveries that the original has
sent meanwhile, and agents that report to the original only.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from api.readiness import Fault, ReadyCheck, Status
from gitstore.git.atomic_io import replace_file, sync_directory

MARKER = "restored-copy.json"
RESUME = "waypost webhooks resume"
_FAULT = Fault(
    Status.DEGRADED,
    "restored_copy",
    "This is a copy restored from a backup: it sends no webhooks, syncs no upstreams, and reports no silent agents.",
    f"If the copy replaces the original service, run `{RESUME}`.",
)


class RestoredCopy:
    """The marker in a data directory."""

    def __init__(self, data: Path) -> None:
        self._path = data / MARKER

    def is_paused(self) -> bool:
        """Tell whether webhooks and reports of silent agents are paused: one `stat`."""
        return self._path.exists()

    def read(self) -> dict[str, Any]:
        """Return what the marker says about the backup; empty if it cannot be read."""
        with suppress(OSError, ValueError):
            found = orjson.loads(self._path.read_bytes())
            return found if isinstance(found, dict) else {}
        return {}

    def pause(self, facts: dict[str, object]) -> None:
        """Write the marker, durably."""
        replace_file(self._path, orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
        sync_directory(self._path.parent)

    def resume(self) -> bool:
        """Remove the marker, durably; return whether there was one."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        sync_directory(self._path.parent)
        return True

    def ready_check(self) -> ReadyCheck:
        """Create the readiness check that shows a restored copy."""
        return ReadyCheck("restored", lambda: [_FAULT] if self.is_paused() else [])
