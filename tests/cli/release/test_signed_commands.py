"""Each command that commits on release signs, and does nothing where it has not the key of the service."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitstore.store.store import Store
from tests.cli.terminal import SAMPLE, invoke, invoke_ok
from tests.e2e.git import git
from tests.ssh_keys import SERVICE, Key, KeyMaker, require_signed, verify_commit

SPACE, PROJECT = "acme", "shop"
KEY = "WAYPOST_SIGNING_KEY"
ROWS = "type\tsource\ttarget\tstatus\nBASIC\t/imported\t/new\t301\n"
FIRST_ARCHIVE = "first-archive"
WORDS = "The service signs its commits on release, and no key is set here; nothing changed. Set WAYPOST_SIGNING_KEY"


@pytest.fixture
def key(data: Path, ssh_keygen: KeyMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Key:
    """Return the key of the service, which is set, with a signed namespace."""
    found: Key = ssh_keygen(tmp_path, SERVICE)
    monkeypatch.setenv(KEY, str(found.path))
    invoke_ok("namespace", "create", SPACE, "--from", SAMPLE)
    assert repository(data).is_dir()
    (tmp_path / "signers").write_text(found.line(), "utf-8")
    (tmp_path / "rows.tsv").write_text(ROWS, "utf-8")
    return found


def repository(data: Path, name: str = SPACE) -> Path:
    return Store(data).directory.namespace(name).repository


def release(data: Path, name: str = SPACE) -> str:
    return git(repository(data, name), "rev-parse", "release").strip() if repository(data, name).exists() else ""


def edit(source: str) -> str:
    invoke_ok("edit", "put", SPACE, PROJECT, "--source", source, "--target", "/new", "--status", "301")
    return source


def propose() -> None:
    edit("/proposed")
    invoke_ok("proposal", "create", SPACE, PROJECT, "mine")


def rewind(data: Path) -> None:
    """Serve the newest publish, then move release back by two."""
    invoke_ok("log", SPACE, PROJECT)
    git(repository(data), "update-ref", "refs/heads/release", "release~2")


def archive_after_more_publishes(data: Path) -> None:
    """Leave an archive whose project has a lower number than a later namespace of its name."""
    invoke_ok("namespace", "delete", SPACE, "--yes")
    (first,) = invoke_ok("namespace", "archived", SPACE, "--json").json
    data.with_name(FIRST_ARCHIVE).write_text(first["id"], "utf-8")
    invoke_ok("namespace", "create", SPACE, "--from", SAMPLE)
    edit("/later")
    invoke_ok("publish", SPACE, PROJECT)
    invoke_ok("namespace", "delete", SPACE, "--yes")


def first_archive(here: Path) -> str:
    """Return the first of two archives, whose times may be the same second."""
    return (here / "work" / FIRST_ARCHIVE).read_text("utf-8")


# What comes before each command, and the command.
WRITERS: dict[str, tuple[Callable[[Path], object], Callable[[Path], tuple[object, ...]]]] = {
    "namespace create": (lambda _: None, lambda _: ("namespace", "create", "other", "--from", SAMPLE)),
    "publish": (lambda _: edit("/a"), lambda _: ("publish", SPACE, PROJECT)),
    "rollback": (lambda _: None, lambda _: ("rollback", SPACE, PROJECT, "1")),
    "import": (lambda _: None, lambda here: ("import", SPACE, PROJECT, here / "rows.tsv", "--publish")),
    "proposal merge": (lambda _: propose(), lambda _: ("proposal", "merge", SPACE, "mine")),
    "accept-rewind": (rewind, lambda _: ("namespace", "accept-rewind", SPACE, "--yes")),
    "namespace restore": (
        archive_after_more_publishes,
        lambda here: ("namespace", "restore", SPACE, "--archive", first_archive(here)),
    ),
}


def test_every_command_that_publishes_signs_or_does_nothing(
    key: Key, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (prepare, words) in WRITERS.items():
        prepare(data)
        command, place = words(tmp_path), "other" if name == "namespace create" else SPACE
        before = release(data, place)
        monkeypatch.delenv(KEY)
        refused = invoke(*command)
        assert (refused.code, refused.out) == (3, ""), name
        assert WORDS in refused.err, name
        assert release(data, place) == before, name

        monkeypatch.setenv(KEY, str(key.path))
        invoke_ok(*command)
        assert release(data, place) != before, name
        for commit in git(repository(data, place), "rev-list", "release").split():
            require_signed(repository(data, place), commit, tmp_path / "signers", key)


@pytest.mark.usefixtures("key")
def test_the_operator_can_go_on_without_the_key(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit("/a")
    monkeypatch.setenv(KEY, os.devnull)
    invoke_ok("publish", SPACE, PROJECT)
    assert verify_commit(repository(data), "release", tmp_path / "signers").returncode != 0
    monkeypatch.delenv(KEY)  # the service signs no more
    edit("/b")
    invoke_ok("publish", SPACE, PROJECT)


@pytest.mark.usefixtures("key")
def test_a_push_on_top_does_not_hide_that_the_service_signs(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit("/a")
    invoke_ok("publish", SPACE, PROJECT)
    here = repository(data)
    tree, tip = git(here, "rev-parse", "release^{tree}").strip(), release(data)
    names = ("-c", "user.name=Kim", "-c", "user.email=kim@acme.example")
    pushed = git(here, *names, "commit-tree", tree, "-p", tip, "-m", "By a person").strip()
    git(here, "update-ref", "refs/heads/release", pushed)
    monkeypatch.delenv(KEY)
    assert WORDS in invoke("rollback", SPACE, PROJECT, "1").err
