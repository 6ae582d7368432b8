"""Repositories that break on disk, under a running service and before a start: reported as 503, never as absent."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.git import git
from tests.e2e.wire import PinnedClient, pinned_pair
from tests.e2e.world import Place, World, open_world, redirect
from tests.service import WAYPOST, running, wait_until

BREAKS = ("objects", "release-garbage", "release-empty", "release-dangling", "release-gone", "moved-away", "a-file")
GIT = ("/draft", "/draft/redirects", "/history", "/diff", "/lint", "/export")
READS = ("/version", "/redirects", "/pages", "")


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose disk a test may break."""
    with running(WAYPOST, tmp_path_factory.mktemp("fragile") / "data") as service, open_world(service) as world:
        yield world


@pytest.fixture(scope="module")
def pair(fragile: World) -> Iterator[tuple[PinnedClient, PinnedClient]]:
    """Return a client for each of its workers."""
    with ExitStack() as stack:
        yield pinned_pair(fragile.service, stack)


def break_disk(repository: Path, how: str) -> None:
    """Break a bare repository; `restore_disk` reverses it."""
    shutil.copytree(repository, saved(repository))
    release = repository / "refs/heads/release"
    match how:
        case "objects":
            shutil.rmtree(repository / "objects")
            (repository / "objects").mkdir()
        case "release-garbage":
            release.write_bytes(b"\x00garbage\xff\n")
        case "release-empty":
            release.write_bytes(b"")
        case "release-dangling":
            release.write_text("f" * 40 + "\n")
        case "release-gone":
            release.unlink()
        case "moved-away":
            shutil.rmtree(repository)
        case "a-file":
            shutil.rmtree(repository)
            repository.write_bytes(b"in the way")


def restore_disk(repository: Path) -> None:
    """Restore a repository to its state before it was broken."""
    shutil.rmtree(repository, ignore_errors=True)
    repository.unlink(missing_ok=True)
    saved(repository).rename(repository)


def saved(repository: Path) -> Path:
    """Return the path of the saved copy of the repository, beside the data directory."""
    return repository.parent.parent.parent / f"saved-{repository.name}"


def reasons(world: World) -> str:
    """Return the reasons of readiness, as an operator reads them; empty if the service is ready."""
    found = world.root.ask("GET", "/health/ready", 200).json()
    found_reasons = [reason for check in found["checks"] for reason in check.get("reasons", ())]
    return json.dumps(found_reasons) if found_reasons else ""


def complaint_of(world: World, place: Place) -> str | None:
    """Wait until readiness names this place, and return its reason."""
    found = reasons(world)
    return found if place.namespace in found else None


def outcome(place: Place, method: str, tail: str, **request: Any) -> int:
    """Return the status of a response, which the client has checked against the contract."""
    return place.root.send(method, place.path + tail, **request).status_code


def read(place: Place, tail: str) -> Any:
    """Return the response to a read, without the state of the project, which may tell of the damage."""
    body = place.ask("GET", tail, 200).json()
    return {**body, "health": None} if tail == "" else body


def check_never_absent(place: Place) -> None:
    """Check that every response is right or 503, and that none reports the content as absent."""
    for tail in GIT:
        assert outcome(place, "GET", tail) in {200, 503}, tail
    for method, tail, body in (
        ("POST", "/draft/redirects", redirect("/x")),
        ("POST", "/publish", {}),
        ("POST", "/rollback", {"version": 1}),
        ("POST", "/draft/changes", [{"op": "delete", "kind": "redirect", "source": "/a"}]),
    ):
        assert outcome(place, method, tail, json=body) == 503, tail


@pytest.mark.parametrize("how", BREAKS)
def test_under_a_running_service(fragile: World, pair: tuple[PinnedClient, PinnedClient], how: str) -> None:
    """Content in memory of both workers is still served, the rest of the namespace is 503, other namespaces work."""
    place, other = fragile.place(), fragile.place()
    place.published("/a", "/b")
    seen = [place.as_(Caller(worker.http, fragile.root.token)) for worker in pair]
    before = [{tail: read(each, tail) for tail in READS} for each in seen]
    assert before[0] == before[1]
    break_disk(place.repository, how)
    try:
        for each in seen:
            for tail in READS:
                assert read(each, tail) == before[0][tail], (how, tail)
            assert each.ask("POST", "/test", 200, json={"urls": ["/a"]}).json()["results"][0]["location"] == "/new"
        check_never_absent(place)
        complaint = wait_until(lambda: complaint_of(fragile, place), 30, "readiness to go red")
        assert other.namespace not in complaint
        other.published("/elsewhere")
        assert other.sources() == ["/elsewhere"]
        fragile.root.get(other.space)
        listed = {item["name"]: item for item in fragile.root.get("/api/namespaces")["items"]}
        assert listed[other.namespace]["projects"] == 1
        assert listed[place.namespace]["projects"] in {1, None}
    finally:
        restore_disk(place.repository)
    wait_until(lambda: place.namespace not in reasons(fragile), 30, "readiness to go green")
    place.published("/c")
    assert place.sources() == ["/a", "/b", "/c"]
    git(place.repository, "fsck", "--strict")


