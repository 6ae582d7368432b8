"""The sessions of people over HTTP: those of the caller, and those of others for an administrator."""

from typing import Any

from falcon.asgi import Request, Response

from api.auth.browser_sessions import BrowserSessions, own_account, refuse_personal_token
from api.auth.logins.browser import describe_browser
from api.auth.permissions.principal import Principal, as_principal
from api.db.accounts.sessions import Session
from api.db.timestamps import dump_time
from api.errors import not_found
from api.http.guard.access import any_principal, grants, principal_of
from api.http.request.parameters import read_id, read_window
from api.http.response.paging import write_window
from api.runtime.jobs.background import run_in_thread

_ID_LENGTH = 32


class MySessions:
    """The sessions of the caller."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the caller's sessions, the last used first."""
        caller = as_principal(principal_of(req))
        await _write_sessions(req, resp, self._sessions, own_account(caller), caller.session)

    @any_principal
    async def on_delete(self, req: Request, resp: Response) -> None:
        """End all sessions of the caller but this one: 204."""
        await run_in_thread(self._sessions.end_others, as_principal(principal_of(req)), req.remote_addr)
        resp.status = 204

    @any_principal
    async def on_delete_one(self, req: Request, resp: Response, id: str) -> None:
        """End one session of the caller: 204."""
        caller = as_principal(principal_of(req))
        await run_in_thread(self._sessions.end, caller, own_account(caller), _read_session(id), req.remote_addr)
        resp.status = 204


class UserSessions:
    """The sessions of a user."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions

    @grants("user", "read")
    async def on_get(self, req: Request, resp: Response, id: str) -> None:
        """Show a window of the user's sessions, the last used first."""
        caller = _read_manager(req)
        await _write_sessions(req, resp, self._sessions, read_id(id, "user"), caller.session)

    @grants("user", "write")
    async def on_delete(self, req: Request, resp: Response, id: str) -> None:
        """End all sessions of the user: 204; 403 for one with grants that the caller lacks."""
        caller = _read_manager(req)
        await run_in_thread(self._sessions.end_all, caller, read_id(id, "user"), req.remote_addr)
        resp.status = 204

    @grants("user", "write")
    async def on_delete_one(self, req: Request, resp: Response, id: str, session: str) -> None:
        """End one session of the user: 204."""
        caller, number = _read_manager(req), read_id(id, "user")
        await run_in_thread(self._sessions.end, caller, number, _read_session(session), req.remote_addr)
        resp.status = 204


def _read_manager(req: Request) -> Principal:
    """Return a caller who may see and end the sessions of others; Forbidden for a personal token."""
    caller = as_principal(principal_of(req))
    refuse_personal_token(caller)
    return caller


async def _write_sessions(req: Request, resp: Response, sessions: BrowserSessions, user: int, current: str) -> None:
    limit, offset = read_window(req)
    found, total = await run_in_thread(sessions.window, user, limit, offset)
    write_window(resp, [show_session(session, current) for session in found], total, limit, offset)


def show_session(session: Session, current: str = "") -> dict[str, Any]:
    """Return the JSON of a session; `current` is the session of the call."""
    return {
        "id": session.id,
        "browser": describe_browser(session.user_agent),
        "userAgent": session.user_agent,
        "address": session.address,
        "createdAt": dump_time(session.created_at),
        "lastSeenAt": dump_time(session.last_seen_at or session.created_at),
        "expiresAt": dump_time(session.expires_at),
        "current": session.id == current,
    }


def _read_session(text: str) -> str:
    if len(text) != _ID_LENGTH or not text.isascii() or not text.isalnum():
        raise not_found("There is no such session.")
    return text
