"""The last good state under real damage: with old and new workers and after a restart, and while a push compiles."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.git import Clone, git, remove_hooks, rules
from tests.e2e.stream import following
from tests.e2e.wire import pinned_pair
from tests.e2e.world import Place, World, open_world
from tests.metrics_text import read_metrics, total
from tests.service import ROOT, WAYPOST, Service, running, wait_until

SECONDS = 60.0
READS = ("/version", "/redirects", "/pages", "")


def _tag(repository: Path) -> None:
    git(repository, "tag", "--annotate", "--message", "x", "mark", "release")
    (repository / "refs/heads/release").write_text(git(repository, "rev-parse", "mark") + "\n")


def _blob(repository: Path) -> None:
    (repository / "refs/heads/release").write_text(git(repository, "rev-parse", "release:shop/redirects.yaml") + "\n")


def _folder(repository: Path) -> None:
    (repository / "refs/heads/release").unlink()
    (repository / "refs/heads/release").mkdir()


def _packed(repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    (repository / "packed-refs").write_text("garbage\n")


def _no_tree(repository: Path) -> None:
    tree = git(repository, "rev-parse", "release:shop")
    (repository / "objects" / tree[:2] / tree[2:]).unlink()


def _rewind(repository: Path) -> None:
    git(repository, "update-ref", "refs/heads/release", "release^")


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "deleted": lambda repository: (repository / "refs/heads/release").unlink(),
    "empty": lambda repository: (repository / "refs/heads/release").write_bytes(b""),
    "garbage": lambda repository: (repository / "refs/heads/release").write_bytes(b"\x00garbage\xff\n"),
    "symref": lambda repository: (repository / "refs/heads/release").write_text("ref: refs/heads/nothing\n"),
    "folder": _folder,
    "tag": _tag,
    "blob": _blob,
    "packed-refs": _packed,
    "config": lambda repository: (repository / "config").write_text("[core\n\x00"),
    "no-head": lambda repository: (repository / "HEAD").unlink(),
    "no-objects": lambda repository: shutil.rmtree(repository / "objects"),
    "no-tree": _no_tree,
    "rewound": _rewind,
    "gone": shutil.rmtree,
}


def reasons(caller: Caller) -> list[dict[str, Any]]:
    """Return all reasons of readiness, which is never 503 here, except that a worker has just started to look."""
    found = caller.ask("GET", "/health/ready", 200).json()
    reasons = (reason for check in found["checks"] for reason in check.get("reasons", ()))
    return [reason for reason in reasons if reason["code"] != "check_pending"]


def fault_metrics(world: World) -> tuple[float, dict[tuple[str, str], float]]:
    """Return the metrics of the state of the node, and of its faults by check and code."""
    found = read_metrics(world.http, world.root.token)
    faults = {
        (dict(labels)["check"], dict(labels)["code"]): value
        for (name, labels), value in found.items()
        if name == "waypost_faults"
    }
    return total(found, "waypost_degraded"), faults


def seen_by_all(place: Place) -> list[dict[str, bytes]]:
    """Return the reads of a project by each worker; each has to be 200."""
    with ExitStack() as stack:
        pair = pinned_pair(place.world.service, stack)
        as_each = [place.as_(Caller(worker.http, place.root.token)) for worker in pair]
        return [{tail: each.ask("GET", tail, 200).content for tail in READS[:3]} for each in as_each]


def wait_until_served(place: Place, commit: str) -> None:
    """Wait until the worker of this place serves a commit."""
    wait_until(lambda: place.get("/version") == commit, SECONDS, "the push to be served")


def wait_until_replaced(service: Service, victim: int) -> None:
    """Wait until a killed worker has a successor."""
    wait_until(lambda: victim not in service.workers() and len(service.workers()) == 2, SECONDS, "a worker")


def replace_workers(service: Service) -> None:
    """Kill all workers, one after the other, and wait for new ones."""
    for victim in sorted(service.workers()):
        os.kill(victim, signal.SIGKILL)
        wait_until_replaced(service, victim)
    wait_until(lambda: service.client.get("/health/ping").status_code == 204, SECONDS, "an answer")


def check_damaged(world: World, places: dict[str, Place], good: dict[str, dict[str, bytes]]) -> None:
    """Check that each project is served as before by each worker, and that the causes are reported."""
    for how, place in places.items():
        for found in seen_by_all(place):
            assert found == good[how], how
        health = place.root.get(place.space)["health"]
        assert health["status"] == "degraded", how
        assert health["reasons"], how
    expected = {
        place.namespace: "release_rewound" if how == "rewound" else "unreadable" for how, place in places.items()
    }

    def reported() -> bool:
        found = {reason.get("namespace"): reason["code"] for reason in reasons(world.root)}
        return expected.items() <= found.items()

    wait_until(reported, SECONDS, "all causes to be reported")


def test_damage_of_every_kind_through_new_workers_and_a_restart(tmp_path: Path) -> None:
    """Guard: a namespace went down with the first new worker, and two workers answered differently."""
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
        places = {how: world.place() for how in DAMAGE}
        for place in places.values():
            place.published("/a")
            place.published("/b")
        sound = world.place()
        sound.published("/sound")
        good = {how: seen_by_all(place)[0] for how, place in places.items()}
        for how, place in places.items():
            DAMAGE[how](place.repository)
        replace_workers(service)
        check_damaged(world, places, good)
        sound.published("/more")
    with running(WAYPOST, data) as service, open_world(service) as world:
        again = {how: Place(world, place.namespace, place.project, world.root) for how, place in places.items()}
        check_damaged(world, again, good)
        counts = {("content", "unreadable"): len(DAMAGE) - 1, ("content", "release_rewound"): 1}
        wait_until(lambda: fault_metrics(world) == (1, counts), SECONDS, "the metrics")
        anonymous = world.nobody.ask("GET", "/health/ready", 200)
        assert anonymous.json()["status"] == "degraded"  # of either worker: also one in its first round
        assert not any(place.namespace in anonymous.text for place in again.values())
        sound = Place(world, sound.namespace, sound.project, world.root)
        assert sound.sources() == ["/sound", "/more"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Run a service of its own."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service) as world:
        yield world


def test_missing_object_of_one_project_leaves_the_rest_of_its_namespace_alone(world: World, tmp_path: Path) -> None:
    """Guard: other projects publish, history goes on, and the repair needs no restart."""
    shop = world.place()
    docs = world.place(shop.namespace, "docs")
    shop.published("/good")
    docs.published("/docs")
    before = seen_by_all(shop)
    clone = Clone.of(shop.repository, tmp_path / "clone")
    remove_hooks(shop.repository)  # its check would compile what is lost then
    with following(shop) as follower:
        clone.write("docs/redirects/hand.yaml", rules("/hand"))
        clone.write("shop/redirects.yaml", rules("/lost"))
        blob = git(clone.folder, "hash-object", "shop/redirects.yaml")
        clone.commit()
        # Objects that are missing on arrival: the push is stored under another name, and moved when one is away.
        clone.push("arrived")
        lost = shop.repository / "objects" / blob[:2] / blob[2:]
        if not lost.exists():
            git(shop.repository, "unpack-objects")
        away = lost.rename(tmp_path / "lost")
        git(shop.repository, "update-ref", "refs/heads/release", "arrived")
        wait_until(lambda: sorted(docs.sources()) == ["/docs", "/hand"], SECONDS, "the other project to move on")
        assert seen_by_all(shop) == before
        docs.published("/more")
        assert "/more" in docs.sources()
        state = shop.get("")["health"]
        assert [(reason["code"], reason["served"]["publishNumber"]) for reason in state["reasons"]] == [
            ("unreadable", 2)
        ]
        assert docs.get("")["health"] == {"status": "ready", "reasons": []}
        wait_until(lambda: "release.invalid" in [kind for _, kind, _ in follower.seen], SECONDS, "the event")
        away.rename(lost)
        wait_until(lambda: shop.sources() == ["/lost"], SECONDS, "the repair to be served")
    wait_until(lambda: not reasons(world.root), SECONDS, "readiness")


def test_without_compiled_files_a_broken_project_is_503_and_never_empty(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service) as world:
        shop = world.place()
        docs = world.place(shop.namespace, "docs")
        shop.published("/a")
        docs.published("/d")
    _no_tree(shop.repository)
    shutil.rmtree(data / "compiled" / shop.namespace)
    with running(WAYPOST, data) as service, open_world(service) as world:
        shop, docs = (Place(world, shop.namespace, name, world.root) for name in ("shop", "docs"))
        for _ in range(6):
            for tail in READS:
                shop.ask("GET", tail, 503)
            assert docs.sources() == ["/d"]
        (reason,) = wait_until(lambda: reasons(world.root), SECONDS, "readiness to be degraded")
        assert (reason["namespace"], reason["project"], "served" in reason) == (shop.namespace, "shop", False)
        with ExitStack() as stack:
            for worker in pinned_pair(service, stack):
                shop.as_(Caller(worker.http, world.root.token)).ask("GET", "/redirects", 503)


def test_rewind_is_accepted_by_a_command(world: World) -> None:
    """Until then nothing is published, and the number of the last publish is not used again."""
    place = world.place()
    place.published("/a")
    last = place.published("/b")
    _rewind(place.repository)
    assert [found["/version"] for found in seen_by_all(place)] == [f'"{last["version"]}"'.encode()] * 2
    place.add("/c")
    place.refused("POST", "/publish", 409, "release_rewound", json={})
    command = [sys.executable, "-m", "cli.main", "namespace", "accept-rewind", place.namespace, "--yes"]
    done = subprocess.run(
        [*command, "--data", str(world.service.data)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    wait_until(lambda: place.sources() == ["/a"], SECONDS, "the accepted state")
    assert place.get("")["publishNumber"] == 4
    assert place.publish()["publishNumber"] == 5
    entries = world.root.get("/api/audit", event="release_rewind_accepted")["items"]
    assert [entry["namespace"] for entry in entries] == [place.namespace]
    wait_until(lambda: not reasons(world.root), SECONDS, "readiness")


def test_reads_do_not_wait_while_a_large_push_compiles(world: World, tmp_path: Path) -> None:
    """Guard: the first read after a push of many files took as long as it takes to compile them."""
    place = world.place()
    good = place.published("/good")
    clone = Clone.of(place.repository, tmp_path / "clone")
    for number in range(120):
        clone.write(f"shop/redirects/{number:05d}.yaml", rules(*(f"/{number}/{each}" for each in range(100))))
    commit = clone.commit()
    remove_hooks(place.repository)
    with ExitStack() as stack:
        pair = [place.as_(Caller(worker.http, place.root.token)) for worker in pinned_pair(world.service, stack)]
        clone.push()
        answers = [each.ask("GET", "/version", 200) for each in pair]
        assert [answer.json() for answer in answers] == [good["version"]] * 2
        assert max(answer.elapsed.total_seconds() for answer in answers) < 5
        for each in pair:
            wait_until_served(each, commit)
    assert place.get("/redirects", limit=1)["total"] == 12_001


def test_invalid_push_is_an_event_once_and_no_503(world: World, tmp_path: Path) -> None:
    place = world.place()
    place.published("/good")
    clone = Clone.of(place.repository, tmp_path / "clone")
    remove_hooks(place.repository)
    with following(place) as follower:
        clone.publish("shop/redirects.yaml", "redirects: [\n")
        wait_until(lambda: "release.invalid" in [kind for _, kind, _ in follower.seen], SECONDS, "the event")
        (reason,) = wait_until(lambda: reasons(world.root), SECONDS, "readiness to be degraded")
        wait_until(
            lambda: fault_metrics(world) == (1, {("content", "invalid_content"): 1}),
            SECONDS,
            "the metrics of both workers",
        )
        assert reason["code"] == "invalid_content"
        assert "shop/redirects.yaml" in reason["detail"]
        event = next(body for _, kind, body in follower.seen if kind == "release.invalid")["data"]
        assert (event["project"], event["code"], event["publishNumber"]) == ("shop", "invalid_content", 3)
        assert event["served"]["publishNumber"] == 2
        clone.publish("shop/redirects.yaml", rules("/fixed"))
        wait_until(lambda: place.sources() == ["/fixed"], SECONDS, "the fix")
        wait_until(lambda: not reasons(world.root), SECONDS, "readiness")
        wait_until(lambda: fault_metrics(world) == (0, {}), SECONDS, "the metrics")
        kinds = [kind for _, kind, _ in follower.seen]
        assert kinds.count("release.invalid") == 1
