"""Valid API tokens in what commands write: refused with the place, revoked, and not shown."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from api.app.services import open_services
from api.auth.tokens.api_token import mint
from api.db.audit import AuditFilter
from api.settings import Settings
from tests.cli.terminal import invoke, invoke_ok

RULE = {"type": "BASIC", "source": "/a", "target": "/b", "status": "MOVED_PERMANENT"}

NAMES = [
    "import",
    "put",
    "put --from",
    "replace",
    "create",
    "create --from",
    "publish",
    "rollback",
    "review",
    "merge",
    "proposal",
]
NAMES += ["project", "user", "token", "role", "role set"]


@pytest.fixture
def value(data: Path) -> str:
    invoke_ok("namespace", "create", "acme", "--data", data)
    invoke_ok("project", "create", "acme", "shop", "--data", data)
    return str(invoke_ok("token", "create", "ci", "--grant", "redirect:read").out.strip())


def commands(value: str, folder: Path) -> dict[str, tuple[Sequence[str], str]]:
    """Return the words of each command that writes the value, and the place that it prints."""
    table, items, projects = folder / "list.tsv", folder / "list.json", folder / "projects"
    table.write_text(f"type\tsource\ttarget\tstatus\nBASIC\t/a\t/{value}\t301\n")
    items.write_text(json.dumps([{**RULE, "note": value}]).replace(value[:4], "\\u0073vc_"))
    projects.joinpath("shop").mkdir(parents=True)
    projects.joinpath("shop", "project.yaml").write_text(f"project:\n  description: {value}\n")
    return {
        "import": (("import", "acme", "shop", str(table)), f"{table}:2: error: There is a valid API token here."),
        "put": (
            ("edit", "put", "acme", "shop", "--source", "/a", "--target", f"/{value}"),
            "options:1: error: There is a valid API token here.",
        ),
        "put --from": (
            ("edit", "put", "acme", "shop", "--from", str(items)),
            f"{items}:1: error: There is a valid API token here.",
        ),
        "replace": (
            ("edit", "replace", "acme", "shop", "a", value),
            "REPLACEMENT:1: error: There is a valid API token here.",
        ),
        "create": (
            ("namespace", "create", "new", "--description", value),
            "--description:1: error: There is a valid API token here.",
        ),
        "create --from": (
            ("namespace", "create", "new", "--from", str(projects)),
            "shop/project.yaml:2: error: There is a valid API token here.",
        ),
        "publish": (("publish", "acme", "shop", "-m", f"for {value}"), "message:1: error: "),
        "rollback": (("rollback", "acme", "shop", "1", "-m", f"for {value}"), "message:1: error: "),
        "review": (("review", "acme", "shop", "--as", "kim", "--comment", value), "comment:1: error: "),
        "merge": (("proposal", "merge", "acme", "topic", "-m", value), "message:1: error: "),
        "proposal": (("proposal", "comment", "acme", "topic", value, "--as", "kim"), "note:1: error: "),
        "project": (("project", "create", "acme", "other", "--title", value), "title:1: error: "),
        "user": (("user", "create", "kim", "--lastname", value), "lastname:1: error: "),
        "token": (("token", "create", value, "--grant", "redirect:read"), "name:1: error: "),
        "role": (("role", "create", "r", "--description", value, "--grant", "redirect:read"), "description:1: error: "),
        "role set": (
            ("role", "set", "r", "--description", value, "--grant", "redirect:read"),
            "description:1: error: ",
        ),
    }


@pytest.mark.parametrize("command", NAMES)
def test_a_valid_token_is_refused_and_revoked(data: Path, value: str, work_folder: Path, command: str) -> None:
    words, place = commands(value, work_folder)[command]
    outcome = invoke(*words)
    assert outcome.code == 1
    assert place in outcome.out + outcome.err
    assert value not in outcome.out + outcome.err
    assert invoke_ok("token", "list", "--json").json == []
    with closing(open_services(Settings(data=data))) as services:
        [newest] = services.trail().window(AuditFilter(), 1, 0).entries
    found = {"id": 1, "reason": "found at the command line"}
    assert (newest.actor.kind, newest.actor.name, newest.detail) == ("operator", "Grace Tester", found)
    assert invoke_ok("project", "list", "acme", "--json").json[0]["draft"] is False


def test_text_with_the_form_of_a_token_is_written(value: str) -> None:
    invoke_ok("edit", "put", "acme", "shop", "--source", "/a", "--target", f"/{mint().value}")
    assert [each["preview"] for each in invoke_ok("token", "list", "--json").json] == [f"{value[:8]}…"]
