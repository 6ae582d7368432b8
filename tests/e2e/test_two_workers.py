"""Two processes, one service: a change acknowledged by one of them is served by the other."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from tests.e2e.caller import Caller
from tests.e2e.git import Clone, check_repository, git, remove_hooks, rules
from tests.e2e.wire import PinnedClient, answering, pinned_pair
from tests.e2e.world import Place, World, redirect
from tests.service import wait_until

READ = (("redirect", "read"),)
POLLED = {200, 304}
ONE = [Grant("*", "*", "redirect", "read")]


@pytest.fixture(scope="module")
def pair(world: World) -> Iterator[tuple[PinnedClient, PinnedClient]]:
    """Return a client for each of the two workers."""
    with ExitStack() as stack:
        yield pinned_pair(world.service, stack)


def call(worker: PinnedClient, token: str = "") -> Caller:
    """Return a caller of this worker."""
    return Caller(worker.http, token)


def test_fresh_connections_reach_both_workers(world: World) -> None:
    seen: set[int] = set()

    def look(_: int) -> int:
        with httpx.Client(base_url=world.service.url, timeout=30) as http:
            return answering(world.service, http)

    with ThreadPoolExecutor(8) as pool:
        wait_until(lambda: len(more(seen, pool.map(look, range(16)))) == 2, 20, "both workers to answer")
    assert seen == world.service.workers()


def more(seen: set[int], found: Iterable[int]) -> set[int]:
    """Add the new values to the seen ones, and return these."""
    seen.update(found)
    return seen


def test_a_publish_by_one_worker_is_served_by_the_other_at_once(
    world: World, place: Place, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    agent = place.holder(*READ).root.token
    for number in range(20):
        one, other = pair if number % 2 else pair[::-1]
        call(one, world.root.token).ask("POST", f"{place.path}/draft/redirects", 201, json=redirect(f"/{number}"))
        found = call(one, world.root.token).ask("POST", f"{place.path}/publish", 200).json()
        for worker in (other, one):
            answer = call(worker, agent).ask("GET", f"{place.path}/redirects", 200)
            assert answer.headers["X-Project-Version"] == found["version"]
            assert answer.headers["X-Publish-Number"] == str(number + 2)
            assert answer.json()["items"][-1]["source"] == f"/{number}"


def test_no_reader_ever_sees_a_version_go_back(place: Place, pair: tuple[PinnedClient, PinnedClient]) -> None:
    """Readers on both workers run while a third client publishes: numbers only rise, and lists fit their number."""
    agent, last = place.holder(*READ).root.token, 15

    def read_along(worker: PinnedClient) -> list[int]:
        numbers = [0]
        while numbers[-1] < last:
            answer = call(worker, agent).ask("GET", f"{place.path}/redirects", 200)
            numbers.append(int(answer.headers["X-Publish-Number"]))
            assert answer.json()["total"] == numbers[-1] - 1
        return numbers

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read_along, worker) for worker in pair]
        for number in range(last - 1):
            place.published(f"/{number}")
        for reader in readers:
            seen = reader.result(timeout=60)
            assert seen == sorted(seen)


def test_edits_of_many_callers_at_once_are_all_kept(place: Place) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: place.add(f"/{number}"), range(40)))
    place.publish()
    assert sorted(place.sources()) == sorted(f"/{number}" for number in range(40))
    check_repository(place.repository)


def test_publishes_of_many_projects_at_once_have_a_version_each(world: World, place: Place) -> None:
    places = [place, *(world.place(place.namespace, f"p{number}") for number in range(4))]

    def publish_three(each: Place) -> list[str]:
        return [each.published(f"/{number}")["version"] for number in range(3)]

    with ThreadPoolExecutor(5) as pool:
        versions = list(pool.map(publish_three, places))
    for each, found in zip(places, versions, strict=True):
        assert [item["version"] for item in each.get("/history")["items"]][:3] == found[::-1]
        assert each.sources() == ["/0", "/1", "/2"]
    check_repository(place.repository)


def test_of_two_publishes_of_one_draft_both_are_answered_and_one_happens(place: Place) -> None:
    place.add("/a")
    head = place.get("/draft")["head"]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: place.publish(head=head), range(6)))
    assert len({each["version"] for each in found}) == 1
    assert place.get("/history")["total"] == 2


def test_a_deleted_token_is_refused_by_both_at_once(
    world: World, place: Place, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    admin = world.person("admin")
    grants = [{"resource": "redirect", "action": "read"}]
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "x", "grants": grants}).json()
    path = f"{place.path}/redirects"
    for worker in pair:
        call(worker, made["token"]).ask("GET", path, 200)
    admin.ask("DELETE", f"/api/token/{made['id']}", 204)
    for worker in pair:
        call(worker, made["token"]).refused("GET", path, 401, "invalid_token")


def test_a_token_that_the_command_line_removes_is_refused_soon(
    world: World, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    token = world.token(ONE)
    number = max(each.id for each in world.services.tokens.window(1_000_000, 0)[0])
    for worker in pair:
        call(worker, token).ask("GET", "/api/me", 200)
    world.services.tokens.remove(OPERATOR, number)
    for worker in pair:
        wait_until(lambda: call(worker, token).send("GET", "/api/me").status_code == 401, 15, "the refusal")  # noqa: B023 - called at once


class Poll(NamedTuple):
    """A poll of an agent, or a heartbeat: the value that it sent, when, and the status of its answer."""

    value: str
    begun: datetime
    ended: datetime
    status: int


class Agent:
    """Polls and heartbeats at one worker without a pause, with each of some values in turn."""

    def __init__(self, worker: PinnedClient, place: Place, values: list[str]) -> None:
        self.polls: list[Poll] = []
        self._worker, self._place, self._values = worker, place, values
        self._done = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Agent"]:
        """Poll until the end of the block."""
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._done.set()
            thread.join()

    def count(self, value: str, *statuses: int) -> int:
        """Count the answers to a value with one of these statuses."""
        return sum(each.value == value and each.status in statuses for each in self.polls)

    def _run(self) -> None:
        path, headers = self._place.path, {"If-None-Match": f'"{self._place.get("/version")}"'}
        while not self._done.is_set():
            for value in (*self._values,):
                for method, tail, more in (("GET", "/version", headers), ("PATCH", "/agents/edge/hit", {})):
                    begun = datetime.now(UTC)
                    status = call(self._worker, value).send(method, path + tail, headers=more).status_code
                    self.polls.append(Poll(value, begun, datetime.now(UTC), status))


def test_no_poll_is_refused_while_the_values_of_a_rotation_overlap_and_each_one_after_it(
    world: World, place: Place, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    admin = world.person("admin")
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "edge", "role": "agent"}).json()
    first, values = made["token"], [made["token"]]
    version = place.get("/version")
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(2))
        agents = [stack.enter_context(Agent(worker, place, values).running()) for worker in pair]
        wait_until(lambda: all(each.count(first, *POLLED) >= 20 for each in agents), 30, "the first polls")
        second = admin.ask("POST", f"/api/token/{made['id']}/rotate", 200, json={"overlap": 2}).json()["token"]
        values.append(second)
        held = [pool.submit(wait_for_version, place, value, version) for value in (first, second)]
        wait_until(lambda: all(each.count(first, 401) >= 20 for each in agents), 60, "the overlap to end")
        assert held[0].result(30).json()["error"] == "invalid_token"
        after = place.published("/a")["version"]
        assert held[1].result(30).json() == after
    until = world.services.tokens.find(made["id"]).previous_until
    assert until
    for polls in (each.polls for each in agents):
        overlapping = [each.status for each in polls if each.value == first and each.ended <= until]
        later = [each.status for each in polls if each.value == first and each.begun >= until]
        assert (set(overlapping), set(later)) == (POLLED, {401})
        assert {each.status for each in polls if each.value == second} == POLLED
        assert any(each.value == second and each.ended <= until for each in polls)


def wait_for_version(place: Place, value: str, version: str) -> httpx.Response:
    """Return the answer to a long poll of a new connection."""
    headers = {"If-None-Match": f'"{version}"', "Prefer": "wait=60"}
    return Caller(place.world.http, value).send("GET", f"{place.path}/version", headers=headers)


def test_a_session_that_has_ended_is_refused_by_both(world: World, pair: tuple[PinnedClient, PinnedClient]) -> None:
    for one, other in (pair, pair[::-1]):
        session = world.session(world.user("viewer"))
        for worker in pair:
            call(worker, session["accessToken"]).ask("GET", "/api/me", 200)
        call(one, session["accessToken"]).ask("POST", "/auth/logout", 204)
        call(other, session["accessToken"]).refused("GET", "/api/me", 401, "invalid_token")
        body = {"refreshToken": session["refreshToken"]}
        call(other).refused("POST", "/auth/refresh", 401, "invalid_token", json=body)


def test_a_session_goes_on_at_the_other_worker(world: World, pair: tuple[PinnedClient, PinnedClient]) -> None:
    one, other = pair
    session = world.session(world.user("viewer"))
    body = {"refreshToken": session["refreshToken"]}
    first, again = (call(worker).ask("POST", "/auth/refresh", 200, json=body).json() for worker in (one, other))
    assert first == again


def test_a_new_token_is_known_to_both_at_once(world: World, pair: tuple[PinnedClient, PinnedClient]) -> None:
    for _ in range(5):
        token = world.token(ONE)
        for worker in pair:
            call(worker, token).ask("GET", "/api/me", 200)


def test_an_agent_is_seen_by_both(world: World, place: Place, pair: tuple[PinnedClient, PinnedClient]) -> None:
    one, other = pair
    body = {"name": "edge", "type": "default", "version": 1}
    call(one, world.root.token).ask("POST", f"{place.path}/agents", 200, json=body)
    assert call(other, world.root.token).get(f"{place.path}/agents/edge")["version"] == 1


def wait_until_served(reader: Caller, path: str, commit: str) -> None:
    """Wait until one worker serves a pushed commit, which is compiled while the last good version is served."""
    wait_until(lambda: reader.get(path) == commit, 60, "the push to be served")


def test_a_plain_push_is_served_by_both_whole(
    place: Place, tmp_path: Path, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    clone, agent = Clone.of(place.repository, tmp_path / "clone"), place.holder(*READ).root.token
    remove_hooks(place.repository)
    sources = []
    for number in range(10):
        sources.append(f"/{number}")
        commit = clone.publish("shop/redirects.yaml", rules(*sources))
        for worker in pair:
            reader = call(worker, agent)
            wait_until_served(reader, f"{place.path}/version", commit)
            answer = call(worker, agent).ask("GET", f"{place.path}/redirects", 200)
            assert answer.headers["X-Project-Version"] == commit
            assert answer.headers["X-Publish-Number"] == str(number + 2)
            assert [item["source"] for item in answer.json()["items"]] == sources


def test_pushes_and_publishes_by_turns_go_on_from_each_other(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    place.published("/api")
    git(clone.folder, "pull", "-q", "--ff-only")
    clone.publish("shop/redirects/hand.yaml", rules("/hand"))
    place.published("/again")
    assert sorted(place.sources()) == ["/again", "/api", "/hand"]
    assert [item["publishNumber"] for item in place.get("/history")["items"]] == [4, 3, 2, 1]
    assert place.get("/history/3")["author"].startswith("Grace Hopper")


def test_packed_refs_and_objects_change_nothing(place: Place, pair: tuple[PinnedClient, PinnedClient]) -> None:
    """Maintenance by plain git changes the repository on disk in this way."""
    found = place.published("/a")
    git(place.repository, "pack-refs", "--all")
    git(place.repository, "repack", "-adq")
    git(place.repository, "prune-packed")
    for worker in pair:
        answer = call(worker, place.root.token).ask("GET", f"{place.path}/redirects", 200)
        assert answer.headers["X-Project-Version"] == found["version"]
    place.published("/b")
    assert place.sources() == ["/a", "/b"]


def test_after_an_invalid_push_the_last_valid_version_is_served(
    world: World, place: Place, tmp_path: Path, pair: tuple[PinnedClient, PinnedClient]
) -> None:
    """Agents keep their version, readiness gives the reason, and the next valid push resolves it."""
    place.published("/good")
    before = place.ask("GET", "/redirects", 200)
    clone = Clone.of(place.repository, tmp_path / "clone")
    remove_hooks(place.repository)
    clone.publish("shop/redirects.yaml", "redirects:\n  - type: BASIC\n    source: &a /x\n")
    for worker in pair:
        answer = call(worker, place.root.token).ask("GET", f"{place.path}/redirects", 200)
        assert (answer.content, answer.headers["ETag"]) == (before.content, before.headers["ETag"])
    reasons = wait_until(lambda: unready(world, place.namespace), 60, "readiness to go red")
    assert "shop" in reasons
    place.wait_for(clone.publish("shop/redirects.yaml", rules("/mended")))
    assert place.sources() == ["/mended"]
    wait_until(lambda: unready(world, place.namespace) is None, 60, "readiness to go green")


def unready(world: World, namespace: str) -> str | None:
    """Return the reasons of a service that is not ready because of a namespace; None if there are none."""
    found = str(world.root.ask("GET", "/health/ready", 200).json()["checks"])
    return found if namespace in found else None
