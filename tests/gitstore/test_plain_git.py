"""Commits that plain git puts on release on disk: served at once, numbered rightly, and never able to break what is served."""

import os
import time

import pytest

from content.vocabulary import Kind
from gitstore import live, refs
from gitstore.errors import Broken, Invalid, NotFound
from gitstore.layout import RELEASE_REF
from gitstore.refs import Signature
from tests.gitstore.places import MAIN, SHOP, SPACE, Place, git, put, redirect, yaml


def test_push_is_served_at_once_with_its_number(place: Place) -> None:
    """No notice is needed: the ref is looked at for every request."""
    assert place.items() == []
    commit = place.push({"shop/redirects.yaml": yaml([("/a", "/b")])})
    assert place.targets() == {"/a": "/b"}
    assert place.state() == (commit, 2)
    assert place.push({"README.md": "Hello\n"}) == place.tip
    assert place.state() == (commit, 2)
    assert place.publish(put(redirect("/c"))).number == 3


def test_several_commits_of_one_push_are_several_versions(place: Place) -> None:
    """Each first-parent commit that changed the folder has its number, and can be asked for."""
    clone = place.clone()
    for number in range(3):
        (clone / "shop/redirects.yaml").write_text(yaml([("/a", f"/{number}")]))
        git(clone, "commit", "--quiet", "--all", "--message", f"{number}")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state() == (place.tip, 4)
    assert bytes(place.store.release(SPACE, SHOP, "3")[1].listings[Kind.REDIRECTS].items).count(b'"/1"') == 1


def test_project_is_made_and_removed_by_plain_git(place: Place) -> None:
    """A folder is a project."""
    place.push({"docs/project.yaml": "project: {title: Docs}\n", "docs/redirects.yaml": yaml([("/a", "/b")])})
    assert place.state("docs")[1] == 1
    assert place.store.project(SPACE, "docs").release.settings.title == "Docs"
    place.push({"docs/project.yaml": None, "docs/redirects.yaml": None})
    with pytest.raises(NotFound):
        place.store.project(SPACE, "docs")
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
    """And the store says why. Mended, the next version is served, and the bad one has its number."""
    place.begin("docs")
    good = place.publish(put(redirect("/good")))
    bad = place.push(files)
    place.push({"docs/redirects.yaml": yaml([("/d", "/e")])})
    for seen in (place, place.fresh()):
        assert seen.targets() == {"/good": "/new"}
        assert seen.state() == (good.version, 2)
        assert seen.targets("docs") == {"/d": "/e"}
        assert len(seen.store.failures()) == 1
        assert "publish 3 of shop" in seen.store.failures()[0]
        assert seen.store.version(SPACE, SHOP, bad).number == 3
    _mend(place, good.version)
    assert place.state() == (place.tip, 4)
    assert place.targets() == {"/good": "/new"}
    assert place.store.failures() == []


def _mend(place: Place, version: str) -> None:
    clone = place.clone()
    git(clone, "rm", "-rq", "shop")
    git(clone, "checkout", "--quiet", version, "--", "shop")
    git(clone, "commit", "--quiet", "--message", "Mend")
    git(clone, "push", "--quiet", "origin", "release")


def test_project_that_was_never_right_cannot_be_served_and_says_so(place: Place) -> None:
    """Broken, for it is there: never an empty list, never not found; the other project does not notice."""
    place.push({"bad/redirects.yaml": "redirects: [\n"})
    with pytest.raises(Broken, match="publish 1 of bad"):
        place.store.project(SPACE, "bad")
    assert place.state()[1] == 1
    place.push({"bad/redirects.yaml": yaml([("/a", "/b")]), "bad/project.yaml": "project: {}\n"})
    assert place.state("bad")[1] == 2


def test_publish_on_top_of_an_invalid_release_checks_everything(place: Place) -> None:
    """What was wrong before the draft still stops it; a draft that mends it goes through."""
    place.push({"shop/redirects.yaml": yaml([("/a", "/b"), ("/b", "/a")])})
    with pytest.raises(Invalid):
        place.publish(put(redirect("/c")))
    place.publish(put(redirect("/b", "/end")))
    assert place.targets() == {"/a": "/b", "/b": "/end", "/c": "/new"}
    assert place.store.failures() == []


