"""The import of a folder as a namespace: complete or not at all, with a history that shows each file and its reason."""

import os
import subprocess
from pathlib import Path

import pytest

from gitstore.directory import DataDirectory
from gitstore.errors import AlreadyExists
from gitstore.git.repository import Author
from gitstore.namespaces.creation import NamespaceCreation, build_namespace
from gitstore.namespaces.folder_import import adopt_folder
from gitstore.namespaces.namespaces import create_namespace
from gitstore.store.store import create_store
from tests.cli.rule_folders import flow, project, write
from tests.cli.terminal import SAMPLE
from tests.processes import FORKED

AUTHOR = Author("Robin Sample", "robin@sample.example")
LONGEST_SUBJECT = 72


def git(repository: Path, *words: str) -> str:
    """Return the output of C git."""
    found = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=True)
    assert b"error" not in found.stderr
    return found.stdout.decode()


@pytest.fixture
def repository(adopted: Path) -> Path:
    """Return the repository of the sample namespace, for reading only."""
    return adopted / "repos" / "sample.git"


def test_what_is_published_is_the_folder_to_the_byte(repository: Path, work_folder: Path) -> None:
    git(work_folder, "clone", "-q", str(repository), "clone")
    shown = {
        path.relative_to(SAMPLE): (work_folder / "clone" / path.relative_to(SAMPLE)).read_bytes()
        for path in SAMPLE.rglob("*")
        if path.is_file()
    }
    assert shown == {name: (SAMPLE / name).read_bytes() for name in shown}
    assert len(shown) == len(git(repository, "ls-tree", "-r", "--name-only", "release").splitlines())


def test_git_finds_no_fault_in_the_repository(repository: Path) -> None:
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_release_moves_once_for_the_other_files_and_once_for_each_project(repository: Path) -> None:
    subjects = git(repository, "log", "--first-parent", "--format=%s", "--reverse", "release").splitlines()
    assert subjects == [
        "Create the namespace sample",
        "Add the code owners",
        "Add the editor settings",
        "Add the CI checks",
        "Publish company: 13 redirects and 3 pages",
        "Publish docs: 15 redirects and 3 pages",
        "Publish shop: 67 redirects and 4 pages",
    ]


def test_a_plain_log_shows_the_import_newest_first(repository: Path) -> None:
    reported = git(repository, "log", "--format=%H", "release")
    assert reported == git(repository, "log", "--topo-order", "--format=%H", "release")
    assert git(repository, "log", "--format=%s", "release").splitlines()[-1] == "Create the namespace sample"


def test_each_file_of_rules_comes_in_a_commit_that_says_what_it_is_for(repository: Path) -> None:
    message = git(repository, "log", "-1", "--format=%B", "release", "--", "shop/redirects/campaigns.yaml")
    assert message.strip() == (
        "Add shop/redirects/campaigns.yaml: 7 redirects\n\n"
        "Addresses from posters and newsletters. They are temporary (302):\n"
        "browsers must request them again next season."
    )
    assert git(repository, "log", "-1", "--format=%s", "release", "--", "shop/sitemap.xml").strip() == (
        "Add shop/pages.yaml: 4 pages"
    )


def test_messages_fit_a_terminal_and_name_who_did_it(repository: Path) -> None:
    for message in git(repository, "log", "-z", "--format=%B", "release").strip("\0").split("\0"):
        subject, *body = message.splitlines()
        assert len(subject) <= LONGEST_SUBJECT
        assert all(len(line) <= LONGEST_SUBJECT for line in body), message
        assert body[:1] in ([], [""])
    assert set(git(repository, "log", "--format=%an <%ae> %cn", "release").splitlines()) == {
        "Robin Sample <robin@sample.example> Waypost"
    }
    assert "Published-by: Robin Sample <robin@sample.example>" in git(repository, "log", "-1", "--format=%B", "release")


def test_a_project_of_many_files_does_not_flood_the_history(work_folder: Path) -> None:
    files = {f"redirects/{number:03d}.yaml": flow(f"/{number}") for number in range(30)}
    project(work_folder / "content" / "shop", files)
    create_store(work_folder / "data").namespaces.import_folder("acme", "", work_folder / "content", AUTHOR)
    subjects = git(work_folder / "data/repos/acme.git", "log", "--format=%s", "release").splitlines()
    assert subjects == [
        "Publish shop: 31 redirects and no pages",
        "Add 31 redirects to shop, in 31 files",
        "Create the project shop",
        "Create the namespace acme",
    ]


def test_a_folder_without_a_readme_gets_one(work_folder: Path) -> None:
    project(work_folder / "content" / "shop", {"tests.yaml": "tests: []\n"})
    write(work_folder / "content", {"LICENSE": "Take it.\n"})
    create_store(work_folder / "data").namespaces.import_folder("acme", "", work_folder / "content", AUTHOR)
    names = git(work_folder / "data/repos/acme.git", "ls-tree", "-r", "--name-only", "release").splitlines()
    assert names == ["LICENSE", "README.md", "shop/project.yaml", "shop/redirects.yaml", "shop/tests.yaml"]


def created(root: Path) -> DataDirectory:
    """Return a data directory with its folders."""
    directory = DataDirectory(root)
    directory.create()
    return directory


def test_while_it_is_built_there_is_no_namespace(work_folder: Path) -> None:
    directory = created(work_folder / "data")
    building = build_namespace(directory, NamespaceCreation("acme", "", AUTHOR))
    assert building.__enter__().paths.repository.is_dir()
    assert directory.namespaces() == []
    assert building.__exit__(KeyError, KeyError(), None) is False
    assert {path.name for path in directory.repositories.iterdir()} == {".identity", ".new.lock"}


def test_remains_of_a_dead_process_are_removed_by_the_next(work_folder: Path) -> None:
    directory = created(work_folder / "data")
    write(directory.repositories, {".new-0123/acme.git/HEAD": "", ".new-0123/compiled/namespace": ""})
    assert directory.namespaces() == []
    create_namespace(directory, NamespaceCreation("acme", "", AUTHOR))
    names = sorted(path.name for path in directory.repositories.iterdir())
    assert names == [".identity", ".names.lock", ".new.lock", "acme.git"]


def test_names_that_differ_in_case_only_are_one_name(work_folder: Path) -> None:
    directory = created(work_folder / "data")
    create_namespace(directory, NamespaceCreation("acme", "", AUTHOR))
    with pytest.raises(AlreadyExists):
        adopt_folder(directory, NamespaceCreation("ACME", "", AUTHOR), SAMPLE)


def make_one(root: Path, name: str, gate: str) -> None:
    """Wait for the gate, then create a namespace; exit with 1 if the name was taken."""
    with Path(gate).open("rb"):
        pass
    try:
        create_namespace(DataDirectory(root), NamespaceCreation(name, "", AUTHOR))
    except AlreadyExists:
        raise SystemExit(1) from None


def test_of_two_who_make_the_same_name_at_once_one_does(work_folder: Path) -> None:
    gate = str(work_folder / "gate")
    os.mkfifo(gate)
    makers = [
        FORKED.Process(target=make_one, args=(work_folder / "data", name, gate)) for name in ("acme", "Acme", "ACME")
    ]
    for maker in makers:
        maker.start()
    with Path(gate).open("wb"):
        for maker in makers:
            maker.join(60)
    assert sorted(maker.exitcode or 0 for maker in makers) == [0, 1, 1]
    assert len(DataDirectory(work_folder / "data").namespaces()) == 1
