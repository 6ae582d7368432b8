"""Users and tokens at the command line; no secret is ever in its arguments."""

import os
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.app.services import open_services
from api.auth.logins.browser import Client
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.tokens import Tokens
from api.errors import Unauthenticated
from api.settings import Settings
from tests.cli.terminal import invoke, invoke_ok, run, table
from tests.service import ROOT

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PASSWORD", PASSWORD)


def test_a_user_is_made_shown_and_removed() -> None:
    made = invoke_ok("user", "create", "ada", "--role", "admin", "--firstname", "Ada", "--json")
    assert made.err.endswith("Created the user ada with the roles admin.\n")
    assert invoke_ok("user", "list", "--json").json == [made.json]
    assert table(invoke_ok("user", "list").out) == [["ada", "Ada", "admin", "yes"]]
    invoke_ok("user", "create", "grace", "--role", "admin")
    invoke_ok("user", "delete", "ada")
    assert [each["username"] for each in invoke_ok("user", "list", "--json").json] == ["grace"]


def test_a_user_without_a_role_may_only_look() -> None:
    assert invoke_ok("user", "create", "ada", "--json").json["roles"] == ["viewer"]


def test_a_password_that_was_forgotten_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    invoke_ok("user", "create", "ada", "--role", "admin")
    monkeypatch.setenv("WAYPOST_PASSWORD", "quite another one")
    assert invoke_ok("user", "password", "ada").err == "The user ada has a new password.\n"


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (("user", "create", "ada"), 2, "ada"),
        (("user", "create", "grace", "--role", "queen"), 2, "Unknown role 'queen'"),
        (("user", "create", ""), 2, "username"),
        (("user", "delete", "nobody"), 2, "There is no user 'nobody'. To list all, run `waypost user list`."),
        (("user", "password", "adda"), 2, "There is no user 'adda'. Did you mean 'ada'? To list all"),
        (("user", "logout", "ada", "none"), 2, "To list all, run `waypost user sessions ada`."),
        (("token", "delete", "7"), 2, "API token 7 does not exist. To list all, run `waypost token list`."),
        (("token", "list", "--user", "nobody"), 2, "run `waypost user list`."),
        (("user", "delete", "ada"), 2, "last active account"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: tuple[str, ...], code: int, shown: str) -> None:
    invoke_ok("user", "create", "ada", "--role", "admin")
    outcome = invoke(*words)
    assert (outcome.code, outcome.out) == (code, "")
    assert shown in outcome.err


