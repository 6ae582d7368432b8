"""Pushes to release where the policy requires signatures: by the signers of release, or the whole push is refused."""

import time
from pathlib import Path

import pytest

from gitstore.history.messages import load_message
from tests.gitstore.fixtures import Place
from tests.gitstore.pushes.pushed import Clone, rules
from tests.ssh_keys import Key, KeyMaker

SIGNED = "project:\n  title: Shop\n  policy:\n    signatures: required\n"
DAY = 86_400


@pytest.fixture
def kim(ssh_keygen: KeyMaker, tmp_path: Path) -> Key:
    """Return the key of a signer."""
    return ssh_keygen(tmp_path, "kim@acme.example")


@pytest.fixture
def clone(place: Place, kim: Key) -> Clone:
    """Return a clone of a namespace whose project `shop` requires signatures, by Kim; `docs` requires none."""
    place.begin("docs")
    clone = Clone.of(place)
    clone.commit({"shop/project.yaml": SIGNED, "allowed_signers": kim.line()})
    clone.push()
    return clone


def use(clone: Clone, key: Key) -> None:
    """Have git sign commits with a key."""
    clone.git("config", "gpg.format", "ssh")
    clone.git("config", "user.signingKey", str(key.path))
    clone.git("config", "commit.gpgSign", "true")


def change(clone: Clone, source: str = "/old") -> None:
    clone.commit({"shop/redirects.yaml": rules((source, "/new"))})


def test_a_signed_commit_is_a_publish_and_its_note_has_the_signer(clone: Clone, kim: Key) -> None:
    use(clone, kim)
    change(clone)
    ((_, note),) = clone.push().notes
    assert load_message(note).trailers["Verified-signer"] == kim.name


def test_an_unsigned_commit_is_refused_with_what_to_do(clone: Clone) -> None:
    change(clone)
    verdict = clone.check()
    assert verdict.refusal == "signature required"
    assert verdict.lines == (
        f"The commit {clone.head[:12]} has no signature.",
        "The policy of shop on release has signatures: required.",
        "Sign it with your SSH key, then push again:",
        "  git config gpg.format ssh",
        "  git config user.signingKey ~/.ssh/id_ed25519.pub",
        "  git rebase --exec 'git commit --amend --no-edit -S' origin/release",
        "Or push it as a proposal, which a user with project:override can merge: git push origin HEAD:refs/heads/<name>",
    )


def test_the_commands_of_the_refusal_sign_the_commits(clone: Clone, kim: Key) -> None:
    clone.git("fetch", "-q", "origin")
    change(clone, "/one")
    change(clone, "/two")
    use(clone, kim)
    clone.git("rebase", "-q", "--exec", "git commit -q --amend --no-edit -S", "origin/release")
    assert [load_message(note).trailers["Verified-signer"] for _, note in clone.push().notes] == [kim.name, kim.name]


def test_each_commit_of_a_push_needs_a_signature(clone: Clone, kim: Key) -> None:
    change(clone)
    use(clone, kim)
    change(clone, "/other")
    assert clone.check().lines[0] == f"The commit {clone.git('rev-parse', 'HEAD~1')[:12]} has no signature."


def test_each_project_that_a_commit_changes_is_asked(clone: Clone) -> None:
    clone.commit({"docs/redirects.yaml": rules(("/a", "/b")), "shop/redirects.yaml": rules(("/old", "/new"))})
    assert clone.check().lines[1] == "The policy of shop on release has signatures: required."


@pytest.mark.parametrize(("kind", "bits"), [("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521")])
def test_keys_of_other_kinds(clone: Clone, kim: Key, tmp_path: Path, kind: str, bits: str) -> None:
    other = Key.make(tmp_path, "robin@acme.example", kind, bits=bits)
    use(clone, kim)
    clone.commit({"allowed_signers": kim.line() + other.line()})
    clone.push()
    use(clone, other)
    change(clone)
    ((_, note),) = clone.push().notes
    assert load_message(note).trailers["Verified-signer"] == other.name


