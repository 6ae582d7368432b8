"""Working on a draft by the command line: put, delete, replace, revert, discard, show; and what leads from state to state."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import call, must

AT = ("acme", "shop")


@pytest.fixture
def shop(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with the project acme/shop and two published redirects."""
    monkeypatch.setenv("WAYPOST_DATA", str(workplace / "data"))
    must("namespace", "create", "acme")
    must("project", "create", *AT)
    must("edit", "put", *AT, "--source", "/a", "--target", "/b")
    must("edit", "put", *AT, "--source", "/c", "--target", "/d", "--status", "302", "--note", "why", "--tag", "old")
    must("publish", *AT)
    return workplace


pytestmark = pytest.mark.usefixtures("shop")


def test_a_rule_is_put_shown_reverted_and_discarded() -> None:
    done = must("edit", "put", *AT, "--source", "/a", "--target", "/x")
    assert done.err == "1 redirect changed.\n"
    head = done.out.strip()
    assert must("diff", *AT).out == "~ redirect /a\n    target: /b -> /x\n"
    assert must("edit", "show", *AT).err == f"The draft main is at {head}: 1 redirect changed.\n"
    assert must("edit", "show", *AT, "--json").json["head"] == head
    must("edit", "delete", *AT, "/c")
    assert "- redirect /c\n" in must("edit", "show", *AT).out
    must("edit", "revert", *AT, "/c")
    last = must("edit", "revert", *AT, "/a", "--json")
    assert (last.json["head"], last.err) == (None, "1 redirect changed. Nothing is left of the draft.\n")
    assert must("diff", *AT).out == ""
    must("edit", "delete", *AT, "/c", "/a", "--draft", "spring")
    assert call("edit", "discard", *AT, "--draft", "spring").code == 2
    must("edit", "discard", *AT, "--draft", "spring", "--yes")
    assert call("edit", "discard", *AT, "--draft", "spring", "--yes").code == 2


def test_fields_that_are_not_given_stay(shop: Path) -> None:
    must("edit", "put", *AT, "--source", "/c", "--target", "/e")
    (change,) = must("diff", *AT, "--json").json["changes"]
    assert change["fields"] == {"target": {"old": "/d", "new": "/e"}}
    told = subprocess.run(
        ["git", "-C", str(shop / "data/repos/acme.git"), "log", "-1", "--format=%an", "draft/shop/main"],
        capture_output=True,
        check=True,
    )
    assert told.stdout == b"Grace Tester\n"


def test_a_json_list_is_put_at_once(shop: Path) -> None:
    rules = [
        {"type": "BASIC", "source": "/a", "target": "/z", "status": 301},
        {"type": "BASIC", "path": "/robots.txt", "content": "x", "contentType": "TEXT_PLAIN"},
    ]
    done = must("edit", "put", *AT, "--from", "-", "--json", stdin=json.dumps(rules).encode())
    assert (done.json["changes"]["redirects"]["changed"], done.json["changes"]["pages"]["added"]) == (1, 1)
    must("edit", "delete", *AT, "/robots.txt", "--page")
    (shop / "wrong.json").write_text(json.dumps([rules[0], {"source": "/q"}]))
    found = call("edit", "put", *AT, "--from", "wrong.json")
    assert (found.code, "rule 2 of the list (/q): " in found.err) == (1, True)
    for text in ("{", "{}", "7"):
        assert call("edit", "put", *AT, "--from", "-", stdin=text.encode()).code == 2


def test_every_wrong_rule_of_a_list_is_named_by_its_place_and_source() -> None:
    good = {"type": "BASIC", "source": "/good", "target": "/z", "status": 301}
    page = {"type": "BASIC", "path": "no-slash", "content": "x", "contentType": "TEXT_PLAIN"}
    rules = [good, {**good, "source": "/bad", "target": "no path"}, page]
    found = call("edit", "put", *AT, "--from", "-", stdin=json.dumps(rules).encode())
    assert (found.code, "rule 1 of" in found.err) == (1, False)
    assert "rule 2 of the list (/bad): a target cannot hold a space" in found.err
    assert "rule 3 of the list (no-slash): " in found.err
    assert must("diff", *AT).out == ""


