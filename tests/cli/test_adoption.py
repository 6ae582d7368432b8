"""A folder becomes a namespace whole or not at all, with a history that tells what came in and why."""

import multiprocessing
import os
import subprocess
from pathlib import Path

import pytest

from gitstore.adoption import adopt_folder
from gitstore.directory import DataDirectory
from gitstore.errors import AlreadyExists
from gitstore.founding import Founding, build_namespace
from gitstore.namespaces import create_namespace
from gitstore.repository import Author
from gitstore.store import Store
from tests.cli.folders import flow, project, write
from tests.cli.terminal import SAMPLE

AUTHOR = Author("Robin Sample", "robin@sample.example")
LONGEST_SUBJECT = 72


def git(repository: Path, *words: str) -> str:
    """What C git says."""
    found = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=True)
    assert b"error" not in found.stderr
    return found.stdout.decode()


@pytest.fixture
def repository(adopted: Path) -> Path:
    """The repository of the sample namespace; to be read only."""
    return adopted / "repos" / "sample.git"


def test_what_is_published_is_the_folder_to_the_byte(repository: Path, workplace: Path) -> None:
    git(workplace, "clone", "-q", str(repository), "clone")
    shown = {
        path.relative_to(SAMPLE): (workplace / "clone" / path.relative_to(SAMPLE)).read_bytes()
        for path in SAMPLE.rglob("*")
        if path.is_file()
    }
    assert shown == {name: (SAMPLE / name).read_bytes() for name in shown}
    assert len(shown) == len(git(repository, "ls-tree", "-r", "--name-only", "release").splitlines())


def test_git_finds_no_fault_in_the_repository(repository: Path) -> None:
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_release_moves_once_for_what_stands_beside_and_once_for_each_project(repository: Path) -> None:
    subjects = git(repository, "log", "--first-parent", "--format=%s", "--reverse", "release").splitlines()
    assert subjects == [
        "Begin the namespace sample",
        "Name who is asked about a change",
        "Keep every editor to one style",
        "Check every change before it is merged",
        "Publish company: 13 redirects and 3 pages",
        "Publish docs: 15 redirects and 3 pages",
        "Publish shop: 67 redirects and 4 pages",
    ]


def test_a_plain_log_tells_the_story_from_its_end_to_its_beginning(repository: Path) -> None:
    told = git(repository, "log", "--format=%H", "release")
    assert told == git(repository, "log", "--topo-order", "--format=%H", "release")
    assert git(repository, "log", "--format=%s", "release").splitlines()[-1] == "Begin the namespace sample"


def test_each_file_of_rules_comes_in_a_commit_that_says_what_it_is_for(repository: Path) -> None:
    message = git(repository, "log", "-1", "--format=%B", "release", "--", "shop/redirects/campaigns.yaml")
    assert message.strip() == (
        "Add shop/redirects/campaigns.yaml: 7 redirects\n\n"
        "Addresses that stand on posters and in newsletters. They are temporary\n"
        "(302): a browser must ask again next season."
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


def test_a_project_of_many_files_does_not_flood_the_history(workplace: Path) -> None:
    files = {f"redirects/{number:03d}.yaml": flow(f"/{number}") for number in range(30)}
    project(workplace / "content" / "shop", files)
    Store(workplace / "data").adopt_folder("acme", "", workplace / "content", AUTHOR)
    subjects = git(workplace / "data/repos/acme.git", "log", "--format=%s", "release").splitlines()
    assert subjects == [
        "Publish shop: 31 redirects and no pages",
        "Add 31 redirects to shop, in 31 files",
        "Begin the project shop",
        "Begin the namespace acme",
    ]


def test_a_folder_without_a_readme_gets_one(workplace: Path) -> None:
    project(workplace / "content" / "shop", {"tests.yaml": "tests: []\n"})
    write(workplace / "content", {"LICENSE": "Take it.\n"})
    Store(workplace / "data").adopt_folder("acme", "", workplace / "content", AUTHOR)
    names = git(workplace / "data/repos/acme.git", "ls-tree", "-r", "--name-only", "release").splitlines()
    assert names == ["LICENSE", "README.md", "shop/project.yaml", "shop/redirects.yaml", "shop/tests.yaml"]


def test_while_it_is_built_there_is_no_namespace(workplace: Path) -> None:
    directory = DataDirectory(workplace / "data")
    building = build_namespace(directory, Founding("acme", "", AUTHOR))
    assert building.__enter__().repository.is_dir()
    assert directory.namespaces() == []
    assert building.__exit__(KeyError, KeyError(), None) is False
    assert [path.name for path in directory.repositories.iterdir()] == [".new.lock"]


def test_what_a_dead_process_left_aside_is_swept_by_the_next(workplace: Path) -> None:
    directory = DataDirectory(workplace / "data")
    write(directory.repositories, {".new-0123/acme.git/HEAD": "", ".new-0123/compiled/namespace": ""})
    assert directory.namespaces() == []
    create_namespace(directory, "acme", "", AUTHOR)
    assert sorted(path.name for path in directory.repositories.iterdir()) == [".new.lock", "acme.git"]


def test_names_that_differ_in_case_only_are_one_name(workplace: Path) -> None:
    directory = DataDirectory(workplace / "data")
    create_namespace(directory, "acme", "", AUTHOR)
    with pytest.raises(AlreadyExists):
        adopt_folder(directory, Founding("ACME", "", AUTHOR), SAMPLE)


def make_one(root: Path, name: str, gate: str) -> None:
    """Wait for the gate, then make a namespace; ends with 1 where the name was taken."""
    with Path(gate).open("rb"):
        pass
    try:
        create_namespace(DataDirectory(root), name, "", AUTHOR)
    except AlreadyExists:
        raise SystemExit(1) from None


def test_of_two_who_make_the_same_name_at_once_one_does(workplace: Path) -> None:
    gate = str(workplace / "gate")
    os.mkfifo(gate)
    spawn = multiprocessing.get_context("spawn")
    makers = [
        spawn.Process(target=make_one, args=(workplace / "data", name, gate)) for name in ("acme", "Acme", "ACME")
    ]
    for maker in makers:
        maker.start()
    with Path(gate).open("wb"):
        for maker in makers:
            maker.join(60)
    assert sorted(maker.exitcode or 0 for maker in makers) == [0, 1, 1]
    assert len(DataDirectory(workplace / "data").namespaces()) == 1
