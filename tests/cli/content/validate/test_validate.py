"""`waypost validate`: problems of folders and repositories, each with its line and column."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from tests.cli.rule_folders import PROJECT, RULES, flow, project, write
from tests.cli.terminal import SAMPLE, invoke, invoke_ok, unwrap
from tests.unprivileged_user import as_unprivileged_user

WRONG = [
    pytest.param(
        {"redirects.yaml": RULES.replace("/old", "old")},
        ["shop/redirects.yaml:3:13: error: ", "[missing_slash]"],
        id="a source without a slash",
    ),
    pytest.param(
        {"redirects.yaml": RULES.replace("FOUND", "GONE")},
        ["shop/redirects.yaml:5:13: error: 'status' must be one of", "[not_allowed]"],
        id="an unknown status",
    ),
    pytest.param(
        {"redirects.yaml": f"{RULES}    weight: 3\n"},
        ["shop/redirects.yaml:6:5: error: unknown field 'weight'", "[unknown_field]"],
        id="an unknown field",
    ),
    pytest.param(
        {"redirects.yaml": RULES.replace("    target: /new\n", "")},
        ["shop/redirects.yaml:2:5: error: 'target' is missing", "[missing_field]"],
        id="a missing field",
    ),
    pytest.param(
        {"redirects.yaml": "redirects: [\n"}, ["shop/redirects.yaml:2:1: error: "], id="a bracket that is never closed"
    ),
    pytest.param(
        {"redirects.yaml": f"{RULES}  - &a\n    type: BASIC\n"},
        ["shop/redirects.yaml:6:5: error: ", "anchor"],
        id="an anchor",
    ),
    pytest.param(
        {"redirects.yaml": RULES.replace("    source: /old\n", "    source: /old\n    source: /older\n")},
        ["shop/redirects.yaml:4:5: error: ", "duplicate_key"],
        id="a key that stands twice",
    ),
    pytest.param(
        {"redirects.yaml": RULES.replace("type: BASIC", "type: REGEX").replace("/old", '"^/(a"')},
        ["shop/redirects.yaml:3:13: error: ", "[bad_regex]"],
        id="a regular expression that does not compile",
    ),
    pytest.param(
        {"redirects.yaml": flow("/a", "/b", "/a")},
        ["shop/redirects.yaml:4: error: ", "[duplicate_source]"],
        id="a source that stands twice",
    ),
    pytest.param(
        {"redirects.yaml": flow("/new")},
        ["shop/redirects.yaml:2: error: ", "[redirect_loop]"],
        id="a redirect to itself",
    ),
    pytest.param(
        {"tests.yaml": "tests:\n  - url: /old\n    status: 404\n"},
        ["shop/tests.yaml:2", "[test_failed]"],
        id="an expectation that fails",
    ),
    pytest.param({"notes/todo.txt": "x"}, ["shop/notes/todo.txt: error: Nothing reads"], id="a file of no use"),
    pytest.param(
        {"pages.yaml": "pages:\n  - type: BASIC\n    path: /a\n    contentType: XML\n    file: a.xml\n"},
        ["shop/pages.yaml:2", "'a.xml', which does not exist", "[missing_file]"],
        id="a page whose content is not there",
    ),
]


@pytest.fixture(autouse=True)
def work_folder(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without a data directory, which `validate` does not need."""
    content = work_folder / "rules"
    content.mkdir()
    monkeypatch.chdir(content)
    return content


def test_a_valid_folder_is_success_with_a_message_on_standard_error() -> None:
    outcome = invoke_ok("validate", SAMPLE)
    assert outcome.out == ""
    assert outcome.err == "3 projects: 0 errors, 0 warnings.\n"


