"""Pushes by path and SSH: Git's hook has them checked before they land, and one that cannot run refuses them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from api.auth.tokens.api_token import mint
from api.settings import Settings
from gitstore.git.push_hook import PushHook, apply_hook
from gitstore.store.store import Store
from tests.cli.plain_pushes import ADA, BAD, SPACE, Hooked
from tests.e2e.git import Clone, git, rules
from tests.service import wait_until

PATIENCE = 60.0
CANNOT = "This push cannot be checked"
ACTION = "Push over HTTP, or ask the operator to start the service again or to run: waypost doctor --fix"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a namespace, not to be changed."""
    return Hooked.of(tmp_path_factory.mktemp("hooked") / "data").data.parent


@pytest.fixture
def hooked(template: Path, tmp_path: Path) -> Hooked:
    """Copy the namespace for the test."""
    folder = tmp_path / "hooked"
    shutil.copytree(template, folder, symlinks=True)
    found = Hooked(folder / "data", Clone(folder / "clone"))
    git(folder / "clone", "remote", "set-url", "origin", str(found.repository))
    apply_hook(found.repository, Settings(data=found.data).push_hook)
    return found


def test_an_accepted_push_prints_the_publish(hooked: Hooked) -> None:
    commit = hooked.commit(rules("/a"))
    words = hooked.accepted()
    assert "remote: Publish 2 of shop: 1 redirect added." in words
    assert f"remote:   version {commit}" in words
    assert "remote:   + redirect /a" in words
    assert hooked.release == commit
    served = Store(hooked.data).releases.project(SPACE, "shop").entry
    assert (served.version, served.number) == (commit, 2)


def test_a_refused_push_prints_each_problem_and_leaves_nothing(hooked: Hooked) -> None:
    hooked.commit(BAD)
    words = hooked.refused()
    assert 'remote: shop/redirects.yaml:6:5: duplicate_source: "/a" is already at shop/redirects.yaml:2' in words
    assert "remote: 1 problem in commit " in words
    assert "git commit --amend" in words


def test_at_most_50_problems_are_printed(hooked: Hooked) -> None:
    hooked.commit(rules(*["/a"] * 71))
    words = hooked.refused()
    assert words.count("duplicate_source") == 50
    assert "remote: … and 20 more" in words


def test_all_refs_move_or_none(hooked: Hooked) -> None:
    hooked.commit(rules("/a"))
    git(hooked.clone.folder, "branch", "good")
    hooked.commit(BAD)
    words = hooked.refused("HEAD:release", "good:refs/heads/good")
    assert "duplicate_source" in words
    assert "Nothing of this push was accepted, also none of its other refs." in words
    assert "Proposal" not in words
    assert "remote: Proposal" in hooked.accepted("good:refs/heads/good")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([":release"], "Release cannot be deleted"),
        (["-f", "HEAD~1:release"], "These commits do not continue from release"),
        (["HEAD:refs/heads/draft/shop"], "is not a draft"),
        (["HEAD:refs/notes/waypost"], "is neither a branch nor a tag"),
    ],
)
def test_refs_follow_the_rules_of_pushes_over_http(hooked: Hooked, words: list[str], expected: str) -> None:
    assert expected in hooked.refused(*words)


def test_branches_and_tags_come_and_go_without_new_objects(hooked: Hooked) -> None:
    assert "remote: Proposal" in hooked.accepted("HEAD:refs/heads/idea", "HEAD:refs/tags/one")
    hooked.accepted(":refs/heads/idea", ":refs/tags/one")


def test_files_that_nothing_reads_are_refused(hooked: Hooked) -> None:
    hooked.commit("#!/bin/sh\n", "shop/hooks/pre-receive")
    assert "unknown_file" in hooked.refused()


def test_files_that_a_setting_allows_are_accepted(tmp_path: Path) -> None:
    hooked = Hooked.of(tmp_path / "data", allowed_files=("notes.txt",), public_url="https://waypost.example")
    hooked.commit("hello\n", "notes.txt")
    assert "https://waypost.example/dashboard/proposal/acme/" in hooked.accepted("HEAD:idea")
    assert "No project changes; no version was made." in hooked.accepted()
    hooked.commit("hello\n", "other.txt")
    assert "unknown_file" in hooked.refused()


def test_texts_with_the_form_of_an_api_token_are_refused(hooked: Hooked) -> None:
    hooked.commit(f"# {mint().value}\n{rules('/a')}")
    assert "remote: shop/redirects.yaml:1:1: api_token: The file contains a valid API token." in hooked.refused()


