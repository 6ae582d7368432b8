"""The life of a rule at the command line: namespace, project, import, publish, match, log, rollback, delete."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.rule_folders import flow, project, write
from tests.cli.terminal import SAMPLE, invoke, invoke_ok, table

HEADER = "type\tsource\ttarget\tstatus\n"


@pytest.fixture
def shop(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a data directory with the empty project acme/shop."""
    monkeypatch.setenv("WAYPOST_DATA", str(work_folder / "data"))
    invoke_ok("namespace", "create", "acme")
    invoke_ok("project", "create", "acme", "shop", "--title", "Our shop")
    return work_folder / "data"


def rows(*lines: str) -> bytes:
    """Return a table for the import, with a tab for each `|`."""
    return (HEADER + "".join(f"{line}\n" for line in lines).replace("|", "\t")).encode()


@pytest.mark.usefixtures("shop")
def test_a_rule_goes_live_and_back_again() -> None:
    imported = invoke_ok("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    assert imported.out == "1 added, 0 changed, 0 identical, 0 skipped, 0 invalid\n"
    assert invoke("match", "acme", "shop", "/old").code == 1
    assert invoke_ok("match", "acme", "shop", "/old", "--at", "draft").out.startswith("301 /new  BASIC /old  shop/")
    published = invoke_ok("publish", "acme", "shop", "-m", "Move the old page")
    assert published.err == "Publish 2 of shop: 1 redirect added.\n"
    assert invoke_ok("match", "acme", "shop", "/old").out == "301 /new  BASIC /old  shop/redirects.yaml:2\n"
    assert invoke("match", "acme", "shop", "/old", "--at", "1").code == 1
    invoke_ok("rollback", "acme", "shop", "1")
    assert invoke("match", "acme", "shop", "/old").code == 1
    assert [(row[0], row[3], row[4]) for row in table(invoke_ok("log", "acme", "shop").out)] == [
        ("3", "Grace Tester", "1 redirect removed"),
        ("2", "Grace Tester", "1 redirect added"),
        ("1", "Grace Tester", "no rule changed, 3 files"),
    ]
    assert published.out.strip() in [each["version"] for each in invoke_ok("log", "acme", "shop", "--json").json]


def test_commits_are_by_the_user_of_the_command(shop: Path) -> None:
    invoke_ok("import", "acme", "shop", "-", "--publish", stdin=rows("BASIC|/old|/new|301"))
    shown = subprocess.run(
        ["git", "-C", str(shop / "repos" / "acme.git"), "log", "--format=%an <%ae>", "release"],
        capture_output=True,
        check=True,
    )
    assert set(shown.stdout.decode().splitlines()) == {"Grace Tester <grace@tests.example>"}


@pytest.mark.usefixtures("shop")
def test_an_unknown_user_of_the_system_stops_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    invoke_ok("project", "create", "acme", "docs")
    assert invoke_ok("log", "acme", "docs", "--json").json[0]["publishedBy"] == "operator <operator@localhost>"


def test_a_column_that_is_not_imported_is_named_and_notes_are_imported(shop: Path) -> None:
    outcome = invoke_ok("import", "acme", "shop", "-", "--dry-run", stdin=b"source,target,note,tag\n/a,/b,why,x\n")
    assert (
        '-: the column "tag" is not imported; did you mean "tags"? No column is named "status", so each redirect gets 301\n'
        in outcome.err
    )
    reported = invoke_ok("import", "acme", "shop", "-", "--json", stdin=b"source,target,tag\n/z,/b,x\n").json
    assert [each["name"] for each in reported["unusedColumns"]] == ["tag"]
    invoke_ok("import", "acme", "shop", "-", "--publish", stdin=b'source,target,note,tags\n/a,/b,why,"x, y"\n')
    shown = subprocess.run(
        ["git", "-C", str(shop / "repos" / "acme.git"), "show", "release:shop/redirects.yaml"],
        capture_output=True,
        check=True,
    )
    assert '"note": "why", "tags": ["x", "y"]' in shown.stdout.decode()


def test_invalid_rows_are_named_and_stop_the_import(shop: Path) -> None:
    table_file = (
        write(shop.parent, {"rules.tsv": rows("BASIC|old|/new|301", "BASIC|/b|/new|299").decode()}) / "rules.tsv"
    )
    outcome = invoke("import", "acme", "shop", table_file)
    assert outcome.code == 1
    first, second, counts = outcome.out.splitlines()
    assert first.startswith(f"{table_file}:2:2: error: ")
    assert second.startswith(f"{table_file}:3:4: error: status must be one of")
    assert counts == "0 added, 0 changed, 0 identical, 0 skipped, 2 invalid"
    assert "--skip-errors" in outcome.err
    assert invoke("publish", "acme", "shop").code == 1


@pytest.mark.usefixtures("shop")
def test_of_very_many_invalid_rows_the_first_are_named_and_the_others_counted() -> None:
    outcome = invoke("import", "acme", "shop", "-", stdin=rows(*["BASIC|old|/new|301"] * 1_002))
    lines = outcome.out.splitlines()
    assert (outcome.code, len(lines), lines[999].split(" ")[0]) == (1, 1_002, "-:1001:2:")
    assert lines[1000] == "… and 2 more errors in 2 more rows."


@pytest.mark.usefixtures("shop")
def test_invalid_rows_can_be_left_out() -> None:
    data = rows("BASIC|old|/new|301", "BASIC|/b|/new|301")
    outcome = invoke("import", "acme", "shop", "-", "--skip-errors", "--publish", "--json", stdin=data)
    assert outcome.code == 0
    assert (outcome.json["added"], len(outcome.json["errors"])) == (1, 1)
    assert outcome.json["published"]["publishNumber"] == 2
    assert outcome.json["published"]["changes"]["redirects"] == {"added": 1, "changed": 0, "removed": 0}


@pytest.mark.usefixtures("shop")
def test_a_file_that_is_no_table_is_not_imported_whatever_is_to_be_left_out() -> None:
    outcome = invoke("import", "acme", "shop", "-", "--skip-errors", "--publish", stdin=b"from,to\n/a,/b\n")
    assert outcome.code == 1
    assert "-:1:1: error: the first line must be the header" in outcome.out
    assert outcome.err == "Nothing was imported. Fix the errors above.\n"


@pytest.mark.usefixtures("shop")
def test_a_dry_run_reports_the_changes_and_writes_nothing() -> None:
    data = rows("BASIC|/old|/new|301")
    outcome = invoke_ok("import", "acme", "shop", "-", "--dry-run", stdin=data)
    assert (outcome.out.split(",")[0], outcome.err) == ("1 added", "Nothing was written: this was a dry run.\n")
    assert invoke("publish", "acme", "shop").code == 1
    assert invoke_ok("import", "acme", "shop", "-", stdin=data).out.startswith("1 added")
    assert invoke_ok("import", "acme", "shop", "-", stdin=data).err == "There was nothing to import.\n"


@pytest.mark.usefixtures("shop")
def test_overwriting_changes_what_has_the_same_source() -> None:
    invoke_ok("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    newer = rows("BASIC|/old|/newer|301")
    assert "0 changed, 0 identical, 1 skipped" in invoke_ok("import", "acme", "shop", "-", stdin=newer).out
    assert (
        "1 changed, 0 identical, 0 skipped, 0 invalid"
        in invoke_ok("import", "acme", "shop", "-", "--overwrite", stdin=newer).out
    )


@pytest.mark.usefixtures("shop")
def test_a_draft_of_another_name_is_published_by_its_name() -> None:
    invoke_ok("import", "acme", "shop", "-", "--draft", "spring", stdin=rows("BASIC|/old|/new|301"))
    assert invoke("publish", "acme", "shop").code == 1
    outcome = invoke_ok("publish", "acme", "shop", "--draft", "spring", "--json")
    assert outcome.json["publishNumber"] == 2


def test_the_next_step_after_an_import_is_on_the_same_draft_and_data(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied unchanged, it publishes the imported rules, not the draft main."""
    monkeypatch.delenv("WAYPOST_DATA")
    words = ("--draft", "spring", "--data", str(shop))
    outcome = invoke_ok("import", "acme", "shop", "-", *words, stdin=rows("BASIC|/old|/new|301"))
    command = outcome.err.split("`")[1]
    assert command == f"waypost publish acme shop --draft spring --data {shop}"
    invoke_ok(*command.split()[1:])
    again = invoke_ok("import", "acme", "shop", "-", "--data", str(shop), stdin=rows("BASIC|/b|/new|301"))
    assert f"`waypost publish acme shop --data {shop}`" in again.err


@pytest.mark.usefixtures("shop")
def test_publishing_a_draft_that_moved_meanwhile_is_refused() -> None:
    invoke_ok("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    outcome = invoke("publish", "acme", "shop", "--head", "0" * 40)
    assert (outcome.code, outcome.out) == (1, "")


def test_a_folder_becomes_a_namespace_that_serves_it(work_folder: Path) -> None:
    project(work_folder / "content" / "shop")
    made = invoke_ok("namespace", "create", "acme", "--from", "content", "--description", "Ours", "--json").json
    assert (made["name"], made["description"], made["projects"]) == ("acme", "Ours", 1)
    subprocess.run(["git", "clone", "-q", made["repository"], "clone"], check=True)
    assert (work_folder / "clone/shop/redirects.yaml").read_bytes() == (
        work_folder / "content/shop/redirects.yaml"
    ).read_bytes()
    assert [each["name"] for each in invoke_ok("project", "list", "acme", "--json").json] == ["shop"]


def test_a_folder_with_faults_becomes_no_namespace(work_folder: Path) -> None:
    project(work_folder / "content" / "shop", {"redirects.yaml": flow("old")})
    outcome = invoke("namespace", "create", "acme", "--from", "content")
    assert outcome.code == 1
    assert "shop/redirects.yaml:2:33: error: " in outcome.err
    assert invoke_ok("namespace", "list", "--json").json == []
    assert {path.name for path in (work_folder / "data/repos").iterdir()} == {".identity", ".new.lock"}


def test_one_project_is_no_namespace() -> None:
    outcome = invoke("namespace", "create", "acme", "--from", SAMPLE / "shop")
    assert (outcome.code, "Pass its parent folder" in outcome.err) == (2, True)


@pytest.mark.usefixtures("data")
def test_lists_show_what_there_is() -> None:
    assert table(invoke_ok("namespace", "list").out) == [["sample", "3", "A sample."]]
    assert [(row[0], row[1], *row[3:]) for row in table(invoke_ok("project", "list", "sample").out)] == [
        ("company", "1", "13", "3"),
        ("docs", "1", "15", "3"),
        ("shop", "1", "67", "4"),
    ]
    shop = invoke_ok("project", "list", "sample", "--json").json[2]
    assert (shop["title"], shop["redirects"], shop["draft"]) == ("Shop", 67, False)


def test_a_broken_namespace_does_not_hide_the_others(data: Path) -> None:
    invoke_ok("namespace", "create", "other")
    (data / "repos/sample.git/refs/heads/release").unlink()
    outcome = invoke("namespace", "list", "--json")
    assert outcome.code == 3
    assert [(each["name"], each["projects"]) for each in outcome.json] == [("other", 0), ("sample", 3)]
    assert outcome.err == "waypost: sample: The repository sample.git has no release branch.\n"


def test_a_broken_namespace_without_a_last_good_state_is_reported(data: Path) -> None:
    invoke_ok("namespace", "create", "other")
    (data / "repos/sample.git/refs/heads/release").unlink()
    shutil.rmtree(data / "compiled/sample")
    outcome = invoke("namespace", "list", "--json")
    assert outcome.code == 3
    assert [each["name"] for each in outcome.json] == ["other"]
    assert outcome.err == "waypost: sample: The repository sample.git has no release branch.\n"


@pytest.mark.usefixtures("data")
def test_a_deleted_namespace_is_gone_and_archived() -> None:
    invoke_ok("project", "delete", "sample", "docs", "--yes")
    assert invoke("log", "sample", "docs").code == 2
    aside = invoke_ok("namespace", "delete", "sample", "--yes").out.strip()
    assert invoke_ok("namespace", "list", "--json").json == []
    assert (Path(aside) / "sample.git" / "HEAD").is_file()
    invoke_ok("namespace", "create", "sample")


@pytest.mark.usefixtures("data")
def test_an_archived_namespace_is_listed_and_restored() -> None:
    folder = Path(invoke_ok("namespace", "delete", "sample", "--yes").out.strip())
    listed = invoke_ok("namespace", "archived", "--json").json
    assert [(each["name"], each["id"], each["projects"]) for each in listed] == [("sample", folder.name, 3)]
    assert folder.name in invoke_ok("namespace", "archived", "sample").out
    assert folder.name not in invoke_ok("namespace", "archived", "other").out
    restored = invoke_ok("namespace", "restore", "sample", "--archive", folder.name, "--json").json
    assert (restored["name"], restored["projects"]) == ("sample", 3)
    assert Path(restored["repository"]).is_dir()
    assert invoke_ok("namespace", "archived", "--json").json == []
    assert invoke("namespace", "restore", "sample").code != 0


@pytest.mark.parametrize("words", [("namespace", "delete", "sample"), ("project", "delete", "sample", "shop")])
@pytest.mark.usefixtures("data")
def test_without_a_terminal_nothing_is_deleted_without_yes(words: tuple[str, ...]) -> None:
    outcome = invoke(*words)
    assert (outcome.code, "--yes" in outcome.err) == (2, True)
    assert len(invoke_ok("project", "list", "sample", "--json").json) == 3


def test_match_shows_the_losers_and_the_chain(work_folder: Path) -> None:
    rules = flow("/a").replace("/new", "/b") + flow("/b").removeprefix("redirects:\n")
    pattern = '  - {"type": "REGEX", "source": "^/a$", "target": "/c", "status": "FOUND"}\n'
    project(work_folder / "content" / "shop", {"redirects.yaml": rules + pattern})
    invoke_ok("namespace", "create", "acme", "--from", "content")
    assert [line.split("  ")[0:2] for line in invoke_ok("match", "acme", "shop", "/a").out.splitlines()] == [
        ["302 /b", "BASIC /a"],
        ["", "not 302 /c"],
        ["", "then 302 /new"],
    ]


@pytest.mark.usefixtures("data")
def test_match_answers_in_the_api_s_shape_for_scripts() -> None:
    found = invoke_ok("match", "sample", "shop", "/product/1001.html", "--json").json
    assert (found["status"], found["rule"]["file"]) == (301, "shop/redirects/old-products.yaml")
    missed = invoke("match", "sample", "shop", "/nothing", "--json")
    assert (missed.code, missed.json["status"]) == (1, None)


@pytest.mark.usefixtures("shop")
def test_match_takes_a_path_with_two_slashes_as_a_path() -> None:
    invoke_ok("import", "acme", "shop", "-", stdin=rows("BASIC|//twice|/once|301"))
    assert invoke_ok("match", "acme", "shop", "//twice", "--at", "draft").out.startswith("301 /once  BASIC //twice")
    assert invoke("match", "acme", "shop", "/twice", "--at", "draft").code == 1
    assert "begins with" in invoke("match", "acme", "shop", "twice").err


@pytest.mark.usefixtures("shop")
def test_what_nearly_matches_is_listed_where_nothing_does() -> None:
    invoke_ok("import", "acme", "shop", "-", "--publish", stdin=rows("BASIC|/sale/|/offers|301"))
    invoke_ok("import", "acme", "shop", "-", stdin=rows("BASIC|/sale|/offers|302"))
    assert invoke("match", "acme", "shop", "/sale").out.splitlines() == [
        "nothing matches",
        "  nearly 302 /offers  BASIC /sale  shop/redirects.yaml:3: it is in the draft, not published yet",
        "  nearly 301 /offers  BASIC /sale/  shop/redirects.yaml:2: it matches with a slash at the end",
    ]
    found = invoke("match", "acme", "shop", "/SALE/", "--at", "draft", "--json").json["near"]
    assert [(each["url"], each["why"]) for each in found] == [("/sale/", "it matches in lower case")]
    assert "near" not in invoke_ok("match", "acme", "shop", "/sale/", "--json").json


@pytest.mark.usefixtures("shop")
def test_a_chain_that_is_too_long_for_clients_is_reported() -> None:
    invoke_ok("import", "acme", "shop", "-", stdin=rows(*(f"BASIC|/{n}|/{n + 1}|301" for n in range(12))))
    lines = invoke_ok("match", "acme", "shop", "/0", "--at", "draft").out.splitlines()
    assert (lines[-2].split("  ")[1], lines[-1]) == ("then 301 /10", "  then more hops than clients follow")


@pytest.mark.usefixtures("shop")
def test_the_history_of_a_rule_is_listed() -> None:
    for target in ("/1", "/2"):
        invoke_ok("import", "acme", "shop", "-", "--publish", "--overwrite", stdin=rows(f"BASIC|/old|{target}|301"))
    invoke_ok("rollback", "acme", "shop", "1")
    reported = [(row[0], row[5], row[6]) for row in table(invoke_ok("log", "acme", "shop", "--source", "/old").out)]
    assert reported == [
        ("4", "removed", "type: BASIC, source: /old, target: /2, status: MOVED_PERMANENT"),
        ("3", "changed", "target: /1 -> /2"),
        ("2", "added", "type: BASIC, source: /old, target: /1, status: MOVED_PERMANENT"),
    ]
    found = invoke_ok("log", "acme", "shop", "--source", "/old", "--json", "--limit", "1", "--offset", "1").json
    assert [(each["publishNumber"], each["fields"]) for each in found] == [(3, {"target": {"old": "/1", "new": "/2"}})]
    assert table(invoke_ok("log", "acme", "shop", "--path", "/old").out) == []
    assert invoke_ok("log", "acme", "shop", "--path", "/old").err == "No publish changed the page '/old'.\n"
    assert invoke_ok("log", "acme", "shop", "--source", "/old", "--offset", "9").err == ""
    assert invoke("log", "acme", "shop", "--path", "/old", "--source", "/old").code == 2
    assert [row[0] for row in table(invoke_ok("log", "acme", "shop", "-n", "2", "--offset", "1").out)] == ["3", "2"]


@pytest.mark.usefixtures("shop")
def test_an_old_version_is_looked_at_before_it_is_live_again() -> None:
    invoke_ok("import", "acme", "shop", "-", "--publish", stdin=rows("BASIC|/old|/new|301"))
    made = invoke_ok("rollback", "acme", "shop", "1", "--as-draft", "--draft", "back")
    assert made.err == "The draft back compared to the published version: 1 redirect removed.\n"
    assert invoke("match", "acme", "shop", "/old", "--at", "draft", "--draft", "back").code == 1
    assert invoke_ok("match", "acme", "shop", "/old").code == 0
    assert invoke("rollback", "acme", "shop", "1", "--as-draft", "--draft", "back").code == 1
    assert invoke("rollback", "acme", "shop", "1", "--head", "0" * 40).code == 2
    invoke_ok("publish", "acme", "shop", "--draft", "back", "--head", made.out.strip())
    assert invoke_ok("rollback", "acme", "shop", "2", "--as-draft", "--json").json["changes"]["redirects"]["added"] == 1
    assert invoke("match", "acme", "shop", "/old").code == 1
