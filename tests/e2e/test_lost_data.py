"""A data directory, or a part of it, that goes away under a running service: 503 everywhere, and nothing is created."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.caller import Caller
from tests.e2e.stream import following
from tests.e2e.wire import pinned_pair
from tests.e2e.world import PASSWORD, Place, World, open_world, redirect
from tests.service import WAYPOST, running, wait_until

PATIENCE = 40
WORKERS = 2
PARTS = ("", "repos", "compiled", "keys", "waypost.db")
ANSWERS_WITHOUT_DATA = ("/health/ping", "/openapi.json", "/")


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose data directory a test may move."""
    data = tmp_path_factory.mktemp("lost") / "data"
    with running(WAYPOST, data) as service, open_world(service, killed=True) as world:
        yield world


@contextmanager
def without(data: Path, part: str, *, replaced: bool = False) -> Iterator[Path]:
    """Move a part away, with an empty one in its place if `replaced`; check that nothing was created, and move it back."""
    path, away = data / part, data.parent / "away"
    path.rename(away)
    if replaced and away.is_dir():
        path.mkdir()
    elif replaced:
        path.touch()
    try:
        yield path
        assert path.exists() is replaced
        if replaced:
            assert path.read_bytes() == b"" if path.is_file() else list(path.iterdir()) == []
    finally:  # also after a failure, so that the next test has its service
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        away.rename(path)


def readiness(world: World) -> tuple[int, list[str]]:
    """Return the status of readiness, and the messages of the check of the data directory."""
    answer = world.nobody.send("GET", "/health/ready")
    (check,) = [each for each in answer.json()["checks"] if each["name"] == "data"]
    return answer.status_code, [reason["message"] for reason in check.get("reasons", [])]


def wait_for_unready(world: World) -> list[str]:
    """Wait until readiness fails, and return the messages; each worker shares its results for half a second."""
    messages: list[str] = []

    def is_unready() -> bool:
        status, messages[:] = readiness(world)
        return status == 503

    wait_until(is_unready, PATIENCE, "readiness to fail")
    return messages


def requests_of(place: Place) -> list[tuple[str, str, dict[str, Any]]]:
    """Return a request of each kind: reads by agents and people, changes, logins, and names that do not exist."""
    return [
        *(
            ("GET", f"{place.path}{tail}", {})
            for tail in ("/version", "/redirects", "/pages", "/draft", "/history", "")
        ),
        ("GET", place.space, {}),
        ("GET", "/api/namespaces", {}),
        ("GET", "/api/namespace/none/project/none/version", {}),
        ("GET", "/api/users", {}),
        ("GET", "/api/me", {}),
        ("GET", "/metrics", {}),
        ("POST", "/api/namespaces", {"json": {"name": "late"}}),
        ("POST", f"{place.path}/draft/redirects", {"json": redirect("/x")}),
        ("POST", f"{place.path}/publish", {"json": {}}),
        ("POST", "/api/tokens", {"json": {"name": "t", "grants": []}}),
        ("POST", "/auth/login", {"json": {"username": "user", "password": PASSWORD}}),
        ("PATCH", f"{place.path}/agents/edge/hit", {}),
    ]


def statuses(callers: list[Caller], place: Place) -> dict[str, set[int]]:
    """Return the statuses of each request from every caller, beside 503."""
    found: dict[str, set[int]] = {}
    for method, path, request in requests_of(place):
        got = {caller.send(method, path, **request).status_code for caller in callers}
        if got != {503}:
            found[f"{method} {path}"] = got
    return found


def wait_for(agent: Place, status: int) -> None:
    """Wait until an agent's read has this status."""
    wait_until(lambda: agent.root.send("GET", f"{agent.path}/redirects").status_code == status, PATIENCE, f"a {status}")


