"""Changes of policies and signers in the audit trail: found in Git, whatever way they came, and each one once."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from api.db.audit import Actor, AuditEntry, AuditEvent, AuditFilter, list_entries
from api.db.events.event_cursors import RELEASE, list_cursors
from api.db.tables import event_cursors
from api.events import publish_event_relay
from api.events.publish_event_relay import PublishEventRelay
from gitstore.git.repository import Author
from gitstore.store.store import create_store
from gitstore.upstream.upstream_settings import UpstreamMode, UpstreamSettings, write_settings
from tests.api.events.test_publish_event_relay import ADA, event_relay, made
from tests.e2e.git import Clone, git
from tests.ssh_keys import KeyMaker

NONE = {"review": "optional", "lint": "normal", "signatures": "optional"}
REQUIRED = {**NONE, "review": "required"}
KIM = Author("Kim", "kim@example.com")
BY_GIT = "Grace Hopper <grace@example.com>"
POLICY = "project:\n  policy:\n    review: required\n"


def entries(found: PublishEventRelay, event: AuditEvent = AuditEvent.POLICY_CHANGED) -> Sequence[AuditEntry]:
    """Return the entries of an event, oldest first."""
    with found.database.reading() as connection:
        return list_entries(connection, 100, 0, AuditFilter(event=event))[0][::-1]


def policies(found: PublishEventRelay) -> list[tuple[str, object, object]]:
    return [(each.subject, each.detail["before"], each.detail["after"]) for each in entries(found)]


def relay_served(found: PublishEventRelay) -> None:
    """Relay what is served, as a worker does once release has moved."""
    found.store.releases.refresh("acme", compiles=True)
    found.relay("acme")


@pytest.fixture
def relay(tmp_path: Path) -> PublishEventRelay:
    found = event_relay(tmp_path / "data")
    found.begin({})
    made(found)
    found.relay("acme")
    return found


@pytest.fixture
def repository(relay: PublishEventRelay) -> Path:
    return relay.store.directory.namespace("acme").repository


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Clone:
    return Clone.of(repository, tmp_path / "clone")


def test_a_policy_of_a_change_has_its_words_before_and_after(relay: PublishEventRelay) -> None:
    done = relay.store.projects.change("acme", "shop", {"review": "required"}, ADA)
    relay.store.projects.change("acme", "shop", {"title": "other"}, ADA)
    relay_served(relay)
    relay_served(relay)
    [entry] = entries(relay)
    assert entry.actor == Actor("commit", None, f"{ADA.name} <{ADA.email}>")
    assert (entry.namespace, entry.project, entry.detail["version"]) == ("acme", "shop", done.version)
    assert policies(relay) == [("shop", NONE, REQUIRED)]


def test_a_policy_that_is_pushed_names_the_commits_author(relay: PublishEventRelay, clone: Clone) -> None:
    version = clone.publish("shop/project.yaml", POLICY)
    relay_served(relay)
    [entry] = entries(relay)
    assert (entry.actor, entry.detail["version"]) == (Actor("commit", None, BY_GIT), version)


def test_each_commit_of_a_push_that_changes_the_policy_has_its_entry(relay: PublishEventRelay, clone: Clone) -> None:
    for text in (POLICY, "project: {}\n"):
        clone.write("shop/project.yaml", text)
        clone.commit()
    clone.push()
    relay_served(relay)
    assert policies(relay) == [("shop", NONE, REQUIRED), ("shop", REQUIRED, NONE)]


def test_a_project_that_comes_or_goes_with_a_policy_changes_it(relay: PublishEventRelay, clone: Clone) -> None:
    clone.publish("new/project.yaml", POLICY)
    git(clone.folder, "rm", "-rq", "new")
    clone.commit()
    clone.push()
    relay_served(relay)
    assert policies(relay) == [("new", NONE, REQUIRED), ("new", REQUIRED, NONE)]


def test_settings_that_cannot_be_read_require_a_review_and_say_so(relay: PublishEventRelay, clone: Clone) -> None:
    clone.publish("shop/project.yaml", "project: [\n")
    relay_served(relay)
    [entry] = entries(relay)
    assert (entry.detail["after"], entry.detail["unreadable"]) == (REQUIRED, ["after"])


def test_signers_that_come_and_go_without_any_project_are_recorded(
    relay: PublishEventRelay, clone: Clone, ssh_keygen: KeyMaker, tmp_path: Path
) -> None:
    kim, ada = (ssh_keygen(tmp_path, f"{name}@acme.example") for name in ("kim", "ada"))
    versions = [clone.publish("allowed_signers", key.line()) for key in (kim, ada)]
    relay_served(relay)
    relay_served(relay)
    found = entries(relay, AuditEvent.SIGNERS_CHANGED)
    assert {(each.subject, each.namespace, each.project, each.actor.name) for each in found} == {
        ("allowed_signers", "acme", None, BY_GIT)
    }
    changes = [{name: each.detail[name] for name in ("version", "added", "removed")} for each in found]
    assert changes == [
        {"version": versions[0], "added": [kim.name], "removed": []},
        {"version": versions[1], "added": [ada.name], "removed": [kim.name]},
    ]


def test_of_several_workers_one_records_each_change(relay: PublishEventRelay, clone: Clone, tmp_path: Path) -> None:
    workers = [event_relay(tmp_path / "data") for _ in range(3)]
    clone.publish("shop/project.yaml", POLICY)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(relay_served, workers))
    assert len(entries(relay)) == 1


def test_changes_are_found_beyond_one_transaction(
    relay: PublishEventRelay, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_event_relay, "BATCH_SIZE", 2)
    for number in range(5):
        clone.write("shop/project.yaml", POLICY if number % 2 == 0 else "project: {}\n")
        clone.commit()
    clone.push()
    relay_served(relay)
    assert len(entries(relay)) == 5


def test_a_rewind_that_is_accepted_names_who_accepted_it(
    relay: PublishEventRelay, repository: Path, clone: Clone
) -> None:
    before = git(repository, "rev-parse", "release")
    clone.publish("shop/project.yaml", POLICY)
    relay_served(relay)
    git(repository, "update-ref", "refs/heads/release", before)
    relay_served(relay)
    assert len(entries(relay)) == 1, "it is served as before"
    accepted = relay.store.namespaces.accept_rewind("acme", KIM)
    relay_served(relay)
    entry = entries(relay)[-1]
    assert policies(relay)[1:] == [("shop", REQUIRED, NONE)]
    assert (entry.actor.name, entry.detail["version"]) == ("Kim <kim@example.com>", accepted)


def test_a_release_that_was_moved_while_nothing_told_what_was_served_accuses_no_author(
    relay: PublishEventRelay, repository: Path, clone: Clone
) -> None:
    before = git(repository, "rev-parse", "release")
    rewound = clone.publish("shop/project.yaml", POLICY)
    relay_served(relay)
    git(repository, "update-ref", "refs/heads/release", before)
    shutil.rmtree(relay.store.directory.namespace("acme").compiled)
    relay_served(relay)
    entry = entries(relay)[-1]
    assert policies(relay)[1:] == [("shop", REQUIRED, NONE)]
    assert (entry.actor.kind, entry.detail["rewoundFrom"]) == ("operator", rewound)


def test_a_namespace_from_before_the_cursor_begins_where_it_is(relay: PublishEventRelay, clone: Clone) -> None:
    """The cursor came later than the relay: no change before it is news, and each one after it is."""
    clone.publish("shop/project.yaml", POLICY)
    with relay.database.writing() as connection:
        connection.execute(event_cursors.delete().where(event_cursors.c.project == RELEASE))
    relay_served(relay)
    assert entries(relay) == []
    clone.publish("shop/project.yaml", "project: {}\n")
    relay_served(relay)
    assert policies(relay) == [("shop", REQUIRED, NONE)]


def test_a_file_that_is_damaged_is_one_that_cannot_be_read(
    relay: PublishEventRelay, repository: Path, clone: Clone
) -> None:
    for text in (POLICY, "project: {}\n"):
        clone.write("shop/project.yaml", text)
        clone.write("allowed_signers", f"# {text[:7]}{len(text)}\n")
        clone.commit()
    clone.push()
    for path in ("shop/project.yaml", "allowed_signers"):
        lost = git(repository, "rev-parse", f"release~1:{path}")
        (repository / "objects" / lost[:2] / lost[2:]).unlink()
    relay_served(relay)
    assert [each.detail["unreadable"] for each in entries(relay)] == [["after"], ["before"]]
    signers = entries(relay, AuditEvent.SIGNERS_CHANGED)
    assert [each.detail["unreadable"] for each in signers] == [["after"], ["before"]]


def test_the_first_history_of_a_namespace_is_no_rewind(relay: PublishEventRelay, tmp_path: Path) -> None:
    """A mirror or an upstream puts it in the place of the first commit."""
    relay.store.namespaces.create("mirror", "", ADA)
    relay.relay("mirror")
    source = relay.store.directory.namespace("acme").repository
    Clone.of(source, tmp_path / "clone").publish("shop/project.yaml", POLICY)
    there = relay.store.directory.namespace("mirror")
    git(there.repository, "fetch", "-q", str(source), "+release:release")
    shutil.rmtree(there.compiled)
    relay.store.releases.refresh("mirror", compiles=True)
    relay.relay("mirror")
    [entry] = entries(relay)
    assert (entry.namespace, entry.actor) == ("mirror", Actor("commit", None, BY_GIT))
    assert "rewoundFrom" not in entry.detail


def test_publishes_without_a_change_move_the_cursor_only_now_and_then(
    relay: PublishEventRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that begins looks at those after the cursor again, and finds nothing in them."""
    monkeypatch.setattr(publish_event_relay, "_FAR", 3)

    def cursor() -> str:
        with relay.database.reading() as connection:
            return str(list_cursors(connection, "acme", [RELEASE])[RELEASE].commit)

    before, seen = cursor(), list[bool]()
    for title in "abcdefg":
        relay.store.projects.change("acme", "shop", {"title": title}, ADA)
        relay_served(relay)
        seen.append(cursor() != before)
        before = cursor()
    moves = [place for place, moved in enumerate(seen) if moved]
    assert moves == list(range(moves[0], len(seen), 3))
    relay.store.projects.change("acme", "shop", {"review": "required"}, ADA)
    relay_served(relay)
    again = event_relay(relay.store.directory.root)
    relay_served(again)
    assert policies(relay) == [("shop", NONE, REQUIRED)]


