"""The reporter of statuses: what a round costs while nothing moves, and after a failure. Rounds and files count."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from sqlalchemy import select
from structlog.testing import LogCapture

from api.app.data_directory import adopt, create_data, data_parts
from api.app.git_hosts import open_pulls
from api.app.services import Services, open_services
from api.data.served_data import ServedData
from api.db.namespaces.upstreams import StoredUpstream, put_upstream
from api.db.tables import commit_statuses
from api.settings import Settings
from api.upstreams import host_reporter
from api.upstreams.host_reporter import HostReporter
from gitstore.upstream.followed_branches import BRANCHES_FILE
from gitstore.upstream.upstream_settings import SETTINGS_FILE, write_settings
from gitstore.upstream.upstream_state import STATE_FILE, UpstreamFault, write_state
from tests.gitstore.fixtures import SHOP, SPACE, Place, create_place, git, put, redirect, yaml
from tests.gitstore.upstream.upstream_bed import SOURCE, UpstreamBed, sync_well
from tests.opened_files import opened_files
from tests.service import wait_until

URL = "http://127.0.0.1:9/acme/redirects.git"
FILES = (SETTINGS_FILE, STATE_FILE, BRANCHES_FILE)
ROUNDS = 20


async def wait_for(probe: Callable[[], object], description: str) -> None:
    """Wait until something is true, while the reporter runs."""
    await asyncio.to_thread(wait_until, probe, 60, description)


class Node:
    """A node with a namespace that follows the branches of a repository; `rounds` of its reporter have begun."""

    def __init__(self, place: Place, services: Services, settings: Settings) -> None:
        self.place = place
        self.services = services
        self.rounds = 0
        self._settings = settings

    def _count(self) -> bool:
        self.rounds += 1
        return False

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Run the reporter."""
        parts = data_parts(self._settings)
        pulls = open_pulls(self._settings, self.place.store, self.services)
        reporter = HostReporter(pulls, ServedData(parts, adopt(parts)), self._count)
        await reporter.start()
        try:
            yield
        finally:
            await reporter.stop()

    async def pass_rounds(self) -> None:
        """Wait until many more rounds have begun."""
        until = self.rounds + ROUNDS
        await wait_for(lambda: self.rounds >= until, "rounds")

    async def wait_for_statuses(self, *statuses: tuple[str, str]) -> None:
        """Wait until statuses of the namespace are noted: the last part of the context, and the state."""
        await wait_for(lambda: self._list_statuses().issuperset(statuses), f"{statuses}")

    def _list_statuses(self) -> set[tuple[str, str]]:
        with self.services.state.database.reading() as connection:
            rows = connection.execute(select(commit_statuses.c.context, commit_statuses.c.state))
            return {(row.context.rpartition("/")[2], row.state) for row in rows}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Return a node whose rounds follow each other at once, with a branch that is a proposal."""
    monkeypatch.setattr(host_reporter, "_ROUND_SECONDS", 0.02)
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    bed = UpstreamBed.create(tmp_path / "bed")
    bed.node("first").begin(SHOP).publish(put(redirect("/a")))
    (made,) = bed.commit({"shop/redirects.yaml": yaml([("/a", "/b")])}, push=False)
    git(bed.folder / "work", "push", "--quiet", "origin", f"{made}:refs/heads/side")
    place = create_place(settings.data)
    bed.follow(place, SOURCE, proposals="branches")
    sync_well(place)
    services = open_services(settings)
    with services.state.database.writing() as connection:
        row = StoredUpstream(SPACE, URL, "source", "release", password="token", host="gitea", proposals="branches")
        put_upstream(connection, row)
    settings_here = place.store.upstreams.settings(SPACE)
    assert settings_here
    write_settings(place.repo, replace(settings_here, url=URL))  # with the state of what was synced
    yield Node(place, services, settings)
    services.close()


def test_a_round_opens_no_file_of_a_namespace_that_is_as_before(node: Node) -> None:
    async def watch() -> list[str]:
        async with node.reporting():
            await node.wait_for_statuses(("served", "success"), ("proposal", "success"))
            await node.pass_rounds()
            with opened_files() as opened:
                await node.pass_rounds()
            state = node.place.store.upstreams.state(SPACE)
            write_state(node.place.repo, replace(state, fault=UpstreamFault("upstream_invalid", "It is not valid.")))
            await node.wait_for_statuses(("served", "failure"))
            return opened

    assert not [each for each in asyncio.run(watch()) if Path(each).name in FILES]


def test_proposals_that_cannot_be_read_are_not_tried_every_second(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    said = LogCapture()
    log = structlog.wrap_logger(None, [said], structlog.make_filtering_bound_logger(logging.INFO))
    monkeypatch.setattr(host_reporter, "_log", log)
    (node.place.repo / "objects").rename(node.place.repo / "away")

    async def watch() -> None:
        async with node.reporting():
            await wait_for(lambda: said.entries, "the failure")
            await node.pass_rounds()

    asyncio.run(watch())
    assert [each["event"] for each in said.entries].count("proposals_not_reported") == 1
