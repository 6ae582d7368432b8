"""Agents over HTTP: registration, heartbeats, and the list for people."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Protocol

from falcon.asgi import Request, Response

from api.db.agents.agent_filter import AgentFilter, AgentState
from api.db.agents.agents import Agent, AgentKey, VersionCount
from api.db.agents.fleet import Fleet, is_online
from api.db.timestamps import dump_time
from api.errors import invalid
from api.http.guard.access import grants, reports
from api.http.guard.content_body import REPORTED, check_name, read_content
from api.http.request.parameters import Window, read_text, read_window, read_word
from api.interfaces import ProjectVersion
from api.runtime.jobs.background import run_in_thread
from api.runtime.serving.convergence import VersionHistory
from api.runtime.serving.fleet_summary import FleetSummaries, reported_of
from content.records.names import is_agent_name
from content.records.problem import Problem


class ServedProjects(Protocol):
    """A lookup in memory of the version that a project serves."""

    async def project(self, namespace: str, project: str) -> ProjectVersion:
        """Return the served version; raises gitstore.errors.NotFound."""


class VersionResolver(VersionHistory, Protocol):
    """A lookup of the versions that agents report."""

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """Return SHA and publish number, or None for an unknown version; may read from disk."""


class Agents:
    """The agents of a project."""

    def __init__(self, served: ServedProjects, versions: VersionResolver, fleet: Fleet) -> None:
        self._releases = served
        self._versions = versions
        self._fleet = fleet
        self._summaries = FleetSummaries(fleet, versions)

    @reports
    @grants("agent", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Register an agent, or replace its registration: 200 without a body; 409 for a new one beyond the limit."""
        now = self._fleet.clock()
        served = await self._releases.project(namespace, project)
        body = await read_content(req, "agent", reason=REPORTED)
        await run_in_thread(self._register, AgentKey(namespace, project, body["name"]), body, served, now)
        _reply_empty(resp)

    @grants("agent", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show a window of the agents by name, those of `q` and `state`, the counts by version, and the convergence of the last publish."""
        served = await self._releases.project(namespace, project)
        window, after = read_window(req), read_text(req, "after") or ""
        state = read_word(req, "state", {each.value: each for each in AgentState})
        wanted = AgentFilter(read_text(req, "q") or "", state, served.version)
        resp.media = await run_in_thread(self._page, namespace, project, served, window, after, wanted)

    def _page(
        self, namespace: str, project: str, served: ProjectVersion, window: Window, after: str, wanted: AgentFilter
    ) -> dict[str, Any]:
        summary, now = self._summaries.find(namespace, project, served), self._fleet.clock()
        shown = self._fleet.page(namespace, project, *window, after, wanted)
        is_filtered = bool(wanted.text or wanted.state)
        history = self._summaries.find_history(namespace, project, summary, shown)
        return {
            "items": [_show(agent, served, history, now) for agent in shown],
            "total": self._fleet.count_wanted(namespace, project, wanted) if is_filtered else summary.total,
            **window._asdict(),
            "next": shown[-1].name if shown and len(shown) == window.limit else None,
            "versions": [_show_count(each, served, history) for each in summary.versions],
            "convergence": summary.convergence,
            "countedAt": dump_time(summary.counted_at),
        }

    def _register(self, key: AgentKey, body: dict[str, Any], served: ProjectVersion, now: datetime) -> None:
        version = body["version"]
        if version in {served.number, str(served.number), served.version}:  # the usual case, without a lookup
            known: tuple[str, int] | None = (served.version, served.number)
        else:
            known = self._versions.resolve_version(key.namespace, key.project, version)
        self._fleet.register(_read_agent(key, body, known, now))


class AgentResource:
    """One agent."""

    def __init__(self, served: ServedProjects, versions: VersionResolver, fleet: Fleet) -> None:
        self._releases = served
        self._versions = versions
        self._fleet = fleet

    @grants("agent", "read")
    async def on_get(self, _req: Request, resp: Response, namespace: str, project: str, name: str) -> None:
        """Show the agent as of its last report."""
        served, key = await self._find(namespace, project, name)
        resp.media = await run_in_thread(self._show, key, served)

    def _show(self, key: AgentKey, served: ProjectVersion) -> dict[str, Any]:
        agent = self._fleet.find(key)
        others = reported_of([agent]) - {(served.version, served.number)}
        known = self._versions.same_history(key.namespace, key.project, others) if others else set()
        history = {served.version, *known}
        return _show(agent, served, history, self._fleet.clock())

    @grants("agent", "write")
    async def on_delete(self, _req: Request, resp: Response, namespace: str, project: str, name: str) -> None:
        """Remove the agent: 204; its next report adds it again."""
        _, key = await self._find(namespace, project, name)
        await run_in_thread(self._fleet.forget, key)
        resp.status = 204

    @reports
    @grants("agent", "write")
    async def on_patch_hit(self, req: Request, resp: Response, namespace: str, project: str, name: str) -> None:
        """Record a heartbeat: 200 without a body; on disk within a second. Creates an unknown agent; 409 at the limit."""
        now = self._fleet.clock()
        _, key = await self._find(namespace, project, name)
        await check_name(req, "The agent's name", name)
        if self._fleet.is_full(key):
            await run_in_thread(self._fleet.require_known, key)
        self._fleet.heartbeats.note(key, now)
        _reply_empty(resp)

    async def _find(self, namespace: str, project: str, name: str) -> tuple[ProjectVersion, AgentKey]:
        served = await self._releases.project(namespace, project)
        if not is_agent_name(name):
            message = "An agent's name is 1 to 100 letters, digits, underscores and hyphens."
            raise invalid("The agent's name is invalid.", [Problem("bad_format", message)], "invalid_name")
        return served, AgentKey(namespace, project, name)


def _reply_empty(resp: Response) -> None:
    resp.status = 200
    resp.data = b""


def _read_agent(key: AgentKey, body: dict[str, Any], known: tuple[str, int] | None, now: datetime) -> Agent:
    commit, number = known or (None, None)
    return Agent(
        *key,
        type="proxy" if body["type"] == "traefik" else body["type"],
        created_at=now,
        last_seen_at=now,
        version=body["version"],
        commit=commit,
        publish_number=number,
        status=body.get("status") or None,
        load_duration=body.get("load_duration"),
        error=body.get("error"),
        loaded_at=now if commit and body.get("status") != "error" else None,
    )


def _show(agent: Agent, served: ProjectVersion, history: Collection[str], now: datetime) -> dict[str, Any]:
    return {
        "name": agent.name,
        "type": agent.type,
        "status": agent.status,
        "version": agent.version,
        "commit": agent.commit,
        "publishNumber": agent.publish_number,
        "current": agent.commit == served.version,
        "behind": _behind(agent, served, history),
        "load_duration": agent.load_duration,
        "error": agent.error,
        "lastSeenAt": dump_time(agent.last_seen_at),
        "createdAt": dump_time(agent.created_at),
        "online": is_online(agent, now),
    }


def _behind(found: Agent | VersionCount, served: ProjectVersion, history: Collection[str]) -> int | None:
    """Return the number of publishes since; None for a version that is unknown or of another history."""
    if found.publish_number is None or found.commit not in history:
        return None
    return max(0, served.number - found.publish_number)


def _show_count(found: VersionCount, served: ProjectVersion, history: Collection[str]) -> dict[str, Any]:
    behind = _behind(found, served, history)
    known = {"commit": found.commit, "publishNumber": found.publish_number, "behind": behind, "agents": found.agents}
    return known if found.commit else {"version": found.version, **known}