def test_a_key_that_release_does_not_have_is_refused(clone: Clone, tmp_path: Path) -> None:
    """A push cannot let itself in: the signers are those of release, not those that it brings."""
    eve = Key.make(tmp_path, "eve@acme.example")
    use(clone, eve)
    clone.commit({"allowed_signers": eve.line()})
    verdict = clone.check()
    fault = f"The commit {clone.head[:12]} is signed with the key {eve.fingerprint}, which is not in allowed_signers."
    assert verdict.lines[:2] == (
        fault,
        "The policy of shop on release has signatures: required, also for allowed_signers.",
    )


def test_a_policy_that_the_push_removes_applies_to_it(clone: Clone) -> None:
    clone.commit({"shop/project.yaml": "project:\n  title: Shop\n"})
    change(clone)
    assert clone.check().refusal == "signature required"


def test_a_removed_project_needs_a_signature_too(clone: Clone) -> None:
    clone.git("rm", "-rq", "shop")
    clone.git("commit", "-q", "-m", "Remove the project")
    assert clone.check().refusal == "signature required"


def test_other_projects_need_none_and_name_the_signer_if_there_is_one(clone: Clone, kim: Key) -> None:
    clone.commit({"docs/redirects.yaml": rules(("/a", "/b"))})
    ((_, note),) = clone.push().notes
    assert "Verified-signer" not in load_message(note).trailers
    use(clone, kim)
    clone.commit({"docs/redirects.yaml": rules(("/a", "/c"))})
    ((_, note),) = clone.push().notes
    assert load_message(note).trailers["Verified-signer"] == kim.name


def test_a_key_that_is_over_is_refused_even_with_a_commit_dated_before(clone: Clone, kim: Key) -> None:
    use(clone, kim)
    over = time.strftime("%Y%m%dZ", time.gmtime(time.time() - 10 * DAY))
    clone.commit({"allowed_signers": kim.line(f'valid-before="{over}"')})
    clone.push()
    clone.commit({"shop/redirects.yaml": rules(("/old", "/new"))})
    long_ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 100 * DAY))
    clone.git(
        "-c",
        "core.editor=true",
        "rebase",
        "-q",
        "--exec",
        f"GIT_COMMITTER_DATE={long_ago} git commit -q --amend --no-edit -S",
        "HEAD~1",
    )
    assert "GIT_COMMITTER_DATE" not in clone.git("log", "-1", "--format=%cI")
    assert clone.git("log", "-1", "--format=%ct") < str(int(time.time() - 90 * DAY))
    assert f"which was valid only until {over[:4]}-" in clone.check().lines[0]


def test_a_key_that_was_not_valid_yet_when_the_commit_was_made(clone: Clone, kim: Key) -> None:
    use(clone, kim)
    begin = time.strftime("%Y%m%dZ", time.gmtime(time.time() - 10 * DAY))
    clone.commit({"allowed_signers": kim.line(f'valid-after="{begin}"')})
    clone.push()
    change(clone)
    assert not clone.check().refusal
    long_ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 100 * DAY))
    clone.git("rebase", "-q", "--exec", f"GIT_COMMITTER_DATE={long_ago} git commit -q --amend --no-edit -S", "HEAD~1")
    assert "is valid only from" in clone.check().lines[0]


def test_a_changed_commit_is_refused(clone: Clone, kim: Key) -> None:
    use(clone, kim)
    change(clone)
    data = clone.git("cat-file", "commit", "HEAD").replace("By hand", "By eve") + "\n"
    (clone.folder.parent / "forged").write_text(data, "utf-8")
    forged = clone.git("hash-object", "-w", "-t", "commit", str(clone.folder.parent / "forged"))
    verdict = clone.check(new=forged)
    assert verdict.lines[0] == (
        f"The commit {forged[:12]} has a wrong signature by the key of {kim.name}: it was changed after it was signed."
    )


