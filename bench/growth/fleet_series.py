"""The series of agents and of waiting polls: the state of agents in the database, and the requests of one worker."""

import asyncio
import atexit
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from api.db.agents import agents
from api.db.agents.agents import Agent, AgentKey
from api.db.agents.fleet import Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.state_store import open_state_store
from api.db.timestamps import utc_now
from api.runtime.serving.fleet_summary import FleetSummaries
from api.runtime.serving.long_poll import LongPolls
from api.runtime.serving.release_loader import ReleaseLoader
from bench.growth.cost import Operation
from bench.workbench import AUTHOR, NAMESPACE
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile

_SHOP, _OTHER = "shop", "other"
_PAGE = 50
_PUBLISHED = 1_700_000_000
_AT_ONCE = 1_000
_SILENT = timedelta(minutes=5)
_WAIT_SECONDS = 3_600.0


class _Served(NamedTuple):
    version: str
    number: int
    time: int = _PUBLISHED


class _OneHistory:
    """All reported versions are of one history."""

    def same_history(self, _namespace: str, _project: str, reported: Iterable[tuple[str, int]]) -> set[str]:
        """Return the reported commits."""
        return {commit for commit, _ in reported}


def agents_of_a_project(folder: Path, size: int) -> list[Operation]:
    """Return the operations on one project's agents, which all run one version and have reported within a minute."""
    database = open_state_store(folder).database
    fleet = Fleet(database, Heartbeats(database))
    known = [_agent(number) for number in range(size)]
    for start in range(0, size, _AT_ONCE):
        with database.writing() as connection:
            for agent in known[start : start + _AT_ONCE]:
                agents.register(connection, agent)
    summaries = FleetSummaries(fleet, _OneHistory())

    def beat(_turn: int) -> None:
        for agent in known:
            fleet.heartbeats.note(AgentKey(agent.namespace, agent.project, agent.name))
        while fleet.heartbeats.flush():
            pass

    def report(turn: int) -> None:
        fleet.register(replace(known[(turn * 7919) % size], version=2, commit="2" * 40, publish_number=2))

    return [
        Operation("report of a version", report),
        Operation("first page", lambda _turn: fleet.page(NAMESPACE, _SHOP, _PAGE, 0)),
        Operation("last page, by offset", lambda _turn: fleet.page(NAMESPACE, _SHOP, _PAGE, max(size - _PAGE, 0))),
        Operation("last page, after a name", lambda _turn: fleet.page(NAMESPACE, _SHOP, _PAGE, 0, known[-_PAGE].name)),
        Operation("first count after a publish", lambda turn: _count(summaries, turn)),
        Operation("look for silent agents", lambda _turn: fleet.record_inactive_agents(_SILENT)),
        Operation("a heartbeat of each, as written in 30 s", beat),
    ]


def _agent(number: int) -> Agent:
    now = utc_now()
    key = AgentKey(NAMESPACE, _SHOP, f"edge-{number:06d}")
    return replace(Agent(*key, "proxy", now, now, 1, "1" * 40, 1, "success"), loaded_at=now)


def _count(summaries: FleetSummaries, turn: int) -> None:
    summaries.find(NAMESPACE, _SHOP, _Served(f"{turn + 3:040x}", turn + 3))


def waiting_polls(folder: Path, size: int) -> list[Operation]:
    """Return the operations on the polls of one worker that all wait for the next version of one project."""
    store = create_store(folder)
    store.namespaces.create(NAMESPACE, "", AUTHOR)
    for project in (_SHOP, _OTHER):
        store.projects.create(NAMESPACE, project, ProjectFile(), AUTHOR)
    polls, loop, waiting = LongPolls(ReleaseLoader(store)), asyncio.new_event_loop(), set[asyncio.Task[float]]()
    open_ended: asyncio.Future[None] = loop.create_future()

    async def begin() -> None:
        version = store.live.refresh(NAMESPACE, compiles=True).project(_SHOP).version
        waiting.clear()
        for _ in range(size):
            waiting.add(asyncio.create_task(polls.wait(NAMESPACE, _SHOP, version, _WAIT_SECONDS, open_ended)))
        await asyncio.sleep(0)

    async def answer() -> None:
        await asyncio.gather(*waiting)

    def publish(project: str, turn: int) -> None:
        name = DraftName(project, DEFAULT_DRAFT)
        rule = Redirect(RedirectType.BASIC, "/a", f"/{turn}", RedirectStatus.FOUND)
        store.drafts.edit(NAMESPACE, name, [Put(Kind.REDIRECTS, rule)], AUTHOR)
        store.publishes.publish(NAMESPACE, PublishRequest(name, AUTHOR))

    def publish_to_all(turn: int) -> None:
        publish(_SHOP, turn)
        _note(polls, store)
        loop.run_until_complete(answer())
        loop.run_until_complete(begin())

    def end() -> None:
        polls.release()
        loop.run_until_complete(answer())

    loop.run_until_complete(begin())
    atexit.register(end)
    publish(_OTHER, 0)
    return [
        Operation("news of a publish of another project", lambda _turn: _note(polls, store)),
        Operation("number of the waiting", lambda _turn: polls.count),
        Operation("publish that answers all, which then wait again", publish_to_all),
    ]


def _note(polls: LongPolls, store: Store) -> None:
    polls.on_release(NAMESPACE, None, store.live.refresh(NAMESPACE))
