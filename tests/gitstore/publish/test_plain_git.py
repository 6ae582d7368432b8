"""Commits that plain git puts on release on disk: served at once, numbered correctly, and harmless."""

import os
import time

import pytest

from content.records.vocabulary import Kind
from gitstore.compiled.indexes.served_record import read_served
from gitstore.directory import NamespacePaths
from gitstore.errors import Broken, Invalid, NotFound
from gitstore.git import refs
from gitstore.git.refs import Signature
from gitstore.history import live
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.publish import advance
from tests.gitstore.fixtures import MAIN, SHOP, SPACE, Place, git, put, redirect, yaml
from tests.gitstore.folders import join_window


def test_push_is_served_at_once_with_its_number(place: Place) -> None:
    """No notification is needed: the ref is read for every request."""
    assert place.items() == []
    commit = place.push({"shop/redirects.yaml": yaml([("/a", "/b")])})
    assert place.targets() == {"/a": "/b"}
    assert place.state() == (commit, 2)
    assert place.push({"README.md": "Hello\n"}) == place.tip
    assert place.state() == (commit, 2)
    assert place.publish(put(redirect("/c"))).number == 3


def test_several_commits_of_one_push_are_several_versions(place: Place) -> None:
    """Each first-parent commit that changed the folder has its number, and can be requested."""
    clone = place.clone()
    for number in range(3):
        (clone / "shop/redirects.yaml").write_text(yaml([("/a", f"/{number}")]))
        git(clone, "commit", "--quiet", "--all", "--message", f"{number}")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state() == (place.tip, 4)
    assert join_window(place.store.releases.read(SPACE, SHOP, "3")[1].listings[Kind.REDIRECTS]).count(b'"/1"') == 1


def test_project_is_created_and_removed_by_plain_git(place: Place) -> None:
    """A folder is a project."""
    place.push({"docs/project.yaml": "project: {title: Docs}\n", "docs/redirects.yaml": yaml([("/a", "/b")])})
    assert place.state("docs")[1] == 1
    assert place.store.releases.project(SPACE, "docs").release.settings.title == "Docs"
    place.push({"docs/project.yaml": None, "docs/redirects.yaml": None})
    with pytest.raises(NotFound):
        place.store.releases.project(SPACE, "docs")
    place.push({"docs/project.yaml": "project: {}\n"})
    assert place.state("docs")[1] == 3


@pytest.mark.parametrize(
    "files",
    [
        {"shop/redirects.yaml": "redirects: [\n"},
        {"shop/redirects.yaml": b"\xff\xfe"},
        {"shop/redirects.yaml": yaml([("/a", "/b"), ("/a", "/c")])},
        {"shop/redirects.yaml": yaml([("/a", "/b"), ("/b", "/a")])},
        {"shop/project.yaml": None},
        {"shop/strange.bin": b"\0"},
        {"shop/caf\\é.txt": "x"},
        {"shop/tests.yaml": "tests:\n  - {url: /none, status: 301}\n"},
        {"shop/pages.yaml": "pages:\n  - {type: BASIC, path: /a, contentType: XML, file: ../../README.md}\n"},
    ],
)
def test_invalid_push_keeps_the_last_good_version_while_other_projects_go_on(
    place: Place, files: dict[str, str | bytes | None]
) -> None:
    """The store reports the problem. Once it is fixed, the next version is served, and the bad one has its number."""
    place.begin("docs")
    good = place.publish(put(redirect("/good")))
    bad = place.push(files)
    place.push({"docs/redirects.yaml": yaml([("/d", "/e")])})
    for seen in (place, place.fresh()):
        assert seen.targets() == {"/good": "/new"}
        assert seen.state() == (good.version, 2)
        assert seen.targets("docs") == {"/d": "/e"}
        assert len(seen.store.releases.failures()) == 1
        assert "publish 3 of shop" in seen.store.releases.failures()[0]
        assert seen.store.publishes.version(SPACE, SHOP, bad).number == 3
    _fix(place, good.version)
    assert place.state() == (place.tip, 4)
    assert place.targets() == {"/good": "/new"}
    assert place.store.releases.failures() == []


def _fix(place: Place, version: str) -> None:
    clone = place.clone()
    git(clone, "rm", "-rq", "shop")
    git(clone, "checkout", "--quiet", version, "--", "shop")
    git(clone, "commit", "--quiet", "--message", "Fix")
    git(clone, "push", "--quiet", "origin", "release")


def test_project_that_was_never_valid_cannot_be_served_and_is_reported(place: Place) -> None:
    """The project exists, so it is Broken: neither an empty list nor not found. The other one is not affected."""
    place.push({"bad/redirects.yaml": "redirects: [\n"})
    with pytest.raises(Broken, match="publish 1 of bad"):
        place.store.releases.project(SPACE, "bad")
    assert place.state()[1] == 1
    place.push({"bad/redirects.yaml": yaml([("/a", "/b")]), "bad/project.yaml": "project: {}\n"})
    assert place.state("bad")[1] == 2


def test_publish_on_top_of_an_invalid_release_checks_everything(place: Place) -> None:
    """Problems from before the draft still stop it; a draft that fixes them is published."""
    place.push({"shop/redirects.yaml": yaml([("/a", "/b"), ("/b", "/a")])})
    with pytest.raises(Invalid):
        place.publish(put(redirect("/c")))
    place.publish(put(redirect("/b", "/end")))
    assert place.targets() == {"/a": "/b", "/b": "/end", "/c": "/new"}
    assert place.store.releases.failures() == []


