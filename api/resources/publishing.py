"""Publishing, rolling back, and the history of both."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import grants, principal_of, readable_kinds, require
from api.authors import author_of
from api.background import in_thread, in_worker
from api.body import read_json
from api.convergence import DEFAULT_WAIT, LONGEST_WAIT, Convergence
from api.errors import Forbidden, bad_request, invalid
from api.identity.principal import caller
from api.paging import write_window
from api.parameters import read_draft, read_number, read_text, read_window
from api.redaction import redact_conflicts, redact_problems
from api.reviewing import Override, Reviews
from api.state.reviews import DraftKey, Origin
from content.diff import identity_field, item_kind
from content.problem import Problem
from content.vocabulary import Kind
from gitstore.advance import Published
from gitstore.approval import says_why
from gitstore.drafts import DraftName
from gitstore.errors import Conflicts, Invalid
from gitstore.publishing import PublishOrder
from gitstore.store import Store

_PATIENCE = 10.0
"""Seconds that a question may read a long history that nobody has read yet; the next one goes on from there."""


class Publish:
    """Publishing a draft."""

    def __init__(self, store: Store, convergence: Convergence, reviews: Reviews) -> None:
        self._store = store
        self._convergence = convergence
        self._reviews = reviews

    @grants("project", "publish")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish the draft; the same head again answers with the publish that it became.

        With `wait=converged` the answer comes when the agents have it too, or after `timeout` seconds.
        """
        seconds = _read_patience(req)
        if seconds is not None and not principal_of(req).may("agent", "read", namespace, project):
            raise Forbidden("To wait for the agents needs agent:read beside project:publish; nothing was published.")
        body = await read_json(req, "publish") if _has_body(req) else {}
        if "override" in body:
            require(req, "project", "override", namespace, project)
            _must_say_why(body["override"])
        order = PublishOrder(
            DraftName(project, read_draft(req)),
            author_of(req),
            body.get("head", ""),
            body.get("message", ""),
            body.get("override", ""),
            frozenset(body.get("ids", ())),
            may_change_policy=principal_of(req).may("project", "override", namespace, project),
        )
        with _redacted(readable_kinds(req, namespace, project)):
            found = await self._publish(req, namespace, order)
        _write(req, resp, found, "publish")
        if seconds is not None:
            waited = await self._convergence.wait(namespace, project, found.number, seconds)
            resp.media = {**wire.published(found), "convergence": waited.wire()}

    async def _publish(self, req: Request, namespace: str, order: PublishOrder) -> Published:
        """Publish under the verdicts on the draft; an override is in the audit trail before anything can be published."""
        key = DraftKey(namespace, *order.name)
        if not order.override:
            return await self._judged(key, order)
        draft = await in_worker(self._store.under_review, namespace, order.name)
        override = Override(caller(principal_of(req)).actor(), key, order.override, draft.head, Origin(req.remote_addr))
        await in_thread(self._reviews.ask_override, override)
        found = await self._judged(key, order)
        await in_thread(self._reviews.note_override, override, found.version, found.number)
        return found

    async def _judged(self, key: DraftKey, order: PublishOrder) -> Published:
        """Publish; the process that does it asks for the verdicts itself, when it holds the namespace's lock."""
        return await in_worker(self._store.publish, key.namespace, order, partial(self._reviews.verdicts, key))


class Rollback:
    """Going back to an earlier version."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "publish")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish an earlier version's rules and pages again, as a new version."""
        body = await read_json(req, "rollback")
        word, message = str(body["version"]), body.get("message", "")
        with _redacted(readable_kinds(req, namespace, project)):
            found = await in_worker(self._store.roll_back, namespace, project, word, author_of(req), message)
        _write(req, resp, found, "rollback")


class History:
    """The publishes of a project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """A window of the publishes, newest first: all, or those that changed the rule of `?source=` or `?path=`."""
        limit, offset = read_window(req)
        rule = _read_rule(req)
        if rule:
            await self._life(req, resp, namespace, project, *rule)
            return
        found, total = await in_thread(self._store.history, namespace, project, offset, limit)
        write_window(resp, [wire.publish_record(publish) for publish in found], total, limit, offset)

    async def _life(
        self, req: Request, resp: Response, namespace: str, project: str, kind: Kind, identity: str
    ) -> None:
        require(req, item_kind(kind), "read", namespace, project)
        limit, offset = read_window(req)
        window = slice(offset, offset + limit)
        found, total = await in_worker(life_items, self._store, namespace, project, kind, identity, window)
        write_window(resp, found, total, limit, offset)


class HistoryEntry:
    """One publish."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """The publish with what it changed, rule by rule."""
        publish, whole, files = await in_thread(self._store.publish_detail, namespace, project, version)
        changes = {kind: whole[kind] for kind in readable_kinds(req, namespace, project)}
        resp.media = {**wire.publish_record(publish), "files": wire.files(files), "diff": wire.changes(changes)}


def life_items(
    store: Store, namespace: str, project: str, kind: Kind, identity: str, window: slice
) -> tuple[list[dict[str, Any]], int]:
    """What publishes did to a rule, as JSON shapes, which travel quicker. Runs in a process of its own."""
    found, total = store.life(namespace, project, kind, identity, window, _PATIENCE)
    return [wire.lived(each) for each in found], total


def _read_patience(req: Request) -> int | None:
    """The seconds that a publish shall wait for the agents; None where it shall not. 400 for what is neither."""
    word, seconds = read_text(req, "wait"), read_number(req, "timeout", DEFAULT_WAIT)
    if word not in {None, "converged"}:
        raise bad_request("'wait' can only be converged.", "bad_parameter")
    if seconds > LONGEST_WAIT:
        raise bad_request(f"'timeout' must be at most {LONGEST_WAIT} seconds.", "bad_parameter")
    return None if word is None else seconds


def _read_rule(req: Request) -> tuple[Kind, str] | None:
    """The rule whose life is asked for; None where it is the history of all. 400 for two rules, or for an empty name."""
    given = [(kind, text) for kind in Kind if (text := read_text(req, identity_field(kind))) is not None]
    if len(given) > 1:
        raise bad_request("Give 'source' or 'path', not both: a history is of one rule.", "bad_parameter")
    if given and not given[0][1]:
        raise bad_request(f"'{identity_field(given[0][0])}' must not be empty.", "bad_parameter")
    return given[0] if given else None


def _write(req: Request, resp: Response, found: Published, kind: str) -> None:
    """What was published, in the body and in the headers that every published answer carries; and count it."""
    req.context.tally.add_publish(kind)
    resp.set_header("X-Project-Version", found.version)
    resp.set_header("X-Publish-Number", str(found.number))
    resp.media = wire.published(found)


def _has_body(req: Request) -> bool:
    """Tell whether anything was sent, also where no length was announced: an order is never read as if it were none."""
    return bool(req.content_type or req.content_length or req.get_header("Transfer-Encoding"))


def _must_say_why(reason: str) -> None:
    if not says_why(reason):
        message = "An override says why: its reason needs a letter or a digit. Nothing was published."
        raise invalid(message, [Problem("too_short", message, pointer="/override")])


@contextmanager
def _redacted(readable: Collection[Kind]) -> Iterator[None]:
    """Let out what stands in the way of a publish without what the caller may not read."""
    try:
        yield
    except Conflicts as ex:
        raise Conflicts(str(ex), redact_conflicts(ex.conflicts, readable)) from ex
    except Invalid as ex:
        raise Invalid(str(ex), redact_problems(ex.problems, readable)) from ex
