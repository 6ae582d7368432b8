"""Backups while the service is written to, restored copies beside it, and the pause of their webhooks."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.cli.terminal import invoke, invoke_ok
from tests.e2e.git import Clone, check_repository, git, remove_hooks, rules
from tests.e2e.hooks import SETTINGS, create_webhook, wait_for_deliveries, wait_until_relayed
from tests.e2e.receiver import Receiver, always
from tests.e2e.world import Place, World, open_world
from tests.rounds import rounds
from tests.service import WAYPOST, running, wait_until

POINTS = rounds(4, 20)
WRITERS = 2
PATIENCE = 60.0


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service of these tests alone: a backup has all namespaces of a service."""
    with running(WAYPOST, tmp_path_factory.mktemp("small") / "data") as service, open_world(service) as world:
        yield world


@dataclass
class Load:
    """Writers of all kinds, and what the service has acknowledged to them: version and number, by place."""

    acknowledged: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def total(self) -> int:
        """Return the number of acknowledged publishes."""
        return sum(map(len, list(self.acknowledged.values())))

    def wait_for(self, more: int) -> None:
        """Wait for more acknowledged publishes, or for an error."""
        due = self.total() + more
        wait_until(lambda: self.errors or self.total() >= due, PATIENCE, "publishes")

    def copy(self) -> dict[str, list[tuple[str, int]]]:
        """Return what was acknowledged so far."""
        return {name: [*found] for name, found in list(self.acknowledged.items())}

    def publish(self, place: Place) -> None:
        """Publish rules one by one."""
        acknowledged = self.acknowledged[place.namespace] = []
        for number in count():
            if self.ended.is_set():
                return
            place.add(f"/{number}")
            found = place.publish()
            acknowledged.append((found["version"], found["publishNumber"]))

    def push(self, place: Place, folder: Path) -> None:
        """Push commits by plain git."""
        clone = Clone.of(place.repository, folder / "clone")
        remove_hooks(place.repository)
        for number in count():
            if self.ended.is_set():
                return
            clone.publish(f"{place.project}/redirects.yaml", rules(f"/pushed-{number}"))

    def archive(self, place: Place) -> None:
        """Archive a namespace and restore it, again and again."""
        while not self.ended.is_set():
            place.root.ask("DELETE", f"{place.space}?confirm={place.namespace}", 204)
            place.root.ask("POST", f"{place.space}/restore", 200)

    def guard(self, work: Callable[..., None], *arguments: object) -> None:
        """Do work, and keep its error for the test."""
        try:
            work(*arguments)
        except BaseException as ex:  # noqa: BLE001 - shown by the test
            self.errors.append(ex)


