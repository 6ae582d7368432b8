"""Webhooks over HTTP; the secret of one is in the answers that make it, and nowhere else."""

from typing import Any

from falcon.asgi import Request, Response

from api.access import grants, principal_of
from api.background import in_thread
from api.body import read_json
from api.collaborators import Principal
from api.errors import bad_request
from api.identity.principal import caller
from api.notice.sight import may_see_body
from api.notice.webhooks import EVERY, Signed, Webhooks
from api.paging import write_window
from api.parameters import read_text, read_window
from api.redaction import redact_delivery
from api.resources.record_id import read_id
from api.served import Served
from api.state.deliveries import Attempt, Delivery, Status
from api.state.moment import dump_time
from api.state.webhooks import Webhook


class WebhookList:
    """The webhooks of a namespace."""

    def __init__(self, served: Served, webhooks: Webhooks) -> None:
        self._served = served
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """A window of the webhooks, in the order they were made."""
        await self._served.namespace(namespace)
        limit, offset = read_window(req)
        found, total = await in_thread(self._webhooks.window, namespace, limit, offset)
        write_window(resp, [_show(each, principal_of(req)) for each in found], total, limit, offset)

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Make a webhook: 201 with its secret."""
        await self._served.namespace(namespace)
        body = await read_json(req, "webhook-create")
        made = await in_thread(self._webhooks.create, caller(principal_of(req)), namespace, body)
        resp.status = 201
        resp.location = f"/api/namespace/{namespace}/webhook/{made.webhook.id}"
        resp.media = _show_signed(made, principal_of(req))


class WebhookResource:
    """One webhook."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """The webhook, without its secret."""
        found = await in_thread(self._webhooks.find, namespace, _id(id))
        resp.media = _show(found, principal_of(req))

    @grants("namespace", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Change the fields that are sent."""
        body = await read_json(req, "webhook-update")
        found = await in_thread(self._webhooks.change, caller(principal_of(req)), namespace, _id(id), body)
        resp.media = _show(found, principal_of(req))

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Remove the webhook and its deliveries: 204."""
        await in_thread(self._webhooks.remove, caller(principal_of(req)), namespace, _id(id))
        resp.status = 204

    @grants("namespace", "write")
    async def on_post_rotate(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """A new secret."""
        made = await in_thread(self._webhooks.rotate, caller(principal_of(req)), namespace, _id(id))
        resp.media = _show_signed(made, principal_of(req))

    @grants("namespace", "write")
    async def on_post_ping(self, _req: Request, resp: Response, namespace: str, id: str) -> None:
        """Send a greeting: 202 with the delivery that it is."""
        resp.status = 202
        resp.media = _show_delivery(await in_thread(self._webhooks.ping, namespace, _id(id)))


class Deliveries:
    """What was sent to a webhook."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """A window of the deliveries, newest first; `?status=` for those of one status."""
        limit, offset = read_window(req)
        status = _read_status(req)
        found, total = await in_thread(self._webhooks.deliveries, namespace, _id(id), status, limit, offset)
        write_window(resp, [_show_delivery(each) for each in found], total, limit, offset)

    @grants("namespace", "read")
    async def on_get_one(self, req: Request, resp: Response, namespace: str, id: str, delivery: str) -> None:
        """One delivery: the body that is sent, and every attempt; without what the caller may not read of a project."""
        numbers = _id(id), read_id(delivery, "delivery")
        found, attempts = await in_thread(self._webhooks.delivery, namespace, *numbers)
        made = [_show_attempt(attempt) for attempt in attempts]
        shown = {**_show_delivery(found), "body": found.body, "attempts": made}
        resp.media = shown if may_see_body(principal_of(req), namespace, found) else redact_delivery(shown)

    @grants("namespace", "write")
    async def on_post_redeliver(self, _req: Request, resp: Response, namespace: str, id: str, delivery: str) -> None:
        """Send the same message again: 202."""
        numbers = _id(id), read_id(delivery, "delivery")
        resp.status = 202
        resp.media = _show_delivery(await in_thread(self._webhooks.redeliver, namespace, *numbers))


def _id(text: str) -> int:
    return read_id(text, "webhook")


def _read_status(req: Request) -> str | None:
    text = read_text(req, "status")
    if text is not None and text not in {status.value for status in Status}:
        raise bad_request("'status' is pending, delivered or failed.", "bad_parameter")
    return text


def _show(webhook: Webhook, principal: Principal) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": _shown_url(webhook, principal),
        "events": list(webhook.events) or [EVERY],
        "projects": list(webhook.projects) or [EVERY],
        "description": webhook.description,
        "active": webhook.active,
        "stoppedBecause": webhook.stopped_because,
        "createdAt": dump_time(webhook.created_at),
        "createdBy": webhook.created_by,
        "onBehalfOf": webhook.holder.name if webhook.holder else None,
    }


def _shown_url(webhook: Webhook, principal: Principal) -> str:
    """The URL; whoever may not change it does not see its query, in which some receivers want a key."""
    head, found, _ = webhook.url.partition("?")
    return head + "?…" if found and not principal.may("namespace", "write", webhook.namespace) else webhook.url


def _show_signed(made: Signed, principal: Principal) -> dict[str, Any]:
    return {**_show(made.webhook, principal), "secret": made.secret}


def _show_delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "webhookId": delivery.message,
        "event": delivery.event_id,
        "type": delivery.type,
        "status": delivery.status.value,
        "tries": delivery.attempts,
        "createdAt": dump_time(delivery.created_at),
        "nextAttemptAt": dump_time(delivery.due_at) if delivery.due_at else None,
        "finishedAt": dump_time(delivery.finished_at) if delivery.finished_at else None,
    }


def _show_attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "at": dump_time(attempt.at),
        "status": attempt.status,
        "error": attempt.error,
        "milliseconds": attempt.milliseconds,
        "answer": attempt.answer,
    }
