"""Webhooks of a namespace: who made them, what they are sent, what came of it. All of it blocks: call it in threads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from api.errors import ApiError, Forbidden, invalid
from api.identity.principal import Principal
from api.notice.addresses import AddressRefused, Reach
from api.notice.sight import unheard
from api.notice.signature import mint_secret
from api.notice.target import read_target, url_problems
from api.state import audit, deliveries, webhooks
from api.state.audit import Entry
from api.state.database import TELLS, Connection
from api.state.deliveries import Attempt, Delivery
from api.state.moment import Clock, dump_time
from api.state.state import State
from api.state.webhooks import Webhook
from content.nearness import nearest
from content.problem import Problem

MOST = 50
"""Webhooks of one namespace."""
PING = "ping"
OVERLAP = timedelta(hours=24)
"""How long what is sent is signed with the secret of before a rotation, too."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A webhook with its secret, as it is shown once."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Everything that is done with webhooks, each time on behalf of a principal."""

    state: State
    reach: Reach
    clock: Clock
    projects_of: Callable[[str], Collection[str]]
    """The names of the projects of a namespace."""

    def create(self, actor: Principal, namespace: str, fields: Mapping[str, Any]) -> Signed:
        """A new webhook; 403 where the actor may not read what it would be sent, 409 where there are too many.

        422 for a URL that cannot be or an unknown project.
        """
        self._check_url(fields["url"])
        columns = {**_EMPTY, **_columns(fields)}
        now, holder = self.clock(), actor.actor()
        webhook = Webhook(
            namespace, **columns, secret=mint_secret(), created_at=now, created_by=actor.name, holder=holder
        )
        _check_sight(actor, webhook)
        self._check_projects(namespace, webhook.projects)
        with self.state.database.writing() as connection:
            if webhooks.list_webhooks(connection, namespace, 0, 0)[1] >= MOST:
                raise ApiError(409, "too_many_webhooks", f"A namespace has at most {MOST} webhooks; remove one.")
            number = webhooks.add_webhook(connection, webhook)
            self._note(connection, audit.Event.WEBHOOK_CREATED, actor, namespace, number)
            return Signed(webhooks.find_webhook(connection, namespace, number), webhook.secret)

    def change(self, actor: Principal, namespace: str, number: int, fields: Mapping[str, Any]) -> Webhook:
        """The webhook with other fields; whoever switches it on makes it forget why it was off.

        Whoever changes what is sent, or where to, answers for it from then on, and must be able to read it: else 403.
        """
        if "url" in fields:
            self._check_url(fields["url"])
        changes = _columns(fields)
        if changes.get("active"):
            changes["stopped_because"] = None
        if fields.get("active", False) or not fields.keys().isdisjoint(_WHAT_IS_SENT):
            self._check_change(actor, self.find(namespace, number), changes)
            changes |= webhooks.dump_holder(actor.actor())
        with self.state.database.writing() as connection:
            webhooks.find_webhook(connection, namespace, number)
            if changes:
                webhooks.change_webhook(connection, number, changes)
            self._note(connection, audit.Event.WEBHOOK_CHANGED, actor, namespace, number, sorted(fields))
            return webhooks.find_webhook(connection, namespace, number)

    def remove(self, actor: Principal, namespace: str, number: int) -> None:
        """Remove a webhook with its deliveries."""
        with self.state.database.writing() as connection:
            webhooks.find_webhook(connection, namespace, number)
            webhooks.remove_webhook(connection, number)
            self._note(connection, audit.Event.WEBHOOK_DELETED, actor, namespace, number)

    def rotate(self, actor: Principal, namespace: str, number: int) -> Signed:
        """A new secret; for a day the one before signs too.

        Whoever knows the secret can sign what the receiver then believes, so they answer for the webhook from then on, and
        must be able to read what it is sent: else 403.
        """
        secret, until = mint_secret(), self.clock() + OVERLAP
        with self.state.database.writing() as connection:
            before = webhooks.find_webhook(connection, namespace, number)
            _check_sight(actor, before)
            changes = {"secret": secret, "secret_before": before.secret, "secret_before_until": until}
            webhooks.change_webhook(connection, number, changes | webhooks.dump_holder(actor.actor()))
            self._note(connection, audit.Event.WEBHOOK_SECRET_ROTATED, actor, namespace, number)
            return Signed(webhooks.find_webhook(connection, namespace, number), secret)

    def find(self, namespace: str, number: int) -> Webhook:
        """One webhook; NotFound where there is none."""
        with self.state.database.reading() as connection:
            return webhooks.find_webhook(connection, namespace, number)

    def window(self, namespace: str, limit: int, offset: int) -> tuple[list[Webhook], int]:
        """A window of the webhooks, and how many there are."""
        with self.state.database.reading() as connection:
            return webhooks.list_webhooks(connection, namespace, limit, offset)

    def ping(self, namespace: str, number: int) -> Delivery:
        """A delivery of nothing but a greeting; 409 where the webhook is off."""
        now = self.clock()
        message = {"type": PING, "timestamp": dump_time(now), "data": {"namespace": namespace, "webhook": number}}
        with self.state.database.writing() as connection:
            webhook = _active(connection, namespace, number)
            made = deliveries.add_delivery(connection, webhook, now, message)
            connection.execution_options(**{TELLS: True})
            return deliveries.find_delivery(connection, number, made)

    def deliveries(
        self, namespace: str, number: int, status: str | None, limit: int, offset: int
    ) -> tuple[list[Delivery], int]:
        """A window of a webhook's deliveries, newest first, and how many there are."""
        with self.state.database.reading() as connection:
            webhooks.find_webhook(connection, namespace, number)
            return deliveries.list_deliveries(connection, number, status, limit, offset)

    def delivery(self, namespace: str, number: int, delivery: int) -> tuple[Delivery, list[Attempt]]:
        """One delivery, and every attempt at it."""
        with self.state.database.reading() as connection:
            webhooks.find_webhook(connection, namespace, number)
            found = deliveries.find_delivery(connection, number, delivery)
            return found, deliveries.list_attempts(connection, delivery)

    def redeliver(self, namespace: str, number: int, delivery: int) -> Delivery:
        """The same message again, now, under the same id; 409 where the webhook is off."""
        with self.state.database.writing() as connection:
            _active(connection, namespace, number)
            deliveries.find_delivery(connection, number, delivery)
            deliveries.redeliver(connection, delivery, self.clock())
            connection.execution_options(**{TELLS: True})
            return deliveries.find_delivery(connection, number, delivery)

    def _check_change(self, actor: Principal, before: Webhook, changes: Mapping[str, Any]) -> None:
        events, projects = changes.get("events", before.events), changes.get("projects", before.projects)
        _check_sight(actor, replace(before, events=tuple(events), projects=tuple(projects)))
        if changes.get("projects"):  # one that was deleted may stay in the list
            self._check_projects(before.namespace, changes["projects"], before.projects)

    def _check_url(self, url: str) -> None:
        problems = url_problems(url)
        if not problems:
            try:
                self.reach.check_host(read_target(url).host)
            except AddressRefused:
                message = (
                    "The URL leads to an address that is not public. An operator can allow its network "
                    "by the setting webhook_networks (WAYPOST_WEBHOOK_NETWORKS)."
                )
                problems = [Problem("address_refused", message, pointer="/url")]
        if problems:
            raise invalid("The webhook is not as it must be; the problems say why.", problems)

    def _check_projects(self, namespace: str, wanted: Sequence[str], kept: Collection[str] = ()) -> None:
        known = self.projects_of(namespace) if wanted else ()
        problems = [
            Problem("unknown_project", _unknown_project(name, known), pointer=f"/projects/{place}")
            for place, name in enumerate(wanted)
            if name not in known and name not in kept
        ]
        if problems:
            raise invalid("The webhook is not as it must be; the problems say why.", problems)

    def _note(
        self,
        connection: Connection,
        event: audit.Event,
        actor: Principal,
        namespace: str,
        number: int,
        fields: Sequence[str] = (),
    ) -> None:
        detail = {"fields": list(fields)} if fields else {}
        entry = Entry(self.clock(), event, actor.actor(), f"webhook {number}", detail, namespace=namespace)
        audit.record(connection, entry)


def _check_sight(actor: Principal, webhook: Webhook) -> None:
    """Refuse a webhook that would send somebody what they may not read."""
    if lacking := unheard(actor, webhook):
        message = f"A webhook is sent only what you may read yourself, and you do not hold {lacking}."
        raise Forbidden(message, "grant_not_held")


def _unknown_project(name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    return f"There is no project '{name}' in this namespace" + (f"; did you mean '{near}'?" if near else ".")


def _active(connection: Connection, namespace: str, number: int) -> Webhook:
    webhook = webhooks.find_webhook(connection, namespace, number)
    if not webhook.active:
        message = "The webhook is switched off, so nothing is sent. Switch it on first: PATCH it with active: true."
        raise ApiError(409, "webhook_inactive", message)
    return webhook


EVERY = "*"
_WHAT_IS_SENT = frozenset({"url", "events", "projects"})
_EMPTY: Mapping[str, Any] = {"events": (), "projects": (), "description": "", "active": True}


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a body as columns; a list with `*` in it is one of everything, which is kept as an empty one."""
    columns = dict(fields)
    for name in ("events", "projects"):
        if name in columns:
            columns[name] = [] if EVERY in columns[name] else list(dict.fromkeys(columns[name]))
    return columns
