"""Work on a draft at the command line: put, delete, replace, revert, discard, show; and differences of states."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import invoke, invoke_ok
from tests.e2e.git import git

AT = ("acme", "shop")


@pytest.fixture
def shop(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a data directory with the project acme/shop and two published redirects."""
    monkeypatch.setenv("WAYPOST_DATA", str(work_folder / "data"))
    invoke_ok("namespace", "create", "acme")
    invoke_ok("project", "create", *AT)
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/b")
    invoke_ok(
        "edit", "put", *AT, "--source", "/c", "--target", "/d", "--status", "302", "--note", "why", "--tag", "old"
    )
    invoke_ok("publish", *AT)
    return work_folder


pytestmark = pytest.mark.usefixtures("shop")


def test_a_rule_is_put_shown_reverted_and_discarded() -> None:
    done = invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x")
    assert done.err == "1 redirect changed.\n"
    head = done.out.strip()
    assert invoke_ok("diff", *AT).out == "~ redirect /a\n    target: /b -> /x\n"
    assert invoke_ok("edit", "show", *AT).err == f"The draft main is at {head}: 1 redirect changed.\n"
    assert invoke_ok("edit", "show", *AT, "--json").json["head"] == head
    invoke_ok("edit", "delete", *AT, "/c")
    assert "- redirect /c\n" in invoke_ok("edit", "show", *AT).out
    invoke_ok("edit", "revert", *AT, "/c")
    last = invoke_ok("edit", "revert", *AT, "/a", "--json")
    assert (last.json["head"], last.err) == (None, "1 redirect changed. No changes are left; the draft was removed.\n")
    assert invoke_ok("diff", *AT).out == ""
    invoke_ok("edit", "delete", *AT, "/c", "/a", "--draft", "spring")
    assert invoke("edit", "discard", *AT, "--draft", "spring").code == 2
    invoke_ok("edit", "discard", *AT, "--draft", "spring", "--yes")
    assert invoke("edit", "discard", *AT, "--draft", "spring", "--yes").code == 2


def test_fields_that_are_not_given_stay(shop: Path) -> None:
    invoke_ok("edit", "put", *AT, "--source", "/c", "--target", "/e")
    (change,) = invoke_ok("diff", *AT, "--json").json["changes"]
    assert change["fields"] == {"target": {"old": "/d", "new": "/e"}}
    reported = subprocess.run(
        ["git", "-C", str(shop / "data/repos/acme.git"), "log", "-1", "--format=%an", "draft/shop/main"],
        capture_output=True,
        check=True,
    )
    assert reported.stdout == b"Grace Tester\n"


def test_a_json_list_is_put_at_once(shop: Path) -> None:
    rules = [
        {"type": "BASIC", "source": "/a", "target": "/z", "status": 301},
        {"type": "BASIC", "path": "/robots.txt", "content": "x", "contentType": "TEXT_PLAIN"},
    ]
    done = invoke_ok("edit", "put", *AT, "--from", "-", "--json", stdin=json.dumps(rules).encode())
    assert (done.json["changes"]["redirects"]["changed"], done.json["changes"]["pages"]["added"]) == (1, 1)
    invoke_ok("edit", "delete", *AT, "/robots.txt", "--page")
    (shop / "wrong.json").write_text(json.dumps([rules[0], {"source": "/q"}]))
    found = invoke("edit", "put", *AT, "--from", "wrong.json")
    assert (found.code, "rule 2 of the list (/q): " in found.err) == (1, True)
    for text in ("{", "{}", "7"):
        assert invoke("edit", "put", *AT, "--from", "-", stdin=text.encode()).code == 2


def test_every_invalid_rule_of_a_list_is_named_by_its_place_and_source() -> None:
    good = {"type": "BASIC", "source": "/good", "target": "/z", "status": 301}
    page = {"type": "BASIC", "path": "no-slash", "content": "x", "contentType": "TEXT_PLAIN"}
    rules = [good, {**good, "source": "/bad", "target": "no path"}, page]
    found = invoke("edit", "put", *AT, "--from", "-", stdin=json.dumps(rules).encode())
    assert (found.code, "rule 1 of" in found.err) == (1, False)
    assert "rule 2 of the list (/bad): a target cannot hold a space" in found.err
    assert "rule 3 of the list (no-slash): " in found.err
    assert invoke_ok("diff", *AT).out == ""


