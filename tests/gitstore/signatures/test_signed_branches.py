"""Merges of proposals and publishes of drafts where the policy requires signatures: of allowed signers, or of the service."""

import re
from pathlib import Path

import pytest

from gitstore.errors import ApprovalRequired, SignatureRequired
from gitstore.layout import proposal_id
from gitstore.proposals.publishing import MergeRequest, MergeResult, Scopes
from gitstore.publish.publishing import PublishRequest
from gitstore.pushes.push import Scope
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, MAIN, SPACE, Place, git, put, redirect
from tests.gitstore.pushes.pushed import rules
from tests.ssh_keys import Key, KeyMaker

POLICY = "project:\n  title: Shop\n  policy:\n    signatures: required\n"
BROKEN = "kim@acme.example no key\n"
RULES = "shop/redirects/pushed.yaml"
ALL = Scope(everywhere=True)


@pytest.fixture(params=["signing", "without a key"])
def place(request: pytest.FixtureRequest, place: Place, service_key: Key, kim: Key) -> Place:
    """Return a namespace whose project `shop` requires signatures, by Kim; `docs` requires none."""
    if request.param == "signing":
        place = Place(place.root, Store(place.root, signing_key=service_key.path))
    place.begin("docs")
    place.push({"shop/project.yaml": POLICY, "allowed_signers": kim.line()})
    return place


def commit(place: Place, files: dict[str, str], key: Key | None = None) -> None:
    """Commit files in the clone, as it is checked out, signed with a key or not."""
    folder = place.root / "clone"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    git(folder, "add", "--all")
    git(folder, *(key.settings() if key else ()), "commit", "--quiet", "--message", "By hand")


def push(place: Place, branch: str = "mine", what: str = "HEAD") -> None:
    git(place.root / "clone", "push", "--quiet", "origin", f"{what}:refs/heads/{branch}")


def propose(place: Place, *steps: tuple[str, Key | None], path: str = RULES) -> None:
    """Push a branch with a commit for each source, signed with its key or not."""
    place.clone()
    for source, key in steps:
        commit(place, {path: rules((source, "/new"))}, key)
    push(place)


def merge(place: Place, override: str = "") -> MergeResult:
    request = MergeRequest(proposal_id("refs/heads/mine"), ADA, Scopes(ALL, ALL, ALL), override=override)
    return place.store.proposals.merge(SPACE, request, lambda *_: ())


def test_a_proposal_with_an_unsigned_commit_is_not_merged(place: Place, kim: Key) -> None:
    propose(place, ("/unsigned", None), ("/signed", kim))
    before = place.tip
    with pytest.raises(
        SignatureRequired, match=r"has no signature\. The policy of shop on release has signatures: req"
    ):
        merge(place)
    assert place.tip == before


def test_a_proposal_signed_by_a_stranger_is_not_merged(place: Place, robin: Key) -> None:
    propose(place, ("/a", robin))
    with pytest.raises(SignatureRequired, match="which is not in allowed_signers"):
        merge(place)


def test_a_proposal_whose_commits_are_signed_is_merged(place: Place, kim: Key) -> None:
    propose(place, ("/one", kim), ("/two", kim))
    merge(place)
    assert place.targets() == {"/two": "/new"}


def test_an_override_with_its_reason_merges_it(place: Place) -> None:
    propose(place, ("/unsigned", None))
    merged = merge(place, override="Kim has lost the key").commit
    assert "Override-reason: Kim has lost the key" in place.git("log", "-1", "--format=%B", merged)


def test_a_project_without_the_policy_needs_no_signature(place: Place) -> None:
    propose(place, ("/a", None), path="docs/redirects.yaml")
    merge(place)
    assert place.targets("docs") == {"/a": "/new"}


def test_a_branch_that_takes_its_change_back_needs_no_signature(place: Place) -> None:
    clone = place.clone()
    commit(place, {RULES: rules(("/a", "/new"))})
    (clone / RULES).unlink()
    commit(place, {"docs/redirects.yaml": rules(("/docs", "/new"))})
    push(place)
    merge(place)
    assert (place.targets(), place.targets("docs")) == ({}, {"/docs": "/new"})


def test_a_proposal_cannot_let_its_own_key_in(place: Place, robin: Key) -> None:
    place.clone()
    commit(place, {"allowed_signers": robin.line()}, robin)
    push(place)
    with pytest.raises(SignatureRequired, match="also for allowed_signers"):
        merge(place)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("path", "old"), [(RULES, rules(("/old", "/new"))), ("allowed_signers", "robin")])
def test_an_unsigned_merge_commit_does_not_bring_back_an_old_release(
    place: Place, kim: Key, robin: Key, path: str, old: str, *, is_first: bool
) -> None:
    """One of its parents is the old release, so nothing differs from that one."""
    place.push({path: f"{kim.line()}{robin.line()}" if old == "robin" else old})
    former = place.tip
    place.push({path: kim.line() if old == "robin" else rules(("/now", "/new"))})
    before = place.tip
    clone = place.clone()
    git(clone, "fetch", "--quiet", "origin")
    parents = (former, before) if is_first else (before, former)
    words = [word for parent in parents for word in ("-p", parent)]
    push(place, what=git(clone, "commit-tree", f"{former}^{{tree}}", *words, "-m", "Merge"))
    with pytest.raises(SignatureRequired, match="has no signature"):
        merge(place)
    assert place.tip == before


