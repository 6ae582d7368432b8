"""Users and tokens by the command line; no secret ever stands on it."""

import os
from pathlib import Path

import pytest

from tests.cli.terminal import call, must, run, table
from tests.service import ROOT

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PASSWORD", PASSWORD)


def test_a_user_is_made_shown_and_removed() -> None:
    made = must("user", "create", "ada", "--role", "admin", "--firstname", "Ada", "--json")
    assert made.err.endswith("Made the user ada with the roles admin.\n")
    assert must("user", "list", "--json").json == [made.json]
    assert table(must("user", "list").out) == [["ada", "Ada", "admin", "yes"]]
    must("user", "create", "grace", "--role", "admin")
    must("user", "delete", "ada")
    assert [each["username"] for each in must("user", "list", "--json").json] == ["grace"]


def test_a_user_without_a_role_may_only_look() -> None:
    assert must("user", "create", "ada", "--json").json["roles"] == ["viewer"]


def test_a_password_that_was_forgotten_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    must("user", "create", "ada", "--role", "admin")
    monkeypatch.setenv("WAYPOST_PASSWORD", "quite another one")
    assert must("user", "password", "ada").err == "The user ada has a new password.\n"


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (("user", "create", "ada"), 2, "ada"),
        (("user", "create", "grace", "--role", "queen"), 2, "There is no role 'queen'"),
        (("user", "create", ""), 2, "username"),
        (("user", "delete", "nobody"), 2, "There is no user 'nobody'"),
        (("user", "password", "nobody"), 2, "There is no user 'nobody'"),
        (("user", "delete", "ada"), 2, "last active account"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: tuple[str, ...], code: int, shown: str) -> None:
    must("user", "create", "ada", "--role", "admin")
    outcome = call(*words)
    assert (outcome.code, outcome.out) == (code, "")
    assert shown in outcome.err


