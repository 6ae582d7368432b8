"""The records that comments of a review are on: what people call them."""

from collections.abc import Collection

from api.state.reviews import Topic
from content.diff import item_kind
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.errors import NotFound
from gitstore.store import Store

KINDS = {item_kind(kind): kind for kind in Kind}


def topic_identities(
    store: Store, namespace: str, name: DraftName, topics: Collection[Topic]
) -> dict[tuple[str, str], str]:
    """The source or path of each of these records that the draft, or where it began, still knows."""
    try:
        found = store.identities(namespace, name, {(KINDS[topic.kind], topic.id) for topic in topics})
    except NotFound:  # the draft has no such project any more: what was said of it is there all the same
        return {}
    return {topic: found[KINDS[topic.kind], topic.id] for topic in topics if (KINDS[topic.kind], topic.id) in found}
