"""The sources of settings: options, the environment, and a file."""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.setting_formats import FaultyEntry, SettingFormat

ENVIRONMENT_PREFIX = "WAYPOST_"
OTHER_VARIABLES = frozenset(
    (
        *("WAYPOST_ADMIN_PASSWORD", "WAYPOST_PASSWORD", "WAYPOST_TOKEN", "WAYPOST_COMMENT_TOKEN"),
        *("WAYPOST_UPSTREAM_PASSWORD", "WAYPOST_UPSTREAM_SSH_KEY"),
        *("WAYPOST_UPSTREAM_HOST_TOKEN", "WAYPOST_UPSTREAM_HOOK_SECRET"),
    )
)
"""The variables of single commands, which are no settings."""
# Of templates/waypost.yml, of the tests, and those that Kubernetes sets in every pod beside a Service whose name begins with
# waypost: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
_OF_OTHERS = re.compile(
    r"WAYPOST_(?:FOLDER|STRICT|AUTHOR|PACKAGE|TEST_[A-Z]+|(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?"
    r"|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?))"
)
_SAME_WORD = 0.75  # the likeness from which a name is a misspelled one, and not that of another program
_LIKE = 0.6
_MOST_CHARACTERS = 60  # of a name: comparing takes time in the square of the length
_PAGE = "docs/reference/settings.md"


class InvalidSetting(ValueError):
    """An invalid setting; the message names its source and the allowed values."""


def environment_name(name: str) -> str:
    """Return the environment variable of a setting: `WAYPOST_LOG_LEVEL` for `log_level`."""
    return ENVIRONMENT_PREFIX + name.upper()


@dataclass(frozen=True, slots=True)
class Layers:
    """The sources of settings, the strongest first; `toml` names the file."""

    options: Mapping[str, object]
    env: Mapping[str, str]
    file: Mapping[str, object]
    toml: Path | None


def find_setting(name: str, form: SettingFormat, layers: Layers) -> Any:
    """Return the value of a setting, None if no source has it. Raises InvalidSetting."""
    variable = environment_name(name)
    given: tuple[tuple[object, str], ...] = (
        (layers.options.get(name), f"option --{name.replace('_', '-')}"),
        (layers.env.get(variable), f"environment variable {variable}"),
        (layers.file.get(name), f"key '{name}' of {layers.toml}"),
    )
    return next((_parse(form, value, source) for value, source in given if value is not None), None)


def _parse(form: SettingFormat, value: object, source: str) -> object:
    try:
        return form.parse(_text(value))
    except FaultyEntry as ex:
        raise InvalidSetting(f"The {source} has the entry {ex.entry!r}; allowed: {form.allowed}.") from ex
    except ValueError as ex:
        raise InvalidSetting(f"The {source} is {value!r}; allowed: {form.allowed}.") from ex


def _text(value: object) -> str:
    """Return a value as it is written in the environment, so that one parser serves all sources."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, str | int | Path):
        return str(value)
    raise ValueError(value)


def require_known(given: Iterable[str], names: Collection[str], what: str) -> None:
    """Raise InvalidSetting for a name of a setting that does not exist."""
    for name in given:
        if name not in names:
            raise _unknown(name, what, _near(name, names, _LIKE))


def require_known_variables(env: Mapping[str, str], names: Collection[str]) -> None:
    """Raise InvalidSetting for a variable that is a misspelled one; other unknown ones may be those of another program."""
    known = {environment_name(name) for name in names} | OTHER_VARIABLES
    for variable in unknown_variables(env, names):
        near = _near(variable, known, _SAME_WORD)
        if near:
            raise _unknown(variable.removeprefix(ENVIRONMENT_PREFIX).lower(), f"environment variable {variable}", near)


def unknown_variables(env: Mapping[str, str], names: Collection[str]) -> list[str]:
    """Return the variables WAYPOST_… that are neither settings nor known to be of something else."""
    known = {environment_name(name) for name in names} | OTHER_VARIABLES
    found = (name for name in env if name.startswith(ENVIRONMENT_PREFIX) and name not in known)
    return sorted(name for name in found if not _OF_OTHERS.fullmatch(name))


def _near(name: str, names: Iterable[str], likeness: float) -> list[str]:
    """Return up to three similar names, the most similar one first; the prefix, which all variables have, does not count."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a misspelled name needs it

    by_word = {_word(each): each for each in names}
    return [by_word[word] for word in get_close_matches(_word(name)[:_MOST_CHARACTERS], by_word, 3, likeness)]


def _word(name: str) -> str:
    return name.removeprefix(ENVIRONMENT_PREFIX).lower()


def _unknown(name: str, what: str, near: list[str]) -> InvalidSetting:
    question = f"Did you mean {' or '.join(near)}? " if near else ""
    return InvalidSetting(f"Unknown setting '{name}' ({what}). {question}All settings are in {_PAGE}.")


def read_toml(path: Path) -> dict[str, object]:
    """Return the settings of a file, none without it. Raises InvalidSetting for one that is not TOML, OSError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as ex:
        raise InvalidSetting(f"The settings file {path} cannot be read: {ex}.") from ex