def test_what_cannot_be_reverted_is_named_as_it_was_typed() -> None:
    must("edit", "put", *AT, "--source", "/a", "--target", "/x")
    found = call("edit", "revert", *AT, "/a", "/none")
    assert (found.code, "changes nothing at '/none'; nothing was reverted" in found.err) == (2, True)
    assert must("diff", *AT).out != ""
    found = call("edit", "revert", *AT, "/a", "--draft", "spring")
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
def test_nothing_is_told_of_a_draft_whose_name_was_mistyped(words: tuple[str, ...]) -> None:
    must("edit", "put", *AT, "--source", "/a", "--target", "/x", "--draft", "spring")
    outcome = call(*words, "--draft", "sprnig")
    assert (outcome.code, outcome.out) == (2, "")
    assert "The project shop has no draft sprnig. Did you mean 'spring'?" in outcome.err


def test_the_draft_main_and_states_that_are_no_draft_need_no_draft() -> None:
    must("diff", *AT, "--draft", "main")
    must("diff", *AT, "1", "published", "--draft", "none")
    must("match", *AT, "/a", "--at", "draft")
    must("match", *AT, "/a", "--draft", "none")
    must("review", *AT)
    must("edit", "show", *AT)


def test_a_replacement_that_finds_nothing_says_so() -> None:
    found = must("edit", "replace", *AT, "nowhere", "x", "--draft", "none")
    assert found.out == ""
    assert found.err == "Nothing was found to replace in the draft none of shop; nothing was changed.\n"
    head = must("edit", "put", *AT, "--source", "/a", "--target", "/x").out
    found = must("edit", "replace", *AT, "nowhere", "x")
    assert (found.out, "Nothing was found" in found.err) == (head, True)
    assert must("edit", "replace", *AT, "nowhere", "x", "--json").json["head"] == head.strip()


def test_choices_of_a_missing_option_are_in_one_line() -> None:
    assert "Missing option '--take'. Choose from: draft, release\n" in call("edit", "resolve", *AT).err


def test_replacing_is_tried_first_and_refused_where_a_rule_would_be_wrong() -> None:
    tried = must("edit", "replace", *AT, "/", "/shop/", "--dry-run", "--tag", "old")
    assert tried.out == "~ redirect /c\n    target: /d -> /shop/d\n"
    assert tried.err == "1 rule would change, 0 of them would be wrong. Nothing was written.\n"
    assert must("diff", *AT).out == ""
    must("edit", "replace", *AT, "^/(.)$", "/$1/$1", "--regex", "--field", "target", "--field", "source")
    assert [each["source"] for each in must("diff", *AT, "--json").json["changes"]] == ["/a/a", "/c/c", "/a", "/c"]
    assert call("edit", "replace", *AT, "/", "bad ", "--dry-run").code == 1
    refused = call("edit", "replace", *AT, "/", "bad ")
    assert (refused.code, '"/a/a": ' in refused.err) == (1, True)
    assert call("edit", "replace", *AT, "a*", "x", "--regex").code == 1
    assert call("edit", "replace", *AT, "a", "x", "--field", "path").code == 2


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
def test_wrong_use_is_2_and_changes_nothing(arguments: tuple[str, ...]) -> None:
    assert call("edit", *arguments, stdin=b"[]").code == 2
    assert must("diff", *AT).out == ""


def test_a_new_rule_needs_its_target_and_one_that_is_right() -> None:
    assert call("edit", "put", *AT, "--source", "/new").code == 1
    assert call("edit", "put", *AT, "--source", "/new", "--target", "no path").code == 1
    assert must("edit", "put", *AT, "--source", "/loop", "--target", "/loop").code == 0
    assert call("edit", "show", *AT).code == 1