@pytest.mark.parametrize("replaced", [False, True], ids=["missing", "replaced"])
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part or "everything")
def test_everything_is_unavailable_until_it_is_back(fragile: World, part: str, replaced: bool) -> None:  # noqa: FBT001 - a parameter of the test
    place = fragile.place()
    place.published("/a")
    token = place.holder(("redirect", "read")).root.token
    with ExitStack() as stack:
        pair = pinned_pair(fragile.service, stack)
        agents = [place.as_(Caller(worker.http, token)) for worker in pair]
        for agent in agents:
            agent.get("/redirects")
        with without(fragile.service.data, part, replaced=replaced):
            for agent in agents:
                wait_for(agent, 503)
            callers = [
                Caller(worker.http, who) for worker in pair for who in (token, fragile.root.token, "svc_unknown", "")
            ]
            assert statuses(callers, place) == {}
            messages = wait_for_unready(fragile)
            assert "is missing" in messages[0] or "was replaced" in messages[0]
            assert str(fragile.service.data) not in messages[0]
            for path in ANSWERS_WITHOUT_DATA:
                assert fragile.nobody.send("GET", path).status_code in {200, 204}, path
        wait_until(lambda: readiness(fragile) == (200, []), PATIENCE, "readiness")
        for agent in agents:
            wait_for(agent, 200)
    place.published("/b")
    assert place.sources() == ["/a", "/b"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part or "everything")
def test_a_worker_that_starts_meanwhile_creates_nothing(fragile: World, part: str) -> None:
    """After a crash and after a reload: the new workers answer 503, and serve when the part is back."""
    place = fragile.place()
    place.published("/a")
    service = fragile.service
    with without(service.data, part, replaced=part != ""):
        killed = {min(service.workers())}
        os.kill(min(killed), signal.SIGKILL)
        wait_until(lambda: renewed(service.workers(), killed), PATIENCE, "a new worker")
        wait_until(lambda: unavailable(fragile, place), PATIENCE, "the workers to answer")
        crashed = service.workers()
        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: renewed(service.workers(), crashed), PATIENCE, "workers of a reload")
        wait_until(lambda: unavailable(fragile, place), PATIENCE, "the workers of the reload to answer")
        callers = [Caller(fragile.http, who) for who in (fragile.root.token, "svc_unknown", "") for _ in range(4)]
        assert statuses(callers, place) == {}
    wait_until(lambda: fragile.nobody.send("GET", "/health/ready").status_code == 200, PATIENCE, "readiness")
    place.published("/b")
    assert place.sources() == ["/a", "/b"]


def renewed(now: set[int], before: set[int]) -> bool:
    """Return whether other workers have replaced all the earlier ones."""
    return len(now) == WORKERS and not now & before


def unavailable(world: World, place: Place) -> bool:
    """Return whether a read is 503; a connection to a worker that ends may fail."""
    try:
        return world.root.send("GET", f"{place.path}/version").status_code == 503
    except httpx.TransportError:
        return False


def test_a_copy_in_its_place_is_the_same_directory(fragile: World) -> None:
    """As after a restore, or a file system that is mounted again with another number."""
    place = fragile.place()
    place.published("/a")
    data = fragile.service.data
    for part in ("repos", "keys"):
        (data / part).rename(data.parent / "away")
        ignored = shutil.ignore_patterns(".upstreams.sock")  # a socket, which is no content
        shutil.copytree(data.parent / "away", data / part, symlinks=True, ignore=ignored)
        shutil.rmtree(data.parent / "away")
        wait_until(lambda: readiness(fragile) == (200, []), PATIENCE, "readiness")
        assert place.sources() == ["/a"]
    place.published("/b")


def test_a_waiting_agent_is_not_told_that_its_project_is_gone(fragile: World) -> None:
    place = fragile.place()
    place.published("/a")
    version = place.get("/version")
    with without(fragile.service.data, ""):
        answer = place.root.send(
            "GET", f"{place.path}/version", headers={"If-None-Match": f'"{version}"', "Prefer": "wait=3"}
        )
        assert answer.status_code == 503
        assert answer.json()["error"] == "data_unavailable"


