"""Every setting: the option first, then the variable, then the file in the current folder."""

import shutil
from pathlib import Path

import pytest

from api.settings import SETTING_FORMATS, environment_name
from cli.console.setup import option_name, read_settings
from tests.cli.rule_folders import write
from tests.cli.terminal import invoke, invoke_ok


def test_the_option_wins_over_the_variable_and_that_over_the_file(
    work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work_folder, {"waypost.toml": 'data = "by-file"\n'})
    for name in ("by-file", "by-variable", "by-option"):
        shutil.copytree(work_folder / "data", work_folder / name)
    invoke_ok("namespace", "create", "a")
    monkeypatch.setenv("WAYPOST_DATA", "by-variable")
    invoke_ok("namespace", "create", "a")
    invoke_ok("namespace", "create", "a", "--data", "by-option")
    made = [len(list((work_folder / name / "repos").glob("*.git"))) for name in ("by-file", "by-variable", "by-option")]
    assert made == [1, 1, 1]


@pytest.mark.parametrize("name", SETTING_FORMATS)
def test_every_setting_is_read_from_option_variable_and_file(
    name: str, work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for needed in _NEEDED.get(name, ()):
        monkeypatch.setenv(environment_name(needed), other_value(needed))
    other, default = other_value(name), getattr(read_settings(), name)
    by_option = getattr(read_settings(**{name: other}), name)
    monkeypatch.setenv(environment_name(name), other)
    by_variable = getattr(read_settings(), name)
    monkeypatch.delenv(environment_name(name))
    write(work_folder, {"waypost.toml": f'{name} = "{other}"\n'})
    by_file = getattr(read_settings(), name)
    assert by_option == by_variable == by_file != default


_CLIENT = ("public_url", "openid_client_id")
_NEEDED = {"openid_issuer": _CLIENT, "password_login": (*_CLIENT, "openid_issuer")}
"""Settings that are needed with others."""


def other_value(name: str) -> str:
    """Return a value that is allowed and not the default."""
    known = {
        "data": "elsewhere",
        "bind": "127.0.0.1:1",
        "public_url": "https://w.example",
        "database": "sqlite:///x.db",
        "hide_unknown_users": "true",
        "init": "true",
        "openid_algorithms": "ES256",
        "openid_issuer": "https://id.example",
        "openid_networks": "192.0.2.1",
        "openid_prompt": "consent",
        "openid_provisioning": "true",
        "openid_roles": "ops=admin",
        "openid_timeout": "7",
        "password_login": "false",
        "push_hooks": "false",
        "trusted_proxies": "192.0.2.1",
        "upstream_folders": "/srv/mirrors",
        "upstream_networks": "192.0.2.1",
        "log_level": "debug",
        "webhook_networks": "192.0.2.1",
        "webhook_timeout": "7",
        "workers": "3",
    }
    return known.get(name, "1234")


@pytest.mark.parametrize("name", ["bind", "workers", "log_level", "header_timeout"])
def test_the_message_for_an_invalid_value_has_the_option_and_the_allowed_values(name: str) -> None:
    outcome = invoke("serve", option_name(name), "no such thing")
    assert outcome.code == 2
    assert (
        outcome.err
        == f"waypost: The option {option_name(name)} is 'no such thing'; allowed: {SETTING_FORMATS[name].allowed}.\n"
    )


def test_a_file_with_an_unknown_key_is_refused(work_folder: Path) -> None:
    write(work_folder, {"waypost.toml": "wrokers = 3\n"})
    outcome = invoke("namespace", "list")
    assert (outcome.code, "'wrokers'" in outcome.err) == (2, True)


def test_a_file_that_is_no_toml_is_refused(work_folder: Path) -> None:
    write(work_folder, {"waypost.toml": "[[["})
    outcome = invoke("namespace", "list")
    assert (outcome.code, "waypost.toml cannot be read" in outcome.err) == (2, True)
