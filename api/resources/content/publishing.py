"""Publishes: publish a draft, roll back, and read the history."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import orjson
from falcon import MEDIA_JSON
from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.namespaces.reviews import DraftKey, Origin
from api.errors import ApiError, Forbidden, bad_request
from api.http.guard.access import author_of, grants, principal_of, readable_kinds, require
from api.http.guard.content_body import read_content, read_optional_content
from api.http.request.caller_access import waiting
from api.http.request.override import read_override
from api.http.request.parameters import read_draft_name, read_number, read_text, read_window
from api.http.request.record_query import read_identity
from api.http.response import json_views
from api.http.response.paging import write_window
from api.http.response.redaction import redact_conflicts, redact_problems
from api.http.response.signed_replies import ManifestSigner
from api.reviews import review_json
from api.reviews.outcomes import find_outcomes
from api.reviews.reviewing import Override, Reviews
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.serving.convergence import DEFAULT_WAIT, MAX_WAIT, Convergence
from api.upstreams.pull_publishes import PulledPublish, PullPublishes
from content.changes.diff import item_kind
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.errors import Conflicts, Invalid, StoreError
from gitstore.publish.advance import PublishResult
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store

# seconds to read a long history that is not cached yet; the next request continues from there
_READ_TIMEOUT = 10.0


class Publish:
    """The publish of a draft."""

    def __init__(self, store: Store, convergence: Convergence, reviews: Reviews, pulls: PullPublishes) -> None:
        self._store = store
        self._convergence = convergence
        self._reviews = reviews
        self._pulls = pulls

    @grants("project", "publish")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish the draft; a repeat with the same head returns the existing publish.

        With `wait=converged` the response comes when the agents have the version too, or after `timeout` seconds. Where the
        upstream takes pull requests, it is 202 with the pull request, and the draft stays until that is merged.
        """
        seconds = _read_wait(req)
        if seconds is not None and not principal_of(req).can("agent", "read", namespace, project):
            raise Forbidden("Waiting for the agents needs agent:read and project:publish; nothing was published.")
        body = await read_optional_content(req, "publish")
        if "override" in body:
            require(req, "project", "override", namespace, project)
            body["override"] = read_override(body["override"])
        order = PublishRequest(
            DraftName(project, read_draft_name(req)),
            author_of(req),
            body.get("head", ""),
            body.get("message", ""),
            body.get("override", ""),
            frozenset(body.get("ids", ())),
            may_change_policy=principal_of(req).can("project", "override", namespace, project),
        )
        with _redact_errors(readable_kinds(req, namespace, project)):
            found = await self._publish(req, namespace, order)
        if isinstance(found, PulledPublish):
            resp.status, resp.media = 202, found.wire()
            return
        _write(req, resp, found, "publish")
        if seconds is not None:
            resp.media = {
                **json_views.published(found),
                "convergence": await self._await_agents(req, namespace, project, found.number, seconds),
            }

    async def _await_agents(
        self, req: Request, namespace: str, project: str, number: int, seconds: int
    ) -> dict[str, Any] | None:
        """Wait for the agents and return their progress; None if the caller has lost its access to it meanwhile.

        The publish is done, so it is reported all the same.
        """
        async with waiting(req, ("agent", "read")) as ended:
            convergence = await self._convergence.wait(namespace, project, number, seconds, ended)
        try:
            await req.context.caller.check()
        except (ApiError, StoreError, OSError):  # it cannot be checked: as if it were lost
            return None
        return convergence.wire()

    async def _publish(self, req: Request, namespace: str, order: PublishRequest) -> PublishResult | PulledPublish:
        """Publish with the verdicts on the draft; records an override in the audit trail before the publish."""
        key = DraftKey(namespace, *order.name)
        if not order.override:
            return await self._publish_reviewed(key, order)
        draft = await run_in_process(self._store.drafts.review_subject, namespace, order.name)
        override = Override(
            as_principal(principal_of(req)).actor(), key, order.override, draft.head, Origin(req.remote_addr)
        )
        await run_in_thread(self._reviews.ask_override, override)
        found = await self._publish_reviewed(key, order)
        number = 0 if isinstance(found, PulledPublish) else found.number  # it has none before it is merged
        await run_in_thread(self._reviews.note_override, override, found.version, number)
        return found

    async def _publish_reviewed(self, key: DraftKey, order: PublishRequest) -> PublishResult | PulledPublish:
        """Publish; the pool process reads the verdicts itself, while it holds the namespace's lock."""
        verdicts = partial(self._reviews.verdicts, key)
        if not await run_in_thread(self._pulls.applies, key.namespace):
            return await run_in_process(self._store.publishes.publish, key.namespace, order, verdicts)
        place = await run_in_thread(self._pulls.claim, key.namespace, order.name)
        made = await run_in_process(
            self._store.publishes.push_pull, key.namespace, order, verdicts, place.known, place.branch
        )
        return made if isinstance(made, PublishResult) else await self._pulls.note(key.namespace, order.name, made)


