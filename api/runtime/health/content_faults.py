"""The readiness of content: what is not served as it is on disk, as faults with the remedy of each kind."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from api.readiness import Fault, ServedVersion, Status
from gitstore.compiled.indexes.manifest import COLLISION, INVALID, NOT_A_FOLDER, UNREADABLE
from gitstore.errors import NotFound
from gitstore.history.live import REWOUND, ContentFault
from gitstore.store.releases import NamespaceFaults
from gitstore.store.store import Store


class _Text(NamedTuple):
    """The public text of a kind of fault: it names no namespace, project or file."""

    message: str
    action: str


_TEXTS: Mapping[str, _Text] = {
    INVALID: _Text(
        "A pushed publish is invalid and is not served.",
        "Fix the file and line in the detail, and push or publish again.",
    ),
    COLLISION: _Text(
        "Two projects have names that differ only in case; only the older one is served.",
        "Rename or remove one of them.",
    ),
    NOT_A_FOLDER: _Text(
        "A push replaced the folder of a project by something else.", "Put the folder back, or remove the entry."
    ),
    UNREADABLE: _Text(
        "A repository, or an object in it, cannot be read.",
        "Run `waypost doctor`: it names what is broken, and what it can repair.",
    ),
    REWOUND: _Text(
        "A release branch was moved to a commit that does not continue from the commit that was served last.",
        "Put the branch back, or accept its history with `waypost namespace accept-rewind`.",
    ),
}
_ALL_LOST = Fault(
    Status.UNAVAILABLE,
    "nothing_served",
    "None of the projects of this node can be served.",
    "Restore the repositories or the compiled files; see the other reasons.",
)


class NodeContent:
    """The last findings in all namespaces, with running sums: a look at one of a thousand costs the same as at one of ten."""

    def __init__(self) -> None:
        self._served: dict[str, int] = {}
        self._faulty: dict[str, NamespaceFaults] = {}
        self._all_served = 0
        self._lost = 0

    def note(self, namespace: str, state: NamespaceFaults | None) -> None:
        """Replace the finding in a namespace; None where it does not exist."""
        earlier = self._faulty.pop(namespace, None)
        self._lost -= earlier is not None and _is_lost(earlier)
        self._all_served -= self._served.pop(namespace, 0)
        if state is None:
            return
        self._served[namespace] = state.served
        self._all_served += state.served
        if state.faults or _is_lost(state):
            self._faulty[namespace] = state
            self._lost += _is_lost(state)

    def keep(self, namespaces: Collection[str]) -> None:
        """Drop the findings in all other namespaces, which were removed."""
        for name in self._served.keys() - set(namespaces):
            self.note(name, None)

    def faults(self) -> Sequence[Fault]:
        """Return the faults of all namespaces; the node is unavailable only if none of its projects can be served."""
        faults = [to_fault(name, each) for name, state in sorted(self._faulty.items()) for each in state.faults]
        return [_ALL_LOST, *faults] if self._lost and not self._all_served else faults


def find_faults_of(store: Store, namespace: str) -> NamespaceFaults | None:
    """Look at a namespace, and in its repository; None if it does not exist."""
    try:
        return store.releases.faults(namespace)
    except NotFound:  # deleted meanwhile
        return None


def to_fault(namespace: str, found: ContentFault) -> Fault:
    """Return a fault of content as one of readiness: it degrades the node, which serves everything else."""
    text = _TEXTS[found.code]
    served = ServedVersion(found.served.version, found.served.number) if found.served else None
    return Fault(Status.DEGRADED, found.code, text.message, text.action, namespace, found.project, found.reason, served)


def _is_lost(state: NamespaceFaults) -> bool:
    """Tell whether projects that were valid before cannot be served: a project that never was valid is no loss."""
    return state.expected > state.served or (
        not state.served and any(fault.code == UNREADABLE for fault in state.faults)
    )
