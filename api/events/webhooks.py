"""The webhooks of a namespace, their owners and deliveries. All calls block: run them in threads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from api.auth.permissions.principal import Principal
from api.db import audit
from api.db.audit import AuditEntry
from api.db.database import RECORDS_EVENT, Connection
from api.db.events import deliveries, webhooks
from api.db.events.deliveries import Delivery, DeliveryAttempt
from api.db.events.webhooks import Webhook
from api.db.state_store import StateStore
from api.db.timestamps import Clock, dump_time
from api.errors import ApiError, Forbidden, invalid
from api.events.event_visibility import find_missing_grant
from api.events.signature import mint_secret
from api.events.webhook_target import read_target, url_problems
from content.records.nearness import nearest
from content.records.problem import Problem
from gitstore.wire.addresses import AddressNotAllowed, AddressPolicy

MAX_WEBHOOKS = 50  # of one namespace
PING = "ping"
OVERLAP = timedelta(hours=24)  # after a rotation, messages are also signed with the previous secret


@dataclass(frozen=True, slots=True)
class WebhookWithSecret:
    """A webhook with its secret, which is shown once."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The operations on webhooks, each on behalf of a principal.

    `projects_of` returns the names of the projects of a namespace.
    """

    state: StateStore
    address_policy: AddressPolicy
    clock: Clock
    projects_of: Callable[[str], Collection[str]]

    def create(self, actor: Principal, namespace: str, fields: Mapping[str, Any]) -> WebhookWithSecret:
        """Create a webhook; 403 if the actor may not read its events, 409 if there are too many.

        422 for an invalid URL or an unknown project.
        """
        self._check_url(fields["url"])
        columns = {**_EMPTY, **_columns(fields)}
        now, owner = self.clock(), actor.holder()
        webhook = Webhook(
            namespace, **columns, secret=mint_secret(), created_at=now, created_by=actor.name, owner=owner
        )
        _check_visibility(actor, webhook)
        self._check_projects(namespace, webhook.projects)
        with self.state.database.writing() as connection:
            if webhooks.list_webhooks(connection, namespace, 0, 0)[1] >= MAX_WEBHOOKS:
                raise ApiError(
                    409, "too_many_webhooks", f"The namespace has {MAX_WEBHOOKS} webhooks, the maximum. Remove one."
                )
            number = webhooks.add_webhook(connection, webhook)
            self._record_audit(connection, audit.AuditEvent.WEBHOOK_CREATED, actor, namespace, number)
            return WebhookWithSecret(webhooks.find_webhook(connection, namespace, number), webhook.secret)

    def change(self, actor: Principal, namespace: str, number: int, fields: Mapping[str, Any]) -> Webhook:
        """Change fields of a webhook; activating it clears the reason why it was deactivated.

        An actor who activates it, or changes its events, projects or URL, becomes its owner; 403 if they may not read
        its events.
        """
        if "url" in fields:
            self._check_url(fields["url"])
        changes = _columns(fields)
        if changes.get("active"):
            changes["stopped_because"] = None
        if fields.get("active", False) or not fields.keys().isdisjoint(_DELIVERY_FIELDS):
            self._check_change(actor, self.find(namespace, number), changes)
            changes |= webhooks.dump_owner(actor.holder())
        with self.state.database.writing() as connection:
            webhooks.find_webhook(connection, namespace, number)
            if changes:
                webhooks.change_webhook(connection, number, changes)
            self._record_audit(connection, audit.AuditEvent.WEBHOOK_CHANGED, actor, namespace, number, sorted(fields))
            return webhooks.find_webhook(connection, namespace, number)

    def remove(self, actor: Principal, namespace: str, number: int) -> None:
        """Remove a webhook with its deliveries."""
        with self.state.database.writing() as connection:
            webhooks.find_webhook(connection, namespace, number)
            webhooks.remove_webhook(connection, number)
            self._record_audit(connection, audit.AuditEvent.WEBHOOK_DELETED, actor, namespace, number)

    def rotate(self, actor: Principal, namespace: str, number: int) -> WebhookWithSecret:
        """Create a new secret; for a day the previous one signs too.

        With the secret, a person can sign messages that the receiver trusts, so the actor becomes the owner of the
        webhook; 403 if they may not read its events.
        """
        secret, until = mint_secret(), self.clock() + OVERLAP
        with self.state.database.writing() as connection:
            before = webhooks.find_webhook(connection, namespace, number)
            _check_visibility(actor, before)
            changes = {"secret": secret, "secret_before": before.secret, "secret_before_until": until}
            webhooks.change_webhook(connection, number, changes | webhooks.dump_owner(actor.holder()))
            self._record_audit(connection, audit.AuditEvent.WEBHOOK_SECRET_ROTATED, actor, namespace, number)
            return WebhookWithSecret(webhooks.find_webhook(connection, namespace, number), secret)

    def find(self, namespace: str, number: int) -> Webhook:
        """Return a webhook; NotFound if it does not exist."""
        with self.state.database.reading() as connection:
            return webhooks.find_webhook(connection, namespace, number)

    def window(self, namespace: str, limit: int, offset: int) -> tuple[list[Webhook], int]:
        """Return a window of the webhooks, and their total number."""
        with self.state.database.reading() as connection:
            return webhooks.list_webhooks(connection, namespace, limit, offset)

    def ping(self, namespace: str, number: int) -> Delivery:
        """Enqueue a delivery without an event; 409 if the webhook is not active."""
        now = self.clock()
        message = {"type": PING, "timestamp": dump_time(now), "data": {"namespace": namespace, "webhook": number}}
        with self.state.database.writing() as connection:
            webhook = _active(connection, namespace, number)
            created = deliveries.add_delivery(connection, webhook, now, message)
            connection.execution_options(**{RECORDS_EVENT: True})
            return deliveries.find_delivery(connection, number, created)

    def deliveries(
        self, namespace: str, number: int, status: str | None, limit: int, offset: int
    ) -> tuple[list[Delivery], int]:
        """Return a window of a webhook's deliveries, newest first, and their total number."""
        with self.state.database.reading() as connection:
            webhooks.find_webhook(connection, namespace, number)
            return deliveries.list_deliveries(connection, number, status, limit, offset)

    def delivery(self, namespace: str, number: int, delivery: int) -> tuple[Delivery, list[DeliveryAttempt]]:
        """Return a delivery and its attempts."""
        with self.state.database.reading() as connection:
            webhooks.find_webhook(connection, namespace, number)
            found = deliveries.find_delivery(connection, number, delivery)
            return found, deliveries.list_attempts(connection, delivery)

    def redeliver(self, namespace: str, number: int, delivery: int) -> Delivery:
        """Send the same message again now, with the same id; 409 if the webhook is not active."""
        with self.state.database.writing() as connection:
            _active(connection, namespace, number)
            deliveries.find_delivery(connection, number, delivery)
            deliveries.redeliver(connection, delivery, self.clock())
            connection.execution_options(**{RECORDS_EVENT: True})
            return deliveries.find_delivery(connection, number, delivery)

    def _check_change(self, actor: Principal, before: Webhook, changes: Mapping[str, Any]) -> None:
        events, projects = changes.get("events", before.events), changes.get("projects", before.projects)
        _check_visibility(actor, replace(before, events=tuple(events), projects=tuple(projects)))
        if changes.get("projects"):  # a deleted project may stay in the list
            self._check_projects(before.namespace, changes["projects"], before.projects)

    def _check_url(self, url: str) -> None:
        problems = url_problems(url)
        if not problems:
            try:
                self.address_policy.check_host(read_target(url).host)
            except AddressNotAllowed:
                message = (
                    "The URL has an address that is not public. An operator can allow its network "
                    "with the setting webhook_networks (WAYPOST_WEBHOOK_NETWORKS)."
                )
                problems = [Problem("address_refused", message, pointer="/url")]
        if problems:
            raise invalid("Invalid webhook; see the problems.", problems)

    def _check_projects(self, namespace: str, wanted: Sequence[str], kept: Collection[str] = ()) -> None:
        known = self.projects_of(namespace) if wanted else ()
        problems = [
            Problem("unknown_project", _unknown_project(name, known), pointer=f"/projects/{place}")
            for place, name in enumerate(wanted)
            if name not in known and name not in kept
        ]
        if problems:
            raise invalid("Invalid webhook; see the problems.", problems)

    def _record_audit(
        self,
        connection: Connection,
        event: audit.AuditEvent,
        actor: Principal,
        namespace: str,
        number: int,
        fields: Sequence[str] = (),
    ) -> None:
        detail = {"fields": list(fields)} if fields else {}
        entry = AuditEntry(self.clock(), event, actor.actor(), f"webhook {number}", detail, namespace=namespace)
        audit.record(connection, entry)


def _check_visibility(actor: Principal, webhook: Webhook) -> None:
    """Refuse a webhook with events that the actor may not read."""
    if missing_grants := find_missing_grant(actor, webhook):
        message = f"A webhook receives only events that you may read. You do not have the grant {missing_grants}."
        raise Forbidden(message, "grant_not_held")


def _unknown_project(name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    return f"Project '{name}' does not exist in this namespace" + (f"; did you mean '{near}'?" if near else ".")


def _active(connection: Connection, namespace: str, number: int) -> Webhook:
    webhook = webhooks.find_webhook(connection, namespace, number)
    if not webhook.active:
        message = "The webhook is not active, so nothing is sent. Activate it first: PATCH it with active: true."
        raise ApiError(409, "webhook_inactive", message)
    return webhook


EVERY = "*"
_DELIVERY_FIELDS = frozenset({"url", "events", "projects"})
_EMPTY: Mapping[str, Any] = {"events": (), "projects": (), "description": "", "active": True}


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the fields of a body to columns; a list with `*` means everything, and is stored as an empty one."""
    columns = dict(fields)
    for name in ("events", "projects"):
        if name in columns:
            columns[name] = [] if EVERY in columns[name] else list(dict.fromkeys(columns[name]))
    return columns
