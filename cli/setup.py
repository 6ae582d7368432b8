"""What every command shares: the settings, the data directory, and who is at the keyboard."""

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from api.settings import FORMS, Settings, environment_name
from cli.exits import WrongUse
from cli.output import print_notes
from cli.suggestion import remember
from gitstore.repository import Author

if TYPE_CHECKING:
    from gitstore.store import Store

SETTINGS_FILE = Path("waypost.toml")
F = TypeVar("F", bound=Callable[..., Any])


def setting_options(*names: str) -> Callable[[F], F]:
    """Options for settings by these names; the rest come from the environment and the settings file."""

    def decorate(command: F) -> F:
        for name in reversed(names):
            word = _word(name)
            command = click.option(option_name(name), name, help=_help(name), metavar=word)(command)
        return command

    return decorate


def option_name(name: str) -> str:
    """The option of a setting: `--log-level` of `log_level`."""
    return f"--{name.replace('_', '-')}"


def read_settings(**options: object) -> Settings:
    """The settings by option, environment and `waypost.toml`, in that order."""
    settings = Settings.read(options, os.environ, SETTINGS_FILE)
    if options.get("database") and urlsplit(settings.database).password:
        raise WrongUse(
            "A password on the command line can be read by every user of this machine. "
            f"Give the URL in the variable {environment_name('database')} instead."
        )
    return settings


def open_store(data: str | None) -> "Store":
    """The content store of the data directory, which must be there."""
    store = _store(existing_data(read_settings(data=data)))
    remember(store)
    return store


def make_store(data: str | None) -> "Store":
    """The content store of the data directory, which is made where it is not there yet."""
    return _store(told_data(read_settings(data=data)))


def existing_data(settings: Settings) -> Path:
    """The data directory; WrongUse where there is none, for then another one is meant."""
    path = settings.data.absolute()
    if not path.exists():
        raise WrongUse(f"There is no data directory {path}. Say where it is with --data or {environment_name('data')}.")
    return _directory(path)


def made_data(settings: Settings) -> Path:
    """The data directory, made where it is not there yet."""
    path = settings.data.absolute()
    if not path.exists():
        path.mkdir(parents=True)
    return _directory(path)


def told_data(settings: Settings) -> Path:
    """The data directory, made where it is not there yet, which is told: its name may have been mistyped."""
    is_new = not settings.data.absolute().exists()
    path = made_data(settings)
    if is_new:
        print_notes(f"Made a new data directory {path}.")
    return path


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise WrongUse(f"{path} is no directory, so it cannot be the data directory.")
    return path


def _store(path: Path) -> "Store":
    from gitstore.store import store_at  # noqa: PLC0415 - half of the time that a usage error takes to be told

    return store_at(path)


def operator() -> Author:
    """Who runs the command, as Git would name them: by Git's own variables, else the login name."""
    name = os.environ.get("GIT_AUTHOR_NAME") or _login()
    return Author(name, os.environ.get("GIT_AUTHOR_EMAIL") or f"{_login()}@localhost")


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is taken away; stops where the answer is no, or where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise WrongUse(f"{question} Nobody can be asked here: add --yes if that is what you want.")
    click.confirm(question, abort=True, err=True)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no variable names the user, nor does the system, as in many containers
        return "operator"


def _word(name: str) -> str:
    """What stands for the value in a help text."""
    return "true|false" if isinstance(getattr(Settings(), name), bool) else name.rpartition("_")[2].upper()


def _help(name: str) -> str:
    default = getattr(Settings(), name)
    shown = (
        ",".join(map(str, default))
        if isinstance(default, tuple)
        else str(default).lower()
        if default is not None
        else ""
    )
    about = f"{FORMS[name].about[:1].upper()}{FORMS[name].about[1:]}: {FORMS[name].allowed}."
    return f"{about} [{environment_name(name)}{f'; default: {shown}' if shown else ''}]"


data_option = setting_options("data")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
namespace_argument = click.argument("namespace")
project_argument = click.argument("project")
draft_option = click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft to work on.")