def test_a_push_that_cannot_be_noted_says_why(hooked: Hooked) -> None:
    """Guard: it went on in silence, and of tokens it said that this user may not write."""
    folder = hooked.repository / "waypost-pushes"
    folder.mkdir()
    for number in range(1_000):
        folder.joinpath(f"{number:020}-{'a' * 16}").touch()
    (hooked.repository / "waypost-found-tokens").touch()
    hooked.commit(rules("/a", f"/b?{mint().value}"))
    words = hooked.refused()
    assert "This push is not in the audit trail: the folder waypost-pushes has no room for more notes. Tell" in words
    assert "No API token was revoked: Not a directory (waypost-found-tokens). Revoke those that are valid." in words


def test_a_text_that_is_no_name_of_a_ref_is_not_noted(hooked: Hooked) -> None:
    """It may be a password at the wrong place; others may read the note."""
    lines = f"{'0' * 40} {hooked.release} my password\n".encode()
    done = subprocess.run([hooked.hook], cwd=hooked.repository, input=lines, capture_output=True, check=False)
    assert done.returncode
    assert b"funny refname" in done.stderr
    [note] = (hooked.repository / "waypost-pushes").iterdir()
    assert "password" not in note.read_text()
    assert "funny refname" in note.read_text()


def test_limits_of_regular_expressions_are_those_of_the_service(tmp_path: Path) -> None:
    hooked = Hooked.of(tmp_path / "data", regex_rule_limit=100)
    rule = "  - type: REGEX\n    source: ^/a[0-9]{900}$\n    target: /new\n    status: 301\n"
    hooked.commit(f"redirects:\n{rule}")
    assert "regex" in hooked.refused()
    apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
    hooked.accepted()


def test_malformed_objects_are_refused_as_over_http(hooked: Hooked) -> None:
    clone = hooked.clone.folder
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nparent {hooked.release}\nauthor A <a@b> nonsense\ncommitter A <a@b> 1 +0000\n\nx\n"
    (clone / ".git" / "text").write_text(text)
    commit = git(clone, "hash-object", "-t", "commit", "-w", "--literally", ".git/text")
    words = hooked.refused(f"{commit}:refs/heads/idea")
    assert f"remote: The push is invalid: the commit {commit} is invalid: it needs one tree" in words


def test_more_refs_than_over_http_are_refused(hooked: Hooked) -> None:
    lines = "".join(f"create refs/heads/b/{number} {hooked.release}\n" for number in range(1001))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=hooked.clone.folder, input=lines.encode(), check=True)
    assert "a push may change at most 1,000 refs" in hooked.refused("refs/heads/b/*:refs/heads/b/*")


def test_a_required_review_and_an_override_need_http(tmp_path: Path) -> None:
    hooked = Hooked.of(tmp_path / "data", review="required")
    git(hooked.repository, "config", "receive.advertisePushOptions", "true")
    hooked.commit(rules("/a"))
    for words in (["HEAD:release"], ["-o", "override=the site is down", "HEAD:release"]):
        found = hooked.refused(*words)
        assert "shop requires a review. Approvals and overrides are in the database of the service" in found
        assert "remote:   git push origin HEAD:refs/heads/<name>" in found
    assert "Unknown push option" in hooked.refused("-o", "color=red", "HEAD:refs/heads/idea")
    assert "remote: Proposal" in hooked.accepted("HEAD:refs/heads/idea")


def test_a_push_that_another_hook_refuses_takes_no_number(hooked: Hooked) -> None:
    other = hooked.repository / "hooks" / "update"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    hooked.commit(rules("/lost"))
    done = hooked.push()
    assert "Publish 2 of shop" in done.stderr
    assert done.returncode
    other.unlink()
    git(hooked.clone.folder, "reset", "-q", "--hard", "origin/release")
    kept = hooked.commit(rules("/kept"))
    assert "Publish 2 of shop: 1 redirect added." in hooked.accepted()
    found = Store(hooked.data).releases.project(SPACE, "shop")
    assert (found.entry.version, found.entry.number) == (kept, 2)


def test_a_missing_python_refuses_with_what_to_do(hooked: Hooked, tmp_path: Path) -> None:
    hooked.commit(rules("/a"))
    for python in (tmp_path / "gone" / "python", tmp_path):
        hooked.set_python(python)
        words = hooked.refused()
        assert f"remote: {CANNOT}: the Python of Waypost ({python}) is missing, or this user may not run it." in words
        assert f"remote: {ACTION}" in words


