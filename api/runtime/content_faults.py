"""The readiness of content: what is not served as it is on disk, as faults with the remedy of each kind."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.data.served_data import ServedData
from api.readiness import Fault, ReadyCheck, ServedVersion, Status
from gitstore.compiled.manifest import COLLISION, INVALID, NOT_A_FOLDER, UNREADABLE
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
        "Run `git fsck`, and restore what is missing from a backup.",
    ),
    REWOUND: _Text(
        "A release branch was moved to a commit that does not continue from the one that was served last.",
        "Put the branch back, or accept its history with `waypost namespace accept-rewind`.",
    ),
}
_ALL_LOST = Fault(
    Status.UNAVAILABLE,
    "nothing_served",
    "None of the projects of this node can be served.",
    "Restore the repositories or the compiled files; see the other reasons.",
)


def content_check(store: Store, data: ServedData | None = None) -> ReadyCheck:
    """Create the check that all content is served as it is on disk; it does not look while the data directory is lost."""
    return ReadyCheck("content", lambda: [] if data is not None and data.check() else find_content_faults(store))


def find_content_faults(store: Store) -> Sequence[Fault]:
    """Return the faults of all namespaces; the node is unavailable only if none of its projects can be served."""
    found = {name: state for name in store.namespaces.names() if (state := _faults_of(store, name))}
    faults = [to_fault(name, each) for name, state in found.items() for each in state.faults]
    is_lost = any(_is_lost(state) for state in found.values())
    return [_ALL_LOST, *faults] if is_lost and not any(state.served for state in found.values()) else faults


def to_fault(namespace: str, found: ContentFault) -> Fault:
    """Return a fault of content as one of readiness: it degrades the node, which serves everything else."""
    text = _TEXTS[found.code]
    served = ServedVersion(found.served.version, found.served.number) if found.served else None
    return Fault(Status.DEGRADED, found.code, text.message, text.action, namespace, found.project, found.reason, served)


def _faults_of(store: Store, name: str) -> NamespaceFaults | None:
    try:
        return store.releases.faults(name)
    except NotFound:  # deleted meanwhile
        return None


def _is_lost(state: NamespaceFaults) -> bool:
    """Tell whether projects that were valid before cannot be served: a project that never was valid is no loss."""
    return state.expected > state.served or (
        not state.served and any(fault.code == UNREADABLE for fault in state.faults)
    )
