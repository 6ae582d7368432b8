"""The scheduler of events: what is damaged in one namespace holds back its own events, and nothing else."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from api.db.agents.fleet import Fleet
from api.db.agents.heartbeats import Heartbeats
from api.events.event_scheduler import EventScheduler
from api.events.publish_event_relay import PublishEventRelay
from api.events.release_events import ReleaseEvents
from api.runtime.serving.release_loader import ReleaseLoader
from tests.api.events.test_publish_event_relay import event_relay, made
from tests.e2e.git import Clone, git


def test_a_damaged_namespace_does_not_stop_the_look_for_silent_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = event_relay(tmp_path / "data")
    relay.begin({})
    for namespace in ("acme", "zoo"):
        made(relay, namespace)
        relay.relay(namespace)
    repository = relay.store.directory.namespace("acme").repository
    clone = Clone.of(repository, tmp_path / "clone")
    for title in ("Lost", "Kept"):
        clone.write("shop/project.yaml", f"project: {{title: {title}}}\n")
        clone.commit()
    clone.push()
    made(relay, "new")
    lost = git(repository, "rev-parse", "release~1:shop")
    (repository / "objects" / lost[:2] / lost[2:]).unlink()
    relay.store.releases.refresh("acme", compiles=True)

    looked = asyncio.run(_look(relay, monkeypatch))
    assert looked


async def _look(relay: PublishEventRelay, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run the scheduler until it has looked for silent agents."""
    looked, loop = asyncio.Event(), asyncio.get_running_loop()
    monkeypatch.setattr(Fleet, "record_inactive_agents", lambda *_: loop.call_soon_threadsafe(looked.set))
    fleet = Fleet(relay.database, Heartbeats(relay.database, relay.clock), relay.clock)
    loader = ReleaseLoader(relay.store)
    await loader.start()
    events = ReleaseEvents(relay.store, relay.database, relay.reader, relay.clock)
    scheduler = EventScheduler(relay, events, loader, fleet, 0, int(timedelta(days=1).total_seconds()))
    await scheduler.start()
    try:
        async with asyncio.timeout(3):
            await looked.wait()
    except TimeoutError:
        return False
    finally:
        await scheduler.stop()
        await loader.stop()
    return True