class Beside:
    """Two nodes with one database: `first` is ahead, and `second` gets its commits later, as by an upstream."""

    def __init__(self, first: PublishEventRelay, folder: Path) -> None:
        self.first, self.source = first, first.store.directory.namespace("acme").repository
        store = create_store(folder)
        store.namespaces.create("acme", "", ADA)
        self.second = PublishEventRelay(store, first.database, first.reader, first.clock, first.records)
        self.repository = store.directory.namespace("acme").repository
        write_settings(self.repository, UpstreamSettings(str(self.source), UpstreamMode.SOURCE))
        git(self.repository, "fetch", "-q", str(self.source), "+release:release")
        shutil.rmtree(store.directory.namespace("acme").compiled)

    def relay_second(self, commit: str = "") -> None:
        """Have the second node reach a commit, if one is given, and relay what it serves."""
        if commit:
            git(self.repository, "fetch", "-q", str(self.source), f"{commit}:refs/heads/release")
        relay_served(self.second)


@pytest.fixture
def beside(relay: PublishEventRelay, tmp_path: Path) -> Beside:
    return Beside(relay, tmp_path / "second")


def changed(found: PublishEventRelay, count: int) -> list[str]:
    """Change the policy so many times, and relay each change; return the commits."""
    commits = list[str]()
    for _ in range(count):
        words = {"review": "optional" if len(policies(found)) % 2 else "required"}
        commits.append(found.store.projects.change("acme", "shop", words, ADA).version)
        relay_served(found)
    return commits


