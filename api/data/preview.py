"""A preview: a service for the working directory of one person, without a login; its state is a file of the data directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from gitstore.git.atomic_io import replace_file


@dataclass(frozen=True, slots=True)
class PreviewState:
    """The state of a preview: the time of the served save, empty before the first, with its projects and their counts.

    `problems` are those of the last save, as JSON; with errors it is not served.
    """

    served_at: str = ""
    projects: Mapping[str, Mapping[str, int]] | None = None
    errors: int = 0
    warnings: int = 0
    problems: Sequence[Mapping[str, Any]] = ()

    def wire(self) -> dict[str, Any]:
        """Return the JSON shape."""
        return {
            "servedAt": self.served_at or None,
            "projects": [{"name": name, **counts} for name, counts in (self.projects or {}).items()],
            "errors": self.errors,
            "warnings": self.warnings,
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of `folder` as a namespace; `origins` are those of the service, such as http://127.0.0.1:8090.

    `user` is the id of the user as whom every request is answered.
    """

    folder: str
    namespace: str
    origins: frozenset[str]
    user: int
    file: Path

    @property
    def hosts(self) -> frozenset[str]:
        """The allowed values of the Host header."""
        named = {origin.removeprefix("http://") for origin in self.origins}
        return frozenset(named | {host.removesuffix(":80") for host in named})

    def write(self, state: PreviewState) -> None:
        """Write the state, for the processes that serve."""
        replace_file(self.file, orjson.dumps(state.wire()), sync=False)

    def read(self) -> dict[str, Any]:
        """Return the state as JSON; that of a preview that serves nothing yet before the first is written."""
        try:
            found: dict[str, Any] = orjson.loads(self.file.read_bytes())
        except (OSError, ValueError):
            return PreviewState().wire()
        return found
