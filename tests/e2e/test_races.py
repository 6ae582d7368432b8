"""Many clients at once on four workers: no acknowledged write is lost, no version goes back, and no number comes twice.

Every rule belongs to one client and one draft, so the client that wrote a rule knows its expected final state.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from content.records.record import identity_id
from tests.e2e.contract import check_shape, describe
from tests.e2e.git import check_repository, git
from tests.e2e.world import Place, World, open_world, redirect
from tests.rounds import rounds
from tests.service import WAYPOST, running

# 25 to 40 seconds on two cores; 5,000 want `--timeout 900`
OPERATIONS = rounds(300, 1000)
CLIENTS = 16
# the project without discards and rollbacks: everything acknowledged must be there
CALM = "calm"
WILD = "wild"
DRAFTS = ("main", "second", "third")
KEYS = 6
EXPECTED = {
    (404, "not_found"),
    (409, "conflict"),
    (409, "duplicate_source"),
    (409, "nothing_to_publish"),
    (409, "stale_draft"),
    (412, "stale_item"),
}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service of four workers."""
    data = tmp_path_factory.mktemp("busy") / "data"
    with running(WAYPOST, data, {"WAYPOST_WORKERS": "4"}) as service, open_world(service) as world:
        yield world


@dataclass
class Ledger:
    """The answers to all clients, for the final check."""

    publishes: list[tuple[str, int, str]] = field(default_factory=list)
    # by project and draft: when the answer to its last discard came; by project: that of its last rollback
    erased: dict[str, float] = field(default_factory=dict)
    answers: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    left: int = OPERATIONS
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Take one more operation, and return whether there was one."""
        with self.lock:
            self.left -= 1
            return self.left >= 0


class Client:
    """A client with rules of its own; every second one keeps its connection, the others open one for each request."""

    def __init__(self, number: int, places: dict[str, Place], ledger: Ledger) -> None:
        self.number = number
        self.places = places
        self.ledger = ledger
        self.chance = random.Random(random.randrange(1 << 32))  # noqa: S311 - test data
        # by project, draft and source: the last acknowledged target (None: deleted), and when it was sent
        self.written: dict[tuple[str, str, str], tuple[str | None, float]] = {}
        self.seen: dict[str, int] = dict.fromkeys(places, 0)
        limits = httpx.Limits(max_keepalive_connections=number % 2)
        world = places[CALM].world
        self.http = httpx.Client(
            base_url=world.service.url,
            timeout=120,
            limits=limits,
            headers={"Authorization": f"Bearer {world.root.token}"},
        )

    def run(self) -> None:
        """Run one operation after another until none is left."""
        with self.http:
            while self.ledger.take():
                project = self.chance.choice((CALM, CALM, WILD))
                draft = self.chance.choice(DRAFTS)
                edits = (self.put, self.put, self.put, self.change, self.delete, self.batch, self.import_rows)
                others = (self.publish, self.publish, self.publish_some, self.look, self.walk)
                wild = (self.discard, self.roll_back) if project == WILD else ()
                self.chance.choice(edits if self.chance.random() < 0.55 else others + wild)(project, draft)

    # Operations

    def put(self, project: str, draft: str) -> None:
        """Put a new or existing rule by a batch of one, whose answer has the draft's head."""
        self._write(project, draft, {self._key(draft): self._target()})

    def batch(self, project: str, draft: str) -> None:
        """Write several rules by one batch."""
        keys = {self._key(draft) for _ in range(4)}
        self._write(project, draft, {key: self._target() for key in keys})

    def _write(self, project: str, draft: str, targets: dict[str, str]) -> None:
        body = [{"op": "put", "kind": "redirect", "item": redirect(key, target)} for key, target in targets.items()]
        begun = time.monotonic()
        if self._ask("POST", project, f"/draft/changes?draft={draft}", json=body):
            self._note(project, draft, dict(targets), begun)

    def import_rows(self, project: str, draft: str) -> None:
        """Write several rules by one file."""
        targets = {self._key(draft): self._target() for _ in range(3)}
        rows = "".join(f"BASIC\t{key}\t{target}\t301\n" for key, target in targets.items())
        begun, path = time.monotonic(), f"/import?overwrite=true&draft={draft}"
        headers = {"Content-Type": "text/tab-separated-values"}
        answer = self._ask("POST", project, path, content=f"type\tsource\ttarget\tstatus\n{rows}", headers=headers)
        if answer:
            self._note(project, draft, dict(targets), begun)

    def change(self, project: str, draft: str) -> None:
        """Replace a rule as it was read, under its etag."""
        key, target = self._key(draft), self._target()
        path = f"/draft/redirects/{identity_id(key)}?draft={draft}"
        before = self._ask("GET", project, path)
        if before:
            begun, headers = time.monotonic(), {"If-Match": before.headers["ETag"]}
            if self._ask("PUT", project, path, json=redirect(key, target), headers=headers):
                self._note(project, draft, {key: target}, begun)

    def delete(self, project: str, draft: str) -> None:
        """Delete a rule."""
        key, begun = self._key(draft), time.monotonic()
        if self._ask("DELETE", project, f"/draft/redirects/{identity_id(key)}?draft={draft}"):
            self._note(project, draft, {key: None}, begun)

    def publish(self, project: str, draft: str) -> None:
        """Publish all of a draft; in the wild project discard one that conflicts."""
        answer = self._ask("POST", project, f"/publish?draft={draft}", json={})
        self._published(project, answer)
        if answer is None and project == WILD and self.chance.random() < 0.1:
            self.discard(project, draft)

    def publish_some(self, project: str, draft: str) -> None:
        """Publish some of this client's own rules."""
        ids = [identity_id(self._key(draft)) for _ in range(2)]
        self._published(project, self._ask("POST", project, f"/publish?draft={draft}", json={"ids": ids}))

    def discard(self, project: str, draft: str) -> None:
        """Discard a draft."""
        if self._ask("DELETE", project, f"/draft?draft={draft}"):
            self._erase(f"{project} {draft}")

    def roll_back(self, project: str, _draft: str) -> None:
        """Publish an earlier version again."""
        number = self.chance.randint(1, max(self.seen[project], 1))
        self._published(project, self._ask("POST", project, "/rollback", json={"version": number}))
        self._erase(project)

    def look(self, project: str, _draft: str) -> None:
        """Read the live version by its number."""
        answer = self._ask("GET", project, "/version")
        assert answer
        self._saw(project, answer)

    def walk(self, project: str, _draft: str) -> None:
        """Read all rules, window by window: every window is of one version, and no rule comes twice."""
        tail: str | None = "/redirects?limit=40"
        found: list[str] = []
        versions = set()
        body: Any = {}
        while tail:
            answer = self._ask("GET", project, tail)
            assert answer
            versions.add(answer.headers["X-Project-Version"])
            if not found:
                self._saw(project, answer)
            body = answer.json()
            found += [item["source"] for item in body["items"]]
            following = answer.links.get("next")
            tail = following["url"].partition(self.places[project].path)[2] if following else None
        assert len(versions) == 1
        assert len(found) == len(set(found)) == body["total"]

    # Answers

    def _ask(self, method: str, project: str, tail: str, **request: Any) -> httpx.Response | None:
        """Return a successful response; any other must be an expected one."""
        answer = self.http.request(method, self.places[project].path + tail, **request)
        code = answer.json()["error"] if answer.is_error else ""
        kind = f"{project} {method} {tail.partition('?')[0].rpartition('/')[2][:9]}"
        with self.ledger.lock:
            self.ledger.answers[kind, answer.status_code, code] += 1
        if answer.is_success:
            return answer
        check_shape(answer)
        assert (answer.status_code, code) in EXPECTED, describe(answer)
        assert project == WILD or code != "conflict", f"unexpected conflict of rules of one client: {describe(answer)}"
        return None

    def _published(self, project: str, answer: httpx.Response | None) -> None:
        if answer:
            body = answer.json()
            with self.ledger.lock:
                self.ledger.publishes.append((project, body["publishNumber"], body["version"]))
            self._saw(project, answer)

    def _saw(self, project: str, answer: httpx.Response) -> None:
        number = int(answer.headers["X-Publish-Number"])
        assert number >= self.seen[project], f"{project} went back from {self.seen[project]} to {number}"
        self.seen[project] = number

    def _note(self, project: str, draft: str, targets: dict[str, Any], begun: float) -> None:
        self.written |= {(project, draft, key): (target, begun) for key, target in targets.items()}

    def _erase(self, what: str) -> None:
        with self.ledger.lock:
            self.ledger.erased[what] = time.monotonic()

    def _key(self, draft: str) -> str:
        return f"/{self.number}-{draft}-{self.chance.randrange(KEYS)}"

    def _target(self) -> str:
        return f"/t{self.number}-{self.chance.randrange(1 << 40)}"