@pytest.mark.parametrize("words", [("user", "create", "ada"), ("user", "password", "ada")])
def test_without_a_terminal_the_password_comes_from_the_variable(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke_ok("user", "create", "grace")
    monkeypatch.delenv("WAYPOST_PASSWORD")
    outcome = invoke(*words, stdin=b"secret\nsecret\n")
    assert outcome.code == 2


def test_a_short_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PASSWORD", "Qx7?")
    outcome = invoke("user", "create", "ada")
    assert outcome.code == 2
    assert "Qx7?" not in outcome.err


def test_a_token_shows_its_value_once() -> None:
    made = invoke_ok("token", "create", "proxy", "--role", "agent", "--namespace", "acme", "--project", "shop")
    assert made.out.startswith("svc_")
    listed = invoke_ok("token", "list")
    assert made.out.strip() not in listed.out
    assert table(listed.out)[0][3:] == [
        "never",
        "redirect:read@acme/shop page:read@acme/shop agent:write@acme/shop",
    ]
    invoke_ok("token", "delete", "1")
    assert invoke_ok("token", "list", "--json").json == []


def test_an_expired_token_is_marked(data: Path) -> None:
    with closing(open_services(Settings(data=data))) as services:
        past = Tokens(services.tokens.state, lambda: datetime(2020, 1, 1, tzinfo=UTC))
        past.create(OPERATOR, "old", [Grant("*", "*", "redirect", "read")], datetime(2020, 1, 2, tzinfo=UTC))
    assert "2020-01-02T00:00:00Z (expired)" in invoke_ok("token", "list").out


def test_a_token_for_scripts_is_json_with_the_value() -> None:
    made = invoke_ok("token", "create", "ci", "--grant", "redirect:read", "--expires", "2099-12-31", "--json").json
    assert made["token"].startswith("svc_")
    assert made["expiresAt"] == "2099-12-31T00:00:00Z"
    assert made["grants"] == [{"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("t",), "--role (such as agent)"),
        (("t", "--grant", "redirect"), "RESOURCE:ACTION"),
        (("t", "--grant", "nope:read"), "must be one of redirect"),
        (("t", "--grant", "redirect:fly"), "fly"),
        (("t", "--role", "agent", "--project", "shop"), "needs its namespace too"),
        (("t", "--role", "agent", "--expires", "2001-01-01"), "in the past"),
        (("t", "--role", "agent", "--expires", "soon"), "'soon' is not a date. Give one in the future, such as 20"),
        (("t", "--role", "queen"), "'queen'"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(words: tuple[str, ...], shown: str) -> None:
    outcome = invoke("token", "create", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count(shown) == 1


def test_a_rotated_token_shows_its_new_value_once() -> None:
    made = invoke_ok("token", "create", "proxy", "--role", "agent", "--json").json
    rotated = invoke_ok("token", "rotate", "1")
    assert rotated.out.startswith("svc_")
    assert rotated.out.strip() != made["token"]
    again = invoke_ok("token", "rotate", "1", "--json").json
    assert (again["id"], again["grants"]) == (made["id"], made["grants"])
    assert rotated.out.strip()[8:] not in invoke_ok("token", "list").out
    outcome = invoke("token", "rotate", "2")
    assert (outcome.code, "API token 2 does not exist. To list all, run `waypost token list`." in outcome.err) == (
        2,
        True,
    )


def test_a_custom_role_is_created_changed_given_and_removed() -> None:
    """It has the grants of a built-in role for one namespace or project, or single grants."""
    made = invoke_ok(
        "role", "create", "shop-editor", "--role", "editor", "--namespace", "acme", "--project", "shop", "--json"
    )
    scopes = {(each["resource"], each["namespace"], each["project"]) for each in made.json["grants"]}
    assert {("redirect", "acme", "shop"), ("namespace", "acme", "*")} <= scopes
    assert {namespace for _, namespace, _ in scopes} == {"acme"}
    invoke_ok("user", "create", "kim", "--role", "shop-editor")
    invoke_ok("role", "set", "shop-editor", "--grant", "page:read", "--description", "Looks at pages.")
    listed = table(invoke_ok("role", "list").out)
    assert listed[-1] == ["shop-editor", "no", "page:read@*/*"]
    assert invoke_ok("role", "list", "--json").json[-1]["description"] == "Looks at pages."
    invoke_ok("role", "delete", "shop-editor")
    assert invoke_ok("user", "list", "--json").json[0]["roles"] == []


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("create", "viewer", "--role", "editor"), "Role 'viewer' already exists"),
        (("create", "a b", "--role", "editor"), "letters, digits"),
        (("create", "a"), "--role (such as agent)"),
        (("create", "a", "--grant", "page:fly"), "fly"),
        (("set", "admin", "--grant", "page:read"), "built in"),
        (("delete", "admin"), "built in"),
        (("delete", "nobody"), "Role 'nobody' does not exist. To list all, run `waypost role list`."),
        (("set", "nobody", "--grant", "page:read"), "Role 'nobody' does not exist. To list all"),
    ],
)
def test_a_role_that_cannot_be_is_refused_in_a_sentence(words: tuple[str, ...], shown: str) -> None:
    invoke_ok("role", "create", "mine", "--grant", "page:read")
    outcome = invoke("role", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert shown in outcome.err


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://waypost:secret@db.example/waypost", "WAYPOST_DATABASE"),
        ("nonsense", "Give one such as postgresql"),
        ("postgres://waypost@db.example/waypost", "write postgresql+psycopg://"),
        ("postgresql+psycopg2://waypost@db.example/waypost", "write postgresql+psycopg://"),
        ("postgresql+psycopg://waypost@db.example:secret/waypost", "PORT a number"),
        ("mysql://waypost@db.example/waypost", "Unsupported database mysql://. Use SQLite or PostgreSQL"),
    ],
)
@pytest.mark.usefixtures("data")
def test_a_database_is_named_by_a_url_without_a_password(url: str, shown: str) -> None:
    outcome = invoke("user", "list", "--database", url)
    assert (outcome.code, shown in outcome.err, "secret" in outcome.err) == (2, True, False)


@pytest.mark.usefixtures("data")
def test_without_psycopg_its_own_package_is_to_be_installed(work_folder: Path) -> None:
    """Waypost itself is in no package index, so the message must not suggest to install a package of that name."""
    (work_folder / "hidden").mkdir()
    (work_folder / "hidden" / "psycopg.py").write_text("raise ModuleNotFoundError('No psycopg', name='psycopg')\n")
    path = f"{work_folder / 'hidden'}{os.pathsep}{ROOT}"
    env = {"PYTHONPATH": path, "WAYPOST_DATA": os.environ["WAYPOST_DATA"]}
    outcome = run("user", "list", "--database", "postgresql+psycopg://waypost@db.example/waypost", env=env)
    assert outcome.code == 3
    assert '-m pip install "psycopg[binary]>=3.2"' in outcome.err
    assert "waypost[" not in outcome.err


def test_a_database_by_url_is_used(data: Path) -> None:
    url = f"sqlite:///{data}/other.db"
    refused = invoke("user", "create", "ada", "--database", url)
    assert (refused.code, "other.db is missing" in refused.err) == (2, True)
    open_services(Settings(data=data, database=url)).close()
    invoke_ok("user", "create", "ada", "--database", url)
    assert invoke_ok("user", "list", "--json").json == []
    assert [user["username"] for user in invoke_ok("user", "list", "--json", "--database", url).json] == ["ada"]


def test_looking_makes_no_data_directory(work_folder: Path) -> None:
    for words in (("user", "list"), ("token", "list"), ("namespace", "list")):
        outcome = invoke(*words, "--data", "none")
        assert (outcome.code, "does not exist" in outcome.err) == (2, True)
    assert not (work_folder / "none").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("user", "create", "ada"),
        ("token", "create", "proxy", "--role", "agent"),
        ("role", "create", "mine", "--grant", "page:read"),
        ("namespace", "create", "acme"),
    ],
    ids=" ".join,
)
def test_no_command_creates_a_data_directory(work_folder: Path, words: tuple[str, ...]) -> None:
    """The name may be misspelled, or its file system not mounted."""
    for name, state in (("typo", "does not exist"), ("empty", "is empty")):
        (work_folder / "empty").mkdir(exist_ok=True)
        outcome = invoke(*words, "--data", name)
        assert outcome.code == 2
        assert f"The data directory {work_folder / name} {state}." in outcome.err
        assert "waypost serve --init" in outcome.err
    assert not (work_folder / "typo").exists()
    assert list((work_folder / "empty").iterdir()) == []