@contextmanager
def writing(world: World, folder: Path) -> Iterator[Load]:
    """Publish, push and archive until the end of the block."""
    load = Load()
    archived = world.place()
    archived.published("/archived")
    jobs: list[tuple[object, ...]] = [(load.publish, world.place()) for _ in range(WRITERS)]
    jobs += [(load.push, world.place(), folder), (load.archive, archived)]
    threads = [threading.Thread(target=load.guard, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()
    assert load.errors == [], load.errors


def test_each_backup_under_load_has_all_that_was_published_before(tmp_path: Path) -> None:
    """At random points. Each one is restored, and Git and database are compared."""
    dice = random.Random(POINTS)  # noqa: S311 - points in time
    with (
        running(WAYPOST, tmp_path / "data") as service,
        open_world(service) as world,
        writing(world, tmp_path) as load,
    ):
        for point in range(POINTS):
            load.wait_for(dice.randrange(1, 6))
            before = load.copy()
            target = tmp_path / (f"{point}.tar" if point % 2 else f"{point}")
            invoke_ok("backup", target, "--data", service.data, *(["--verify"] if point == 0 else []))
            copy = tmp_path / f"restored-{point}"
            invoke_ok("restore", target, "--data", copy)
            _require_all(before, copy)
            found = invoke("doctor", "--json", "--data", copy)
            open_findings = [each for each in found.json["findings"] if each["severity"] != "note"]
            assert open_findings == [], open_findings
            for repository in (*copy.glob("repos/*.git"), *copy.glob("trash/*/*.git")):
                check_repository(repository)


def _require_all(acknowledged: dict[str, list[tuple[str, int]]], copy: Path) -> None:
    for namespace, published in acknowledged.items():
        history = git(copy / "repos" / f"{namespace}.git", "rev-list", "--first-parent", "release").split()
        assert {version for version, _ in published} <= set(history)


def test_a_restored_service_serves_what_the_original_served(small: World, tmp_path: Path) -> None:
    place = small.place()
    published = place.published("/a", "/b")
    place.add("/draft")
    tokens = place.root.token
    invoke_ok("backup", tmp_path / "b.tar", "--data", small.service.data)
    invoke_ok("restore", tmp_path / "b.tar", "--data", tmp_path / "copy")
    with running(WAYPOST, tmp_path / "copy") as service, open_world(service) as other:
        copy = Place(other, place.namespace, place.project, type(place.root)(other.http, tokens))
        assert copy.get("/version") == published["version"]
        assert copy.sources() == ["/a", "/b"]
        assert [item["source"] for item in copy.get("/draft/redirects")["items"]][-1] == "/draft"
        assert copy.published("/c")["publishNumber"] == published["publishNumber"] + 1


def test_a_restored_copy_sends_webhooks_only_when_it_is_resumed(tmp_path: Path, receiver: Receiver) -> None:
    data, settings = (
        tmp_path / "data",
        {**SETTINGS, "WAYPOST_AGENT_SILENT": "2", "WAYPOST_WEBHOOK_RETRIES": "1,1,1,1,1,1,1,1"},
    )
    receiver.reply = always(500)
    with running(WAYPOST, data, settings) as service, open_world(service) as world:
        place = wait_until_relayed(world.place())
        made = create_webhook(place, receiver.url, events=["published", "agent.silent"])
        place.published("/a")
        receiver.wait(1)
        place.ask("POST", "/agents", 200, json={"name": "edge-1", "type": "proxy", "version": 1, "status": "success"})
        invoke_ok("backup", tmp_path / "b", "--data", data)
        token = place.root.token
    receiver.reply = always(204)
    sent = len(receiver.messages)
    invoke_ok("restore", tmp_path / "b", "--data", tmp_path / "copy")
    with running(WAYPOST, tmp_path / "copy", settings) as service, open_world(service) as other:
        copy = Place(other, place.namespace, place.project, type(place.root)(other.http, token))
        copy.published("/b")
        copy.published("/c")
        wait_for_deliveries(copy, made, "pending", 3)
        checks = {each["name"]: each for each in copy.root.get("/health/ready")["checks"]}
        assert checks["restored"]["reasons"][0]["code"] == "restored_copy"
        assert "restored_copy" in {
            each["code"] for each in invoke("doctor", "--json", "--data", service.data).json["findings"]
        }
        assert len(receiver.messages) == sent
        assert "paused, 3 deliveries pending" in invoke_ok("webhooks", "status", "--data", service.data).out
        invoke_ok("webhooks", "resume", "--yes", "--data", service.data)
        wait_for_deliveries(copy, made, "delivered", 3)
        receiver.wait(1, "agent.silent")
        checks = {each["name"]: each for each in copy.root.get("/health/ready")["checks"]}
        assert checks["restored"]["status"] == "ready"


def test_the_age_of_the_last_backup_is_a_metric(small: World, tmp_path: Path) -> None:
    small.place()
    invoke_ok("backup", tmp_path / "b", "--data", small.service.data)
    text = small.root.ask("GET", "/metrics", 200).text
    (line,) = [line for line in text.splitlines() if line.startswith("waypost_backup_age_seconds ")]
    assert 0 <= float(line.split()[1]) < PATIENCE


@pytest.mark.parametrize("number", [10_000])
def test_ten_thousand_rules_are_restored_within_a_minute(small: World, tmp_path: Path, number: int) -> None:
    place = small.place()
    lines = "".join(f"BASIC\t/old/{each}\t/new/{each}\tFOUND\n" for each in range(number))
    place.ask(
        "POST",
        "/import",
        200,
        content=f"type\tsource\ttarget\tstatus\n{lines}".encode(),
        headers={"Content-Type": "text/tab-separated-values"},
    )
    place.publish()
    invoke_ok("backup", tmp_path / "b", "--data", small.service.data)
    invoke_ok("restore", tmp_path / "b", "--data", tmp_path / "copy")
    found = invoke_ok("match", place.namespace, place.project, f"/old/{number - 1}", "--data", tmp_path / "copy")
    assert f"/new/{number - 1}" in found.out
