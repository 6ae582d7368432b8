"""Upstreams over HTTP: their settings and state, and the webhooks of their hosts. No response has a secret."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.timestamps import dump_time
from api.http.guard.access import EVERYWHERE, grants, principal_of, public
from api.http.guard.content_body import read_content
from api.http.guard.proposal_access import readable_projects, reads_all
from api.http.request.if_match import read_creates_only, read_if_match
from api.http.request.json_body import check_coding, check_json, read_bytes
from api.http.response import json_views
from api.interfaces import Principal
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from api.upstreams.host_webhooks import MOST_BYTES, HostWebhook, HostWebhooks
from api.upstreams.hosts.git_host import guess_kind
from api.upstreams.upstreams import KnownUpstream, Upstreams
from gitstore.history.messages import signature
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, proposal_id
from gitstore.proposals.proposal import first_line
from gitstore.upstream.difference import Difference, Side
from gitstore.upstream.draft_sync import PushedDraft
from gitstore.upstream.followed_branches import FollowedBranch
from gitstore.upstream.upstream_state import UpstreamFault, UpstreamState

_MOST_TITLE = 200
_CREDENTIALS = ("password", "sshKey", "hookSecret", "hostToken")  # an upstream may be a repository of this service
_WITHHELD = "Problems withheld: they name rules or branches; reading them needs project:read, redirect:read and page:read in every project."


class UpstreamResource:
    """The upstream of a namespace."""

    def __init__(self, releases: ReleaseLoader, upstreams: Upstreams) -> None:
        self._releases = releases
        self._upstreams = upstreams

    @grants("namespace", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """Show the upstream, and what this node saw of it last."""
        await self._releases.namespace(namespace)
        known = await run_in_thread(self._upstreams.find, namespace)
        difference: Difference | None = await run_in_process(self._upstreams.store.upstreams.difference, namespace)
        found = _readable(req, namespace, difference) if difference else None
        resp.set_header("ETag", f'"{known.upstream.etag}"')
        resp.media = show_upstream(_visible(req, known), found)

    @grants("namespace", "write")
    async def on_put(self, req: Request, resp: Response, namespace: str) -> None:
        """Set the upstream, if it still has the etag of `If-Match`, or is none with `If-None-Match: *`; the first sync begins at once."""
        await self._releases.namespace(namespace)
        body = await read_content(req, "upstream-put", credentials=_CREDENTIALS)
        actor, etag, creates = as_principal(principal_of(req)), read_if_match(req), read_creates_only(req)
        known = await run_in_thread(self._upstreams.put, actor, namespace, body, etag, creates_only=creates)
        resp.set_header("ETag", f'"{known.upstream.etag}"')
        resp.media = show_upstream(_visible(req, known))

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str) -> None:
        """Remove the upstream, if it still has the etag of `If-Match`: 204; nothing changes on either side."""
        await self._releases.namespace(namespace)
        await run_in_thread(self._upstreams.remove, as_principal(principal_of(req)), namespace, read_if_match(req))
        resp.status = 204

    @grants("namespace", "write")
    async def on_post_sync(self, req: Request, resp: Response, namespace: str) -> None:
        """Have every node sync at once: 202."""
        await self._releases.namespace(namespace)
        resp.status = 202
        resp.media = show_upstream(_visible(req, await run_in_thread(self._upstreams.request_sync, namespace)))

    @grants("namespace", "write")
    async def on_post_suspend(self, req: Request, resp: Response, namespace: str) -> None:
        """Stop syncing."""
        await self._set_suspended(req, resp, namespace, suspended=True)

    @grants("namespace", "write")
    async def on_post_resume(self, req: Request, resp: Response, namespace: str) -> None:
        """Sync again, at once."""
        await self._set_suspended(req, resp, namespace, suspended=False)

    async def _set_suspended(self, req: Request, resp: Response, namespace: str, *, suspended: bool) -> None:
        await self._releases.namespace(namespace)
        actor = as_principal(principal_of(req))
        found = await run_in_thread(self._upstreams.suspend, actor, namespace, suspended=suspended)
        resp.media = show_upstream(_visible(req, found))


class HostWebhookResource:
    """The receiver of webhooks of the upstream's host."""

    def __init__(self, webhooks: HostWebhooks) -> None:
        self._webhooks = webhooks

    @public
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Verify the signature over the raw body, and have the namespace synced: 202."""
        check_json(req)
        check_coding(req)
        body = await read_bytes(req, MOST_BYTES)
        webhook = HostWebhook(lambda name: req.get_header(name) or "", body)
        action = await self._webhooks.receive(namespace, webhook)
        resp.status = 202
        resp.media = {"action": action.value}


def _visible(req: Request, known: KnownUpstream) -> KnownUpstream:
    """Return an upstream without the rules, branches and drafts that the caller may not read."""
    principal, namespace = principal_of(req), known.upstream.namespace
    if all(principal.can(resource, "read", namespace, EVERYWHERE) for resource in ("project", "redirect", "page")):
        return known
    projects = readable_projects(principal, namespace, {_project_of(each) for each in known.drafts})
    branches = known.followed.branches if reads_all(principal, namespace) else ()
    shown = tuple(replace(each, fault=_withhold(each.fault)) for each in branches)
    return known._replace(
        state=replace(known.state, fault=_withhold(known.state.fault)),
        followed=replace(known.followed, branches=shown, fault=_withhold(known.followed.fault)),
        drafts=tuple(each for each in known.drafts if _project_of(each) in projects),
    )


def _withhold(fault: UpstreamFault | None) -> UpstreamFault | None:
    return replace(fault, problems=(_WITHHELD,)) if fault and fault.problems else fault


def _project_of(draft: PushedDraft) -> str:
    return draft.ref.removeprefix(DRAFT_PREFIX).partition("/")[0]


def _readable(req: Request, namespace: str, found: Difference) -> Difference:
    """Return a difference without the projects that the caller may not read, whose rules a message may name too."""
    principal = principal_of(req)
    if reads_all(principal, namespace):
        return found
    sides = (found.ahead, found.behind)
    return Difference(*(_readable_side(principal, namespace, each) for each in sides))


def _readable_side(principal: Principal, namespace: str, side: Side) -> Side:
    names = readable_projects(principal, namespace, side.projects)
    projects = {name: counts for name, counts in side.projects.items() if name in names}
    return Side([each._replace(message="") for each in side.commits], projects, changes_files=False)


def show_upstream(known: KnownUpstream, difference: Difference | None = None) -> dict[str, Any]:
    """Return an upstream for callers and the command line, without its secrets."""
    upstream, state, followed, drafts, host_fault = known
    return {
        "namespace": upstream.namespace,
        "url": upstream.url,
        "mode": upstream.mode,
        "branch": upstream.branch,
        "path": upstream.path,
        "proposals": upstream.proposals,
        "drafts": upstream.drafts,
        "trustedAuthors": upstream.trusted_authors,
        "create": upstream.creates,
        "username": upstream.username,
        "hasPassword": bool(upstream.password),
        "hasSshKey": bool(upstream.ssh_key),
        "hasHookSecret": bool(upstream.hook_secret),
        "knownHosts": upstream.known_hosts,
        "poll": upstream.poll,
        "host": upstream.host or guess_kind(upstream.url).value,
        "hostUrl": upstream.host_url or None,
        "hasHostToken": bool(upstream.host_token),
        "hostFault": host_fault or None,
        "publish": upstream.publish,
        "suspended": upstream.suspended,
        "etag": upstream.etag,
        "status": _show_status(known),
        **_show_state(state),
        "branches": [show_branch(each) for each in followed.branches],
        "branchesFault": _show_fault(followed.fault),
        "draftBranches": [_show_draft(each) for each in drafts],
        "difference": _show_difference(difference) if difference else None,
    }


def _show_status(known: KnownUpstream) -> str:
    if known.upstream.suspended:
        return "suspended"
    if known.state.fault:
        return "failing"
    return "synced" if known.state.synced_at and known.state.requests == known.upstream.requests else "pending"


def _show_state(state: UpstreamState) -> dict[str, Any]:
    return {
        "tip": state.tip or None,
        "release": state.release or None,
        "ahead": state.ahead if state.ahead >= 0 else None,
        "behind": state.behind if state.behind >= 0 else None,
        "fault": _show_fault(state.fault),
        "failures": state.failures,
        "syncedAt": _time(state.synced_at),
        "reachedAt": _time(state.reached_at),
        "nextSyncAt": _time(state.due_at),
    }


def show_branch(found: FollowedBranch) -> dict[str, Any]:
    """Return a branch or pull request of the upstream, and its proposal, which a refused one has not."""
    return {
        "branch": found.name,
        "pullRequest": found.pull or None,
        "commit": found.tip,
        "proposal": proposal_id(found.ref) if found.head else None,
        "fault": _show_fault(found.fault),
    }


def _show_draft(found: PushedDraft) -> dict[str, Any]:
    """Return a draft that is on the upstream too, or should be."""
    return {
        "branch": found.ref.removeprefix(BRANCH_PREFIX),
        "head": found.tried or None,
        "commit": found.pushed or None,
        "fault": _show_fault(found.fault),
    }


def _show_difference(found: Difference) -> dict[str, Any]:
    return {"ahead": _show_side(found.ahead), "behind": _show_side(found.behind)}


def _show_side(side: Side) -> dict[str, Any]:
    """Return what one side alone has."""
    return {
        "commits": [
            {
                "commit": each.id,
                "message": first_line(each.message)[:_MOST_TITLE],
                "author": signature(each.author),
                "at": _time(each.time),
            }
            for each in side.commits
        ],
        "projects": [
            {"name": name, "changes": None if counts is None else json_views.counts(counts)}
            for name, counts in side.projects.items()
        ],
        "otherFiles": side.changes_files,
    }


def _show_fault(fault: UpstreamFault | None) -> dict[str, Any] | None:
    return {"code": fault.code, "message": fault.message, "problems": list(fault.problems)} if fault else None


def _time(seconds: float) -> str | None:
    return dump_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None
