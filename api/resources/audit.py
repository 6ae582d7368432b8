"""The audit trail over HTTP: it can be read, and nothing else."""

from typing import Any

from falcon.asgi import Request, Response

from api.access import grants
from api.auditing import Trail
from api.background import in_thread
from api.errors import bad_request
from api.paging import write_window
from api.parameters import read_text, read_time, read_window
from api.state.audit import Entry, Event, Wanted
from api.state.moment import dump_time
from content.names import is_name


class AuditTrail:
    """Who did what, to what, from where, when."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail

    @grants("audit", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """A window of the trail, newest first, narrowed by what the query says."""
        (limit, offset), wanted = read_window(req), _read_wanted(req)
        found, total = await in_thread(self._trail.window, wanted, limit, offset)
        write_window(resp, [_show(entry) for entry in found], total, limit, offset)


def _read_wanted(req: Request) -> Wanted:
    return Wanted(
        _read_event(req),
        _read_actor(req),
        _read_name(req, "namespace"),
        _read_name(req, "project"),
        read_time(req, "since"),
        read_time(req, "until"),
    )


def _read_event(req: Request) -> str | None:
    text = read_text(req, "event")
    known = [event.value for event in Event]
    if text is not None and text not in known:
        raise bad_request(f"'event' must be one of {', '.join(known)}.", "bad_parameter")
    return text


def _read_actor(req: Request) -> str | None:
    text = read_text(req, "actor")
    if text == "":
        raise bad_request("'actor' must be the name of a user or token, or operator.", "bad_parameter")
    return text


def _read_name(req: Request, name: str) -> str | None:
    text = read_text(req, name)
    if text is not None and not is_name(text):
        raise bad_request(f"'{name}' must be 1 to 50 letters, digits, underscores or hyphens.", "bad_parameter")
    return text


def _show(entry: Entry) -> dict[str, Any]:
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
        "detail": entry.detail,
    }
