"""Pushes over HTTP: the body goes to a quarantine as it arrives, one job in another process receives it.

https://git-scm.com/docs/gitprotocol-http#_smart_service_git_receive_pack
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from io import RawIOBase
from typing import NamedTuple

from falcon.asgi import Request, Response

from api.auth.permissions.grants import EVERY
from api.auth.permissions.principal import Principal, as_principal
from api.auth.push_entry import describe_push
from api.db.audit import AuditEvent
from api.errors import ApiError
from api.http.audit_notes import AuditNotes, note_request
from api.http.guard.access import author_of, by_basic, grants, principal_of
from api.http.request.caller_access import check_again
from api.http.request.coded_body import inflate
from api.page_links import proposal_address
from api.resources.git.push_stream import PushStream
from api.resources.git.smart_http import GitRepositories, check_media_type, require_push
from api.runtime.jobs.background import run_in_thread, run_transfer
from api.settings import Settings
from gitstore.errors import StoreError
from gitstore.git.atomic_io import translate_os_error, write_all
from gitstore.git.quarantine import Quarantine
from gitstore.git.repository import Author
from gitstore.pushes.judging import LEAKED
from gitstore.pushes.push import Pusher, PushRecords, PushRules, Scope
from gitstore.pushes.receiving import NO_ACCESS, ReceivedPush, Reception
from gitstore.store.store import Store
from gitstore.wire.fetch.upload_pack import RECEIVE_PACK
from gitstore.wire.pkt_lines import MalformedRequest
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.push_report import REPORTING, PushReport, RefStatus
from gitstore.wire.push.push_request import PushRequest, RefusedRequest, read_push_request

_RESULT_TYPE = f"application/x-{RECEIVE_PACK}-result"
_WRITTEN_AT_ONCE = 1 << 20

RecordsOf = Callable[[Principal, str, str | None], PushRecords]
"""Returns the records outside Git for the checks of a push, from its caller, its namespace and the caller's address."""


class _Saved(NamedTuple):
    """A request in its quarantine: what comes before its pack, and a fault that was found already."""

    quarantine: Quarantine
    request: PushRequest
    start: int
    fault: str = ""


