"""Publishing for commands: with the same approvals as over HTTP, and the same entries in the audit trail.

With `--as`, the grants of that user apply too; without it the operator publishes, who may do everything.
"""

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from api.app.services import Services
from api.auth.permissions.principal import OPERATOR, Principal
from api.db.audit import Actor, AuditEvent
from api.db.namespaces.reviews import DraftKey, Origin
from api.errors import Forbidden
from api.reviews.reviewing import Override
from cli.console.audit_notes import note_done
from cli.console.services import operator_actor
from cli.console.setup import operator, read_settings
from gitstore.publish.advance import PublishResult
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store

if TYPE_CHECKING:
    from api.upstreams.pull_publishes import PulledPublish


def publisher_of(services: Services, username: str | None, namespace: str, project: str) -> Principal:
    """Return the publisher: the named user, or the operator; Forbidden for a user without the grant."""
    found = services.accounts.principal(username) if username else OPERATOR
    _require_grant(found, "publish", namespace, project)
    return found


def publish_draft(
    services: Services, store: Store, namespace: str, request: PublishRequest, publisher: Principal
) -> "PublishResult | PulledPublish":
    """Publish a draft with its verdicts, read while the lock is held; records it after, and an override also before.

    Where the upstream takes pull requests, the result is one.
    """
    place, reviews, key = (namespace, request.name.project), services.reviews(), DraftKey(namespace, *request.name)
    request = replace(request, may_change_policy=publisher.can("project", "override", *place))
    if not request.override:
        return _publish_and_note(services, store, key, request, publisher)
    _require_grant(publisher, "override", *place)
    override = _build_override(
        publisher, key, request.override, store.drafts.review_subject(namespace, request.name).head
    )
    reviews.ask_override(override)
    found = _publish_and_note(services, store, key, request, publisher)
    reviews.note_override(override, found.version, found.number if isinstance(found, PublishResult) else 0)
    return found


def actor_of(publisher: Principal) -> Actor:
    """Return the publisher for the audit trail, which has the name of the operator's person."""
    return operator_actor() if publisher == OPERATOR else publisher.actor()


def _publish_and_note(
    services: Services, store: Store, key: DraftKey, request: PublishRequest, publisher: Principal
) -> "PublishResult | PulledPublish":
    found = _publish(services, store, key, request)
    event, actor = AuditEvent.PUBLISH_REQUESTED, actor_of(publisher)
    note_done(services, event, key.namespace, found.version, key.project, actor=actor)
    return found


def _publish(
    services: Services, store: Store, key: DraftKey, request: PublishRequest
) -> "PublishResult | PulledPublish":
    verdicts = partial(services.reviews().verdicts, key)
    upstream = store.upstreams.settings(key.namespace)
    if upstream is None or not upstream.by_pull_request:
        return store.publishes.publish(key.namespace, request, verdicts)
    from api.app.git_hosts import open_pulls  # noqa: PLC0415 - loads an HTTP client, which most commands never need

    pulls = open_pulls(read_settings(data=str(store.directory.root)), store, services)
    place = pulls.claim(key.namespace, request.name)
    made = store.publishes.push_pull(key.namespace, request, verdicts, place.known, place.branch)
    return made if isinstance(made, PublishResult) else asyncio.run(pulls.note(key.namespace, request.name, made))


def _build_override(publisher: Principal, key: DraftKey, reason: str, head: str | None) -> Override:
    """Build the override for the audit trail, which records the operator too."""
    origin = Origin() if publisher == OPERATOR else Origin(operator=operator().name[:100])
    return Override(actor_of(publisher), key, reason, head, origin)


def _require_grant(publisher: Principal, action: str, namespace: str, project: str) -> None:
    if not publisher.can("project", action, namespace, project):
        raise Forbidden(
            f"The user {publisher.name} does not hold project:{action} in {namespace}/{project}; nothing was changed. "
            "Omit --as to publish as the operator of this machine."
        )