def test_a_first_commit_of_another_history_needs_a_signature(place: Place, kim: Key) -> None:
    """Only the merge of it is signed; it has no parent from which it could differ."""
    clone = place.clone()
    commit(place, {RULES: rules(("/other", "/new"))}, kim)
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    root = git(clone, "commit-tree", tree, "-m", "Another history")
    merged = git(
        clone, *kim.settings(), "commit-tree", "-S", tree, "-p", "HEAD", "-p", root, "-m", "Merge the other history"
    )
    push(place, what=merged)
    with pytest.raises(SignatureRequired, match=f"The commit {root[:12]} has no signature"):
        merge(place)


def test_a_key_that_is_over_merges_nothing_even_with_a_commit_dated_before(place: Place, kim: Key) -> None:
    place.push({"allowed_signers": kim.line('valid-before="20260101Z"')})
    place.clone()
    commit(place, {RULES: rules(("/a", "/new"))})
    folder = place.root / "clone"
    long_ago = "GIT_COMMITTER_DATE=2025-06-01T00:00:00Z"
    git(
        folder,
        *kim.settings(),
        "rebase",
        "--quiet",
        "--exec",
        f"{long_ago} git commit -q --amend --no-edit -S",
        "HEAD~1",
    )
    assert git(folder, "log", "-1", "--format=%cs") == "2025-06-01"
    push(place)
    with pytest.raises(SignatureRequired, match="which was valid only until 2026-01-01"):
        merge(place)


def test_an_override_with_its_reason_publishes_a_pushed_draft(place: Place) -> None:
    place.save(put(redirect("/mine")))
    draft = "draft/shop/main"
    git(place.clone(), "checkout", "--quiet", "-B", "draft", f"origin/{draft}")
    commit(place, {RULES: rules(("/a", "/new"))})
    push(place, draft)
    published = place.store.publishes.publish(SPACE, PublishRequest(MAIN, ADA, override="Kim has lost the key"))
    assert "Override-reason: Kim has lost the key" in place.git("log", "-1", "--format=%B", published.version)


def test_a_message_does_not_make_a_commit_one_of_the_service(place: Place) -> None:
    place.clone()
    commit(place, {RULES: rules(("/forged", "/new"))})
    text = "By hand\n\ncommitter Waypost <service@waypost.invalid> 1 +0000\n"
    git(place.root / "clone", "commit", "--quiet", "--amend", "--message", text)
    push(place)
    with pytest.raises(SignatureRequired, match="has no signature"):
        merge(place)


def test_with_signers_that_cannot_be_read_only_an_override_merges(place: Place, kim: Key) -> None:
    propose(place, ("/a", kim))
    place.push({"allowed_signers": BROKEN})
    with pytest.raises(SignatureRequired, match="allowed_signers:1"):
        merge(place)
    merge(place, override="to fix the file")


def test_a_draft_of_the_service_is_published(place: Place) -> None:
    place.publish(put(redirect("/a")))
    assert place.targets() == {"/a": "/new"}


@pytest.mark.parametrize("ids", [frozenset[str](), frozenset({redirect("/mine").id})], ids=["all", "chosen"])
def test_a_pushed_draft_needs_signatures(place: Place, kim: Key, ids: frozenset[str]) -> None:
    place.save(put(redirect("/mine")))
    draft = "draft/shop/main"
    git(place.clone(), "checkout", "--quiet", "-B", "draft", f"origin/{draft}")
    commit(place, {RULES: rules(("/a", "/new"))}, kim)
    push(place, draft)
    place.store.publishes.publish(SPACE, PublishRequest(MAIN, ADA, ids=ids))

    place.save(put(redirect("/more")))
    git(place.root / "clone", "fetch", "--quiet", "origin")
    git(place.root / "clone", "checkout", "--quiet", "-B", "draft", f"origin/{draft}")
    commit(place, {"shop/redirects/more.yaml": rules(("/b", "/new"))})
    push(place, draft)
    before = place.tip
    with pytest.raises(SignatureRequired, match="has no signature"):
        place.store.publishes.publish(SPACE, PublishRequest(MAIN, ADA, ids=ids and frozenset({redirect("/more").id})))
    assert place.tip == before


def test_a_commit_that_names_the_service_is_none_of_it_where_it_signs(
    place: Place, request: pytest.FixtureRequest
) -> None:
    """Without a key of the service, nothing tells them apart: docs/explanation/signatures.md says so."""
    place.clone()
    commit(place, {RULES: rules(("/forged", "/new"))})
    found = git(place.root / "clone", "cat-file", "commit", "HEAD")
    forged = re.sub("(?m)^committer .*>", "committer Waypost <service@waypost.invalid>", found)
    push(
        place,
        what=git(place.root / "clone", "hash-object", "-t", "commit", "-w", "--stdin", data=f"{forged}\n".encode()),
    )
    if "without a key" in request.node.name:
        merge(place)
        return
    with pytest.raises(ApprovalRequired, match=r"has no signature\..*list the former one as service@waypost\.invalid"):
        merge(place)


@pytest.fixture
def robin(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key of a person who is no signer."""
    found: Key = ssh_keygen(tmp_path, "robin@acme.example")
    return found
