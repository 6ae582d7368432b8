"""The audit trail over HTTP, read-only."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from falcon.asgi import Request, Response

from api.db.audit import AuditEntry, AuditEvent, AuditFilter, list_entries
from api.db.audit_chain import Link, read_head
from api.db.audit_checkpoints import Checkpoint, newest_checkpoint
from api.db.audit_export import dump_head, read_lines
from api.db.database import Database
from api.db.timestamps import dump_time
from api.errors import ApiError, bad_request
from api.http.guard.access import grants, heavy
from api.http.request.caller_access import check_again
from api.http.request.parameters import read_name, read_text, read_time, read_window
from api.http.response.paging import write_window
from api.runtime.jobs.background import run_in_thread


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The audit trail of the whole service."""

    database: Database

    def window(self, audit_filter: AuditFilter, limit: int, offset: int) -> "_Window":
        """Return a window of the matching entries, newest first."""
        with self.database.snapshot() as connection:
            found = list_entries(connection, limit, offset, audit_filter)
            return _Window(*found, newest_checkpoint(connection))

    def head(self) -> Link:
        """Return the newest place of the chain."""
        with self.database.reading() as connection:
            return read_head(connection)

    def lines(self, after: int, head: Link) -> tuple[list[bytes], int]:
        """Return the next lines of an export up to a head, and the id after which to continue."""
        with self.database.snapshot() as connection:
            return read_lines(connection, after, head)


class _Window(NamedTuple):
    """Some entries, the number of all matching ones, and the newest checkpoint, after which the trail begins."""

    entries: list[AuditEntry]
    total: int
    checkpoint: Checkpoint | None


class AuditTrail:
    """The audit trail: actor, event, subject, address and time."""

    def __init__(self, trail: AuditLog) -> None:
        self._trail = trail

    @grants("audit", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the trail, newest first, filtered by the query."""
        (limit, offset), audit_filter = read_window(req), _read_filter(req)
        found = await run_in_thread(self._trail.window, audit_filter, limit, offset)
        write_window(resp, [_show(entry) for entry in found.entries], found.total, limit, offset)
        resp.media["checkpoint"] = found.checkpoint and _show_checkpoint(found.checkpoint)


class AuditExport:
    """The whole audit trail as JSON lines, with the head of its chain."""

    def __init__(self, trail: AuditLog) -> None:
        self._trail = trail

    @heavy
    @grants("audit", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """Send the checkpoints and all rows, oldest first, then the head; an export without that last line is incomplete.

        It ends without that line once the caller's access has ended.
        """
        head = await run_in_thread(self._trail.head)
        resp.content_type = "application/jsonl"
        resp.stream = self._send(head, partial(check_again, req, time.monotonic()))

    async def _send(self, head: Link, check: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        after = 0
        while after < head.number:
            lines, after = await run_in_thread(self._trail.lines, after, head)
            try:
                await check()
            except ApiError:
                return
            yield b"".join(lines)
        yield dump_head(head)


def _read_filter(req: Request) -> AuditFilter:
    return AuditFilter(
        _read_event(req),
        _read_actor(req),
        read_name(req, "namespace"),
        read_name(req, "project"),
        read_time(req, "since"),
        read_time(req, "until"),
    )


def _read_event(req: Request) -> str | None:
    text = read_text(req, "event")
    known = [event.value for event in AuditEvent]
    if text is not None and text not in known:
        raise bad_request(f"'event' must be one of {', '.join(known)}.", "bad_parameter")
    return text


def _read_actor(req: Request) -> str | None:
    text = read_text(req, "actor")
    if text == "":
        raise bad_request("'actor' must be the name of a user or token, or operator.", "bad_parameter")
    return text


def _show_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "number": checkpoint.number,
        "hash": checkpoint.hash,
        "count": checkpoint.count,
        "at": dump_time(checkpoint.at),
        "key": checkpoint.key or None,
    }


def _show(entry: AuditEntry) -> dict[str, Any]:
    actor = entry.actor
    return {
        "id": entry.id,
        "at": dump_time(entry.at),
        "event": entry.event,
        "actor": {"kind": actor.kind, "id": actor.id, "name": actor.name},
        "subject": entry.subject,
        "namespace": entry.namespace,
        "project": entry.project,
        "address": entry.address,
        "session": entry.session,
        "request": entry.request,
        "token": entry.token and entry.token._asdict(),
        "count": entry.count,
        "detail": entry.detail,
        "hash": entry.hash,
    }