class ReceivePack:
    """The pushes to a namespace."""

    def __init__(
        self,
        store: Store,
        repositories: GitRepositories,
        settings: Settings,
        records_of: RecordsOf,
        notes: AuditNotes,
    ) -> None:
        self._store = store
        self._repositories = repositories
        self._records_of = records_of
        self._notes = notes
        self._settings = settings
        self._limits = PushLimits(settings.push_limit, settings.push_objects_limit, settings.push_content_limit)

    @by_basic
    @grants("project", "read")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Receive a push; whatever is refused is in the answer that Git prints."""
        require_push(req, namespace)
        check_media_type(req, RECEIVE_PACK)
        await self._repositories.find(namespace)
        stack = ExitStack()
        quarantine = await run_in_thread(stack.enter_context, self._store.pushes.quarantine(namespace))
        try:
            fault = await self._save(req, quarantine)
            stream = self._answer(req, namespace, await run_in_thread(_read_request, quarantine, fault), stack)
        except BaseException as ex:
            await run_in_thread(stack.close)
            if isinstance(ex, StoreError):  # the namespace may have been archived since
                await self._repositories.find(namespace)
            raise
        resp.content_type = _RESULT_TYPE
        resp.set_header("Cache-Control", "no-cache")
        resp.stream = stream  # type: ignore[assignment]  # typed for generators; Falcon takes any iterator with `close`

    async def _save(self, req: Request, quarantine: Quarantine) -> str:
        """Write the body into the quarantine, inflated; return the fault if it is too large, and only its start was kept.

        As much again is read on, since C git prints no answer before it has sent everything.
        """
        limit, count, begun = self._limits.request_bytes, 0, time.monotonic()
        if (req.content_length or 0) > 2 * limit:
            raise ApiError(413, "body_too_large", f"The push is larger than the limit of {limit:,} bytes.")
        with await run_in_thread(quarantine.request.open, "xb", 0) as file:
            waiting = bytearray()
            async for piece in inflate(req, 2 * limit):
                waiting += piece[: max(limit - count, 0)]
                count += len(piece)
                if len(waiting) >= _WRITTEN_AT_ONCE:
                    await run_in_thread(_write, file, bytes(waiting))
                    waiting.clear()
            await run_in_thread(_write, file, bytes(waiting))
        await check_again(req, begun)
        if count <= limit:
            return ""
        return f"the push has more than {limit:,} bytes, the setting push_limit; push less at once"

    def _answer(self, req: Request, namespace: str, push: _Saved, stack: ExitStack) -> PushStream:
        caller = as_principal(principal_of(req))
        received = ReceivedPush(
            push.quarantine,
            push.request,
            push.start,
            _pusher(caller, namespace, author_of(req)),
            self._limits,
            self._records_of(caller, namespace, req.remote_addr),
            PushRules(self._settings.allowed_files, proposal_address(self._settings.public_url or req.prefix)),
        )
        receive = partial(_refuse, push) if push.fault else partial(self._receive, req, namespace, received)
        return PushStream(received, partial(self._note, req, push.request, receive), stack.close)

    async def _note(self, req: Request, request: PushRequest, receive: Callable[[], Awaitable[Reception]]) -> Reception:
        """Receive a push, and note it for the audit trail when it has ended, however it did."""
        reception = None
        try:
            reception = await receive()
        finally:
            await note_request(self._notes, req, AuditEvent.PUSH_REQUESTED, describe_push(request, reception))
        return reception

    async def _receive(self, req: Request, namespace: str, received: ReceivedPush) -> Reception:
        """Receive the push. A caller whose access ended meanwhile gets the verdicts only if refs have moved."""
        begun = time.monotonic()
        reception = await run_transfer(self._store.pushes.receive, namespace, received)
        # A caller that pushed its own token has lost its access by the push, and must learn why.
        is_leak = any(status.refusal == LEAKED for status in reception.report.statuses)
        if not reception.moved and not is_leak:
            try:
                await check_again(req, begun)
            except ApiError:
                statuses = tuple(RefStatus(command.ref, NO_ACCESS) for command in received.request.commands)
                return Reception(PushReport(statuses))
        return reception


def _write(file: RawIOBase, data: bytes) -> None:
    try:
        write_all(file.fileno(), data)
    except OSError as ex:
        raise translate_os_error(ex) from ex


def _read_request(quarantine: Quarantine, fault: str) -> _Saved:
    """Read everything before the pack. Raises MalformedRequest for a body that is no push, unless it has a fault already."""
    with quarantine.request.open("rb") as file:
        try:
            return _Saved(quarantine, read_push_request(file), file.tell(), fault)
        except RefusedRequest as ex:
            return _Saved(quarantine, PushRequest((), ex.capabilities, ()), 0, fault or str(ex))
        except MalformedRequest:
            if not fault:
                raise
            return _Saved(quarantine, PushRequest((), REPORTING, ()), 0, fault)


async def _refuse(push: _Saved) -> Reception:
    """Return the answer to a push that is refused before its pack is read."""
    commands = push.request.commands
    statuses = tuple(RefStatus(command.ref, command.refusal or "unpacker error") for command in commands)
    return Reception(PushReport(statuses, push.fault))


def _pusher(caller: Principal, namespace: str, author: Author) -> Pusher:
    return Pusher(
        author,
        redirects=_scope(caller, namespace, "redirect", "write"),
        pages=_scope(caller, namespace, "page", "write"),
        settings=_scope(caller, namespace, "project", "write"),
        publish=_scope(caller, namespace, "project", "publish"),
        override=_scope(caller, namespace, "project", "override"),
    )


def _scope(caller: Principal, namespace: str, resource: str, action: str) -> Scope:
    """Return the projects of a namespace in which the caller has a grant."""
    if caller.can(resource, action, namespace, EVERY):
        return Scope(everywhere=True)
    named = {grant.project for grant in caller.grants}
    return Scope(projects=frozenset(project for project in named if caller.can(resource, action, namespace, project)))
