"""The pushers of commits: random histories of pushes by several people, compared with a naive count of who had it first."""

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from api.app.data_directory import create_data, open_data
from api.app.services import Services, open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR, Principal
from api.db.database import Database
from api.db.errors import StateBroken, StateBusy, StateFull
from api.db.namespaces.pushed_commits import list_pushed
from api.db.namespaces.reviews import Action, DraftKey, Origin
from api.db.timestamps import utc_now
from api.errors import Forbidden
from api.reviews.push_records import ServiceRecords
from api.reviews.reviewing import ReviewStatement
from api.runtime.upkeep.pushed_commit_sweeper import PushedCommitSweeper
from api.settings import Settings
from gitstore.drafts.drafts import DraftName
from gitstore.errors import StoreError
from gitstore.git.repository import Repository, open_repository
from gitstore.history.reached import complete_record
from gitstore.layout import DRAFT_PREFIX, RELEASE_REF, CommitId, proposal_id
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.judging import judge_push
from gitstore.pushes.push import RefUpdate
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place
from tests.gitstore.pushes.pushed import rules
from tests.gitstore.wire.push.pushing import (
    BLOB,
    COMMIT,
    TREE,
    ZERO,
    Pushed,
    commit,
    entry,
    object_id,
    pack,
    request,
    tree,
)
from tests.rounds import rounds
from tests.seeds import first_seed

STEPS = rounds(24, 40)
REFS = [f"refs/heads/{name}" for name in ("one", "two/a", "two/b", "draft/shop/main", "draft/shop/other")]
TAG = "refs/tags/v1"


@dataclass
class Model:
    """Commits with their parents, those that the repository has, and (naively) who pushed each when it was new."""

    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    brought: dict[str, set[int]] = field(default_factory=dict)

    def ancestors(self, tip: str) -> set[str]:
        """Return a commit with all its ancestors."""
        found, ahead = set[str](), [tip]
        while ahead:
            at = ahead.pop()
            if at not in found:
                found.add(at)
                ahead += self.parents[at]
        return found

    def push(self, tip: str, person: int | None) -> None:
        """Let a person, or one without a name, bring what leads to a commit."""
        for each in self.ancestors(tip) - self.present:
            self.present.add(each)
            if person is not None:
                self.brought.setdefault(each, set()).add(person)

    def pushers(self, head: str, release: str) -> set[int]:
        """Return the people who brought what a head adds to release."""
        return {who for each in self.ancestors(head) - self.ancestors(release) for who in self.brought.get(each, ())}


@dataclass
class History:
    """A namespace, people who push to it, and the model of what they did."""

    place: Place
    services: Services
    people: list[Principal]
    rng: random.Random
    model: Model = field(default_factory=Model)
    objects: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    def begin(self) -> "History":
        """Read what the namespace has at first."""
        with open_repository(self.place.repo) as repository:
            for info in repository.first_parents(self.place.tip):
                self.model.parents[info.id] = tuple(info.parents)
        self.model.present |= set(self.model.parents)
        self.made.append(self.place.tip)
        return self

    def make(self, *parents: str) -> str:
        """Return a new commit with a content of its own, as yet nowhere."""
        with open_repository(self.place.repo) as repository:
            objects = list(_contents(repository, self.place.tip, f"/{len(self.made)}"))
        data = commit(object_id(*objects[-1]), *map(bytes.fromhex, parents), message=f"Change {len(self.made)}\n")
        data = data.replace(b"1700000000", b"%d" % (time.time() + len(self.made)))
        made = object_id(COMMIT, data).hex()
        self.objects[made] = [*objects, (COMMIT, data)]
        self.model.parents[made] = parents
        self.made.append(made)
        return made

    def pack(self, tip: str) -> bytes:
        """Return the objects that the repository lacks for a commit."""
        missing = self.model.ancestors(tip) - self.model.present
        needed = {object_id(*each): each for commit in missing for each in self.objects[commit]}
        return pack(*(entry(*each) for each in needed.values()))

    def ref(self, name: str) -> str:
        """Return the commit of a ref; empty if there is none."""
        return self.place.git("for-each-ref", "--format=%(objectname)", name)

    def records(self, person: Principal) -> ServiceRecords:
        """Return the records for a push of a person."""
        tokens = self.services.leaked_tokens(person.actor(), "found in a push")
        return ServiceRecords(self.services.reviews(), SPACE, person, Origin(), tokens)

    def push(self, ref: str, tip: str, person: int, *, stale: bool = False) -> None:
        """Push a commit, also to refs that are refused; with `stale`, as if the pusher had not fetched."""
        old = "1" * 40 if stale else self.ref(ref) or ZERO
        records = self.records(self.people[person])
        pushed = Pushed(self.place, judge=judge_push, records=records)
        refused = self.rng.choice([[], [(ZERO, tip, "refs/heads/draft/none/main")]])
        report = pushed.push(request([*refused, (old, tip, ref)], self.pack(tip))).report
        assert not report.fault
        assert [bool(status.refusal) for status in report.statuses] == [*map(bool, refused), stale], report
        if not stale:
            self.model.push(tip, person)

    def push_by_path(self, ref: str, tip: str) -> None:
        """Put a commit into the repository as a plain push does, by a person without a name."""
        self.place.git("unpack-objects", "-q", data=self.pack(tip))
        self.place.git("update-ref", ref, tip)
        self.model.push(tip, None)

    def step(self) -> None:
        """Do one thing that people do."""
        ref, who = self.rng.choice(REFS), self.rng.randrange(len(self.people))
        tip = self.rng.choice(self.made[-12:])
        for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
            tip = self.make(tip, *self.rng.choice([[], [], [self.rng.choice(self.made)]]))
        done = self.rng.randrange(12)
        if done == 0:
            self.push_by_path(ref, tip)
        elif done == 1 and self.ref(ref):
            self.place.git("update-ref", "-d", ref)
        elif done == 2:
            self.push(TAG, tip, who)
        elif done == 3:
            self.push(ref, tip, who, stale=True)
        elif done == 4:
            self.push_by_path(RELEASE_REF, self.make(self.place.tip, tip))
        elif self.ref(ref) != tip:
            self.push(ref, tip, who)

    def subjects(self) -> Iterator[tuple[str, DraftKey, ReviewSubject]]:
        """Yield each branch that adds something to release: its head, and what a review is about."""
        for ref in REFS:
            head = self.ref(ref)
            if head and head not in self.model.ancestors(self.place.tip):
                yield head, *self._subject(ref)

    def _subject(self, ref: str) -> tuple[DraftKey, ReviewSubject]:
        store = self.place.store
        if ref.startswith(DRAFT_PREFIX):
            name = DraftName(SHOP, ref.rpartition("/")[2])
            return DraftKey(SPACE, *name), store.drafts.review_subject(SPACE, name)
        report = store.proposals.report(SPACE, proposal_id(ref))
        [project] = report.projects
        return DraftKey(SPACE, SHOP, report.proposal.review_name), project.review_subject

    def check(self) -> None:
        """Compare who cannot approve each branch, in the review and in the gate of a push, with the model."""
        for head, key, subject in self.subjects():
            if "\n" in self.place.git("merge-base", "--all", RELEASE_REF, head):
                continue  # its base has several meanings
            expected = {self.people[who].email for who in self.model.pushers(head, self.place.tip)}
            required = replace(subject, is_required=True)
            assert {each.email for each in self.people if not self._may_judge(each, key, required)} == expected
            for person in self.people:
                self.services.reviews().record_statement(
                    person, key, replace(subject, is_required=False), ReviewStatement(Action.APPROVE, head)
                )
            records = self.records(self.people[0])
            for verdicts in (records.verdicts(SHOP, required), self.services.reviews().verdicts(key, required)):
                assert {each.reviewer.email for each in verdicts if not each.independent} == expected
                assert len(verdicts) == len(self.people)

    def _may_judge(self, person: Principal, key: DraftKey, subject: ReviewSubject) -> bool:
        with suppress(Forbidden):
            self.services.reviews().record_statement(
                person, key, subject, ReviewStatement(Action.APPROVE, str(subject.head))
            )
            return True
        return False