def test_a_file_is_no_data_directory(work_folder: Path) -> None:
    (work_folder / "file").touch()
    for words in (("user", "create", "a"), ("namespace", "create", "a"), ("log", "a", "b"), ("serve",), ("demo",)):
        outcome = invoke(*words, "--data", "file")
        assert (outcome.code, "is not a directory" in outcome.err) == (2, True), words


def test_the_password_is_asked_for_twice_where_there_is_a_terminal() -> None:
    """For a real terminal see tests/cli/test_streams.py; here a process without one prints instructions."""
    outcome = run("user", "create", "ada")
    assert (outcome.code, "WAYPOST_PASSWORD" in outcome.err) == (2, True)


def test_a_damaged_database_is_a_failure_with_the_database_s_own_words(data: Path) -> None:
    (data / "waypost.db").write_bytes(b"this is no database" * 1000)
    for words in (("user", "list"), ("serve", "--bind", "127.0.0.1:0"), ("demo", "--bind", "127.0.0.1:0")):
        outcome = invoke(*words)
        assert outcome.code == 3
        assert "The database says: file is not a database." in outcome.err


def test_the_roles_of_a_user_are_replaced() -> None:
    invoke_ok("user", "create", "root", "--role", "admin")
    invoke_ok("user", "create", "ada", "--role", "viewer")
    changed = invoke_ok("user", "roles", "ada", "publisher", "agent", "--json")
    assert changed.json["roles"] == ["agent", "publisher"]
    assert changed.err.endswith("The user ada has the roles agent, publisher.\n")
    assert invoke_ok("user", "roles", "ada", "--none").err.endswith("The user ada has the roles (none).\n")
    for words, shown in (
        (("ada",), "Give the roles"),
        (("ada", "editor", "--none"), "Give the roles"),
        (("ada", "boss"), "Unknown role 'boss'"),
        (("root", "viewer"), "last active account"),
        (("eve", "viewer"), "There is no user 'eve'"),
    ):
        outcome = invoke("user", "roles", *words)
        assert (outcome.code != 0, outcome.out) == (True, "")
        assert shown in outcome.err