def test_submodule_link_and_odd_modes_are_refused_without_breaking_anything(place: Place) -> None:
    """Each is one problem of the project, for any target."""
    clone = place.clone()
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},shop/redirects/sub.yaml")
    git(clone, "commit", "--quiet", "--message", "Submodule")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state()[1] == 1
    assert "not_a_file" in place.store.releases.failures()[0]
    git(clone, "rm", "--quiet", "--cached", "shop/redirects/sub.yaml")
    (clone / "shop/link.txt").symlink_to("/etc/passwd")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Link")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state()[1] == 1
    assert "shop/link.txt" in place.store.releases.failures()[0]
    place.fsck()


def test_draft_pushed_by_plain_git_is_edited_and_published(place: Place) -> None:
    """A draft is a branch; comments of people survive API edits of the rules next to them."""
    place.push(
        {"shop/redirects.yaml": "redirects:\n  # mine\n" + yaml([("/a", "/b")]).partition("\n")[2]},
        to="draft/shop/main",
    )
    assert place.store.drafts.names(SPACE, SHOP) == ["main"]
    place.save(put(redirect("/c")))
    assert "  # mine\n" in place.file("shop/redirects.yaml", MAIN.ref)
    place.publish()
    assert place.targets() == {"/a": "/b", "/c": "/new"}
    assert git(place.clone(), "branch", "-r").split() == ["origin/HEAD", "->", "origin/release", "origin/release"]


def test_two_moves_within_one_tick_of_the_clock_are_distinguished(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: a signature younger than a tick is not trusted. With the same inode and time, a move would not be seen."""
    still = Signature((1, time.time_ns(), 1), None)
    monkeypatch.setattr(refs, "signature", lambda *_: still)
    monkeypatch.setattr(live, "_CLOCK_STEP", 10**12)
    place.publish(put(redirect("/a")))
    assert place.targets() == {"/a": "/new"}
    place.publish(put(redirect("/b")))
    assert set(place.targets()) == {"/a", "/b"}


def test_signature_that_is_old_is_trusted(place: Place) -> None:
    """On the hot path, once a tick has passed, a check costs two `stat` calls."""
    ref = place.repo / "refs/heads/release"
    os.utime(ref, (1, 1))
    assert place.targets() == {}
    assert place.store.live.peek(SPACE) is place.store.releases.namespace(SPACE)


def test_an_invalid_push_is_marked_in_the_history(place: Place) -> None:
    """A user cannot roll back to an unserved version by mistake."""
    place.publish(put(redirect("/a")))
    place.push({"shop/redirects.yaml": "redirects:\n  - {sorce: /x}\n"})
    assert place.state()[1] == 2
    place.push({"shop/redirects.yaml": yaml([("/b", "/c")])})
    found, _ = place.store.publishes.history(SPACE, SHOP, 0, 10)
    assert [(publish.number, publish.served) for publish in found] == [(4, True), (3, False), (2, True), (1, True)]


def _commit(place: Place, tree: str, *lines: str) -> None:
    """Put a commit of these header lines on release, as plain git without checks would."""
    head = "\n".join((f"tree {tree}", f"parent {place.tip}", *lines))
    commit = place.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=f"{head}\n\nm\n".encode())
    place.git("update-ref", RELEASE_REF, commit)


def test_a_commit_without_a_time_is_served_like_any_other(place: Place) -> None:
    """Times are for display; a missing or extreme time cannot stop the namespace."""
    place.publish(put(redirect("/a")))
    tree = place.git("rev-parse", "release~1^{tree}")
    _commit(place, tree, "author a 1700000000 +0000", "committer a 1700000000 +0000")
    assert place.state()[1] == 3
    _commit(
        place,
        place.git("rev-parse", "release~1^{tree}"),
        "author A <a@b> 1 +0000",
        "committer A <a@b> 99999999999999 +0000",
    )
    assert place.state()[1] == 4
    assert place.publish(put(redirect("/b"))).number == 5
    assert place.store.publishes.history(SPACE, SHOP, 0, 10)[1] == 5


def test_folders_without_end_leave_what_is_served(place: Place) -> None:
    """An endless walk would stop every project of the namespace."""
    place.publish(put(redirect("/a")))
    inner = place.git("rev-parse", "release:shop")
    for _ in range(1500):
        inner = place.git("mktree", data=f"040000 tree {inner}\tx\n".encode())
    names = place.git("ls-tree", "release:shop")
    shop = place.git("mktree", data=f"{names}\n040000 tree {inner}\tredirects\n".encode())
    root = place.git("ls-tree", "release").replace(place.git("rev-parse", "release:shop"), shop)
    tree = place.git("mktree", data=f"{root}\n".encode())
    _commit(place, tree, "author A <a@b> 1 +0000", "committer A <a@b> 1 +0000")
    assert place.state()[1] == 2
    assert "deep" in " ".join(place.store.releases.failures())
    place.fresh().store.publishes.history(SPACE, SHOP, 0, 10)


def test_a_push_that_is_served_while_a_draft_is_published_is_no_rewind(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The publish had read release before the push, and the commit that was served last after it."""
    pushed = list[str]()

    def read_after_a_push(paths: NamespacePaths) -> CommitId | None:
        if not pushed:
            pushed.append(place.push({"other/project.yaml": "project: {}\n"}))
            assert place.fresh().store.releases.project(SPACE, "other")
        return read_served(paths)

    monkeypatch.setattr(advance, "read_served", read_after_a_push)
    place.publish(put(redirect("/a")))
    assert set(place.targets()) == {"/a"}
    assert place.git("merge-base", "--is-ancestor", pushed[0], "release") == ""
