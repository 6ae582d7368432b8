"""The set-up of commands: settings, data directory, shared options and the operator."""

import getpass
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from api.auth.tokens.api_token import find_any
from api.data.parts import DataParts
from api.settings import SETTING_FORMATS, Settings, environment_name
from cli.console.exits import InvalidUsage
from cli.console.output import print_notes
from cli.console.owner import become_owner
from cli.console.suggestion import remember_lookup

if TYPE_CHECKING:
    from gitstore.git.repository import Author
    from gitstore.store.store import Store

SETTINGS_FILE = Path("waypost.toml")
F = TypeVar("F", bound=Callable[..., Any])


def setting_options(*names: str) -> Callable[[F], F]:
    """Add options for the settings of these names; the others come from the environment and the settings file."""

    def decorate(command: F) -> F:
        for name in reversed(names):
            # A flag may be given without its value: --init is --init=true.
            value: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if _is_flag(name) else {}
            command = click.option(option_name(name), name, help=_help(name), metavar=_word(name), **value)(command)
        return command

    return decorate


def option_name(name: str) -> str:
    """Return the option of a setting: `--log-level` for `log_level`."""
    return f"--{name.replace('_', '-')}"


def read_settings(defaults: Mapping[str, object] = MappingProxyType({}), /, **options: object) -> Settings:
    """Read the settings from options, environment and `waypost.toml`, in this order of precedence, then from `defaults`."""
    settings = Settings.read(options, os.environ, SETTINGS_FILE, defaults)
    if options.get("database") and urlsplit(settings.database).password:
        raise InvalidUsage(
            "A password on the command line can be read by every user of this machine. "
            f"Give the URL in the variable {environment_name('database')} instead."
        )
    return settings


def note_settings_file() -> None:
    """Say that the settings file of the current folder is used; of a checkout, anyone may have changed it."""
    if SETTINGS_FILE.exists():
        print_notes(f"The settings of ./{SETTINGS_FILE} are used.")


def open_store(data: str | None) -> "Store":
    """Open the content store of the data directory, which must exist, as its owner."""
    settings = read_settings(data=data)
    path = settings.data.absolute()
    become_owner(path)
    require_directory(path)
    DataParts(path, None).require_content()
    path.joinpath("compiled").mkdir(exist_ok=True)  # missing after a restore, until the first start
    store = _store(path, settings)
    store.upstreams.start_children(find_any)
    remember_lookup(store)
    return store


def require_directory(path: Path) -> None:
    """Raise InvalidUsage if another file has the name of the data directory."""
    if path.exists() and not path.is_dir():
        raise InvalidUsage(f"The data directory {path} is not a directory. Name another with --data.")


def _store(path: Path, settings: Settings) -> "Store":
    from gitstore.store.store import store_at  # noqa: PLC0415 - the import takes half of the time of a usage error

    return store_at(path, settings.pattern_limits, settings.push_hook, settings.signing_key)


def operator() -> "Author":
    """Return the person who runs the command, as an author: from Git's own variables, else the login name."""
    from gitstore.git.repository import Author  # noqa: PLC0415 - loads the reader of repositories

    name = os.environ.get("GIT_AUTHOR_NAME") or _login()
    return Author(name, os.environ.get("GIT_AUTHOR_EMAIL") or f"{_login()}@localhost")


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is removed; stops if the answer is no, or if standard input is not a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidUsage(f"{question} Not a terminal; pass --yes to confirm.")
    click.confirm(question, abort=True, err=True)


def _login() -> str:
    try:
        return getpass.getuser()
    # No variable names the user, and the user id has no entry in /etc/passwd, as in many containers. Python raises
    # KeyError until 3.12, OSError from 3.13 on: https://docs.python.org/3/library/getpass.html#getpass.getuser
    except (KeyError, OSError):
        return "operator"


def _is_flag(name: str) -> bool:
    return isinstance(getattr(Settings(), name), bool)


def _word(name: str) -> str:
    """Return the placeholder of a setting's value in a help text."""
    return "[true|false]" if _is_flag(name) else name.rpartition("_")[2].upper()


def _help(name: str) -> str:
    default = getattr(Settings(), name)
    shown = (
        ",".join(map(str, default))
        if isinstance(default, tuple)
        else str(default).lower()
        if default is not None
        else ""
    )
    about = (
        f"{SETTING_FORMATS[name].about[:1].upper()}{SETTING_FORMATS[name].about[1:]}: {SETTING_FORMATS[name].allowed}."
    )
    return f"{about} [{environment_name(name)}{f'; default: {shown}' if shown else ''}]"


data_option = setting_options("data")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
namespace_argument = click.argument("namespace")
project_argument = click.argument("project")
draft_option = click.option("--draft", default="main", show_default=True, metavar="NAME", help="The draft to work on.")
