"""`waypost doctor` on hooks: it names one that is missing, changed or cannot run, and `--fix` writes it again."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from api.settings import Settings
from gitstore.care.findings import REMOVED
from gitstore.git import push_hook
from gitstore.git.push_hook import HOOK, PushHook, apply_hook, is_own, render_hook
from gitstore.pushes.push_notes import push_notes
from tests.cli.terminal import invoke, invoke_ok
from tests.e2e.git import git

FAULTS: dict[str, Callable[[Path], object]] = {
    "hook_missing": lambda hook: hook.unlink(),
    "hook_changed": lambda hook: hook.write_text(hook.read_text() + "# mine\n"),
    "hook_not_executable": lambda hook: hook.chmod(0o644),
    "hook_cannot_run": lambda hook: apply_hook(hook.parents[1], PushHook("/nowhere/python", hook.parents[3])),
}


def codes(*words: str) -> set[str]:
    found = invoke("doctor", "--json", *words).json["findings"]
    return {each["code"] for each in found if each["severity"] != "note" and not each["fixed"]}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_named_and_fixed(data: Path, code: str) -> None:
    hook = data / "repos/sample.git" / HOOK
    FAULTS[code](hook)
    assert codes() == {code}
    outcome = invoke_ok("doctor", "--fix")
    assert f"warning: sample: hooks/pre-receive: {code}" in outcome.out
    assert "Fixed: Wrote the hook." in outcome.out
    expected = Settings(data=data).push_hook
    assert expected
    assert hook.read_bytes() == render_hook(expected)
    assert hook.stat().st_mode & 0o777 == 0o755
    assert codes() == set()


def test_a_hook_of_another_is_moved_and_not_erased(data: Path) -> None:
    hook = data / "repos/sample.git" / HOOK
    hook.write_text("#!/bin/sh\n# mine\n")
    assert codes() == {"hook_changed"}
    invoke_ok("doctor", "--fix")
    (kept,) = (data / REMOVED).rglob("pre-receive")
    assert kept.read_text() == "#!/bin/sh\n# mine\n"


def test_a_hook_of_another_version_is_named(data: Path) -> None:
    hook = data / "repos/sample.git" / HOOK
    body = render_hook(PushHook(sys.executable, data)).split(b"\n", 2)[2]
    text = push_hook._with_digest(body.replace(b"is missing,", b"is gone,"))
    assert is_own(text)
    hook.write_bytes(text)
    assert "Another version of Waypost wrote the hook." in invoke("doctor").out
    assert codes() == {"hook_changed"}


def test_a_program_that_a_hook_names_is_not_run(data: Path, tmp_path: Path) -> None:
    """A user who may write to a repository could have the doctor run it, as another user."""
    program, ran = tmp_path / "python", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n", encoding="utf-8")
    program.chmod(0o755)
    apply_hook(data / "repos/sample.git", PushHook(str(program), data))
    invoke("doctor")
    assert not ran.exists()


def test_another_folder_of_hooks_is_named(data: Path) -> None:
    repository = data / "repos/sample.git"
    git(repository, "config", "core.hooksPath", "hooks")
    assert codes() == set()
    git(repository, "config", "core.hooksPath", "/etc/hooks")
    outcome = invoke("doctor", "sample")
    assert "hook_bypassed" in outcome.out
    assert "core.hooksPath = /etc/hooks" in outcome.out
    git(repository, "config", "--unset", "core.hooksPath")
    assert codes() == set()


def test_without_hooks_none_is_missed(data: Path) -> None:
    (data / "repos/sample.git" / HOOK).unlink()
    assert codes() == {"hook_missing"}
    assert codes("--push-hooks=false") == set()


def test_folders_of_notes_without_room_or_with_other_files_are_named(data: Path) -> None:
    repository = data / "repos/sample.git"
    assert push_notes(repository).write(b"{}") == ""
    assert codes() == set()
    folder = repository / "waypost-pushes"
    folder.joinpath("junk").touch()
    for number in range(1_000):
        folder.joinpath(f"{number:020}-{'a' * 16}").touch()
    outcome = invoke("doctor")
    assert codes() == {"notes_full", "notes_foreign"}
    assert "warning: sample: waypost-pushes: notes_full" in outcome.out
    assert "such as 'junk'" in outcome.out
