"""A draft that somebody names: one that is not there was mistyped, and nothing is told of it as if it were there."""

from cli.suggestion import near
from content.names import DEFAULT_DRAFT
from gitstore.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store import Store


def must_be_begun(store: Store, namespace: str, name: DraftName) -> None:
    """Raise NotFound where there is no such draft; `main` is the draft of every project, also before its first edit."""
    if name.draft != DEFAULT_DRAFT and store.under_review(namespace, name).head is None:
        raise no_draft(store, namespace, name)


def no_draft(store: Store, namespace: str, name: DraftName) -> NotFound:
    """That there is no such draft, with the nearest name there is."""
    known = store.drafts(namespace, name.project)
    return NotFound(f"The project {name.project} has no draft {name.draft}.{near(name.draft, known)}")
