"""`waypost diff --base`: a folder of rules against a commit of its repository, without a server."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.ci.jobs import commit, git
from tests.cli.rule_folders import flow, project, write
from tests.cli.terminal import invoke, invoke_ok, run
from tests.service import ROOT


@pytest.fixture(autouse=True)
def repository(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a repository with two projects in a folder `web`."""
    folder = work_folder / "rules"
    project(
        folder / "web/shop", {"redirects.yaml": flow("/a", "/b"), "tests.yaml": "tests:\n  - {url: /a, status: 302}\n"}
    )
    project(folder / "web/docs", {"redirects/one.yaml": flow("/x")})
    (folder / "web/docs/redirects.yaml").unlink()
    git(work_folder, "init", "-q", "-b", "main", str(folder))
    commit(folder, "Begin")
    monkeypatch.chdir(folder)
    return folder


def changed(folder: Path) -> None:
    write(folder / "web/shop", {"redirects.yaml": flow("/b", "/c", target="/a")})


def test_the_files_of_a_folder_are_compared_with_their_impact_and_tests(repository: Path) -> None:
    changed(repository)
    outcome = invoke_ok("diff", "web", "--base", "main")
    assert outcome.out.splitlines() == [
        "~ redirect /b",
        "    target: /new -> /a",
        "+ redirect /c",
        "    type: BASIC",
        "    target: /a",
        "    status: FOUND",
        "- redirect /a",
        "    target: /new",
        "answers: /b: 302 /new -> 302 /a",
        "answers: /c: nothing -> 302 /a",
        "answers: /a: 302 /new -> nothing",
    ]
    assert outcome.err == "shop: 1 redirect added, 1 redirect changed, 1 redirect removed. 1 of 1 tests failed.\n"
    assert invoke("diff", "web", "--base", "main", "--exit-code").code == 1
    comment = invoke_ok("diff", "web/shop", "--base", "main", "--format", "markdown").out
    assert comment.startswith("<!-- waypost-diff: web/shop -->\n\n### Redirects and pages: 1 redirect added, ")
    assert "| **1 of 1 failed** |" in comment
    assert "| no answer any more | `/a` | `302 /new` → nothing |" in comment
    (found,) = invoke_ok("diff", "web", "--base", "main", "--json").json["projects"]
    assert (found["project"], found["tests"]) == ("shop", {"total": 1, "failed": 1, "run": True})
    assert found["counts"]["redirects"] == {"added": 1, "changed": 1, "removed": 1}
    assert [each["text"] for each in found["impact"]["answers"]] == [
        "/b: 302 /new -> 302 /a",
        "/c: nothing -> 302 /a",
        "/a: 302 /new -> nothing",
    ]


def test_a_revision_is_compared_with_the_commit_where_it_parts(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-q", "-b", "change")
    changed(repository)
    commit(repository, "Change")
    git(repository, "checkout", "-q", "main")
    write(repository / "web/shop", {"redirects.yaml": flow("/a", "/b", "/since")})
    commit(repository, "Since")
    words = ("--base", "main", "--head", "change", "--format", "markdown")
    comment = invoke_ok("diff", "web", *words).out
    assert "/since" not in comment
    assert "1 redirect added, 1 redirect changed, 1 redirect removed" in comment
    assert ", where the branches part." in comment
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "change")
    assert invoke_ok("diff", tmp_path / "tree/web", "--base", "main", "--format", "markdown").out == comment


def test_a_bare_repository_is_compared_by_revisions(work_folder: Path, tmp_path: Path) -> None:
    project(work_folder / "own/shop", {"redirects.yaml": flow("/a")})
    git(work_folder, "init", "-q", "-b", "main", "own")
    commit(work_folder / "own", "Begin")
    write(work_folder / "own/shop", {"redirects.yaml": flow("/a", "/b")})
    commit(work_folder / "own", "More")
    git(tmp_path, "clone", "-q", "--bare", str(work_folder / "own"), "bare.git")
    outcome = invoke_ok("diff", tmp_path / "bare.git", "--base", "main~1", "--head", "main")
    assert (outcome.out.splitlines()[0], outcome.err) == ("+ redirect /b", "shop: 1 redirect added.\n")