def test_what_cannot_be_reverted_is_named_as_it_was_typed() -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x")
    found = invoke("edit", "revert", *AT, "/a", "/none")
    assert (found.code, "has no change of '/none'; nothing was reverted" in found.err) == (2, True)
    assert invoke_ok("diff", *AT).out != ""
    found = invoke("edit", "revert", *AT, "/a", "--draft", "spring")
    assert (found.code, "has no draft spring" in found.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("diff", *AT, "--exit-code"),
        ("diff", *AT, "draft", "published"),
        ("match", *AT, "/a", "--at", "draft"),
        ("review", *AT),
        ("edit", "show", *AT),
        ("edit", "resolve", *AT, "--take", "draft"),
        ("edit", "revert", *AT, "/a"),
    ],
    ids=" ".join,
)
def test_a_misspelled_name_of_a_draft_is_an_error(words: tuple[str, ...]) -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x", "--draft", "spring")
    outcome = invoke(*words, "--draft", "sprnig")
    assert (outcome.code, outcome.out) == (2, "")
    assert "The project shop has no draft sprnig. Did you mean 'spring'?" in outcome.err


def test_the_draft_main_and_states_that_are_no_draft_need_no_draft() -> None:
    invoke_ok("diff", *AT, "--draft", "main")
    invoke_ok("diff", *AT, "1", "published", "--draft", "none")
    invoke_ok("match", *AT, "/a", "--at", "draft")
    invoke_ok("match", *AT, "/a", "--draft", "none")
    invoke_ok("review", *AT)
    invoke_ok("edit", "show", *AT)


def test_a_replacement_without_a_match_says_so() -> None:
    found = invoke_ok("edit", "replace", *AT, "nowhere", "x", "--draft", "none")
    assert found.out == ""
    assert found.err == "No match in the draft none of shop; nothing changed.\n"
    head = invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x").out
    found = invoke_ok("edit", "replace", *AT, "nowhere", "x")
    assert (found.out, "No match" in found.err) == (head, True)
    assert invoke_ok("edit", "replace", *AT, "nowhere", "x", "--json").json["head"] == head.strip()


def test_choices_of_a_missing_option_are_in_one_line() -> None:
    assert "Missing option '--take'. Choose from: draft, release\n" in invoke("edit", "resolve", *AT).err


def test_a_replacement_is_previewed_and_refused_if_a_rule_would_be_invalid() -> None:
    tried = invoke_ok("edit", "replace", *AT, "/", "/shop/", "--dry-run", "--tag", "old")
    assert tried.out == "~ redirect /c\n    target: /d -> /shop/d\n"
    assert tried.err == "1 rule would change, 0 of them would be invalid. Nothing was written.\n"
    assert invoke_ok("diff", *AT).out == ""
    invoke_ok("edit", "replace", *AT, "^/(.)$", "/$1/$1", "--regex", "--field", "target", "--field", "source")
    assert [each["source"] for each in invoke_ok("diff", *AT, "--json").json["changes"]] == ["/a/a", "/c/c", "/a", "/c"]
    assert invoke("edit", "replace", *AT, "/", "bad ", "--dry-run").code == 1
    refused = invoke("edit", "replace", *AT, "/", "bad ")
    assert (refused.code, '"/a/a": ' in refused.err) == (1, True)
    assert invoke("edit", "replace", *AT, "a*", "x", "--regex").code == 1
    assert invoke("edit", "replace", *AT, "a", "x", "--field", "path").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("put", *AT),
        ("put", *AT, "--target", "/x"),
        ("put", *AT, "--source", "/x", "--from", "-"),
        ("put", *AT, "--source", "/x", "--status", "200"),
        ("put", "acme", "none", "--source", "/x", "--target", "/y"),
        ("put", *AT, "--source", "/x", "--target", "/y", "--draft", "a/b"),
        ("delete", *AT, "/none"),
        ("revert", *AT, "/none"),
    ],
)
def test_a_usage_error_is_2_and_changes_nothing(arguments: tuple[str, ...]) -> None:
    assert invoke("edit", *arguments, stdin=b"[]").code == 2
    assert invoke_ok("diff", *AT).out == ""


