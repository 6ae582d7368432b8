"""The sources of settings: options, the environment, and a file."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.setting_formats import SettingFormat

ENVIRONMENT_PREFIX = "WAYPOST_"


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


def require_known(given: Mapping[str, object], names: Collection[str], what: str) -> None:
    """Raise InvalidSetting for a name of a setting that does not exist."""
    for name in given:
        if name not in names:
            raise InvalidSetting(f"Unknown setting '{name}' ({what}). Use one of: {', '.join(names)}.")


def read_toml(path: Path) -> dict[str, object]:
    """Return the settings of a file, none without it. Raises InvalidSetting for one that is not TOML, OSError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as ex:
        raise InvalidSetting(f"The settings file {path} cannot be read: {ex}.") from ex