def test_a_node_that_is_behind_another_one_repeats_no_change(beside: Beside) -> None:
    commits = changed(beside.first, 2)
    beside.relay_second()  # it serves the state of before, and the cursor is ahead of it
    for commit in commits:
        beside.relay_second(commit)
    assert [each.detail["version"] for each in entries(beside.first)] == commits
    later = changed(beside.first, 1)
    beside.relay_second(later[0])
    assert [each.detail["version"] for each in entries(beside.first)] == commits + later


def test_a_node_that_is_far_behind_another_one_repeats_no_change(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_event_relay, "_FAR", 1)
    commits = changed(beside.first, 2)
    beside.relay_second()
    commits += changed(beside.first, 1)
    beside.relay_second(commits[0])
    beside.relay_second(commits[2])
    assert [each.detail["version"] for each in entries(beside.first)] == commits


def test_a_node_that_has_the_commits_of_another_one_but_does_not_serve_them_was_not_rewound(beside: Beside) -> None:
    """It was killed between the push to the upstream and the move of release, or checks what it fetched."""
    commits = changed(beside.first, 1)
    git(beside.repository, "fetch", "-q", str(beside.source), f"{commits[0]}:refs/waypost/fetched")
    beside.relay_second()
    relay_served(beside.first)
    beside.relay_second(commits[0])
    assert [each.detail["version"] for each in entries(beside.first)] == commits


def test_a_change_of_the_node_behind_is_recorded_beside_those_of_the_other_one(beside: Beside, tmp_path: Path) -> None:
    commits = changed(beside.first, 1)
    beside.relay_second()
    commits.append(Clone.of(beside.source, tmp_path / "clone").publish("shop/project.yaml", "project: {}\n"))
    beside.relay_second(commits[1])
    relay_served(beside.first)
    assert [each.detail["version"] for each in entries(beside.first)] == commits