def test_a_new_rule_needs_a_valid_target() -> None:
    assert invoke("edit", "put", *AT, "--source", "/new").code == 1
    assert invoke("edit", "put", *AT, "--source", "/new", "--target", "no path").code == 1
    assert invoke_ok("edit", "put", *AT, "--source", "/loop", "--target", "/loop").code == 0
    assert invoke("edit", "show", *AT).code == 1


def test_the_exit_code_reports_differences_only_on_request() -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x")
    assert invoke_ok("diff", *AT).err == "1 redirect changed.\n"
    assert invoke("diff", *AT, "--exit-code").code == 1
    assert invoke("diff", *AT, "2", "published", "--exit-code").code == 0
    assert invoke_ok("diff", *AT, "1", "2", "--json").json["counts"]["redirects"]["added"] == 2
    assert invoke("diff", *AT, "99").code == 2


def test_markdown_shows_every_sign_of_a_rule_as_it_is() -> None:
    source = r"^/(a|b)`\d+<img>$"
    invoke_ok("edit", "put", *AT, "--source", source, "--target", "/x|y_*z*", "--type", "REGEX")
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/@team")
    found = invoke_ok("diff", *AT, "--format", "markdown").out.splitlines()
    assert found[2] == "### Redirects and pages: 1 redirect added, 1 redirect changed"
    assert found[4] == "In `acme/shop` from `base` to `draft`."
    rows = [row for row in found if row.startswith(("| changed", "| added"))]
    assert rows[0] == "| changed | `/a` | target `/b` → `/@team` |"
    assert len(rows) == 2
    assert not {"|", "`", "<img>", "*"} & set(rows[1].split(" | ")[1].removeprefix("<code>"))
    assert "&#124;" in rows[1]
    assert rows[1].count("|") == 4


def test_nothing_that_a_rule_holds_reaches_the_terminal_raw() -> None:
    invoke_ok("edit", "put", *AT, "--source", "/a", "--note", "red \x1b[31m text\nsecond line")
    for form in ("text", "markdown"):
        assert "\x1b" not in invoke_ok("diff", *AT, "--format", form).out
    assert invoke_ok("diff", *AT).out == "~ redirect /a\n    note: (none) -> red \\x1b[31m text\\nsecond line\n"


def test_publishes_of_others_are_not_shown_as_removed_by_the_draft() -> None:
    """By default a draft is compared with its base on release, and all commands that compare it agree."""
    invoke_ok("edit", "put", *AT, "--source", "/mine", "--target", "/x", "--draft", "spring")
    invoke_ok("edit", "put", *AT, "--source", "/since", "--target", "/x")
    invoke_ok("publish", *AT)
    for reported in (invoke_ok("diff", *AT, "--draft", "spring"), invoke_ok("edit", "show", *AT, "--draft", "spring")):
        assert reported.out.startswith("+ redirect /mine\n")
        assert "/since" not in reported.out
        assert "1 redirect added." in reported.err
    assert "- redirect /since\n" in invoke_ok("diff", *AT, "published", "draft", "--draft", "spring").out
    assert invoke_ok("diff", *AT, "base", "draft/shop/spring").out == invoke_ok("diff", *AT, "--draft", "spring").out


def test_a_draft_is_shown_without_its_review() -> None:
    """In the API null means that the database is unavailable."""
    invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/x")
    shown = invoke_ok("edit", "show", *AT, "--json").json
    assert "review" not in shown
    assert (shown["files"], shown["changes"]["redirects"]["changed"]) == ([], 1)


