"""The page of the command line: every command with its arguments and options, and no others."""

import re
from collections.abc import Iterator

import click
import pytest

from cli.main import waypost
from tests.docs.reference import page


def commands() -> Iterator[tuple[str, click.Command]]:
    yield from _commands("waypost", waypost)


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        found = command.get_command(context, word)
        assert found is not None
        yield from _commands(f"{name} {word}", found)


def section(name: str) -> str:
    found = re.search(rf"^### {name}( .*)?\n(?P<text>.*?)(?=^##|\Z)", page("command-line.md"), re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/command-line.md has no section '### {name}'"
    return found[0]


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=each[0]) for each in commands()])
def test_every_command_is_described_with_its_arguments_and_options(name: str, command: click.Command) -> None:
    text = section(name)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            known = set(re.findall(r"--?[a-z][a-z-]*", text))
            assert set(parameter.opts) <= known, f"{name} {parameter.opts}"
        else:
            assert (parameter.metavar or str(parameter.name).upper()).strip("[]") in text.splitlines()[0]


def test_no_command_or_option_is_invented() -> None:
    text = page("command-line.md")
    assert set(re.findall(r"^### (waypost(?: [a-z-]+)+)", text, re.MULTILINE)) == {name for name, _ in commands()}
    known = {option for _, command in commands() for each in command.params for option in each.opts}
    assert set(re.findall(r"`(--[a-z-]+)", text)) - known <= {"--help"}