def test_after_a_start_on_a_broken_disk(tmp_path: Path) -> None:
    """All faults at once, a namespace each: none is served as empty, and all recover without a restart."""
    data = tmp_path / "data"
    with running(WAYPOST, data) as service, open_world(service) as world:
        places = {how: world.place() for how in BREAKS}
        for place in places.values():
            place.published("/a", "/b")
        sound = world.place()
        sound.published("/sound")
    for how, place in places.items():
        break_disk(place.repository, how)
    with running(WAYPOST, data) as service, open_world(service) as world:
        again = {how: Place(world, place.namespace, place.project, world.root) for how, place in places.items()}
        sound = Place(world, sound.namespace, sound.project, world.root)
        spaces = [place.namespace for place in again.values()]
        complaint = wait_until(
            lambda: found if all(space in (found := reasons(world)) for space in spaces) else None,
            30,
            "readiness to name each namespace",
        )
        for how, place in again.items():
            for _ in range(3):
                for tail in READS:
                    assert_right_or_unavailable(place, tail, how)
            check_never_absent(place)
        assert sound.namespace not in complaint
        sound.published("/more")
        assert sound.sources() == ["/sound", "/more"]
        for place in again.values():
            restore_disk(place.repository)
        wait_until(lambda: not reasons(world), 30, "readiness to go green")
        for place in again.values():
            place.published("/c")
            assert place.sources() == ["/a", "/b", "/c"]


def assert_right_or_unavailable(place: Place, tail: str, how: str) -> None:
    """Check for a right response or a 503: a broken repository that is not detected yet may give either."""
    answer = place.root.send("GET", place.path + tail)
    assert answer.status_code in {200, 503}, (how, tail, answer.status_code)
    if answer.status_code == 200 and tail == "/redirects":
        assert [item["source"] for item in answer.json()["items"]] == ["/a", "/b"], how


@pytest.mark.parametrize("folder", ["releases", "parts", "manifests", "versions", ""])
def test_compiled_files_are_made_again(fragile: World, folder: str) -> None:
    """They are a cache: if they are missing or damaged, they cost time and nothing else."""
    place = fragile.place()
    place.published("/a", "/b")
    compiled = fragile.service.data / "compiled" / place.namespace / folder
    for file in sorted(compiled.rglob("*")):
        if file.is_file():
            replaced = file.with_name(f"{file.name}.damaged")
            replaced.write_bytes(b"damaged")  # a new file, for the old one stays mapped
            replaced.replace(file)
    place.published("/c")
    assert place.sources() == ["/a", "/b", "/c"]
    assert place.get("/versions/2/redirects")["total"] == 2
    aside = fragile.service.data.parent / f"aside-{place.namespace}"
    compiled.rename(aside)
    shutil.rmtree(aside)
    place.published("/d")
    assert place.sources() == ["/a", "/b", "/c", "/d"]
    assert [item["publishNumber"] for item in place.get("/history")["items"]] == [4, 3, 2, 1]


def test_the_state_database_away(fragile: World, pair: tuple[PinnedClient, PinnedClient]) -> None:
    """Agents continue with the data in memory of the workers; operations that need the database report it."""
    place = fragile.place()
    place.published("/a")
    token = place.holder(("redirect", "read")).root.token
    agents = [place.as_(Caller(worker.http, token)) for worker in pair]
    for agent in agents:
        agent.get("/redirects")
    database = next(fragile.service.data.glob("*.db"))
    kept = database.with_suffix(".kept")
    kept.write_bytes(database.read_bytes())
    header = kept.read_bytes()[:100]
    try:
        # A pending write restores the first page from its cache, so the page is overwritten until the fault is visible.
        wait_until(lambda: _spoil(database) and _is_away(fragile), 20, "the database to be seen as broken")
        for agent in agents:
            assert agent.get("/redirects")["total"] == 1
        wait_until(lambda: _spoil(database) and reasons(fragile), 30, "readiness to go red")
    finally:
        with database.open("r+b") as file:
            file.write(header)
    wait_until(lambda: not reasons(fragile), 30, "readiness to go green")
    fragile.root.get("/api/users")


def _spoil(database: Path) -> bool:
    """Overwrite the header of a database."""
    with database.open("r+b") as file:
        return file.write(b"\xff" * 100) > 0


def _is_away(world: World) -> bool:
    return world.root.send("GET", "/api/users").status_code == 503