@pytest.mark.parametrize("words", [("user", "create", "ada"), ("user", "password", "ada")])
def test_without_a_terminal_the_password_comes_from_the_variable(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    must("user", "create", "grace")
    monkeypatch.delenv("WAYPOST_PASSWORD")
    outcome = call(*words, stdin=b"secret\nsecret\n")
    assert outcome.code == 2


def test_a_short_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PASSWORD", "Qx7?")
    outcome = call("user", "create", "ada")
    assert outcome.code == 2
    assert "Qx7?" not in outcome.err


def test_a_token_shows_its_value_once() -> None:
    made = must("token", "create", "proxy", "--role", "agent", "--namespace", "acme", "--project", "shop")
    assert made.out.startswith("svc_")
    listed = must("token", "list")
    assert made.out.strip() not in listed.out
    assert table(listed.out)[0][3:] == [
        "never",
        "redirect:read@acme/shop page:read@acme/shop agent:write@acme/shop",
    ]
    must("token", "delete", "1")
    assert must("token", "list", "--json").json == []


def test_a_token_for_scripts_is_json_with_the_value() -> None:
    made = must("token", "create", "ci", "--grant", "redirect:read", "--expires", "2099-12-31", "--json").json
    assert made["token"].startswith("svc_")
    assert made["expiresAt"] == "2099-12-31T00:00:00Z"
    assert made["grants"] == [{"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("t",), "--role agent"),
        (("t", "--grant", "redirect"), "RESOURCE:ACTION"),
        (("t", "--grant", "nope:read"), "must be one of redirect"),
        (("t", "--grant", "redirect:fly"), "fly"),
        (("t", "--role", "agent", "--project", "shop"), "names its namespace too"),
        (("t", "--role", "agent", "--expires", "2001-01-01"), "expired already"),
        (("t", "--role", "agent", "--expires", "soon"), "'soon'"),
        (("t", "--role", "queen"), "'queen'"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(words: tuple[str, ...], shown: str) -> None:
    outcome = call("token", "create", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count(shown) == 1


def test_a_rotated_token_shows_its_new_value_once() -> None:
    made = must("token", "create", "proxy", "--role", "agent", "--json").json
    rotated = must("token", "rotate", "1")
    assert rotated.out.startswith("svc_")
    assert rotated.out.strip() != made["token"]
    again = must("token", "rotate", "1", "--json").json
    assert (again["id"], again["grants"]) == (made["id"], made["grants"])
    assert rotated.out.strip()[8:] not in must("token", "list").out
    outcome = call("token", "rotate", "2")
    assert (outcome.code, "There is no API token 2" in outcome.err) == (2, True)


def test_a_role_of_ones_own_is_made_changed_given_and_removed() -> None:
    """As a built-in one for one namespace or project, or of single grants."""
    made = must(
        "role", "create", "shop-editor", "--role", "editor", "--namespace", "acme", "--project", "shop", "--json"
    )
    scopes = {(each["resource"], each["namespace"], each["project"]) for each in made.json["grants"]}
    assert {("redirect", "acme", "shop"), ("namespace", "acme", "*")} <= scopes
    assert {namespace for _, namespace, _ in scopes} == {"acme"}
    must("user", "create", "kim", "--role", "shop-editor")
    must("role", "set", "shop-editor", "--grant", "page:read", "--description", "Looks at pages.")
    listed = table(must("role", "list").out)
    assert listed[-1] == ["shop-editor", "no", "page:read@*/*"]
    assert must("role", "list", "--json").json[-1]["description"] == "Looks at pages."
    must("role", "delete", "shop-editor")
    assert must("user", "list", "--json").json[0]["roles"] == []


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("create", "viewer", "--role", "editor"), "There is a role 'viewer' already"),
        (("create", "a b", "--role", "editor"), "letters, digits"),
        (("create", "a"), "--role agent"),
        (("create", "a", "--grant", "page:fly"), "fly"),
        (("set", "admin", "--grant", "page:read"), "built in"),
        (("delete", "admin"), "built in"),
        (("delete", "nobody"), "There is no role 'nobody'"),
        (("set", "nobody", "--grant", "page:read"), "There is no role 'nobody'"),
    ],
)
def test_a_role_that_cannot_be_is_refused_in_a_sentence(words: tuple[str, ...], shown: str) -> None:
    must("role", "create", "mine", "--grant", "page:read")
    outcome = call("role", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert shown in outcome.err


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://waypost:secret@db.example/waypost", "WAYPOST_DATABASE"),
        ("nonsense", "URL such as postgresql"),
        ("postgres://waypost@db.example/waypost", "write postgresql+psycopg://"),
        ("postgresql+psycopg2://waypost@db.example/waypost", "write postgresql+psycopg://"),
        ("postgresql+psycopg://waypost@db.example:secret/waypost", "PORT a number"),
        ("mysql://waypost@db.example/waypost", "mysql:// is not supported, only SQLite and PostgreSQL"),
    ],
)
@pytest.mark.usefixtures("data")
def test_a_database_is_named_by_a_url_without_a_password(url: str, shown: str) -> None:
    outcome = call("user", "list", "--database", url)
    assert (outcome.code, shown in outcome.err, "secret" in outcome.err) == (2, True, False)


@pytest.mark.usefixtures("data")
def test_without_psycopg_its_own_package_is_to_be_installed(workplace: Path) -> None:
    """Waypost itself is in no package index, so that nobody may be told to install a package of that name."""
    (workplace / "hidden").mkdir()
    (workplace / "hidden" / "psycopg.py").write_text("raise ModuleNotFoundError('No psycopg', name='psycopg')\n")
    path = f"{workplace / 'hidden'}{os.pathsep}{ROOT}"
    env = {"PYTHONPATH": path, "WAYPOST_DATA": os.environ["WAYPOST_DATA"]}
    outcome = run("user", "list", "--database", "postgresql+psycopg://waypost@db.example/waypost", env=env)
    assert outcome.code == 3
    assert '-m pip install "psycopg[binary]>=3.2"' in outcome.err
    assert "waypost[" not in outcome.err


def test_a_database_by_url_is_used(data: Path) -> None:
    url = f"sqlite:///{data}/other.db"
    must("user", "create", "ada", "--database", url)
    assert must("user", "list", "--json").json == []
    assert [user["username"] for user in must("user", "list", "--json", "--database", url).json] == ["ada"]


def test_looking_makes_no_data_directory(workplace: Path) -> None:
    for words in (("user", "list"), ("token", "list"), ("namespace", "list")):
        outcome = call(*words)
        assert (outcome.code, "There is no data directory" in outcome.err) == (2, True)
    assert list(workplace.iterdir()) == []


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
def test_a_new_data_directory_is_told_once(workplace: Path, words: tuple[str, ...]) -> None:
    made = must(*words, "--data", "typo")
    assert f"Made a new data directory {workplace / 'typo'}.\n" in made.err
    assert "data directory" not in made.out
    assert "new data directory" not in must("user", "create", "kim", "--data", "typo").err


def test_a_file_is_no_data_directory(workplace: Path) -> None:
    (workplace / "data").touch()
    for words in (("user", "create", "a"), ("namespace", "create", "a"), ("log", "a", "b"), ("serve",), ("demo",)):
        outcome = call(*words)
        assert (outcome.code, "is no directory" in outcome.err) == (2, True), words


def test_the_password_is_asked_for_twice_where_there_is_a_terminal() -> None:
    """By a real terminal, in tests/cli/test_streams.py; here: without one, a process of its own says what to do."""
    outcome = run("user", "create", "ada")
    assert (outcome.code, "WAYPOST_PASSWORD" in outcome.err) == (2, True)


def test_a_damaged_database_is_a_failure_with_the_database_s_own_words(data: Path) -> None:
    (data / "waypost.db").write_bytes(b"this is no database" * 1000)
    for words in (("user", "list"), ("serve", "--bind", "127.0.0.1:0"), ("demo", "--bind", "127.0.0.1:0")):
        outcome = call(*words)
        assert outcome.code == 3
        assert "The database says: file is not a database." in outcome.err