def test_projects_come_and_go_and_other_files_are_listed(repository: Path) -> None:
    git(repository, "rm", "-q", "-r", "web/docs")
    project(repository / "web/new")
    write(
        repository / "web/shop",
        {"project.yaml": "project: {title: Other}\n", "redirects.yaml": "# c\n" + flow("/a", "/b")},
    )
    outcome = invoke_ok("diff", "web", "--base", "main")
    assert outcome.out.splitlines()[:3] == ["docs:", "- file docs/project.yaml", "    title: Shop -> (none)"]
    assert "~ file shop/redirects.yaml (comments or layout only)\n" in outcome.out
    shown = {each["project"]: each for each in invoke_ok("diff", "web", "--base", "main", "--json").json["projects"]}
    assert {name: each["change"] for name, each in shown.items()} == {
        "docs": "removed",
        "new": "added",
        "shop": "changed",
    }
    assert [each["file"] for each in shown["shop"]["files"]] == ["shop/project.yaml", "shop/redirects.yaml"]


def test_pages_are_compared_with_the_files_that_they_name(repository: Path) -> None:
    page = "pages:\n  - {type: BASIC, path: /p, contentType: TEXT_PLAIN, file: p.txt}\n"
    write(repository / "web/shop", {"pages.yaml": page, "p.txt": "one\n"})
    commit(repository, "Add a page")
    write(repository / "web/shop", {"p.txt": "two\n"})
    outcome = invoke_ok("diff", "web", "--base", "HEAD")
    assert outcome.out == "~ page /p\n    content: one\\n -> two\\n\n"


def test_rules_with_errors_are_not_compared(repository: Path) -> None:
    write(repository / "web/shop", {"redirects.yaml": flow("/a", "bad")})
    outcome = invoke_ok("diff", "web", "--base", "main")
    assert outcome.err == "shop: a changed file has errors, so its changes cannot be shown. Run: waypost validate\n"
    comment = invoke_ok("diff", "web", "--base", "main", "--format", "markdown").out
    assert "| `shop` | unknown: a changed file has errors | unknown | 1 error | not run: errors |" in comment
    commit(repository, "Break")
    write(repository / "web/shop", {"redirects.yaml": flow("/a")})
    fixed = invoke_ok("diff", "web", "--base", "HEAD", "--format", "markdown").out
    assert "| `shop` | unknown: a changed file has errors | unknown | none | 1 passed |" in fixed


def test_an_unchanged_folder_differs_in_nothing(repository: Path) -> None:
    assert invoke_ok("diff", "web", "--base", "main", "--exit-code").err.startswith(
        "No project has changes since main ("
    )
    write(repository, {"README.md": "x"})
    comment = invoke_ok("diff", "--base", "main", "--format", "markdown", "web").out
    assert "### Redirects and pages: no rule changed" in comment


def test_a_project_without_rules_before_is_new(repository: Path) -> None:
    project(repository / "late")
    (found,) = invoke_ok("diff", "late", "--base", "main", "--json").json["projects"]
    assert (found["project"], found["change"], found["counts"]["redirects"]["added"]) == ("late", "added", 1)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("web",), 2, "Name a namespace and a project"),
        (("web", "shop", "--base", "main"), 2, "name one folder only"),
        (("web", "shop", "--head", "main"), 2, "Name a namespace and a project"),
        (("nowhere", "--base", "main"), 2, "nowhere is not a folder"),
        (("web", "--base", "lost"), 2, "has no revision 'lost'"),
        (("web", "--base", "main", "--head", "lost"), 2, "has no revision 'lost'"),
        (("web", "--base", "--help"), 2, "has no revision '--help'"),
        (("/tmp", "--base", "main"), 2, "is not in a Git repository"),  # noqa: S108 - any folder without one
    ],
)
def test_bad_usage_is_explained(words: tuple[str, ...], code: int, text: str) -> None:
    outcome = invoke("diff", *words)
    assert (outcome.code, text in outcome.err) == (code, True), outcome.err


def test_a_folder_without_projects_is_an_error(repository: Path) -> None:
    (repository / "empty").mkdir()
    assert "contains no project" in invoke("diff", "empty", "--base", "main").err


def test_no_server_and_no_database_is_loaded(repository: Path) -> None:
    changed(repository)
    code = (
        "import sys; from cli.main import run\n"
        "sys.argv = ['waypost', 'diff', 'web', '--base', 'main', '--format', 'markdown']\n"
        "try: run()\n"
        "except SystemExit: print([each for each in ('falcon', 'sqlalchemy', 'asyncio') if each in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert found.stderr == b"[]\n"
    assert run("diff", "web", "--base", "main").code == 0
