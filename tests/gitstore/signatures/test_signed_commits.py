"""The commits of the service: C git accepts the signature of each, whatever makes it."""

import pickle
from pathlib import Path

import pytest

from gitstore.drafts.drafts import DraftName
from gitstore.errors import SigningKeyUnusable
from gitstore.git.repository import open_repository
from gitstore.git.signed_release import require_unsigned_release
from gitstore.layout import proposal_id
from gitstore.proposals.publishing import MergeRequest, Scopes
from gitstore.publish.publishing import PublishRequest
from gitstore.pushes.push import Scope
from gitstore.signatures.signing_key import UNSIGNED
from gitstore.store.store import Store, create_store
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, put, redirect
from tests.gitstore.pushes.pushed import rules
from tests.ssh_keys import SERVICE, Key, require_signed, verify_commit


@pytest.fixture
def signers(tmp_path: Path, service_key: Key) -> Path:
    """Return a file of signers with the service."""
    path = tmp_path / "signers"
    path.write_text(service_key.line('namespaces="git"'), "utf-8")
    return path


@pytest.fixture
def signed(tmp_path: Path, service_key: Key) -> Place:
    """Return a data directory whose commits are signed, with the project `shop`."""
    create_store(tmp_path / "data")
    store = Store(tmp_path / "data", signing_key=service_key.path)
    store.namespaces.create(SPACE, "Acme", ADA)
    return Place(tmp_path / "data", store).begin(SHOP)


def test_every_commit_on_release_is_signed(signed: Place, signers: Path, service_key: Key) -> None:
    signed.publish(put(redirect("/a")))
    signed.publish(put(redirect("/b")))
    signed.store.publishes.roll_back(SPACE, SHOP, "2", ADA, "")
    signed.store.projects.change(SPACE, SHOP, {"title": "The shop"}, ADA)
    signed.store.projects.delete(SPACE, SHOP, ADA, may_change_policy=True)
    commits = signed.git("rev-list", "release").split()
    assert len(commits) > 6
    for commit in commits:  # also those of the drafts that were merged
        require_signed(signed.repo, commit, signers, service_key)
    signed.fsck()


def test_the_history_names_the_service_and_its_key(signed: Place, service_key: Key) -> None:
    signed.publish(put(redirect("/a")))
    assert service_key.principal == SERVICE
    found, _ = signed.store.publishes.history(SPACE, SHOP, 0, 10)
    assert {each.signed_by for each in found} == {service_key.name}


def test_a_proposal_is_merged_with_a_signature(signed: Place, signers: Path, service_key: Key) -> None:
    signed.push({"shop/redirects/2030.yaml": rules(("/p", "/q"))}, to="mine")
    everywhere = Scope(everywhere=True)
    request = MergeRequest(proposal_id("refs/heads/mine"), ADA, Scopes(everywhere, everywhere, everywhere))
    merged = signed.store.proposals.merge(SPACE, request, lambda *_: ())
    require_signed(signed.repo, merged.commit, signers, service_key)
    assert signed.targets() == {"/p": "/q"}


def test_the_same_commit_has_the_same_signature(signed: Place) -> None:
    with signed.store.publishes._access.writing(SPACE) as (_, transaction):
        transaction.clock = lambda: 1_000_000_000
        tree = transaction.commit(transaction.release()).tree
        made = [transaction.write_commit(tree, (), ADA, "Same\n") for _ in range(2)]
        other = transaction.write_commit(tree, (), ADA, "Same\n", unique=True)
    assert made[0] == made[1] != other


def test_a_changed_commit_is_refused_by_git(signed: Place, signers: Path) -> None:
    data = signed.git("cat-file", "commit", "release").replace("shop", "shed") + "\n"
    forged = signed.git("hash-object", "-w", "-t", "commit", "--stdin", data=data.encode())
    assert verify_commit(signed.repo, forged, signers).returncode != 0


def test_without_its_key_nothing_is_published(signed: Place, service_key: Key) -> None:
    signed.save(put(redirect("/a")))
    before = signed.tip
    service_key.path.unlink()
    with pytest.raises(SigningKeyUnusable, match="is missing"):
        signed.store.publishes.publish(SPACE, PublishRequest(MAIN, ADA), lambda _: ())
    assert signed.tip == before
    assert signed.store.drafts.names(SPACE, SHOP) == ["main"]


def test_without_a_key_no_namespace_is_created_however_many_others_are_unsigned(signed: Place) -> None:
    """Guard: the first five by name were asked, which may be those of folders of an upstream."""
    unsigned = Store(signed.root, signing_key=UNSIGNED)
    for number in range(6):
        unsigned.namespaces.create(f"a{number}", "", ADA)
    with pytest.raises(SigningKeyUnusable, match="no key is set here"):
        Store(signed.root).namespaces.create("mine", "", ADA)


def test_a_message_does_not_make_a_commit_a_signed_one(place: Place) -> None:
    place.save(put(redirect("/a")))
    request = PublishRequest(MAIN, ADA, message="Change\n\ngpgsig of nobody")
    assert "\ngpgsig of" in place.git("log", "-1", "--format=%B", place.store.publishes.publish(SPACE, request).version)
    place.publish(put(redirect("/b")))
    assert place.targets() == {"/a": "/new", "/b": "/new"}


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_push_that_names_the_service_says_nothing_about_its_signatures(
    signed: Place, tmp_path: Path, *, is_signed: bool
) -> None:
    """Its committer can be anyone: an unsigned one would let a process without the key go on, a signed one would stop it."""
    place = signed if not is_signed else begin_unsigned(tmp_path / "plain")
    place.publish(put(redirect("/a")))
    header = "gpgsig -----BEGIN SSH SIGNATURE-----\n" if is_signed else ""
    committer = f"Waypost <{SERVICE}> 1800000000 +0000"
    tree, parent = place.git("rev-parse", "release^{tree}").strip(), place.git("rev-parse", "release").strip()
    forged = f"tree {tree}\nparent {parent}\nauthor {committer}\ncommitter {committer}\n{header}\nMine\n"
    commit = place.git("hash-object", "-w", "-t", "commit", "--stdin", data=forged.encode()).strip()
    place.git("update-ref", "refs/heads/release", commit)
    with open_repository(place.repo) as repository:
        if is_signed:
            require_unsigned_release(repository)
        else:
            with pytest.raises(SigningKeyUnusable, match="no key is set here"):
                require_unsigned_release(repository)


def begin_unsigned(root: Path) -> Place:
    """Return a data directory whose commits are not signed, with the project `shop`."""
    store = create_store(root)
    store.namespaces.create(SPACE, "Acme", ADA)
    return Place(root, store).begin(SHOP)


def test_another_process_signs_too(signed: Place, service_key: Key, signers: Path) -> None:
    drafts, publishes = pickle.loads(pickle.dumps((signed.store.drafts, signed.store.publishes)))  # noqa: S301 - of this test's own
    drafts.edit(SPACE, DraftName(SHOP, "other"), [put(redirect("/x"))], ADA)
    publishes.publish(SPACE, PublishRequest(DraftName(SHOP, "other"), ADA), lambda _: ())
    require_signed(signed.repo, "release", signers, service_key)