def test_a_python_without_waypost_refuses_with_what_to_do(hooked: Hooked, tmp_path: Path) -> None:
    hooked.commit(rules("/a"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    hooked.set_python(tmp_path / "bare/bin/python")
    words = hooked.refused()
    assert "No module named" in words
    assert f"remote: {CANNOT}: the Python of Waypost ({tmp_path}/bare/bin/python) ended with the code 1." in words
    assert ACTION in words


def test_an_incomplete_installation_refuses_with_its_fault(hooked: Hooked, tmp_path: Path) -> None:
    hooked.commit(rules("/a"))
    python = tmp_path / "bare/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    site = next((tmp_path / "bare/lib").glob("python*/site-packages"))
    shutil.copytree(Path(__file__).parents[2] / "waypost", site / "waypost")
    hooked.set_python(python)
    words = hooked.refused()
    assert "remote: Waypost cannot be imported: ModuleNotFoundError: No module named 'cli'" in words
    assert "ended with the code 3." in words


def test_the_environment_of_the_pusher_changes_nothing(hooked: Hooked, tmp_path: Path) -> None:
    for name in ("cli", "json", "waypost", "sitecustomize", "gitstore"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(0)\n")
    hooked.commit(BAD)
    strange = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "cli.py")}
    assert "duplicate_source" in hooked.refused(env={**strange, "HOME": "/nonexistent", "LC_ALL": "C"})


def test_modules_in_the_repository_are_never_imported(hooked: Hooked) -> None:
    for name in ("cli", "json", "waypost"):
        (hooked.repository / f"{name}.py").write_text("raise SystemExit(0)\n")
    hooked.commit(BAD)
    assert "duplicate_source" in hooked.refused()


def test_hooks_that_the_pusher_has_set_for_all_repositories_do_not_replace_ours(hooked: Hooked, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[core]\n\thooksPath = {tmp_path}\n[user]\n\tname = A\n\temail = a@example.com\n")
    hooked.commit(BAD)
    assert "duplicate_source" in hooked.refused(env={"GIT_CONFIG_GLOBAL": str(settings)})


def test_the_settings_of_a_repository_change_once_and_keep_their_time(hooked: Hooked) -> None:
    config = hooked.repository / "config"
    git(hooked.repository, "config", "--unset", "core.hooksPath")
    os.utime(config, (1, 1))
    for _ in range(2):
        apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
        assert git(hooked.repository, "config", "--get-all", "core.hooksPath") == "hooks"
        assert git(hooked.repository, "config", "core.bare") == "true"
        assert config.stat().st_mtime == 1
    git(hooked.repository, "config", "core.hooksPath", "/mine")
    apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
    assert git(hooked.repository, "config", "core.hooksPath") == "/mine"


def test_no_program_is_looked_up(hooked: Hooked) -> None:
    """The hook runs with an empty PATH, as its input gives it."""
    run = subprocess.run(
        [str(hooked.hook)], cwd=hooked.repository, env={}, input=b"", capture_output=True, check=False, timeout=PATIENCE
    )
    assert (run.returncode, run.stderr) == (0, b"")


def test_paths_may_have_any_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a b'c\"d$HOME`id`\n\\n %s;é"
    folder.mkdir()
    hooked = Hooked.of(folder / "data")
    hooked.commit(rules("/a"))
    assert "Publish 2 of shop" in hooked.accepted()
    hooked.commit(BAD)
    assert "duplicate_source" in hooked.refused()
    assert not list((hooked.repository / "objects").glob("incoming*"))


def test_a_push_over_ssh_is_checked(hooked: Hooked, tmp_path: Path) -> None:
    """The server side runs as a login shell does it: with hardly any environment, in another folder."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nshift $(($# - 1))\ncd / && exec env -i PATH="$PATH" /bin/sh -c "$1"\n')
    ssh.chmod(0o755)
    git(hooked.clone.folder, "remote", "set-url", "origin", f"git@waypost.example:{hooked.repository}")
    env = {"GIT_SSH": str(ssh), "GIT_SSH_VARIANT": "simple"}
    hooked.commit(rules("/a"))
    assert "remote: Publish 2 of shop" in hooked.accepted(env=env)
    hooked.commit(BAD)
    assert "remote: shop/redirects.yaml:6:5: duplicate_source" in hooked.refused(env=env)


def _find_check(repository: Path) -> int:
    """Return the process of a running check in a repository; 0 if there is none."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"waypost.hook" in words and (process / "cwd").samefile(repository):
                return int(process.name)
        except OSError:  # it has ended
            continue
    return 0


@pytest.mark.parametrize("delay", [0, 0.05, 0.1, 0.2, 0.3])
def test_a_check_that_is_killed_leaves_the_repository_clean(hooked: Hooked, delay: float) -> None:
    hooked.commit(rules(*(f"/a/{number}" for number in range(5_000))))
    shutil.rmtree(hooked.data / "compiled")  # so that it takes long, in a folder of its own
    before = hooked.release
    with subprocess.Popen(
        ["git", "push", "origin", "HEAD:release"], cwd=hooked.clone.folder, stderr=subprocess.PIPE, text=True
    ) as push:
        victim = wait_until(lambda: _find_check(hooked.repository), PATIENCE, "the check")
        time.sleep(delay)
        os.kill(victim, signal.SIGKILL)
        _, words = push.communicate(timeout=PATIENCE)
    assert "ended with the code 137" in words or "Killed" in words or push.returncode == 0, words
    if push.returncode:
        assert hooked.release == before
    hooked.check()
    hooked.push()
    assert hooked.release == git(hooked.clone.folder, "rev-parse", "HEAD")
    hooked.check()


def test_a_hook_of_another_is_kept_and_never_runs(hooked: Hooked, tmp_path: Path) -> None:
    for number in range(2):
        hooked.hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n# {number}\n")
        kept = apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
        assert kept
        assert kept.name == ("pre-receive.before-waypost" if number == 0 else "pre-receive.before-waypost.2")
        assert kept.read_text().endswith(f"# {number}\n")
    hooked.commit(rules("/a"))
    hooked.accepted()
    assert not (tmp_path / "ran").exists()


def test_our_own_hook_with_a_change_by_hand_is_kept_too(hooked: Hooked) -> None:
    changed = hooked.hook.read_text() + "# mine\n"
    hooked.hook.write_text(changed)
    kept = apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
    assert kept
    assert kept.read_text() == changed


def test_a_folder_of_hooks_elsewhere_stays_as_it_is(hooked: Hooked, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    hooked.hook.parent.rename(shared)
    (shared / "pre-receive").write_text("#!/bin/sh\n")
    hooked.hook.parent.symlink_to(shared)
    kept = apply_hook(hooked.repository, Settings(data=hooked.data).push_hook)
    assert kept == hooked.repository / "hooks.before-waypost"
    assert (shared / "pre-receive").read_text() == "#!/bin/sh\n"
    hooked.commit(BAD)
    assert "duplicate_source" in hooked.refused()


def test_without_the_setting_only_our_own_hook_goes(hooked: Hooked) -> None:
    assert apply_hook(hooked.repository, None) is None
    assert not hooked.hook.exists()
    hooked.commit(BAD)
    assert hooked.push().returncode == 0
    hooked.hook.write_text("#!/bin/sh\n# another\n")
    apply_hook(hooked.repository, None)
    assert hooked.hook.read_text() == "#!/bin/sh\n# another\n"


def test_an_import_brings_no_hook(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "shop").mkdir(parents=True)
    git(source, "init", "-q")
    (source / "shop" / "project.yaml").write_text("project:\n  title: Shop\n")
    (source / ".git" / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 0\n")
    (source / ".git" / "hooks" / "post-receive").write_text("#!/bin/sh\nexit 0\n")
    git(source, "config", "core.hooksPath", "/evil")
    Store(tmp_path / "data").directory.create()
    for number, hook in enumerate((Settings(data=tmp_path / "data").push_hook, None)):
        store = Store(tmp_path / "data", hook=hook)
        store.namespaces.import_folder(f"n{number}", "", source, ADA)
        repository = store.directory.namespace(f"n{number}").repository
        found = {path.name: path.read_bytes() for path in (repository / "hooks").iterdir()}
        assert list(found) == (["pre-receive"] if hook else [])
        assert all(b"waypost.hook" in text for text in found.values())
        assert "/evil" not in (repository / "config").read_text()


def test_a_restored_archive_gets_the_hook(hooked: Hooked) -> None:
    hook = Settings(data=hooked.data).push_hook
    store = Store(hooked.data, hook=hook)
    folder = store.namespaces.delete(SPACE)
    (folder / f"{SPACE}.git" / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 0\n")
    store.namespaces.restore(SPACE, None, ADA)
    assert b"waypost.hook" in hooked.hook.read_bytes()
    assert (hooked.hook.parent / "pre-receive.before-waypost").read_text() == "#!/bin/sh\nexit 0\n"


def test_an_older_hook_of_ours_is_replaced_without_a_copy(hooked: Hooked) -> None:
    apply_hook(hooked.repository, PushHook("/old/python", Path("/old")))
    assert apply_hook(hooked.repository, Settings(data=hooked.data).push_hook) is None
    assert [path.name for path in hooked.hook.parent.iterdir()] == ["pre-receive"]
    assert sys.executable.rpartition("/")[0] in hooked.hook.read_text()