def test_an_outage_makes_no_agent_silent(tmp_path: Path) -> None:
    """An agent that could not report during the outage is silent only if it sends nothing after it either."""
    data, silent_after = tmp_path / "data", 8  # more than a busy machine needs for a heartbeat
    with running(WAYPOST, data, {"WAYPOST_AGENT_SILENT": str(silent_after)}) as service, open_world(service) as world:
        place = world.place()
        with following(place) as follower:
            place.ask("PATCH", "/agents/edge/hit", 200)
            wait_until(lambda: place.get("/agents")["total"] == 1, PATIENCE, "the agent")
            with without(data, ""):
                wait_for(place, 503)
                begun = time.monotonic()
                wait_until(lambda: time.monotonic() > begun + 2 * silent_after, PATIENCE, "the end of a long outage")
            wait_for(place, 200)
            place.ask("PATCH", "/agents/edge/hit", 200)
            place.published("/a")
            wait_until(lambda: "published" in [kind for _, kind, _ in follower.seen], PATIENCE, "the publish")
            wait_until(lambda: "agent.silent" in [kind for _, kind, _ in follower.seen], PATIENCE, "the silent agent")
        kinds = [kind for _, kind, _ in follower.seen]
    assert kinds.index("published") < kinds.index("agent.silent")
    assert kinds.count("agent.silent") == 1


def start_of(data: Path, *options: str, check: Callable[[int, str], object], **env: str) -> None:
    """Start `waypost serve`, which has to end at once; `check` gets its exit code and its errors."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    found = subprocess.run(
        [*WAYPOST, "--data", str(data), "--bind", "127.0.0.1:0", *options],
        env={**own, **env},
        capture_output=True,
        timeout=60,
        check=False,
    )
    check(found.returncode, found.stderr.decode())


def test_a_start_without_data_creates_nothing(tmp_path: Path) -> None:
    def is_refused(code: int, errors: str) -> None:
        assert code == 2, errors
        assert "waypost serve --init" in errors

    start_of(tmp_path / "none", check=is_refused)
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    start_of(tmp_path / "empty", check=is_refused)
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_start_with_a_lost_part_creates_nothing(tmp_path: Path) -> None:
    """Neither with --init, which a container may always have."""
    data = tmp_path / "data"
    with running(WAYPOST, data):
        pass
    for part in ("repos", "keys", "waypost.db"):

        def is_refused(code: int, errors: str) -> None:
            assert code == 2, errors
            assert part in errors.splitlines()[-1]  # noqa: B023 - used in this round

        (data / part).rename(tmp_path / "away")
        for options in ((), ("--init",)):
            start_of(data, *options, check=is_refused)
            assert not (data / part).exists()
            if part != "waypost.db":
                (data / part).mkdir()
                start_of(data, *options, check=is_refused)
                assert list((data / part).iterdir()) == []
                (data / part).rmdir()
        (tmp_path / "away").rename(data / part)
    with running(WAYPOST, data):
        pass


def test_init_creates_the_directory_and_one_administrator(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = (*WAYPOST[:-1], "serve", "--init")
    with running(command, data) as service:
        (created,) = [line for line in service.log_lines() if line["event"] == "administrator_created"]
        file = Path(created["password_file"])
        assert file.parent == data
        assert file.stat().st_mode & 0o777 == 0o600
        password = file.read_text().strip()
        assert password not in service.log.read_text("utf-8")
        assert login(service.client, password) == 200
        identity = (data / "identity").read_text()
    with running(WAYPOST, data, {"WAYPOST_INIT": "true"}) as service:
        assert "administrator_created" not in json.dumps(service.log_lines())
        assert login(service.client, password) == 200
        assert (data / "identity").read_text() == identity


def login(client: httpx.Client, password: str) -> int:
    """Return the status of a login as the administrator."""
    return client.post("/auth/login", json={"username": "admin", "password": password}).status_code
