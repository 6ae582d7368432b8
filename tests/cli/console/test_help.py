"""The help of the command line: every command, every argument and option, and every setting."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from api.settings import SECRET_SETTINGS, SETTING_FORMATS, environment_name
from cli.console.setup import option_name
from cli.main import COMMANDS, waypost
from tests.cli.terminal import invoke, invoke_ok, unwrap

LONGEST_SUMMARY = 64
SECRET_WORDS = ("password", "secret", "token-value")
ABOUT_PASSWORDS = {"--password-login", "--password-login-account"}  # a switch and the name of an account
ASKED_FOR = ("serve", "demo", "namespace", "project", "user", "token", "validate", "import", "publish", "rollback")


def every_command(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


ALL = dict(every_command(waypost, ()))
each_command = pytest.mark.parametrize("path", ALL, ids=" ".join)


def test_the_commands_are_those_of_the_contract() -> None:
    assert {*ASKED_FOR, "log", "match"} <= {*COMMANDS}
    assert {path[1:] for path in ALL if path[0] == "namespace"} == {
        (),
        *((name,) for name in ("create", "list", "delete", "archived", "restore", "accept-rewind")),
    }


@each_command
def test_every_command_has_help_that_is_printed_and_fine(path: tuple[str, ...]) -> None:
    outcome = invoke_ok(*path, "--help")
    assert outcome.out.startswith(f"Usage: waypost {' '.join(path)} ")
    assert outcome.err == ""


@each_command
def test_every_command_has_a_summary_that_is_a_whole_sentence_in_lists(path: tuple[str, ...]) -> None:
    summary = ALL[path].get_short_help_str(limit=LONGEST_SUMMARY)
    assert summary.endswith("."), summary
    assert not summary.endswith("..."), summary


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_summary_of_each(name: str) -> None:
    assert COMMANDS[name].summary == ALL[(name,)].get_short_help_str(limit=LONGEST_SUMMARY)


def test_the_list_of_commands_is_shown_without_importing_them() -> None:
    """Guard: the import of all took two seconds."""
    code = "import sys; from cli.main import COMMANDS, waypost; waypost.main(['--help'], standalone_mode=False)"
    code += "; print([entry for entry in COMMANDS.values() if f'cli.{entry.module}' in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "serve      Serve the data" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@each_command
def test_every_option_says_what_it_does(path: tuple[str, ...]) -> None:
    options = [param for param in ALL[path].params if isinstance(param, click.Option)]
    undescribed = [option.opts[-1] for option in options if not option.help]
    assert [name for name in undescribed if name != "--format"] == []


@each_command
def test_no_option_takes_a_secret(path: tuple[str, ...]) -> None:
    names = [name for param in ALL[path].params if isinstance(param, click.Option) for name in param.opts]
    assert {name for name in names if any(word in name for word in SECRET_WORDS)} <= ABOUT_PASSWORDS


@pytest.mark.parametrize("name", [name for name in SETTING_FORMATS if name not in SECRET_SETTINGS])
def test_every_setting_is_an_option_of_serve_with_its_variable_and_what_is_allowed(name: str) -> None:
    shown = unwrap(invoke_ok("serve", "--help").out)
    assert f"{option_name(name)} " in shown
    assert environment_name(name) in shown
    assert unwrap(SETTING_FORMATS[name].allowed) in shown


def test_the_name_alone_lists_the_commands() -> None:
    outcome = invoke()
    assert (outcome.code, outcome.out) == (2, "")
    assert all(f"  {name} " in outcome.err for name in COMMANDS)


def test_an_unknown_command_is_a_usage_error() -> None:
    outcome = invoke("frobnicate")
    assert (outcome.code, outcome.out) == (2, "")
    assert "No such command 'frobnicate'" in outcome.err


def test_the_version_is_that_of_the_package() -> None:
    from cli.version import __version__  # noqa: PLC0415 - what this test is about

    assert invoke_ok("--version").out == f"waypost, version {__version__}\n"