def test_a_signature_by_gpg_is_refused(clone: Clone) -> None:
    data = clone.git("cat-file", "commit", "HEAD")
    head, _, message = data.partition("\n\n")
    pgp = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----"
    (clone.folder.parent / "forged").write_text(f"{head}\n{pgp}\n\n{message}\n", "utf-8")
    change(clone)
    tree = clone.git("rev-parse", "HEAD^{tree}")
    text = (clone.folder.parent / "forged").read_text("utf-8")
    text = text.replace(text.split("\n")[0], f"tree {tree}").replace(
        text.split("\n")[1], f"parent {clone.git('rev-parse', 'HEAD~1')}"
    )
    (clone.folder.parent / "forged").write_text(text, "utf-8")
    forged = clone.git("hash-object", "-w", "-t", "commit", str(clone.folder.parent / "forged"))
    assert "has no valid signature: the signature is not one by an SSH key" in clone.check(new=forged).lines[0]


def test_signers_that_cannot_be_read_are_refused(clone: Clone, kim: Key) -> None:
    use(clone, kim)
    clone.commit({"allowed_signers": kim.line("cert-authority")})
    verdict = clone.check()
    assert verdict.refusal == "invalid signers"
    assert verdict.lines[0].startswith("allowed_signers:1: cert-authority is not supported")


def test_signers_on_release_that_cannot_be_read_stop_what_needs_a_signature_and_nothing_else(
    clone: Clone, kim: Key
) -> None:
    """They came by a way without checks, such as a move of release on the disk."""
    clone.commit({"allowed_signers": "kim no key\n"})
    clone.place.git("fetch", "-q", str(clone.folder), "+HEAD:refs/heads/release")
    use(clone, kim)
    clone.commit({"docs/redirects.yaml": rules(("/a", "/b"))})
    ((_, note),) = clone.push().notes
    assert "Verified-signer" not in load_message(note).trailers
    clone.commit({"allowed_signers": kim.line()})
    verdict = clone.check()
    assert verdict.refusal == "signature required"
    assert verdict.lines[1] == "The file on release cannot be read:"
    assert verdict.lines[2].startswith("allowed_signers:1: ")


def test_a_policy_on_release_that_cannot_be_read_requires_signatures(clone: Clone, kim: Key) -> None:
    """It came by a way without checks, and may have required them."""
    clone.commit({"shop/project.yaml": "project: [\n"})
    clone.place.git("fetch", "-q", str(clone.folder), "+HEAD:refs/heads/release")
    clone.commit({"shop/project.yaml": SIGNED})
    verdict = clone.check()
    assert verdict.refusal == "signature required"
    assert verdict.lines[1] == "The project.yaml of shop on release cannot be read, so signatures are required."
    use(clone, kim)
    clone.git("commit", "-q", "--amend", "--no-edit", "-S")
    clone.push(options=("override=It could not be read.",))  # it may have required a review too


def test_a_policy_that_cannot_be_read_requires_none_where_release_has_no_signers(place: Place) -> None:
    clone = Clone.of(place)
    clone.commit({"shop/project.yaml": "project: [\n"})
    place.git("fetch", "-q", str(clone.folder), "+HEAD:refs/heads/release")
    clone.commit({"shop/project.yaml": "project:\n  title: Shop\n"})
    assert not clone.check(options=("override=It could not be read.",)).refusal


def test_without_signers_the_refusal_says_so(place: Place) -> None:
    clone = Clone.of(place)
    clone.commit({"shop/project.yaml": SIGNED})
    clone.push()
    change(clone)
    assert "Release has no file allowed_signers with signers." in clone.check().lines


def test_two_keys_of_a_signer_overlap_so_that_one_can_replace_the_other(clone: Clone, kim: Key, tmp_path: Path) -> None:
    new = Key(Key.make(tmp_path, "kim-2@acme.example").path, kim.principal)
    use(clone, kim)
    clone.commit({"allowed_signers": kim.line() + new.line()})
    clone.push()
    for key, source in ((kim, "/one"), (new, "/two")):
        use(clone, key)
        change(clone, source)
        ((_, note),) = clone.push().notes
        assert load_message(note).trailers["Verified-signer"] == key.name
