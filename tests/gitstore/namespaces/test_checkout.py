"""A developer's clone gives the same problems as the repository, for any commit."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from content.records.vocabulary import Kind
from gitstore.errors import NotFound
from gitstore.namespaces.branch_checkout import read_release
from gitstore.namespaces.checkout import read_checkout
from tests.gitstore.fixtures import SHOP, SPACE, Place, git, page, put, redirect, yaml

_FILES: dict[str, list[str]] = {
    "shop/redirects.yaml": [
        "redirects: []\n",
        "redirects: [\n",
        yaml([("/a", "/b"), ("/b", "/a")]),
        yaml([("/a", "/b")]),
    ],
    "shop/redirects/x.yaml": [yaml([("/a", "/c")]), "pages: []\n"],
    "shop/pages.yaml": ["pages:\n  - {type: BASIC, path: /a, contentType: XML, file: a.xml}\n"],
    "shop/a.xml": ["<a/>", ""],
    "shop/tests.yaml": ["tests:\n  - {url: /a, status: 404}\n", "tests: {}\n"],
    "shop/project.yaml": ["project: {}\n", "project: {policy: {lint: strict}}\n", "x"],
    "shop/sub/stray.txt": ["x"],
    "docs/redirects.yaml": [yaml([("/d", "/e")])],
    "stray.txt": ["x"],
    ".github/workflows/x.yml": ["on: push\n"],
}
_commits = st.fixed_dictionaries({}, optional={path: st.sampled_from(texts) for path, texts in _FILES.items()})


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_commits)
def test_clone_and_repository_have_the_same_problems(place: Place, files: dict[str, str]) -> None:
    """Errors and warnings are equal, with file, line and column."""
    clone = place.clone()
    git(clone, "rm", "-rqf", "--ignore-unmatch", *_FILES)
    for path, text in {"shop/project.yaml": "project: {}\n", **files}.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "Anything")
    place.git("fetch", "--quiet", "--force", str(clone), "HEAD:refs/heads/judged")
    in_clone, in_repository = read_checkout(clone), read_release(place.repo, "judged")
    assert sorted(map(str, in_clone.check())) == sorted(map(str, in_repository.check()))
    assert [each.project for each in in_clone.snapshots] == [each.project for each in in_repository.snapshots]


def test_links_are_the_same_problem_in_both(place: Place) -> None:
    """A link is never followed: neither to a file nor to a folder, and neither is a dangling one."""
    clone = place.clone()
    for name, target in (("shop/file.txt", "/etc/passwd"), ("shop/pages", "/etc"), ("shop/none.txt", "/no/such/place")):
        (clone / name).symlink_to(target)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Links")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/linked")
    found = sorted(map(str, read_checkout(clone).check()))
    assert found == sorted(map(str, read_release(place.repo, "linked").check()))
    assert len(found) == 3


def test_one_project_alone_is_read_too(place: Place) -> None:
    """CI may check out a single project."""
    place.publish(put(redirect("/a")), put(page("/p")))
    snapshot = read_checkout(place.clone() / SHOP).snapshots[0]
    assert [snapshot.count(kind) for kind in Kind] == [1, 1]
    assert list(read_checkout(place.clone()).check()) == place.store.revisions.lint(SPACE, SHOP)


def test_an_invalid_namespace_folder_is_not_found(tmp_path: Path) -> None:
    """An empty folder, a file or a missing path is not found."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file", tmp_path / "none"):
        with pytest.raises(NotFound):
            read_checkout(path)
    git(tmp_path, "init", "--quiet", "--bare", "x.git")
    with pytest.raises(NotFound):
        read_release(tmp_path / "x.git", "release")
