"""Clone and fetch with C git over HTTP: whole, shallow and partial, in both versions of the protocol."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.git import check_repository
from tests.e2e.remote import Remote, objects_of, present_in, refs_of
from tests.e2e.world import Place

versions = pytest.mark.parametrize("version", [0, 2])


@pytest.fixture
def shop(place: Place) -> Place:
    """Publish five times, and leave a draft."""
    for number in range(5):
        place.published(f"/source-{number}")
    place.add("/in-the-draft")
    return place


def tag(place: Place, name: str, target: str = "release") -> str:
    """Create an annotated tag in the repository; return its id."""
    person = ("-c", "user.name=Grace", "-c", "user.email=grace@example.com")
    subprocess.run(("git", *person, "tag", "-m", name, name, target), cwd=place.repository, check=True)
    return Remote("").git(place.repository, "rev-parse", name)


@versions
def test_a_clone_has_all_branches_tags_and_objects(shop: Place, tmp_path: Path, version: int) -> None:
    tag(shop, "v1")
    Remote("").git(shop.repository, "tag", "light", "release~1")
    clone = Remote.of(shop, version=version).clone(tmp_path / "clone", "--mirror")
    assert refs_of(clone) == refs_of(shop.repository)
    assert present_in(clone) == objects_of(shop.repository, "--all")
    check_repository(clone)


@versions
def test_a_clone_checks_out_the_release_branch(shop: Place, tmp_path: Path, version: int) -> None:
    clone = Remote.of(shop, version=version).clone(tmp_path / "clone")
    assert Remote("").git(clone, "branch", "--show-current") == "release"
    assert "/source-4" in (clone / shop.project / "redirects.yaml").read_text("utf-8")


@versions
def test_a_fetch_brings_what_was_published_since(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone")
    shop.published("/since")
    remote.git(clone, "fetch", "-q")
    assert remote.git(clone, "rev-parse", "origin/release") == remote.git(shop.repository, "rev-parse", "release")
    assert "/since" in remote.git(clone, "show", f"origin/release:{shop.project}/redirects.yaml")
    check_repository(clone)


@versions
def test_a_fetch_sends_no_object_that_the_client_has(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone", "--bare")
    held = present_in(clone)
    shop.published("/since")
    remote.git(clone, "fetch", "-q", "origin", "+release:release", GIT_TRACE_PACKFILE=str(tmp_path / "sent"))
    sent = (tmp_path / "sent").read_bytes()
    new = present_in(clone) - held
    assert int.from_bytes(sent[8:12], "big") == len(new)


@versions
def test_a_client_with_commits_of_its_own_fetches_too(shop: Place, tmp_path: Path, version: int) -> None:
    """The service knows none of its newest commits, and answers until it names one that is known."""
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone")
    for number in range(40):
        remote.git(clone, "commit", "-q", "--allow-empty", "-m", f"own {number}")
    shop.published("/since")
    remote.git(clone, "fetch", "-q")
    assert remote.git(clone, "rev-parse", "origin/release") == remote.git(shop.repository, "rev-parse", "release")
    check_repository(clone)


@versions
def test_a_fetch_follows_annotated_tags(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone")
    shop.published("/since")
    made = tag(shop, "v2")
    remote.git(clone, "fetch", "-q")
    assert remote.git(clone, "rev-parse", "v2") == made


@versions
def test_a_shallow_clone_can_be_deepened_and_made_whole(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone", "--depth=1")
    count = ("rev-list", "--count", "--first-parent", "HEAD")
    assert remote.git(clone, *count) == "1"
    assert not present_in(clone) & {remote.git(shop.repository, "rev-parse", "release~1")}
    remote.git(clone, "fetch", "-q", "--depth=3")
    assert remote.git(clone, *count) == "3"
    remote.git(clone, "fetch", "-q", "--deepen=1")
    assert remote.git(clone, *count) == "4"
    check_repository(clone)
    shop.published("/since")
    remote.git(clone, "fetch", "-q")
    check_repository(clone)
    remote.git(clone, "fetch", "-q", "--unshallow")
    assert objects_of(clone, "origin/release") == objects_of(shop.repository, "release")
    check_repository(clone)


@versions
def test_a_shallow_clone_ends_at_a_time_or_a_ref(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    tag(shop, "v1", "release~2")
    clone = remote.clone(tmp_path / "excluded", "--shallow-exclude=v1", "--single-branch", "--no-tags")
    assert remote.git(clone, "rev-list", "--count", "--first-parent", "HEAD") == "2"
    check_repository(clone)
    whole = remote.clone(tmp_path / "since", "--shallow-since=2001-01-01")
    assert objects_of(whole, "HEAD") == objects_of(shop.repository, "release")
    message = remote.refused(tmp_path, "clone", "--shallow-since=2098-01-01", remote.url, "none")
    assert "No commit is left for this shallow fetch." in message
    message = remote.refused(tmp_path, "clone", "--shallow-exclude=v9", remote.url, "none")
    assert "There is no ref 'v9'" in message


@versions
@pytest.mark.parametrize("chosen", ["blob:none", "blob:limit=150", "tree:0", "tree:2"])
def test_a_partial_clone_fetches_the_rest_when_it_is_needed(
    shop: Place, tmp_path: Path, version: int, chosen: str
) -> None:
    remote = Remote.of(shop, version=version)
    clone = remote.clone(tmp_path / "clone", f"--filter={chosen}", "--no-checkout")
    everything = objects_of(shop.repository, "release")
    wanted = objects_of(shop.repository, "release", f"--filter={chosen}")
    assert present_in(clone) & everything == wanted < everything
    remote.git(clone, "checkout", "-q", "release")
    assert "/source-4" in (clone / shop.project / "redirects.yaml").read_text("utf-8")
    assert remote.git(clone, "log", "-p", "--format=%H") == remote.git(
        shop.repository, "log", "-p", "--format=%H", "release"
    )
    shop.published("/since")
    remote.git(clone, "pull", "-q")
    assert "/since" in (clone / shop.project / "redirects.yaml").read_text("utf-8")


def test_a_long_request_comes_in_chunks(shop: Place, tmp_path: Path) -> None:
    """C git sends a request in chunks if it is longer than `http.postBuffer`, which has at least 64 KB."""
    files = b"".join(b"M 100644 inline %d.txt\ndata %d\n%d\n" % (n, len(str(n)), n) for n in range(2_000))
    stream = b"commit refs/heads/many\ncommitter G <g@x> 1700000000 +0000\ndata 1\nx\n" + files
    subprocess.run(("git", "fast-import", "--quiet"), cwd=shop.repository, input=stream, check=True)
    remote = Remote.of(shop)
    clone = remote.clone(tmp_path / "clone", "--filter=blob:none", "--no-checkout")
    trace = str(tmp_path / "trace")
    remote.git(clone, "-c", "http.postBuffer=70000", "checkout", "-q", "many", GIT_TRACE_CURL=trace)
    assert "Transfer-Encoding: chunked" in Path(trace).read_text("utf-8", errors="replace")
    assert len(list(clone.glob("*.txt"))) == 2_000


@versions
def test_only_branches_tags_and_notes_are_shown(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    for name in ("refs/internal/kept", "refs/notes/waypost", "refs/remotes/origin/x"):
        remote.git(shop.repository, "update-ref", name, "release")
    shown = {line.partition("\t")[2] for line in remote.git(tmp_path, "ls-remote", remote.url).splitlines()}
    assert shown == {"HEAD", "refs/heads/release", f"refs/heads/draft/{shop.project}/main", "refs/notes/waypost"}


@versions
def test_objects_that_no_shown_ref_reaches_cannot_be_fetched(shop: Place, tmp_path: Path, version: int) -> None:
    remote = Remote.of(shop, version=version)
    secret = _hide_commit(shop)
    clone = remote.clone(tmp_path / "clone")
    refusal = "not our ref {}"
    for name in (secret, f"{secret}^{{tree}}", f"{secret}:secret.txt", "0" * 39 + "1"):
        wanted = remote.git(shop.repository, "rev-parse", name)
        assert refusal.format(wanted) in remote.refused(clone, "fetch", "origin", wanted)
    for name in ("release~2", "release~2^{tree}", f"release~3:{shop.project}/redirects.yaml"):
        wanted = remote.git(shop.repository, "rev-parse", name)
        remote.git(clone, "fetch", "-q", "--refetch", "origin", wanted)
    # A client that claims to have the commit learns nothing of what is before it.
    (clone / ".git" / "shallow").write_text(f"{secret}\n")
    remote.run(clone, "fetch", "--deepen=5")
    assert secret not in present_in(clone)


def _hide_commit(place: Place) -> str:
    """Create a commit with a file of its own that only an internal ref names; return its id."""
    stream = (
        b"commit refs/internal/secret\ncommitter G <g@x> 1700000000 +0000\ndata 1\nx\nfrom refs/heads/release^0\n"
        b"M 100644 inline secret.txt\ndata 6\nsecret\n"
    )
    subprocess.run(("git", "fast-import", "--quiet"), cwd=place.repository, input=stream, check=True)
    return Remote("").git(place.repository, "rev-parse", "refs/internal/secret")


def test_a_discarded_draft_is_in_no_later_clone(shop: Place, tmp_path: Path) -> None:
    """Its objects stay in the repository for a while, and in the pack of the earlier clone."""
    remote = Remote.of(shop)
    gone = remote.git(shop.repository, "rev-parse", f"draft/{shop.project}/main")
    assert gone in present_in(remote.clone(tmp_path / "before", "--bare"))
    shop.ask("DELETE", "/draft", 204)
    shop.published("/other")
    clone = remote.clone(tmp_path / "after", "--bare")
    assert gone in present_in(shop.repository)
    assert present_in(clone) == objects_of(shop.repository, "release")


def test_the_pack_of_a_clone_is_kept_for_the_next_one(shop: Place, tmp_path: Path) -> None:
    remote, folder = Remote.of(shop), shop.world.service.data / "compiled" / shop.namespace / "clones"
    remote.clone(tmp_path / "first")
    (kept,) = folder.glob("*.pack")
    made = kept.stat().st_ino, kept.stat().st_ctime_ns
    remote.clone(tmp_path / "second")
    assert [path.stat().st_ino for path in folder.glob("*.pack")] == [made[0]]
    shop.published("/since")
    clone = remote.clone(tmp_path / "third", "--bare")
    assert len(list(folder.glob("*.pack"))) == 2
    assert present_in(clone) == objects_of(shop.repository, "release")
    for number in range(5):
        shop.published(f"/more-{number}")
        remote.clone(tmp_path / f"more-{number}", "--bare")
    assert len(list(folder.glob("*.pack"))) == len(list(folder.glob("?" * 40 + ".ids"))) == 4
    assert not list(folder.glob("*.tmp"))


def test_a_damaged_kept_pack_fails_one_clone_only(shop: Place, tmp_path: Path) -> None:
    remote, folder = Remote.of(shop), shop.world.service.data / "compiled" / shop.namespace / "clones"
    remote.clone(tmp_path / "first")
    (kept,) = folder.glob("*.pack")
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    remote.refused(tmp_path, "clone", remote.url, "second")
    check_repository(remote.clone(tmp_path / "third", "--bare"))


def test_a_damaged_kept_pack_begins_no_other_one(shop: Place, tmp_path: Path) -> None:
    remote, folder = Remote.of(shop), shop.world.service.data / "compiled" / shop.namespace / "clones"
    remote.clone(tmp_path / "first")
    (kept,) = folder.glob("*.pack")
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    shop.published("/since")
    check_repository(remote.clone(tmp_path / "second", "--bare"))


def test_a_repository_that_is_lost_is_no_missing_one(place: Place, tmp_path: Path) -> None:
    place.repository.rename(tmp_path / "away")
    remote = Remote.of(place)
    assert "error: 503" in remote.refused(tmp_path, "clone", remote.url, "clone")
    (tmp_path / "away").rename(place.repository)
    remote.clone(tmp_path / "clone")
