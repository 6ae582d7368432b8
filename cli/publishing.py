"""Publishing for commands: held to the same approvals as by HTTP, with the same lines in the audit trail."""

from dataclasses import replace

from api.identity.principal import OPERATOR
from api.identity.service import Services
from api.reviewing import Override
from api.state.audit import Actor
from api.state.reviews import DraftKey
from cli.setup import operator
from gitstore.advance import Published
from gitstore.publishing import PublishOrder
from gitstore.store import Store


def publish_draft(services: Services, store: Store, namespace: str, order: PublishOrder) -> Published:
    """Publish a draft under the verdicts on it, by the operator, who may change the policy; an override is in the audit trail before anything can be published."""
    reviews, key = services.reviews(), DraftKey(namespace, *order.name)
    draft = store.under_review(namespace, order.name)
    actor = Actor(OPERATOR.kind.value, None, operator().name[:100] or OPERATOR.name)
    override = Override(actor, key, order.override, draft.head)
    if order.override:
        reviews.ask_override(override)
    order = replace(order, verdicts=reviews.verdicts(key, draft), may_change_policy=True)
    found = store.publish(namespace, order)
    if order.override:
        reviews.note_override(override, found.version, found.number)
    return found
