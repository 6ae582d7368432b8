"""The way of a rule by the command line: namespace, project, import, publish, match, log, rollback, delete."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.folders import flow, project, write
from tests.cli.terminal import SAMPLE, call, must, table

HEADER = "type\tsource\ttarget\tstatus\n"


@pytest.fixture
def shop(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with the empty project acme/shop."""
    monkeypatch.setenv("WAYPOST_DATA", str(workplace / "data"))
    must("namespace", "create", "acme")
    must("project", "create", "acme", "shop", "--title", "Our shop")
    return workplace / "data"


def rows(*lines: str) -> bytes:
    """A table for the import; `|` stands for the tab."""
    return (HEADER + "".join(f"{line}\n" for line in lines).replace("|", "\t")).encode()


@pytest.mark.usefixtures("shop")
def test_a_rule_goes_live_and_back_again() -> None:
    imported = must("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    assert imported.out == "1 added, 0 changed, 0 identical, 0 skipped, 0 wrong\n"
    assert call("match", "acme", "shop", "/old").code == 1
    assert must("match", "acme", "shop", "/old", "--at", "draft").out.startswith("301 /new  BASIC /old  shop/")
    published = must("publish", "acme", "shop", "-m", "Move the old page")
    assert published.err == "Publish 2 of shop: 1 redirect added.\n"
    assert must("match", "acme", "shop", "/old").out == "301 /new  BASIC /old  shop/redirects.yaml:2\n"
    assert call("match", "acme", "shop", "/old", "--at", "1").code == 1
    must("rollback", "acme", "shop", "1")
    assert call("match", "acme", "shop", "/old").code == 1
    assert [(row[0], row[3], row[4]) for row in table(must("log", "acme", "shop").out)] == [
        ("3", "Grace Tester", "1 redirect removed"),
        ("2", "Grace Tester", "1 redirect added"),
        ("1", "Grace Tester", "no rule changed, 3 files"),
    ]
    assert published.out.strip() in [each["version"] for each in must("log", "acme", "shop", "--json").json]


def test_commits_are_by_whoever_runs_the_command(shop: Path) -> None:
    must("import", "acme", "shop", "-", "--publish", stdin=rows("BASIC|/old|/new|301"))
    shown = subprocess.run(
        ["git", "-C", str(shop / "repos" / "acme.git"), "log", "--format=%an <%ae>", "release"],
        capture_output=True,
        check=True,
    )
    assert set(shown.stdout.decode().splitlines()) == {"Grace Tester <grace@tests.example>"}


@pytest.mark.usefixtures("shop")
def test_a_system_that_does_not_know_the_user_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    must("project", "create", "acme", "docs")
    assert must("log", "acme", "docs", "--json").json[0]["publishedBy"] == "operator <operator@localhost>"


def test_wrong_rows_are_named_and_stop_the_import(shop: Path) -> None:
    table_file = (
        write(shop.parent, {"rules.tsv": rows("BASIC|old|/new|301", "BASIC|/b|/new|299").decode()}) / "rules.tsv"
    )
    outcome = call("import", "acme", "shop", table_file)
    assert outcome.code == 1
    first, second, counts = outcome.out.splitlines()
    assert first.startswith(f"{table_file}:2:2: error: ")
    assert second.startswith(f"{table_file}:3:4: error: status must be one of")
    assert counts == "0 added, 0 changed, 0 identical, 0 skipped, 2 wrong"
    assert "--skip-errors" in outcome.err
    assert call("publish", "acme", "shop").code == 1


@pytest.mark.usefixtures("shop")
def test_of_very_many_wrong_rows_the_first_are_named_and_the_others_counted() -> None:
    outcome = call("import", "acme", "shop", "-", stdin=rows(*["BASIC|old|/new|301"] * 1_002))
    lines = outcome.out.splitlines()
    assert (outcome.code, len(lines), lines[999].split(" ")[0]) == (1, 1_002, "-:1001:2:")
    assert lines[1000] == "… and 2 more errors in 2 more rows."


@pytest.mark.usefixtures("shop")
def test_wrong_rows_can_be_left_out() -> None:
    data = rows("BASIC|old|/new|301", "BASIC|/b|/new|301")
    outcome = call("import", "acme", "shop", "-", "--skip-errors", "--publish", "--json", stdin=data)
    assert outcome.code == 0
    assert (outcome.json["added"], len(outcome.json["errors"])) == (1, 1)
    assert outcome.json["published"]["publishNumber"] == 2
    assert outcome.json["published"]["changes"]["redirects"] == {"added": 1, "changed": 0, "removed": 0}


@pytest.mark.usefixtures("shop")
def test_a_file_that_is_no_table_is_not_imported_whatever_is_to_be_left_out() -> None:
    outcome = call("import", "acme", "shop", "-", "--skip-errors", "--publish", stdin=b"source,target\n/a,/b\n")
    assert outcome.code == 1
    assert "-:1:1: error: the first line must be the header" in outcome.out
    assert outcome.err == "Nothing was imported. Mend what is named above.\n"


@pytest.mark.usefixtures("shop")
def test_a_dry_run_says_what_would_be_and_writes_nothing() -> None:
    data = rows("BASIC|/old|/new|301")
    outcome = must("import", "acme", "shop", "-", "--dry-run", stdin=data)
    assert (outcome.out.split(",")[0], outcome.err) == ("1 added", "Nothing was written: this was a dry run.\n")
    assert call("publish", "acme", "shop").code == 1
    assert must("import", "acme", "shop", "-", stdin=data).out.startswith("1 added")
    assert must("import", "acme", "shop", "-", stdin=data).err == "There was nothing to import.\n"


@pytest.mark.usefixtures("shop")
def test_overwriting_changes_what_has_the_same_source() -> None:
    must("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    newer = rows("BASIC|/old|/newer|301")
    assert "0 changed, 0 identical, 1 skipped" in must("import", "acme", "shop", "-", stdin=newer).out
    assert (
        "1 changed, 0 identical, 0 skipped, 0 wrong"
        in must("import", "acme", "shop", "-", "--overwrite", stdin=newer).out
    )


@pytest.mark.usefixtures("shop")
def test_a_draft_of_another_name_is_published_by_its_name() -> None:
    must("import", "acme", "shop", "-", "--draft", "spring", stdin=rows("BASIC|/old|/new|301"))
    assert call("publish", "acme", "shop").code == 1
    outcome = must("publish", "acme", "shop", "--draft", "spring", "--json")
    assert outcome.json["publishNumber"] == 2


def test_the_next_step_after_an_import_is_on_the_same_draft_and_data(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied as it stands it publishes what was imported, not the draft main."""
    monkeypatch.delenv("WAYPOST_DATA")
    words = ("--draft", "spring", "--data", str(shop))
    outcome = must("import", "acme", "shop", "-", *words, stdin=rows("BASIC|/old|/new|301"))
    command = outcome.err.split("`")[1]
    assert command == f"waypost publish acme shop --draft spring --data {shop}"
    must(*command.split()[1:])
    again = must("import", "acme", "shop", "-", "--data", str(shop), stdin=rows("BASIC|/b|/new|301"))
    assert f"`waypost publish acme shop --data {shop}`" in again.err


@pytest.mark.usefixtures("shop")
def test_publishing_a_draft_that_moved_meanwhile_is_refused() -> None:
    must("import", "acme", "shop", "-", stdin=rows("BASIC|/old|/new|301"))
    outcome = call("publish", "acme", "shop", "--head", "0" * 40)
    assert (outcome.code, outcome.out) == (1, "")


def test_a_folder_becomes_a_namespace_that_serves_it(workplace: Path) -> None:
    project(workplace / "content" / "shop")
    made = must("namespace", "create", "acme", "--from", "content", "--description", "Ours", "--json").json
    assert (made["name"], made["description"], made["projects"]) == ("acme", "Ours", 1)
    subprocess.run(["git", "clone", "-q", made["repository"], "clone"], check=True)
    assert (workplace / "clone/shop/redirects.yaml").read_bytes() == (
        workplace / "content/shop/redirects.yaml"
    ).read_bytes()
    assert [each["name"] for each in must("project", "list", "acme", "--json").json] == ["shop"]


def test_a_folder_with_faults_becomes_no_namespace(workplace: Path) -> None:
    project(workplace / "content" / "shop", {"redirects.yaml": flow("old")})
    outcome = call("namespace", "create", "acme", "--from", "content")
    assert outcome.code == 1
    assert "shop/redirects.yaml:2:33: error: " in outcome.err
    assert must("namespace", "list", "--json").json == []
    assert [path.name for path in (workplace / "data/repos").iterdir()] == [".new.lock"]


def test_one_project_is_no_namespace() -> None:
    outcome = call("namespace", "create", "acme", "--from", SAMPLE / "shop")
    assert (outcome.code, "Name the folder above it" in outcome.err) == (2, True)


@pytest.mark.usefixtures("data")
def test_lists_show_what_there_is() -> None:
    assert table(must("namespace", "list").out) == [["sample", "3", "A sample."]]
    assert [(row[0], row[1], *row[3:]) for row in table(must("project", "list", "sample").out)] == [
        ("company", "1", "13", "3"),
        ("docs", "1", "15", "3"),
        ("shop", "1", "67", "4"),
    ]
    shop = must("project", "list", "sample", "--json").json[2]
    assert (shop["title"], shop["redirects"], shop["draft"]) == ("Shop", 67, False)


def test_a_broken_namespace_does_not_hide_the_others(data: Path) -> None:
    must("namespace", "create", "other")
    (data / "repos/sample.git/refs/heads/release").unlink()
    outcome = call("namespace", "list", "--json")
    assert outcome.code == 3
    assert [each["name"] for each in outcome.json] == ["other"]
    assert outcome.err == "waypost: sample: The repository sample.git has no release branch.\n"


@pytest.mark.usefixtures("data")
def test_what_is_deleted_is_gone_and_kept_aside() -> None:
    must("project", "delete", "sample", "docs", "--yes")
    assert call("log", "sample", "docs").code == 2
    aside = must("namespace", "delete", "sample", "--yes").out.strip()
    assert must("namespace", "list", "--json").json == []
    assert (Path(aside) / "sample.git" / "HEAD").is_file()
    must("namespace", "create", "sample")


@pytest.mark.parametrize("words", [("namespace", "delete", "sample"), ("project", "delete", "sample", "shop")])
@pytest.mark.usefixtures("data")
def test_where_nobody_can_be_asked_nothing_is_deleted_without_yes(words: tuple[str, ...]) -> None:
    outcome = call(*words)
    assert (outcome.code, "--yes" in outcome.err) == (2, True)
    assert len(must("project", "list", "sample", "--json").json) == 3


def test_match_tells_what_lost_and_where_the_way_leads(workplace: Path) -> None:
    rules = flow("/a").replace("/new", "/b") + flow("/b").removeprefix("redirects:\n")
    pattern = '  - {"type": "REGEX", "source": "^/a$", "target": "/c", "status": "FOUND"}\n'
    project(workplace / "content" / "shop", {"redirects.yaml": rules + pattern})
    must("namespace", "create", "acme", "--from", "content")
    assert [line.split("  ")[0:2] for line in must("match", "acme", "shop", "/a").out.splitlines()] == [
        ["302 /b", "BASIC /a"],
        ["", "not 302 /c"],
        ["", "then 302 /new"],
    ]


@pytest.mark.usefixtures("data")
def test_match_answers_in_the_api_s_shape_for_scripts() -> None:
    found = must("match", "sample", "shop", "/product/1001.html", "--json").json
    assert (found["status"], found["rule"]["file"]) == (301, "shop/redirects/old-products.yaml")
    missed = call("match", "sample", "shop", "/nothing", "--json")
    assert (missed.code, missed.json["status"]) == (1, None)


@pytest.mark.usefixtures("shop")
def test_a_way_that_is_too_long_for_clients_is_called_so() -> None:
    must("import", "acme", "shop", "-", stdin=rows(*(f"BASIC|/{n}|/{n + 1}|301" for n in range(12))))
    lines = must("match", "acme", "shop", "/0", "--at", "draft").out.splitlines()
    assert (lines[-2].split("  ")[1], lines[-1]) == ("then 301 /10", "  and on, further than clients follow")


@pytest.mark.usefixtures("shop")
def test_the_life_of_a_rule_is_listed() -> None:
    for target in ("/1", "/2"):
        must("import", "acme", "shop", "-", "--publish", "--overwrite", stdin=rows(f"BASIC|/old|{target}|301"))
    must("rollback", "acme", "shop", "1")
    told = [(row[0], row[5], row[6]) for row in table(must("log", "acme", "shop", "--source", "/old").out)]
    assert told == [
        ("4", "removed", "type: BASIC, source: /old, target: /2, status: MOVED_PERMANENT"),
        ("3", "changed", "target: /1 -> /2"),
        ("2", "added", "type: BASIC, source: /old, target: /1, status: MOVED_PERMANENT"),
    ]
    found = must("log", "acme", "shop", "--source", "/old", "--json", "--limit", "1", "--offset", "1").json
    assert [(each["publishNumber"], each["fields"]) for each in found] == [(3, {"target": {"old": "/1", "new": "/2"}})]
    assert table(must("log", "acme", "shop", "--path", "/old").out) == []
    assert must("log", "acme", "shop", "--path", "/old").err == "No publish changed the page '/old'.\n"
    assert must("log", "acme", "shop", "--source", "/old", "--offset", "9").err == ""
    assert call("log", "acme", "shop", "--path", "/old", "--source", "/old").code == 2
    assert [row[0] for row in table(must("log", "acme", "shop", "-n", "2", "--offset", "1").out)] == ["3", "2"]


@pytest.mark.usefixtures("shop")
def test_an_old_version_is_looked_at_before_it_is_live_again() -> None:
    must("import", "acme", "shop", "-", "--publish", stdin=rows("BASIC|/old|/new|301"))
    made = must("rollback", "acme", "shop", "1", "--as-draft", "--draft", "back")
    assert made.err == "The draft back against what is published: 1 redirect removed.\n"
    assert call("match", "acme", "shop", "/old", "--at", "draft", "--draft", "back").code == 1
    assert must("match", "acme", "shop", "/old").code == 0
    assert call("rollback", "acme", "shop", "1", "--as-draft", "--draft", "back").code == 1
    assert call("rollback", "acme", "shop", "1", "--head", "0" * 40).code == 2
    must("publish", "acme", "shop", "--draft", "back", "--head", made.out.strip())
    assert must("rollback", "acme", "shop", "2", "--as-draft", "--json").json["changes"]["redirects"]["added"] == 1
    assert call("match", "acme", "shop", "/old").code == 1