def _contents(repository: Repository, base: CommitId, source: str) -> Iterator[tuple[int, bytes]]:
    """Yield a file of rules, the project's folder with it, and the namespace's folder."""
    root = repository.commit(base).tree
    shop = repository.folder(root, SHOP)
    assert shop
    blob = (BLOB, rules((source, "/new")).encode())
    yield blob
    kept = [each for each in repository.entries(shop) if each.name != "redirects.yaml"]
    names = {each.name: (b"100644", bytes.fromhex(each.id)) for each in kept}
    names["redirects.yaml"] = (b"100644", object_id(*blob))
    folder = (TREE, tree(*((mode, name.encode(), each) for name, (mode, each) in sorted(names.items()))))
    yield folder
    others = [(b"%o" % each.mode, each.name.encode(), bytes.fromhex(each.id)) for each in repository.entries(root)]
    yield (
        TREE,
        tree(*((mode, name, object_id(*folder) if name == b"shop" else each) for mode, name, each in others)),
    )


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    found = open_services(settings)
    yield found
    found.close()


@pytest.mark.parametrize("shard", range(3))
def test_who_brought_a_commit_cannot_judge_it_under_any_name(services: Services, tmp_path: Path, shard: int) -> None:
    """Nor can they after the sweeper forgot the commits that release has; it forgets all of these."""
    people = []
    for name in ("ann", "ben", "cid"):
        services.accounts.create(OPERATOR, NewUser(name, "correct horse battery", ("admin",)))
        people.append(services.accounts.principal(name))
    store = Store(tmp_path / "data")
    store.namespaces.create(SPACE, "", ADA)
    place = Place(tmp_path / "data", store).begin(SHOP)
    history = History(place, services, people, random.Random(first_seed(shard))).begin()  # noqa: S311 - a repeatable history
    for _ in range(STEPS):
        history.step()
    history.check()
    complete_record(place.repo)
    settings = Settings(data=tmp_path / "data")
    sweeper = PushedCommitSweeper(
        store, services.state.database, open_data(settings), clock=lambda: utc_now() + timedelta(days=40)
    )
    sweeper.sweep()
    history.check()
    with services.state.database.reading() as connection:
        left = {commit for row in list_pushed(connection, SPACE) for commit in row.commits}
    released = history.model.ancestors(place.tip)
    assert left == {each for each in history.model.brought if each not in released}


@pytest.mark.parametrize("fault", [StateBusy, StateBroken, StateFull])
def test_only_what_is_reviewed_waits_for_a_database_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: type[StoreError]
) -> None:
    settings = Settings(data=tmp_path / "data")
    create_data(settings)
    services = open_services(settings)
    tokens = services.leaked_tokens(OPERATOR.actor(), "found in a push")
    records = ServiceRecords(services.reviews(), SPACE, OPERATOR, Origin(), tokens)

    def fail(_: Database) -> None:
        raise fault("The database cannot be written.")

    monkeypatch.setattr(Database, "writing", fail)
    release = RefUpdate(RELEASE_REF, CommitId("1" * 40), CommitId("2" * 40))
    records.note_push([release], [], [])
    with pytest.raises(fault):
        records.note_push([release], [], [CommitId("2" * 40)])
    services.close()
