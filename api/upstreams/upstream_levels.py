"""The metrics of the upstreams of a node: counts by state, and the age of the oldest good sync; no namespace is named."""

import time
from collections import Counter
from collections.abc import Collection, Mapping

STATES = ("synced", "failing", "pending", "suspended")


class UpstreamLevels:
    """The upstreams as the syncing worker saw them last; on other workers there are none."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, float]] = {}  # by namespace: its state, and the time of its last good sync
        self._begun: dict[str, float] = {}
        self.due = 0  # that wait for a process
        self.running = 0

    def note(self, namespace: str, state: str, good_at: float) -> None:
        """Note what was seen of an upstream; `good_at` is 0 before the first good sync."""
        begun = self._begun.setdefault(namespace, time.time())
        self._seen[namespace] = state, good_at or begun

    def keep(self, namespaces: Collection[str]) -> None:
        """Forget all other upstreams."""
        for each in set(self._seen).difference(namespaces):
            del self._seen[each], self._begun[each]

    def count_states(self) -> Mapping[str, float]:
        """Count the upstreams by state."""
        found = Counter(state for state, _ in self._seen.values())
        return {state: found[state] for state in STATES} if self._seen else {}

    def oldest_age(self) -> float:
        """Return the seconds since the good sync that is longest ago, of those that are not suspended; 0 for none."""
        times = [good_at for state, good_at in self._seen.values() if state != "suspended"]
        return max(time.time() - min(times), 0.0) if times else 0.0
