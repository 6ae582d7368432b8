"""Publishing for commands: held to the same approvals as by HTTP, with the same lines in the audit trail.

In the name of a user it is held to that user's grants too; else whoever runs the command publishes, and may do everything.
"""

from dataclasses import replace
from functools import partial

from api.errors import Forbidden
from api.identity.principal import OPERATOR, Principal
from api.identity.service import Services
from api.reviewing import Override
from api.state.audit import Actor
from api.state.reviews import DraftKey, Origin
from cli.setup import operator
from gitstore.advance import Published
from gitstore.publishing import PublishOrder
from gitstore.store import Store


def publisher_of(services: Services, username: str | None, namespace: str, project: str) -> Principal:
    """Who publishes: a user who may, or the operator; Forbidden for a user who may not."""
    found = services.accounts.principal(username) if username else OPERATOR
    _must_hold(found, "publish", namespace, project)
    return found


def publish_draft(
    services: Services, store: Store, namespace: str, order: PublishOrder, publisher: Principal
) -> Published:
    """Publish a draft under the verdicts on it, as they are when the lock is held; an override is in the audit trail before."""
    place, reviews, key = (namespace, order.name.project), services.reviews(), DraftKey(namespace, *order.name)
    order = replace(order, may_change_policy=publisher.may("project", "override", *place))
    if not order.override:
        return store.publish(namespace, order, partial(reviews.verdicts, key))
    _must_hold(publisher, "override", *place)
    override = _override(publisher, key, order.override, store.under_review(namespace, order.name).head)
    reviews.ask_override(override)
    found = store.publish(namespace, order, partial(reviews.verdicts, key))
    reviews.note_override(override, found.version, found.number)
    return found


def _override(publisher: Principal, key: DraftKey, reason: str, head: str | None) -> Override:
    """The override for the audit trail, which also says who was at the keyboard."""
    name = operator().name[:100]
    if publisher == OPERATOR:
        return Override(Actor(OPERATOR.kind.value, None, name or OPERATOR.name), key, reason, head)
    return Override(publisher.actor(), key, reason, head, Origin(operator=name))


def _must_hold(publisher: Principal, action: str, namespace: str, project: str) -> None:
    if not publisher.may("project", action, namespace, project):
        raise Forbidden(
            f"The user {publisher.name} does not hold project:{action} in {namespace}/{project}; nothing was done. "
            "Leave --as out to publish as the operator of this machine."
        )