class Rollback:
    """The rollback to an earlier version."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("project", "publish")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish an earlier version's rules and pages again, as a new version."""
        body = await read_content(req, "rollback")
        word, message = str(body["version"]), body.get("message", "")
        expected = str(body.get("expectedVersion", ""))
        with _redact_errors(readable_kinds(req, namespace, project)):
            found = await run_in_process(
                self._store.publishes.roll_back, namespace, project, word, author_of(req), message, expected
            )
        _write(req, resp, found, "rollback")


class History:
    """The publishes of a project."""

    def __init__(self, store: Store, reviews: Reviews) -> None:
        self._store = store
        self._reviews = reviews

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the publishes, newest first; `?source=` and `?path=` limit them to those of one rule."""
        limit, offset = read_window(req)
        rule, text = _read_rule(req), (read_text(req, "q") or "").strip()
        if rule and text:
            raise bad_request("'q' searches all publishes. Use it without 'source' and 'path'.", "bad_parameter")
        if text:
            search = self._store.publishes.search
            publishes, total, searched = await run_in_thread(search, namespace, project, text, offset, limit)
            items = await self._with_reviews(namespace, project, map(json_views.publish_record, publishes))
            write_window(resp, items, total, limit, offset, searched=searched)
            return
        if rule:
            await self._write_rule_history(req, resp, namespace, project, *rule)
            return
        found, total = await run_in_thread(self._store.publishes.history, namespace, project, offset, limit)
        items = await self._with_reviews(namespace, project, map(json_views.publish_record, found))
        write_window(resp, items, total, limit, offset)

    async def _with_reviews(
        self, namespace: str, project: str, items: Iterable[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return publishes, each with how the review of what it merged ended."""
        publishes = list(items)
        merged = {each["version"]: head for each in publishes if (head := each["mergedHead"])}
        database = self._reviews.database
        found = await run_in_thread(find_outcomes, database, self._store, namespace, project, merged)
        return [{**each, **review_json.outcome(found.get(each["version"]))} for each in publishes]

    async def _write_rule_history(
        self, req: Request, resp: Response, namespace: str, project: str, kind: Kind, identity: str
    ) -> None:
        require(req, item_kind(kind), "read", namespace, project)
        limit, offset = read_window(req)
        window = slice(offset, offset + limit)
        found, total = await run_in_process(list_rule_history, self._store, namespace, project, kind, identity, window)
        write_window(resp, await self._with_reviews(namespace, project, found), total, limit, offset)


class HistoryEntry:
    """One publish; signed with its place, so that the publisher can be shown elsewhere."""

    def __init__(self, store: Store, signer: ManifestSigner) -> None:
        self._store = store
        self._signer = signer

    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str, version: str) -> None:
        """Show the publish with its changes, rule by rule."""
        publish, all_changes, files = await run_in_thread(self._store.publishes.read, namespace, project, version)
        changes = {kind: all_changes[kind] for kind in readable_kinds(req, namespace, project)}
        body = {
            "namespace": namespace,
            "project": project,
            **json_views.publish_record(publish),
            "files": json_views.files(files),
            "diff": json_views.changes(changes),
        }
        resp.content_type, resp.data = MEDIA_JSON, orjson.dumps(body)
        for name, value in self._signer.sign(resp.data, publish.time):
            resp.set_header(name, value)


def list_rule_history(
    store: Store, namespace: str, project: str, kind: Kind, identity: str, window: slice
) -> tuple[list[dict[str, Any]], int]:
    """Return a rule's history as JSON, which is faster to send between processes. Runs in a pool process."""
    found, total = store.publishes.rule_history(namespace, project, kind, identity, window, _READ_TIMEOUT)
    return [json_views.lived(each) for each in found], total


def _read_wait(req: Request) -> int | None:
    """Read the seconds that a publish waits for the agents; None without `?wait=`, 400 for an invalid value."""
    word, seconds = read_text(req, "wait"), read_number(req, "timeout", DEFAULT_WAIT)
    if word not in {None, "converged"}:
        raise bad_request("'wait' must be converged.", "bad_parameter")
    if seconds > MAX_WAIT:
        raise bad_request(f"'timeout' must be at most {MAX_WAIT} seconds.", "bad_parameter")
    return None if word is None else seconds


def _read_rule(req: Request) -> tuple[Kind, str] | None:
    """Read the rule of `?source=` or `?path=`; None without either, 400 for both or for an empty one."""
    given = [(kind, text) for kind in Kind if (text := read_identity(req, kind)) is not None]
    if len(given) > 1:
        raise bad_request("Give 'source' or 'path', not both.", "bad_parameter")
    return given[0] if given else None


def _write(req: Request, resp: Response, found: PublishResult, kind: str) -> None:
    """Write the publish into the body and the version headers, and count it in the metrics."""
    req.context.counters.add_publish(kind)
    resp.set_header("X-Project-Version", found.version)
    resp.set_header("X-Publish-Number", str(found.number))
    resp.media = json_views.published(found)


@contextmanager
def _redact_errors(readable: Collection[Kind]) -> Iterator[None]:
    """Redact the conflicts and problems of a refused publish that the caller may not read."""
    try:
        yield
    except Conflicts as ex:
        raise Conflicts(str(ex), redact_conflicts(ex.conflicts, readable)) from ex
    except Invalid as ex:
        raise Invalid(str(ex), redact_problems(ex.problems, readable)) from ex