def test_submodule_link_and_odd_modes_are_refused_without_breaking_anything(place: Place) -> None:
    """Each is one problem of the project, whatever it names."""
    clone = place.clone()
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},shop/redirects/sub.yaml")
    git(clone, "commit", "--quiet", "--message", "Submodule")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state()[1] == 1
    assert "not_a_file" in place.store.failures()[0]
    git(clone, "rm", "--quiet", "--cached", "shop/redirects/sub.yaml")
    (clone / "shop/link.txt").symlink_to("/etc/passwd")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Link")
    git(clone, "push", "--quiet", "origin", "release")
    assert place.state()[1] == 1
    assert "shop/link.txt" in place.store.failures()[0]
    place.fsck()


def test_draft_pushed_by_plain_git_is_edited_and_published(place: Place) -> None:
    """A draft is a branch; comments of people survive what the API does to their neighbours."""
    place.push(
        {"shop/redirects.yaml": "redirects:\n  # mine\n" + yaml([("/a", "/b")]).partition("\n")[2]},
        to="draft/shop/main",
    )
    assert place.store.drafts(SPACE, SHOP) == ["main"]
    place.save(put(redirect("/c")))
    assert "  # mine\n" in place.file("shop/redirects.yaml", MAIN.ref)
    place.publish()
    assert place.targets() == {"/a": "/b", "/c": "/new"}
    assert git(place.clone(), "branch", "-r").split() == ["origin/HEAD", "->", "origin/release", "origin/release"]


def test_two_moves_within_one_tick_of_the_clock_are_told_apart(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a signature as young as a tick is not trusted. With the same inode and time, a move would go unseen."""
    still = Signature((1, time.time_ns(), 1), None)
    monkeypatch.setattr(refs, "signature", lambda *_: still)
    monkeypatch.setattr(live, "_CLOCK_STEP", 10**12)
    place.publish(put(redirect("/a")))
    assert place.targets() == {"/a": "/new"}
    place.publish(put(redirect("/b")))
    assert set(place.targets()) == {"/a", "/b"}


def test_signature_that_is_old_is_trusted(place: Place) -> None:
    """The hot path: once a tick has passed, a look costs two `stat` calls."""
    ref = place.repo / "refs/heads/release"
    os.utime(ref, (1, 1))
    assert place.targets() == {}
    assert place.store.live.peek(SPACE) is place.store.served(SPACE)


def test_a_push_that_is_wrong_is_told_apart_in_the_history(place: Place) -> None:
    """Nobody rolls back to what was never served by mistake."""
    place.publish(put(redirect("/a")))
    place.push({"shop/redirects.yaml": "redirects:\n  - {sorce: /x}\n"})
    assert place.state()[1] == 2
    place.push({"shop/redirects.yaml": yaml([("/b", "/c")])})
    found, _ = place.store.history(SPACE, SHOP, 0, 10)
    assert [(publish.number, publish.served) for publish in found] == [(4, True), (3, False), (2, True), (1, True)]


def _commit(place: Place, tree: str, *lines: str) -> None:
    """Put a commit of these header lines on release as a plain git would that checks nothing."""
    head = "\n".join((f"tree {tree}", f"parent {place.tip}", *lines))
    commit = place.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=f"{head}\n\nm\n".encode())
    place.git("update-ref", RELEASE_REF, commit)


def test_a_commit_without_a_time_is_served_like_any_other(place: Place) -> None:
    """Times are for display; one that is missing or far away must not stop the namespace."""
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
    assert place.store.history(SPACE, SHOP, 0, 10)[1] == 5


def test_folders_without_end_leave_what_is_served(place: Place) -> None:
    """A walk that went on for ever would stop every project of the namespace."""
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
    assert "deep" in " ".join(place.store.failures())
    place.fresh().store.history(SPACE, SHOP, 0, 10)