def test_the_exit_code_tells_of_differences_only_where_it_is_asked_to() -> None:
    must("edit", "put", *AT, "--source", "/a", "--target", "/x")
    assert must("diff", *AT).err == "1 redirect changed.\n"
    assert call("diff", *AT, "--exit-code").code == 1
    assert call("diff", *AT, "2", "published", "--exit-code").code == 0
    assert must("diff", *AT, "1", "2", "--json").json["counts"]["redirects"]["added"] == 2
    assert call("diff", *AT, "99").code == 2


def test_markdown_shows_every_sign_of_a_rule_as_it_is() -> None:
    source = r"^/(a|b)`\d+<img>$"
    must("edit", "put", *AT, "--source", source, "--target", "/x|y_*z*", "--type", "REGEX")
    must("edit", "put", *AT, "--source", "/a", "--target", "/@team")
    found = must("diff", *AT, "--format", "markdown").out.splitlines()
    assert found[0] == "**1 redirect added, 1 redirect changed** in `acme/shop` from `base` to `draft`"
    rows = found[4:]
    assert rows[0] == "| changed | `/a` | target `/b` → `/@team` |"
    assert len(rows) == 2
    assert not {"|", "`", "<img>", "*"} & set(rows[1].split(" | ")[1].removeprefix("<code>"))
    assert "&#124;" in rows[1]
    assert rows[1].count("|") == 4


def test_nothing_that_a_rule_holds_reaches_the_terminal_raw() -> None:
    must("edit", "put", *AT, "--source", "/a", "--note", "red \x1b[31m text\nsecond line")
    for form in ("text", "markdown"):
        assert "\x1b" not in must("diff", *AT, "--format", form).out
    assert must("diff", *AT).out == "~ redirect /a\n    note: (none) -> red \\x1b[31m text\\nsecond line\n"


def test_what_others_publish_is_not_told_as_removed_by_the_draft() -> None:
    """By default a draft is compared with where it left release, and all that tell of it agree."""
    must("edit", "put", *AT, "--source", "/mine", "--target", "/x", "--draft", "spring")
    must("edit", "put", *AT, "--source", "/since", "--target", "/x")
    must("publish", *AT)
    for told in (must("diff", *AT, "--draft", "spring"), must("edit", "show", *AT, "--draft", "spring")):
        assert told.out.startswith("+ redirect /mine\n")
        assert "/since" not in told.out
        assert "1 redirect added." in told.err
    assert "- redirect /since\n" in must("diff", *AT, "published", "draft", "--draft", "spring").out
    assert must("diff", *AT, "base", "draft/shop/spring").out == must("diff", *AT, "--draft", "spring").out


def test_a_draft_is_shown_without_the_review_that_is_not_looked_up() -> None:
    """In the API null says that the database is away."""
    must("edit", "put", *AT, "--source", "/a", "--target", "/x")
    shown = must("edit", "show", *AT, "--json").json
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
    told = must("diff", *AT, "--draft", "hand")
    assert (told.out, told.err) == (lines, "shop/no*tes.txt added, shop/project.yaml changed.\n")
    assert call("diff", *AT, "--draft", "hand", "--exit-code").code == 1
    shown = call("edit", "show", *AT, "--draft", "hand")
    assert shown.out.startswith(lines)
    assert shown.err.endswith(": shop/no*tes.txt added, shop/project.yaml changed.\n")
    change = {"title": {"old": "shop", "new": ""}, "review": {"old": "optional", "new": "required"}}
    (added, changed) = must("diff", *AT, "--draft", "hand", "--json").json["files"]
    assert (added["file"], changed["settings"]) == ("shop/no*tes.txt", change)
    found = must("diff", *AT, "--draft", "hand", "--format", "markdown").out.splitlines()
    assert found[0].startswith("**shop/no&#42;tes.txt added, shop/project.yaml changed** in ")
    assert found[-1] == "| changed | `shop/project.yaml` | title `shop` → none, review `optional` → `required` |"


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)
