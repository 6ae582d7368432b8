"""The last known state of a namespace's upstream on this node: a file beside its repository, written after each sync.

It is a cache: without it, the next sync is due at once and finds the same.
"""

import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from gitstore.git.atomic_io import replace_file

STATE_FILE = "waypost-upstream-state"
_LONGEST_PAUSE = 600.0
LONGEST_REST = 3_600.0
_EARLIEST, _LATEST = 0.8, 1.2  # parts of a pause, by chance
_MOST_DOUBLINGS = 10
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class UpstreamFault:
    """The reason why this node and the upstream are not the same: a stable code, a sentence, problems of content."""

    code: str
    message: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """The last sync: its time, the commits of both sides after it, the commits that only one side has, and its fault.

    `tip` is empty before the first answer, and while the upstream has no such branch. `failures` are those since the last
    success (at `good_at`), `origin` is the upstream's own commit of the tip, another one where only a folder is followed,
    `due_at` is the time of the next sync, `requests` the count of "sync now" that this sync has answered. Until `rests_until`
    the upstream asked to be left alone, so that no request to sync reaches it.
    `checked_at` is the time of the last check of a refused tip, `checked` are the rules that it was checked by.
    """

    synced_at: float = 0.0
    reached_at: float = 0.0
    tip: str = ""
    release: str = ""
    ahead: int = 0
    behind: int = 0
    fault: UpstreamFault | None = None
    failures: int = 0
    due_at: float = 0.0
    requests: int = 0
    good_at: float = 0.0
    origin: str = ""
    rests_until: float = 0.0
    checked_at: float = 0.0
    checked: str = ""

    def is_resting(self, now: float) -> bool:
        """Tell whether the upstream is to be left alone; not for longer than a rest lasts, if the clock was set back."""
        return now < self.rests_until <= now + LONGEST_REST

    def is_due(self, poll: float, requests: int, now: float) -> bool:
        """Tell whether it is time for a sync, or one is asked for; also if the clock was set back since the last one.

        The count of requests begins again with another row of the database, so any other count is a new request.
        """
        if self.is_resting(now):
            return False
        longest = max(_LONGEST_PAUSE, poll, LONGEST_REST) * _LATEST
        return self.requests != requests or not now < self.due_at <= now + longest


def read_state(repository: Path) -> UpstreamState:
    """Return the state; the empty one where it is missing or damaged."""
    try:
        data = orjson.loads((repository / STATE_FILE).read_bytes())
        fault = data.pop("fault")
        known = UpstreamFault(fault["code"], fault["message"], tuple(fault["problems"])) if fault else None
        return UpstreamState(**data, fault=known)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return UpstreamState()


def write_state(repository: Path, state: UpstreamState) -> None:
    """Write the state; a power cut may lose it."""
    replace_file(repository / STATE_FILE, orjson.dumps(asdict(state)), sync=False)


def remove_state(repository: Path) -> None:
    """Remove the state, as of another upstream."""
    (repository / STATE_FILE).unlink(missing_ok=True)


def next_due(poll: float, failures: int) -> float:
    """Return the time of the next sync: after a poll, by chance a fifth sooner or later; after failures ever later."""
    pause = poll if not failures else min(poll * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), max(_LONGEST_PAUSE, poll))
    # No secret depends on it: nodes only have to ask at different times.
    return time.time() + pause * random.uniform(_EARLIEST, _LATEST)  # noqa: S311 - a pause that differs between nodes, no secret


def shorten(problems: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first problems, and how many more there are."""
    more = len(problems) - _MOST_PROBLEMS
    return (*problems[:_MOST_PROBLEMS], *([f"… and {more:,} more"] if more > 0 else ()))