def test_sixteen_clients_on_four_workers(busy: World) -> None:
    """Edits, publishes, discards and rollbacks are random, on several drafts of two projects of one repository."""
    calm = busy.place(project=CALM)
    places = {CALM: calm, WILD: busy.place(calm.namespace, WILD)}
    ledger = Ledger()
    clients = [Client(number, places, ledger) for number in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        for result in [pool.submit(client.run) for client in clients]:
            result.result(timeout=max(280, OPERATIONS // 10))
    check_chain(places, ledger)
    for client in clients:
        check_edits(client)
    check_repository(calm.repository)
    happened = {kind for kind, status, _ in ledger.answers if status < 400}
    assert {kind.split()[1] for kind in happened} == {"GET", "POST", "PUT", "DELETE"}
    assert len(ledger.publishes) > OPERATIONS // 20, ledger.answers


def check_chain(places: dict[str, Place], ledger: Ledger) -> None:
    """Check that acknowledged publishes and first-parent commits of release match, without gaps in the numbers."""
    repository = places[CALM].repository
    for project, place in places.items():
        told_of = {number: version for of, number, version in ledger.publishes if of == project}
        assert len(told_of) == sum(of == project for of, _, _ in ledger.publishes), "two publishes have the same number"
        history = {item["publishNumber"]: item["version"] for item in place.get("/history", limit=100_000)["items"]}
        assert sorted(history) == list(range(1, len(history) + 1))
        assert {number: version for number, version in history.items() if number > 1} == told_of
        chain = git(repository, "log", "--first-parent", "--reverse", "--format=%H", "release", "--", project).split()
        assert [history[number] for number in sorted(history)] == chain
    every = git(repository, "rev-list", "--first-parent", "release").split()
    assert len(every) == 1 + len(places) + len(ledger.publishes)


def check_edits(client: Client) -> None:
    """Check that the last acknowledged edit of every rule is in the draft or, without a draft, in release."""
    states: dict[tuple[str, str], dict[str, str]] = {}
    for (project, draft, source), (target, begun) in client.written.items():
        erased = max(client.ledger.erased.get(what, 0.0) for what in (project, f"{project} {draft}"))
        if begun < erased:
            continue  # it may have been discarded or rolled back since
        if (project, draft) not in states:
            states[project, draft] = working(client.places[project], draft)
        found = states[project, draft].get(source)
        assert found == target, (project, draft, source, found, target)


def working(place: Place, draft: str) -> dict[str, str]:
    """Return target by source of a draft; without the draft, of release."""
    live = {item["source"]: item["target"] for item in place.get("/redirects", limit=100_000)["items"]}
    if place.get("/draft", draft=draft)["head"] is None:
        return live
    items = place.get("/draft/redirects", draft=draft, limit=100_000)["items"]
    return {item["source"]: item["target"] for item in items if item.get("change") != "removed"}


ROUNDS = 8


def both(first: Callable[[], httpx.Response], second: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """Run two calls at the same moment; return their results."""
    barrier = threading.Barrier(2)

    def call(one: Callable[[], httpx.Response]) -> httpx.Response:
        barrier.wait()
        return one()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(call, (first, second)))


def outcomes(place: Place, *tails: str, **body: Any) -> list[tuple[int, str]]:
    """Return status and error code of two publishes at once, sorted."""
    calls = [lambda tail=tail: place.root.send("POST", f"{place.path}/publish{tail}", json=body) for tail in tails]
    return sorted((each.status_code, each.json().get("error", "")) for each in both(calls[0], calls[1]))


def test_two_publish_one_draft_at_once_and_one_wins(busy: World) -> None:
    """Without a head the second finds nothing left; with it, it gets the publish of that head."""
    place = busy.place()
    for number in range(ROUNDS):
        place.add(f"/{number}")
        assert outcomes(place, "", "") == [(200, ""), (409, "nothing_to_publish")]
    for number in range(ROUNDS):
        place.add(f"/head-{number}")
        assert outcomes(place, "", "", head=place.get("/draft")["head"]) == [(200, ""), (200, "")]
    assert len(place.get("/history")["items"]) == 1 + 2 * ROUNDS


def test_two_publish_two_drafts_at_once_and_the_second_is_merged_or_conflicts(busy: World) -> None:
    """Different rules: both are live. The same rule: one is live, the other gets the conflict and keeps its draft."""
    place = busy.place()
    place.published("/same")
    same = f"/draft/redirects/{identity_id('/same')}"
    for number in range(ROUNDS):
        for draft in ("one", "two"):
            body = redirect(f"/{draft}-{number}")
            place.ask("POST", f"/draft/redirects?draft={draft}", 201, json=body)
        assert outcomes(place, "?draft=one", "?draft=two") == [(200, ""), (200, "")]
        assert {f"/one-{number}", f"/two-{number}"} <= set(place.sources())
        for draft in ("one", "two"):
            place.ask("PUT", f"{same}?draft={draft}", 200, json=redirect("/same", f"/{draft}-{number}"))
        assert outcomes(place, "?draft=one", "?draft=two") == [(200, ""), (409, "conflict")]
        drafts = [draft for draft in ("one", "two") if place.get("/draft", draft=draft)["head"]]
        assert len(drafts) == 1
        place.ask("DELETE", f"/draft?draft={drafts[0]}", 204)


def test_an_added_rule_is_answered_although_another_client_deletes_it_at_once(busy: World) -> None:
    """The answer to an edit comes from the write itself: a 201 for every new rule, never the 404 of a second read."""
    place, stop = busy.place(), threading.Event()
    path, rounds = f"{place.path}/draft/redirects", 60

    def delete_repeatedly() -> None:
        while not stop.is_set():
            place.root.send("DELETE", f"{path}/{identity_id('/contested')}")

    other = threading.Thread(target=delete_repeatedly)
    other.start()
    try:
        answers = [place.root.send("POST", path, json=redirect("/contested")) for _ in range(rounds)]
    finally:
        stop.set()
        other.join()
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert all(answer.json()["source"] == "/contested" for answer in answers if answer.status_code == 201)
