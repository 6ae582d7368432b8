"""`waypost validate` for CI and terminals: reports for CI services, excerpts, colors, and what a change can affect."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from cli.content.validate.problem_output import read_lines_in
from tests.cli.rule_folders import flow, project, write
from tests.cli.terminal import SECONDS, Outcome, invoke, invoke_ok, run, start
from tests.content.formats.schemas import code_quality_faults, junit_faults, parse_xml, sarif_faults
from tests.service import ROOT

CHAIN = flow("/old", target="/next") + flow("/next").partition("\n")[2]
IDENTITY = ("-c", "user.name=T", "-c", "user.email=t@tests.example", "-c", "commit.gpgsign=false")


@pytest.fixture(autouse=True)
def work_folder(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without a data directory, and without settings of colors."""
    content = work_folder / "rules"
    content.mkdir()
    monkeypatch.chdir(content)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return content


def git(folder: Path, *words: str) -> str:
    found = subprocess.run(["git", "-C", str(folder), *IDENTITY, *words], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def commit(folder: Path, message: str = "Change rules") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(work_folder: Path) -> Path:
    """Create a repository with a folder `web` of two projects, of which one has a chain."""
    folder = work_folder / "web"
    project(folder / "shop", {"redirects.yaml": CHAIN})
    project(folder / "docs", {"redirects.yaml": flow("bad"), "tests.yaml": "tests:\n  - {url: /x, status: 404}\n"})
    git(work_folder, "init", "-q", "-b", "main")
    commit(work_folder)
    return folder


def test_each_report_is_valid_and_names_files_from_the_root_of_the_repository(repository: Path) -> None:
    place, below = "web/docs/redirects.yaml", repository / "docs"
    quality = invoke("validate", repository, "--format", "gitlab").json
    assert code_quality_faults(quality) == []
    assert [each["location"]["path"] for each in quality] == [place, "web/shop/redirects.yaml"]
    log = invoke("validate", repository, "--format", "sarif").json
    assert sarif_faults(log) == []
    (docs, _) = log["runs"][0]["results"]
    assert docs["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": place, "uriBaseId": "%SRCROOT%"}
    lines = invoke("validate", below, "--format", "github").out.splitlines()
    assert [line.partition("::")[2].partition(" ")[0] for line in lines] == ["error"]
    assert f"file={place},line=2,col=33::{place}:2:33: " in lines[0]


def test_junit_has_a_suite_for_each_project_with_its_tests(repository: Path) -> None:
    outcome = invoke("validate", repository, "--format", "junit")
    assert (outcome.code, junit_faults(outcome.out)) == (1, [])
    suites = {each.get("name"): each for each in parse_xml(outcome.out)}
    assert {name: suite.get("failures") for name, suite in suites.items()} == {"docs": "1", "shop": "0"}
    assert suites["docs"].get("skipped") == "1"
    (repository / "docs/redirects.yaml").write_text(flow("/good"))
    fixed = parse_xml(invoke_ok("validate", repository / "docs", "--format", "junit").out)
    assert [each.get("name") for each in fixed.iter("testcase")] == ["/x gets 404 (web/docs/tests.yaml:2)"]


def test_files_outside_the_projects_are_in_a_suite_of_the_folder(work_folder: Path) -> None:
    project(work_folder / "shop")
    write(work_folder, {"stray.txt": "x"})
    root = parse_xml(invoke("validate", "--format", "junit").out)
    assert [(each.get("name"), each.get("failures")) for each in root] == [("shop", "0"), ("rules", "1")]


@pytest.mark.parametrize("wanted", ["gitlab", "sarif", "junit", "github"])
def test_a_report_without_problems_is_valid(work_folder: Path, wanted: str) -> None:
    project(work_folder / "shop")
    out = invoke_ok("validate", "--format", wanted).out
    if wanted == "junit":
        assert (junit_faults(out), parse_xml(out).get("failures")) == ([], "0")
    elif wanted == "github":
        assert out == ""
    else:
        report = orjson.loads(out)
        assert report == [] if wanted == "gitlab" else sarif_faults(report) == []


def test_the_last_lines_count_the_problems_of_each_code(repository: Path) -> None:
    assert invoke("validate", repository).err.splitlines() == [
        "  1 error  missing_slash",
        "1 warning  chain",
        "The tests of docs were not run, since there are errors. Fix these first.",
        "2 projects: 1 error, 1 warning.",
    ]


def on_terminal(*words: object, env: dict[str, str] | None = None) -> str:
    """Return the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    process = start(
        *words, env={"TERM": "xterm", "COLUMNS": "80", **(env or {})}, stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # EIO: how Linux reports that the other end is closed
            break
    process.wait(SECONDS)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


EXCERPT = """\
error[missing_slash]: a BASIC source begins with "/"; with a host it is BASIC_HOST
 --> shop/redirects.yaml:3:13
  |
3 |     source: old # ours
  |             ^^^

"""


def test_a_terminal_shows_the_line_with_carets_and_colors_unless_no_color_is_set(work_folder: Path) -> None:
    rules = "redirects:\n  - type: BASIC\n    source: old # ours\n    target: /new\n    status: FOUND\n"
    project(work_folder / "shop", {"redirects.yaml": rules})
    assert on_terminal("validate", env={"NO_COLOR": "1"}) == EXCERPT
    assert on_terminal("validate", env={"TERM": "dumb"}) == EXCERPT
    colored = on_terminal("validate")
    assert "\x1b[31m\x1b[1merror[missing_slash]\x1b[0m" in colored
    assert "\x1b[31m\x1b[1m^^^\x1b[0m" in colored
    assert invoke("validate", "--excerpt").out == EXCERPT
    assert "\x1b[31m" in run("validate", "--excerpt", env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in run("validate").out


def test_rules_cannot_control_the_terminal(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": flow("/a\x1b[31mb")})
    assert "\x1b" not in invoke("validate", "--excerpt").out


def test_only_the_projects_that_a_change_can_affect_are_checked(repository: Path, work_folder: Path) -> None:
    before = git(work_folder, "rev-parse", "HEAD")
    outcome = invoke_ok("validate", repository, "--changed-since", "main")
    assert outcome.err.splitlines() == [
        f"0 files changed since main ({before[:7]}). Checked: no project. Left out, as no file of theirs changed: docs, shop.",
        "0 projects: 0 errors, 0 warnings.",
    ]
    write(repository / "shop", {"redirects/more.yaml": flow("/next/2", target="/old")})
    changed = invoke("validate", repository, "--changed-since", "main")
    assert (changed.code, changed.out.count("[chain]"), "docs/" in changed.out) == (0, 2, False)
    assert "1 file changed since main" in changed.err
    assert "Checked: shop. Left out, as no file of theirs changed: docs." in changed.err
    found = invoke("validate", repository, "--changed-since", "main", "--format", "json").json
    assert found["projects"] == ["shop"]
    assert found["changedSince"] == {
        "revision": "main",
        "commit": before,
        "files": ["shop/redirects/more.yaml"],
        "leftOut": ["docs"],
    }


@pytest.mark.parametrize("begins_with", ["regex_rule_limit = 100\n", ""], ids=["removed", "added"])
def test_a_change_of_the_settings_affects_every_project(
    repository: Path, work_folder: Path, monkeypatch: pytest.MonkeyPatch, begins_with: str
) -> None:
    settings = work_folder / "waypost.toml"
    costly = '  - {type: REGEX, source: "^/(a|b|c|d){1,200}$", target: /x, status: 302}\n'
    write(repository / "docs", {"redirects/costly.yaml": f"redirects:\n{costly}"})
    if begins_with:
        settings.write_text(begins_with, "utf-8")
    commit(work_folder)
    monkeypatch.chdir(work_folder)
    if begins_with:
        settings.unlink()
    else:
        settings.write_text("regex_rule_limit = 100\n", "utf-8")
    full, part = (invoke("validate", repository, *words) for words in ((), ("--changed-since", "HEAD")))
    assert (part.code, part.out) == (full.code, full.out)
    assert part.out.count("[regex_too_costly]") == (0 if begins_with else 1)
    assert "waypost.toml differs from HEAD" in part.err
    assert "Left out" not in part.err


def test_a_branch_is_compared_with_the_commit_where_it_parts(repository: Path, work_folder: Path) -> None:
    git(work_folder, "switch", "-q", "-c", "change")
    write(repository / "shop", {"redirects/more.yaml": flow("/next/2")})
    commit(work_folder)
    parted = git(work_folder, "merge-base", "main", "change")
    git(work_folder, "switch", "-q", "main")
    write(repository / "docs", {"redirects/more.yaml": flow("/elsewhere")})
    commit(work_folder)
    git(work_folder, "switch", "-q", "change")
    outcome = invoke_ok("validate", repository, "--changed-since", "main")
    assert f"1 file changed since main (where the branches part, {parted[:7]}). Checked: shop." in outcome.err


def test_a_shallow_clone_without_the_commit_where_they_part_is_refused(
    repository: Path, work_folder: Path, tmp_path: Path
) -> None:
    """Else the rules that main has added since would be shown as removed."""
    git(work_folder, "switch", "-q", "-c", "change")
    write(repository / "shop", {"redirects/more.yaml": flow("/next/2")})
    commit(work_folder)
    git(work_folder, "switch", "-q", "main")
    write(repository / "docs", {"redirects/more.yaml": flow("/elsewhere")})
    commit(work_folder)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=change", work_folder.as_uri(), str(clone))
    git(clone, "fetch", "-q", "--depth=1", "origin", "+refs/heads/main:refs/remotes/origin/main")
    folder = clone / repository.relative_to(work_folder)
    for words in (("validate", folder, "--changed-since", "origin/main"), ("diff", folder, "--base", "origin/main")):
        refused = invoke(*words)
        assert (refused.code, refused.out) == (3, "")
        assert "is a shallow clone" in refused.err
        assert "git fetch --unshallow" in refused.err
    git(clone, "fetch", "-q", "--unshallow")
    assert "Checked: shop." in invoke("validate", folder, "--changed-since", "origin/main").err


def test_a_removed_or_renamed_file_is_a_change(repository: Path) -> None:
    (repository / "docs" / "tests.yaml").unlink()
    assert "Checked: docs." in invoke("validate", repository, "--changed-since", "HEAD").err
    assert (
        invoke("validate", repository / "shop", "--changed-since", "HEAD")
        .err.splitlines()[0]
        .endswith("Checked: no project.")
    )
    assert "Checked: this project." in invoke("validate", repository / "docs", "--changed-since", "HEAD").err


def test_a_bare_repository_compares_two_commits(repository: Path, work_folder: Path) -> None:
    git(work_folder, "mv", *map(str, repository.iterdir()), ".")
    first = commit(work_folder)
    write(work_folder / "shop", {"redirects/more.yaml": flow("/next/2")})
    commit(work_folder)
    git(work_folder, "clone", "-q", "--bare", ".", "../bare.git")
    outcome = invoke("validate", "../bare.git", "--ref", "main", "--changed-since", first)
    assert "1 file changed since" in outcome.err
    assert "Checked: shop. Left out, as no file of theirs changed: docs." in outcome.err


@pytest.mark.parametrize("linked", [False, True], ids=["repository", "linked worktree"])
def test_a_hook_of_git_compares_the_folder_that_it_names(repository: Path, work_folder: Path, *, linked: bool) -> None:
    """Git sets GIT_INDEX_FILE for its hooks, and in a linked worktree GIT_DIR, which it obeys before `-C`."""
    project(repository.parent / "other/lone")
    git(repository.parent / "other", "init", "-q", "-b", "main")
    commit(repository.parent / "other")
    place = work_folder
    if linked:
        place = work_folder.parent / "linked"
        git(work_folder, "worktree", "add", "-q", str(place))
    hook = work_folder / ".git/hooks/pre-commit"
    line = f"{sys.executable} -m cli.main"
    hook.write_text(
        f"#!/bin/sh\n{line} validate web/shop --changed-since HEAD\n"
        f"{line} diff web/shop --base HEAD\n{line} validate '{work_folder}/other' --changed-since main\n"
    )
    hook.chmod(0o755)
    write(place / "web/shop", {"redirects/more.yaml": flow("/next/2")})
    git(place, "add", "-A", "web")
    found = subprocess.run(
        ["git", *IDENTITY, "commit", "-a", "-m", "Change"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, "1 file changed since HEAD" in found.stderr) == (0, True), found.stderr
    assert "+ redirect /next/2" in found.stdout + found.stderr
    assert "0 files changed since main" in found.stderr


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "main:web", ""])
def test_an_unknown_revision_is_a_usage_error(repository: Path, revision: str) -> None:
    outcome = invoke("validate", repository, f"--changed-since={revision}")
    assert outcome.code == 2
    assert "Name a commit, branch or tag" in outcome.err


def test_a_folder_outside_a_repository_is_a_usage_error(work_folder: Path) -> None:
    project(work_folder / "shop")
    outcome = invoke("validate", "--changed-since", "main")
    assert (outcome.code, "is not in a Git repository" in outcome.err) == (2, True)


def test_a_machine_without_git_says_so(repository: Path, tmp_path: Path) -> None:
    outcome: Outcome = run("validate", repository, "--changed-since", "main", env={"PATH": str(tmp_path)})
    assert (outcome.code, "The command git is missing" in outcome.err) == (3, True)


def test_a_run_loads_neither_the_service_nor_a_database(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": CHAIN, "tests.yaml": "tests:\n  - {url: /old, status: 302}\n"})
    code = (
        "import sys\nfrom cli.main import waypost\n"
        "waypost.main(['validate'], standalone_mode=False)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(found.stdout.splitlines()[-1].strip("[]").replace("'", "").split(", "))
    heavy = {
        "falcon",
        "sqlalchemy",
        "alembic",
        "gunicorn",
        "dulwich",
        "jsonschema",
        "structlog",
        "jwt",
        "argon2",
        "asyncio",
    }
    assert "click" in loaded
    assert not loaded & heavy


@pytest.mark.parametrize("linked", ["redirects.yaml", "redirects"])
def test_an_excerpt_follows_no_link(work_folder: Path, linked: str) -> None:
    """A pull request may add a link to any file of the machine that checks it: nothing of that file is shown."""
    outside = work_folder.parent / "outside"
    outside.mkdir()
    (outside / "rules.yaml").write_text("the text of another file\n")
    shop = project(work_folder / "shop")
    (shop / "redirects.yaml").unlink()
    (shop / linked).symlink_to(outside if linked == "redirects" else outside / "rules.yaml")
    found = invoke("validate", "--excerpt")
    assert (found.code, "not_a_file" in found.out) == (1, True)
    assert "another file" not in found.out + found.err
    assert list(read_lines_in(shop)(f"{linked}/rules.yaml" if linked == "redirects" else linked)) == []
    assert list(read_lines_in(outside)("rules.yaml")) == ["the text of another file", ""]


def test_a_repository_without_commits_is_named_as_such(work_folder: Path) -> None:
    project(work_folder / "shop")
    git(work_folder, "init", "-q")
    found = invoke("validate", "--changed-since", "HEAD")
    assert (found.code, found.err) == (
        2,
        "waypost: The repository of . has no commits, so there is nothing to compare with. Commit first.\n",
    )
