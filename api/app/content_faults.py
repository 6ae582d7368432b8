"""The readiness of content: its failures as faults, one for each namespace or project."""

from api.readiness import Fault, ReadyCheck, Status
from gitstore.store.store import Store


def content_check(store: Store) -> ReadyCheck:
    """Create the check that all content is served as it is on disk."""
    return ReadyCheck("content", lambda: [_fault(failure) for failure in store.releases.failures()])


def _fault(failure: str) -> Fault:
    namespace, _, detail = failure.partition(": ")
    return Fault(
        Status.DEGRADED,
        "not_served_as_on_disk",
        "Some published content cannot be served as it is in its repository.",
        "Read the details with a token that may read the namespace, and repair the repository.",
        namespace=namespace,
        detail=detail,
    )
