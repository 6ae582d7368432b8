"""Webhooks over HTTP; a secret is shown only by the responses that create or rotate it."""

from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.events.deliveries import Delivery, DeliveryAttempt, DeliveryStatus
from api.db.events.webhooks import Webhook
from api.db.timestamps import dump_time
from api.errors import bad_request
from api.events.event_visibility import can_see_body
from api.events.webhooks import EVERY, Webhooks, WebhookWithSecret
from api.http.guard.access import grants, principal_of
from api.http.guard.content_body import read_content
from api.http.request.json_body import clear_fields
from api.http.request.parameters import read_id, read_text, read_window
from api.http.response.paging import write_window
from api.http.response.redaction import redact_delivery
from api.interfaces import Principal
from api.runtime.jobs.background import run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader


class WebhookList:
    """The webhooks of a namespace."""

    def __init__(self, releases: ReleaseLoader, webhooks: Webhooks) -> None:
        self._releases = releases
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """Show a window of the webhooks, in the order of creation."""
        await self._releases.namespace(namespace)
        limit, offset = read_window(req)
        found, total = await run_in_thread(self._webhooks.window, namespace, limit, offset)
        write_window(resp, [_show(each, principal_of(req)) for each in found], total, limit, offset)

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Create a webhook: 201 with its secret."""
        await self._releases.namespace(namespace)
        body = await read_content(req, "webhook-create")
        created = await run_in_thread(self._webhooks.create, as_principal(principal_of(req)), namespace, body)
        resp.status = 201
        resp.location = f"/api/namespace/{namespace}/webhook/{created.webhook.id}"
        resp.media = _show_signed(created, principal_of(req))


class WebhookResource:
    """One webhook."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Show the webhook, without its secret."""
        found = await run_in_thread(self._webhooks.find, namespace, _id(id))
        resp.media = _show(found, principal_of(req))

    @grants("namespace", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Change the fields in the body."""
        body = clear_fields(await read_content(req, "webhook-update"), description="")
        found = await run_in_thread(self._webhooks.change, as_principal(principal_of(req)), namespace, _id(id), body)
        resp.media = _show(found, principal_of(req))

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Remove the webhook and its deliveries: 204."""
        await run_in_thread(self._webhooks.remove, as_principal(principal_of(req)), namespace, _id(id))
        resp.status = 204

    @grants("namespace", "write")
    async def on_post_rotate(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Rotate the secret: the response shows the new one."""
        created = await run_in_thread(self._webhooks.rotate, as_principal(principal_of(req)), namespace, _id(id))
        resp.media = _show_signed(created, principal_of(req))

    @grants("namespace", "write")
    async def on_post_ping(self, _req: Request, resp: Response, namespace: str, id: str) -> None:
        """Send a ping: 202 with its delivery."""
        resp.status = 202
        resp.media = _show_delivery(await run_in_thread(self._webhooks.ping, namespace, _id(id)))


class Deliveries:
    """The deliveries of a webhook."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, id: str) -> None:
        """Show a window of the deliveries, newest first; `?status=` filters them."""
        limit, offset = read_window(req)
        status = _read_status(req)
        found, total = await run_in_thread(self._webhooks.deliveries, namespace, _id(id), status, limit, offset)
        write_window(resp, [_show_delivery(each) for each in found], total, limit, offset)

    @grants("namespace", "read")
    async def on_get_one(self, req: Request, resp: Response, namespace: str, id: str, delivery: str) -> None:
        """Show a delivery with its body and every attempt; redacted if the caller may not read its project."""
        numbers = _id(id), read_id(delivery, "delivery")
        found, attempts = await run_in_thread(self._webhooks.delivery, namespace, *numbers)
        created = [_show_attempt(attempt) for attempt in attempts]
        shown = {**_show_delivery(found), "body": found.body, "attempts": created}
        resp.media = shown if can_see_body(principal_of(req), namespace, found) else redact_delivery(shown)

    @grants("namespace", "write")
    async def on_post_redeliver(self, _req: Request, resp: Response, namespace: str, id: str, delivery: str) -> None:
        """Send the same message again: 202."""
        numbers = _id(id), read_id(delivery, "delivery")
        resp.status = 202
        resp.media = _show_delivery(await run_in_thread(self._webhooks.redeliver, namespace, *numbers))


def _id(text: str) -> int:
    return read_id(text, "webhook")


def _read_status(req: Request) -> str | None:
    text = read_text(req, "status")
    if text is not None and text not in {status.value for status in DeliveryStatus}:
        raise bad_request("'status' must be pending, delivered or failed.", "bad_parameter")
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
        "onBehalfOf": webhook.owner.name if webhook.owner else None,
    }


def _shown_url(webhook: Webhook, principal: Principal) -> str:
    """Return the URL; hides its query, which may hold the receiver's key, if the caller may not change the webhook."""
    head, found, _ = webhook.url.partition("?")
    return head + "?…" if found and not principal.can("namespace", "write", webhook.namespace) else webhook.url


def _show_signed(created: WebhookWithSecret, principal: Principal) -> dict[str, Any]:
    return {**_show(created.webhook, principal), "secret": created.secret}


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


def _show_attempt(attempt: DeliveryAttempt) -> dict[str, Any]:
    return {
        "at": dump_time(attempt.at),
        "status": attempt.status,
        "error": attempt.error,
        "milliseconds": attempt.milliseconds,
        "answer": attempt.answer,
    }