@pytest.mark.parametrize(("files", "shown"), WRONG)
def test_problems_are_reported_with_file_line_and_column(
    work_folder: Path, files: dict[str, str], shown: list[str]
) -> None:
    project(work_folder / "shop", files)
    outcome = invoke("validate")
    assert outcome.code == 1
    assert len(outcome.out.splitlines()) == 1, outcome.out
    assert all(part in outcome.out for part in shown), outcome.out
    code = outcome.out.rpartition("[")[2].rstrip("]\n")
    assert outcome.err == f"1 error  {code}\n1 project: 1 error, 0 warnings.\n"


def test_files_are_named_so_that_a_terminal_can_follow_them_from_where_the_command_ran(work_folder: Path) -> None:
    project(work_folder / "content" / "shop", {"redirects.yaml": flow("old")})
    assert invoke("validate", "content").out.startswith("content/shop/redirects.yaml:2:")
    assert invoke("validate", "content/shop").out.startswith("content/shop/redirects.yaml:2:")
    assert invoke("validate", work_folder / "content").out.startswith(f"{work_folder}/content/shop/redirects.yaml:2:")


def test_json_holds_every_problem_with_its_place_from_the_path_on(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": flow("old", "/x?y=1")})
    outcome = invoke("validate", work_folder, "--format", "json")
    assert outcome.code == 1
    assert (outcome.json["projects"], outcome.json["errors"], outcome.json["warnings"]) == (["shop"], 1, 1)
    error, warning = outcome.json["problems"]
    assert {name: error[name] for name in ("file", "line", "column", "pointer", "code", "severity")} == {
        "file": "shop/redirects.yaml",
        "line": 2,
        "column": 33,
        "pointer": "/redirects/0/source",
        "code": "missing_slash",
        "severity": "error",
    }
    assert (warning["severity"], warning["line"], warning["code"]) == ("warning", 3, "query_in_source")


def test_an_open_redirect_is_a_warning_that_says_what_a_visitor_would_send(work_folder: Path) -> None:
    rule = '- {"type": "REGEX", "source": "^/old(.*)$", "target": "https://shop.example$1", "status": "FOUND"}'
    project(work_folder / "shop", {"redirects.yaml": f"redirects:\n{rule}\n"})
    shown = invoke("validate", work_folder)
    assert (shown.code, "warning" in shown.out, '"@evil.example"' in shown.out) == (0, True, True)
    (found,) = invoke("validate", work_folder, "--format", "json").json["problems"]
    assert (found["code"], found["severity"], found["line"]) == ("open_redirect", "warning", 2)
    assert invoke("validate", work_folder, "--strict").code == 1


def test_warnings_alone_are_fine_unless_strictness_is_asked_for(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": flow("/x?y=1")})
    assert invoke("validate").code == 0
    outcome = invoke("validate", "--strict")
    assert outcome.code == 1
    assert "warning: " in outcome.out


def test_one_project_s_folder_is_checked_alone(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": flow("old")})
    outcome = invoke("validate", "shop", "--format", "json")
    assert outcome.json["projects"] == ["shop"]
    assert outcome.json["problems"][0]["file"] == "redirects.yaml"


@pytest.mark.parametrize("name", ["pages", "redirects"])
def test_a_project_may_be_called_as_a_folder_of_a_project_is(work_folder: Path, name: str) -> None:
    project(work_folder / name)
    assert invoke_ok("validate", "--format", "json").json["projects"] == [name]


def test_a_bare_repository_is_checked_as_its_release_is(data: Path) -> None:
    repository = data / "repos" / "sample.git"
    head, totals = invoke_ok("validate", repository).err.splitlines()
    assert head == f"{repository} is a bare repository. Its branch release is checked."
    assert totals.startswith("3 projects: 0 errors")
    assert invoke_ok("validate", repository, "--format", "json").json["projects"] == ["company", "docs", "shop"]


def test_a_branch_of_a_bare_repository_is_checked_with_line_and_column(work_folder: Path) -> None:
    clone = project(work_folder / "clone" / "shop", {"redirects.yaml": flow("old")}).parent
    write(clone, {"stray.txt": "x"})
    identity = ["-c", "user.name=T", "-c", "user.email=t@tests.example"]
    for words in (["init", "-q", "-b", "proposal"], ["add", "."], [*identity, "commit", "-q", "-m", "Propose"]):
        subprocess.run(["git", "-C", str(clone), *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(clone), "bare.git"], check=True)
    outcome = invoke("validate", "bare.git", "--ref", "proposal")
    assert outcome.code == 1
    assert [line.split(" ")[0] for line in outcome.out.splitlines()] == ["stray.txt:", "shop/redirects.yaml:2:33:"]
    refused = invoke("validate", "bare.git")
    assert (refused.code, "no branch 'release'" in refused.err) == (2, True)


def test_a_branch_of_a_checkout_is_refused_since_its_files_are_checked(work_folder: Path) -> None:
    project(work_folder / "shop")
    refused = invoke("validate", ".", "--ref", "proposal")
    assert refused.code == 2
    assert "Check out proposal there, or leave --ref out." in unwrap(refused.err)


def test_a_file_that_is_not_there_is_named(work_folder: Path) -> None:
    project(work_folder / "shop", {"redirects.yaml": flow("old")})
    assert ". has no file or folder 'shop/redirect.yaml'" in invoke("validate", ".", "--file", "shop/redirect.yaml").err
    assert "has no file" not in invoke("validate", ".", "--file", "shop/redirects.yaml").err


def test_files_beside_the_projects_are_checked_too(work_folder: Path) -> None:
    project(work_folder / "shop")
    write(work_folder, {"README.md": "x", ".github/workflows/a.yml": "x", "stray.txt": "x", ".idea/x.xml": "x"})
    project(work_folder / "my shop")
    (work_folder / "LICENSE").symlink_to("README.md")
    assert [line.partition(" error: ")[::2] for line in invoke("validate").out.splitlines()] == [
        (".idea:", "Nothing reads this file; remove it. [unknown_file]"),
        ("LICENSE:", "Not a regular, non-executable file. Replace or remove it. [not_a_file]"),
        (
            "my shop:",
            "A project's name is 1 to 50 letters, digits, hyphens and underscores. Rename this folder. [bad_name]",
        ),
        ("stray.txt:", "Nothing reads this file; remove it. [unknown_file]"),
    ]


def test_names_that_differ_only_in_case_are_one_too_many(work_folder: Path) -> None:
    project(work_folder / "Shop")
    project(work_folder / "shop")
    assert "shop: error: The project Shop already exists" in invoke("validate").out


def test_an_empty_folder_is_nothing_as_it_is_for_git(work_folder: Path) -> None:
    project(work_folder / "shop")
    (work_folder / "later").mkdir()
    assert invoke_ok("validate").err.startswith("1 project:")


def test_links_and_pipes_are_refused_and_never_read(work_folder: Path) -> None:
    project(work_folder / "shop")
    (work_folder / "shop" / "pages").symlink_to("/")
    (work_folder / "shop" / "redirects").mkdir()
    (work_folder / "shop" / "redirects" / "a.yaml").symlink_to("/dev/zero")
    os.mkfifo(work_folder / "shop" / "redirects" / "b.yaml")
    outcome = invoke("validate")
    assert outcome.code == 1
    for name in ("pages", "redirects/a.yaml", "redirects/b.yaml"):
        assert f"shop/{name}: error: Not a regular, non-executable file." in outcome.out


@pytest.mark.parametrize("path", ["empty", "/etc/passwd", "nowhere"])
def test_a_path_without_a_project_is_a_usage_error(work_folder: Path, path: str) -> None:
    (work_folder / "empty").mkdir()
    assert invoke("validate", path).code == 2


def test_what_the_machine_refuses_is_a_failure_that_names_the_file(work_folder: Path) -> None:
    """A limit of open files is used because it applies to root too: here no process may open one more."""
    folder = project(work_folder / "shop")
    invoke_ok("validate", folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        outcome = invoke("validate", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert outcome.code == 3
    assert outcome.err == "waypost: waypost.toml: Too many open files.\n"


def test_a_damaged_repository_is_a_failure_and_not_a_finding(data: Path) -> None:
    repository = data / "repos" / "sample.git"
    for folder in (repository / "objects").iterdir():
        for path in folder.iterdir():
            path.chmod(0o644)
            path.write_bytes(b"")
    outcome = invoke("validate", repository)
    assert outcome.code == 3
    assert "damaged" in outcome.err


def test_control_characters_of_a_file_s_name_do_not_reach_the_terminal(work_folder: Path) -> None:
    project(work_folder / "shop", {"\x1b[31m.txt": "x"})
    outcome = invoke("validate")
    assert outcome.code == 1
    assert "\x1b" not in outcome.out
    assert "\\x1b[31m.txt" in outcome.out


def test_the_title_of_a_project_need_not_be_there(work_folder: Path) -> None:
    project(work_folder / "shop", {"project.yaml": PROJECT.replace("\n  title: Shop", " {}")})
    assert invoke_ok("validate").err.startswith("1 project: 0 errors")


@pytest.mark.parametrize("closed", ["shop/redirects", "shop/redirects/a.yaml", "shop"])
def test_what_may_not_be_read_is_named_and_not_passed_over(closed: str) -> None:
    """A folder that is skipped silently would have rules without checks."""
    with as_unprivileged_user() as root:
        project(root / "shop", {"redirects/a.yaml": RULES.replace("/old", "/older")})
        assert invoke("validate", root).code == 0
        (root / closed).chmod(0)
        outcome = invoke("validate", root)
        (root / closed).chmod(0o700)
    assert outcome.code == 3
    assert f"{root / closed}" in outcome.err
    assert "Permission denied" in outcome.err


CHAINS = (
    "redirects:\n"
    + "".join(
        f"  - {{type: BASIC, source: /a/{n}, target: /next, status: FOUND}}\n"
        f"  - {{type: REGEX, source: ^/a/{n}$, target: /x, status: FOUND}}\n"
        for n in range(3)
    )
    + "  - {type: BASIC, source: /next, target: /end, status: FOUND}\n"
)


def codes(out: str) -> list[str]:
    """Return the code of each printed problem."""
    return [line.rpartition("[")[2].removesuffix("]") for line in out.splitlines()]


def test_problems_are_filtered_paged_and_counted(tmp_path: Path) -> None:
    folder = str(project(tmp_path / "shop", {"redirects.yaml": CHAINS}))
    both = ["chain", "regex_unreachable"]
    whole = invoke_ok("validate", folder)
    assert codes(whole.out) == both * 3
    assert "3 rules can never answer; to list them, add --never-answer." in whole.err
    assert codes(invoke_ok("validate", folder, "--never-answer").out) == ["regex_unreachable"] * 3
    assert codes(invoke_ok("validate", folder, "--code", "chain,other").out) == ["chain"] * 3
    misspelled = invoke_ok("validate", folder, "--code", "chains,shadowed")
    assert misspelled.err.startswith("No problem has the code 'chains'. Did you mean 'chain'?\n")
    assert "'shadowed'" not in misspelled.err
    assert codes(invoke_ok("validate", folder, "--severity", "error").out) == []
    assert codes(invoke_ok("validate", folder, "--file", "redirects.yaml").out) == both * 3
    page = invoke_ok("validate", folder, "--limit", "2", "--offset", "1")
    assert codes(page.out) == ["regex_unreachable", "chain"]
    assert "Shown: 2 of 6 problems; to see the next ones, add --offset 3." in page.err
    counts = [line.split() for line in invoke_ok("validate", folder, "--counts").out.splitlines()]
    assert counts == [["COUNT", "SEVERITY", "CODE"], ["3", "warning", "chain"], ["3", "warning", "regex_unreachable"]]
    found = invoke_ok("validate", folder, "--format", "json", "--code", "chain", "--limit", "1").json
    assert (found["warnings"], found["total"], found["neverAnswer"], len(found["problems"])) == (6, 3, 3, 1)


def test_an_error_that_is_not_shown_still_fails(tmp_path: Path) -> None:
    folder = str(project(tmp_path / "shop", {"redirects.yaml": RULES.replace("/new", "/old")}))
    found = invoke("validate", folder, "--severity", "warning")
    assert (found.code, found.out) == (1, "")


def test_a_cache_changes_no_result(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", {"redirects.yaml": CHAINS})
    cache = ("--cache", str(tmp_path / "cache"))
    for text in (CHAINS, CHAINS, CHAINS.replace("/end", "/a/0"), CHAINS):
        (folder / "redirects.yaml").write_text(text)
        with_cache, without = (invoke("validate", str(folder), *more) for more in (cache, ()))
        assert (with_cache.code, with_cache.out, with_cache.err) == (without.code, without.out, without.err)
    assert any((tmp_path / "cache").rglob("*"))


def test_of_a_file_its_project_is_checked_and_its_problems_are_shown(work_folder: Path) -> None:
    folder = project(
        work_folder / "rules/shop", {"redirects.yaml": flow("/a", "/a"), "redirects/more.yaml": flow("/a")}
    )
    outcome = invoke("validate", "rules/shop/redirects/more.yaml")
    assert outcome.code == 1
    assert outcome.out.startswith('rules/shop/redirects/more.yaml:2: error: "/a" is already at redirects.yaml:2')
    assert len(outcome.out.splitlines()) == 1
    assert "1 project: 2 errors" in outcome.err
    (folder / "project.yaml").unlink()
    assert invoke("validate", folder / "redirects.yaml").out.startswith("rules/shop/redirects.yaml:3: error:")
    assert invoke("validate", folder / "redirects.yaml", "--file", "x").code == 2


def test_tests_that_were_not_run_are_reported(work_folder: Path) -> None:
    tests = "tests:\n  - {url: /old, status: 404}\n"
    folder = project(work_folder / "shop", {"tests.yaml": tests})
    assert "[test_failed]" in invoke("validate").out
    (folder / "redirects.yaml").write_text(flow("old"))
    outcome = invoke("validate")
    assert "[test_failed]" not in outcome.out
    assert "The tests of shop were not run, since there are errors. Fix these first.\n" in outcome.err


def test_a_loop_of_a_refused_target_is_not_reported(work_folder: Path) -> None:
    rule = "redirects:\n  - {type: BASIC, source: /x, target: '/x y', status: 301}\n"
    host = "  - {type: BASIC_HOST, source: shop.example/y, target: /y, status: 301}\n"
    project(work_folder / "shop", {"redirects.yaml": rule + host})
    found = [line.rpartition("[")[2] for line in invoke("validate").out.splitlines()]
    assert found == ["target_character]", "missing_scheme]"]


def test_settings_of_the_checkout_tighten_the_limits_and_never_widen_them(
    work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its author may be that of the rules, as in a pull request."""
    rule = "redirects:\n  - {{type: REGEX, source: '^/{}', target: /x, status: 301}}\n"
    project(work_folder / "shop", {"redirects.yaml": rule.format("[^/]{900}")})
    settings = work_folder / "waypost.toml"
    settings.write_text('regex_rule_limit = 50000\nallowed_files = ["waypost.toml"]\n')
    assert invoke("validate").code == 0  # not in a checkout: the machine's own settings
    (work_folder / ".git").mkdir()
    assert "[regex_too_costly]" in invoke("validate").out
    monkeypatch.setenv("WAYPOST_REGEX_RULE_LIMIT", "50000")
    assert invoke("validate").code == 0
    settings.write_text('regex_rule_limit = 100\nallowed_files = ["waypost.toml"]\n')
    monkeypatch.delenv("WAYPOST_REGEX_RULE_LIMIT")
    project(work_folder / "shop", {"redirects.yaml": rule.format("[^/]{90}")})
    assert "[regex_too_costly]" in invoke("validate").out
