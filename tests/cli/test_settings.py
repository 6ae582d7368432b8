"""Every setting: the option first, then the variable, then the file in the current folder."""

from pathlib import Path

import pytest

from api.settings import FORMS, environment_name
from cli.setup import option_name, read_settings
from tests.cli.folders import write
from tests.cli.terminal import call, must


def test_the_option_wins_over_the_variable_and_that_over_the_file(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workplace, {"waypost.toml": 'data = "by-file"\n'})
    must("namespace", "create", "a")
    monkeypatch.setenv("WAYPOST_DATA", "by-variable")
    must("namespace", "create", "a")
    must("namespace", "create", "a", "--data", "by-option")
    made = sorted(path.name for path in workplace.iterdir() if path.is_dir())
    assert made == ["by-file", "by-option", "by-variable"]


@pytest.mark.parametrize("name", FORMS)
def test_every_setting_is_read_from_option_variable_and_file(
    name: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, default = other_value(name), getattr(read_settings(), name)
    by_option = getattr(read_settings(**{name: other}), name)
    monkeypatch.setenv(environment_name(name), other)
    by_variable = getattr(read_settings(), name)
    monkeypatch.delenv(environment_name(name))
    write(workplace, {"waypost.toml": f'{name} = "{other}"\n'})
    by_file = getattr(read_settings(), name)
    assert by_option == by_variable == by_file != default


def other_value(name: str) -> str:
    """A value that is allowed and not the default."""
    known = {
        "data": "elsewhere",
        "bind": "127.0.0.1:1",
        "public_url": "https://w.example",
        "database": "sqlite:///x.db",
        "hide_unknown_users": "true",
        "trusted_proxies": "192.0.2.1",
        "log_level": "debug",
        "webhook_networks": "192.0.2.1",
        "webhook_timeout": "7",
        "workers": "3",
    }
    return known.get(name, "1234")


@pytest.mark.parametrize("name", ["bind", "workers", "log_level", "header_timeout", "trusted_proxies"])
def test_a_value_that_is_not_allowed_names_the_option_and_what_is(name: str) -> None:
    outcome = call("serve", option_name(name), "no such thing")
    assert outcome.code == 2
    assert (
        outcome.err == f"waypost: The option {option_name(name)} is 'no such thing'; allowed: {FORMS[name].allowed}.\n"
    )


def test_a_file_with_an_unknown_key_is_refused(workplace: Path) -> None:
    write(workplace, {"waypost.toml": "wrokers = 3\n"})
    outcome = call("namespace", "list")
    assert (outcome.code, "'wrokers'" in outcome.err) == (2, True)


def test_a_file_that_is_no_toml_is_refused(workplace: Path) -> None:
    write(workplace, {"waypost.toml": "[[["})
    outcome = call("namespace", "list")
    assert (outcome.code, "waypost.toml cannot be read" in outcome.err) == (2, True)