def test_files_without_rules_are_shown_with_their_settings(shop: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    _git(tmp_path, "clone", "-q", "-b", "release", str(shop / "data/repos/acme.git"), str(own))
    (own / "shop/project.yaml").write_text("project: {policy: {review: required}}\n")
    (own / "shop/no*tes.txt").write_text("x\n")
    _git(own, "add", "--all")
    _git(own, "-c", "user.name=Eve", "-c", "user.email=eve@tests.example", "commit", "-qm", "By hand")
    _git(own, "push", "-q", "origin", "HEAD:refs/heads/draft/shop/hand")
    lines = "+ file shop/no*tes.txt\n~ file shop/project.yaml\n    title: shop -> (none)\n    review: optional -> required\n"
    reported = invoke_ok("diff", *AT, "--draft", "hand")
    assert (reported.out, reported.err) == (lines, "shop/no*tes.txt added, shop/project.yaml changed.\n")
    assert invoke("diff", *AT, "--draft", "hand", "--exit-code").code == 1
    shown = invoke("edit", "show", *AT, "--draft", "hand")
    assert shown.out.startswith(lines)
    assert shown.err.endswith(": shop/no*tes.txt added, shop/project.yaml changed.\n")
    change = {"title": {"old": "shop", "new": ""}, "review": {"old": "optional", "new": "required"}}
    (added, changed) = invoke_ok("diff", *AT, "--draft", "hand", "--json").json["files"]
    assert (added["file"], changed["settings"]) == ("shop/no*tes.txt", change)
    found = invoke_ok("diff", *AT, "--draft", "hand", "--format", "markdown").out.splitlines()
    assert found[2] == "### Redirects and pages: no rule changed, 1 error"
    assert "| added | `shop/no*tes.txt` |  |" in found
    assert "| changed | `shop/project.yaml` | title `shop` → none, review `optional` → `required` |" in found


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def test_edit_that_makes_the_draft_unpublishable_prints_the_new_problems() -> None:
    """The edit is made, so the exit code stays 0; a later edit does not print them again."""
    done = invoke_ok("edit", "put", *AT, "--source", "/b", "--target", "/a")
    first, header, *lines = done.err.splitlines()
    assert (first, header) == ("1 redirect added.", "The draft cannot be published now:")
    assert lines
    assert all(": error: " in line for line in lines)
    assert any("loop" in line for line in lines)
    assert invoke("publish", *AT).code == 1
    assert invoke_ok("edit", "put", *AT, "--source", "/other", "--target", "/x").err == "1 redirect added.\n"
    found = invoke_ok("edit", "put", *AT, "--source", "/x", "--target", "/other", "--json").json["problems"]
    assert {problem["code"] for problem in found} == {"redirect_loop"}
    assert invoke_ok("edit", "delete", *AT, "/b").err == "1 redirect removed.\n"
    assert invoke_ok("edit", "put", *AT, "--source", "/a", "--target", "/b", "--json").json["problems"] == []


def test_replace_and_revert_print_new_problems_too() -> None:
    invoke_ok("edit", "put", *AT, "--source", "/b", "--target", "/elsewhere")
    assert "cannot be published" in invoke_ok("edit", "replace", *AT, "/elsewhere", "/a").err
    assert "cannot be published" not in invoke_ok("edit", "revert", *AT, "/b").err


def test_import_prints_new_problems(shop: Path) -> None:
    """The rows are valid, and fail a test of the project, which a push by plain git brought."""
    clone = shop / "clone"
    git(shop, "clone", "--quiet", "--branch", "release", str(shop / "data/repos/acme.git"), str(clone))
    (clone / "shop/tests.yaml").write_text("tests:\n  - {url: /free, status: 404}\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Test")
    git(clone, "push", "--quiet", "origin", "HEAD:release")
    table = shop / "rows.tsv"
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/free\t/x2\t301\n")
    lines = invoke_ok("import", *AT, str(table)).err.splitlines()
    assert "The draft cannot be published now:" in lines
    assert "/free" in lines[-1]
    table.write_text("type\tsource\ttarget\tstatus\nBASIC\t/other\t/x2\t301\n")
    assert invoke_ok("import", *AT, str(table), "--json").json["draftProblems"] == []