def test_the_sessions_of_a_user_are_listed_and_ended(data: Path) -> None:
    invoke_ok("user", "create", "ada")
    with closing(open_services(Settings(data=data))) as services:
        client = Client("192.0.2.7", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0")
        bearers = [services.logins.login("ada", PASSWORD, client).access_token for _ in range(3)]
        rows = table(invoke_ok("user", "sessions", "ada").out)
        assert [row[1:3] for row in rows] == [["Firefox on Linux", "192.0.2.7"]] * 3
        listed = invoke_ok("user", "sessions", "ada", "--json").json
        assert {each["id"] for each in listed} == {row[0] for row in rows}
        assert invoke_ok("user", "logout", "ada", rows[0][0]).err.endswith("Ended the session of the user ada.\n")
        assert len(invoke_ok("user", "sessions", "ada", "--json").json) == 2
        assert invoke("user", "logout", "ada", rows[0][0]).code == 2
        assert invoke_ok("user", "logout", "ada").err.endswith("Ended all sessions of the user ada.\n")
        services.directory.reload()
        for bearer in bearers:
            with pytest.raises(Unauthenticated):
                services.directory.authenticate(bearer)
    assert invoke_ok("user", "sessions", "ada", "--json").json == []


def test_a_lifetime_below_a_day_is_told_with_a_time_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PERSONAL_TOKEN_LIFETIME", "3600")
    invoke_ok("user", "create", "ada", "--role", "editor")
    error = invoke("token", "create", "laptop", "--user", "ada", "--role", "editor").err
    found = re.search(r"within 0\.0416667 days .* --expires (\S+Z)\.", error)
    assert found, error
    invoke_ok("token", "create", "laptop", "--user", "ada", "--role", "editor", "--expires", found[1])


def test_a_personal_token_is_made_listed_rotated_and_removed() -> None:
    invoke_ok("user", "create", "ada", "--role", "editor")
    invoke_ok("token", "create", "robot", "--role", "agent")
    words = ("token", "create", "laptop", "--user", "ada", "--role", "editor")
    made = invoke_ok(*words, "--expires", tomorrow(), "--json").json
    assert (made["owner"]["username"], made["createdBy"]) == ("ada", "operator")
    assert table(invoke_ok("token", "list", "--user", "ada").out)[0][4].startswith("user=ada redirect:read@*/*")
    assert [each["name"] for each in invoke_ok("token", "list", "--user", "ADA", "--json").json] == ["laptop"]
    assert invoke_ok("token", "rotate", "2").out.startswith("svc_")
    invoke_ok("token", "delete", "2")
    assert invoke_ok("token", "list", "--user", "ada", "--json").json == []
    for more, shown in (
        ((), "A personal token must expire, within 366 days (the setting personal_token_lifetime). Add --expires"),
        (("--expires", "2099-12-31"), "expire within 366 days"),
        (
            ("--expires", tomorrow(), "--grant", "user:write"),
            "The user ada does not have the grant user:write@*/*. Give them a role with it",
        ),
    ):
        outcome = invoke(*words, *more)
        assert (outcome.code != 0, outcome.out) == (True, "")
        assert shown in outcome.err


def test_a_role_and_a_token_cover_several_namespaces_at_once() -> None:
    where = ("--namespace", "acme", "--namespace", "sample", "--namespace", "acme")
    role = invoke_ok(
        "role", "create", "reader", "--grant", "redirect:read", "--grant", "page:read", *where, "--json"
    ).json
    assert [(each["namespace"], each["resource"]) for each in role["grants"]] == [
        (namespace, resource) for namespace in ("acme", "sample") for resource in ("redirect", "page")
    ]
    made = invoke_ok("token", "create", "edge", "--role", "agent", *where, "--json")
    assert {each["namespace"] for each in made.json["grants"]} == {"acme", "sample"}
    assert "The namespace sample does not exist yet" in made.err


@pytest.mark.parametrize("given", ["soon", "2001-01-01", "2001-01-01T00:00:00Z", "2030-12-31T18:00:00+01:00"])
def test_a_bad_expiry_is_refused_with_dates_that_are_accepted(given: str) -> None:
    error = invoke("token", "create", "edge", "--role", "agent", "--expires", given).err
    found = re.search(r"such as (\S+) or (\S+), in UTC", error)
    assert found, error
    for example in found.groups():
        invoke_ok("token", "create", "edge", "--role", "agent", "--expires", example)


@pytest.mark.parametrize("words", [("role", "create", "new"), ("role", "set", "old"), ("token", "create", "edge")])
def test_grants_before_their_namespace_or_project_are_given_with_a_notice(words: tuple[str, ...]) -> None:
    invoke_ok("role", "create", "old", "--grant", "page:read")
    invoke_ok("namespace", "create", "acme")
    invoke_ok("project", "create", "acme", "shop")
    for scope, notice in (
        (("acmee",), "The namespace acmee does not exist yet. Did you mean 'acme'?"),
        (("acme", "--project", "shpo"), "The project acme/shpo does not exist yet. Did you mean 'shop'?"),
    ):
        given = invoke_ok(*words, "--grant", "page:read", "--namespace", *scope, "--json")
        assert (notice in given.err, given.json["grants"][0]["namespace"]) == (True, scope[0])
        invoke("role", "delete", "new")
    for scope in (("acme",), ("acme", "--project", "shop"), ("*",)):
        given = invoke_ok(*words, "--grant", "page:read", "--namespace", *scope)
        assert "does not exist" not in given.err
        invoke("role", "delete", "new")


@pytest.mark.parametrize("words", [("role", "create", "new"), ("role", "set", "old"), ("token", "create", "edge")])
def test_grants_are_given_where_their_namespace_cannot_be_read(words: tuple[str, ...]) -> None:
    invoke_ok("role", "create", "old", "--grant", "page:read")
    invoke_ok("namespace", "create", "acme")
    [release] = Path("data").glob("**/acme*/refs/heads/release")
    release.write_text("0" * 39 + "1\n", "ascii")
    given = invoke_ok(*words, "--grant", "page:read", "--namespace", "acme", "--project", "shop", "--json")
    assert given.json["grants"][0]["namespace"] == "acme"


def test_a_role_without_grants_names_all_permissions() -> None:
    found = invoke("role", "create", "reader")
    assert found.code == 2
    for part in ("redirect, page, agent, ", "project: read, write, review, publish, override"):
        assert part in found.err
        assert part in " ".join(invoke_ok("role", "create", "--help").out.split())


def tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).date().isoformat()


def test_a_token_may_have_a_custom_role() -> None:
    invoke_ok("role", "create", "robots", "--grant", "redirect:read")
    made = invoke_ok("token", "create", "ci", "--role", "robots", "--json").json
    assert (made["role"], made["grants"]) == ("robots", [])
    assert table(invoke_ok("token", "list").out)[0][4] == "role=robots"
    more = invoke_ok(
        "token", "create", "ci", "--role", "robots", "--grant", "page:read", "--namespace", "acme", "--json"
    )
    assert (more.json["role"], more.json["grants"][0]["namespace"]) == ("robots", "acme")
    outcome = invoke("token", "create", "ci", "--role", "robots", "--namespace", "acme")
    assert (outcome.code, "has its own scope" in outcome.err) == (2, True)


def test_both_values_are_valid_during_an_overlap(data: Path) -> None:
    first = invoke_ok("token", "create", "ci", "--grant", "redirect:read").out.strip()
    second = invoke_ok("token", "rotate", "1", "--overlap", "3600").out.strip()
    with closing(open_services(Settings(data=data))) as services:
        services.directory.reload()
        assert [services.directory.authenticate(value).id for value in (first, second)] == [1, 1]
    assert invoke("token", "rotate", "1", "--overlap", "2592001").code == 2
