"""The check that a draft named on the command line exists, since an unknown name is probably misspelled."""

from cli.console.suggestion import suggest
from content.records.names import DEFAULT_DRAFT
from gitstore.drafts.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store.store import Store


def require_draft(store: Store, namespace: str, name: DraftName) -> None:
    """Raise NotFound for an unknown draft; every project has `main`, also before its first edit."""
    if name.draft != DEFAULT_DRAFT and store.drafts.review_subject(namespace, name).head is None:
        raise draft_not_found(store, namespace, name)


def draft_not_found(store: Store, namespace: str, name: DraftName) -> NotFound:
    """Return the error for an unknown draft, with the nearest existing name."""
    known = store.drafts.names(namespace, name.project)
    return NotFound(f"The project {name.project} has no draft {name.draft}.{suggest(name.draft, known)}")
