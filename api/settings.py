"""Every setting of the service in one frozen record: an option, else WAYPOST_… , else waypost.toml, else a default."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple

ENVIRONMENT_PREFIX = "WAYPOST_"
LARGEST_PORT = 65535


class SettingRefused(ValueError):
    """A setting that the service cannot start with; the message names its source and what is allowed."""


class Form(NamedTuple):
    """How a setting is written: `parse` raises ValueError, `allowed` says what it takes, `about` what it does."""

    parse: Callable[[str], object]
    allowed: str
    about: str


def whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers within bounds, in ASCII digits."""

    def parse(text: str) -> int:
        if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(text)
        return int(text)

    return parse


def word(*words: str) -> Callable[[str], str]:
    """A parser of one of the words, without regard to case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return parse


def directory(text: str) -> Path:
    """A path; never empty."""
    if not text.strip():
        raise ValueError(text)
    return Path(text)


def flag(text: str) -> bool:
    """`true` or `false`."""
    return word("true", "false")(text) == "true"


def address(text: str) -> str:
    """`host:port`, `[v6]:port` or `unix:/path`."""
    if not re.fullmatch(r"unix:/.+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]*):[0-9]{1,5}", text):
        raise ValueError(text)
    if not text.startswith("unix:") and int(text.rpartition(":")[2]) > LARGEST_PORT:
        raise ValueError(text)
    return text


def origin(text: str) -> str:
    """An http or https origin, without a path; empty where none is set."""
    if text and not re.fullmatch(r"https?://[A-Za-z0-9.:\[\]-]+/?", text):
        raise ValueError(text)
    return text.rstrip("/")


def addresses(text: str) -> tuple[str, ...]:
    """Addresses or networks, separated by commas; empty for none."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in found:
        ip_network(part)
    return found


def delays(text: str) -> tuple[int, ...]:
    """Up to 20 whole numbers of seconds, separated by commas."""
    found = tuple(whole(0, DAY)(part.strip()) for part in text.split(","))
    if len(found) > MOST_DELAYS:
        raise ValueError(text)
    return found


def _form(parse: Callable[[str], object], allowed: str, about: str) -> dict[str, Form]:
    return {"form": Form(parse, allowed, about)}


def _seconds(least: int, most: int, about: str) -> dict[str, Form]:
    return _form(whole(least, most), f"seconds from {least} to {most:,}", about)


def _bytes(about: str) -> dict[str, Form]:
    return _form(whole(1024, 2**40), "bytes from 1024 upwards", about)


HOUR = 60 * 60
DAY = 24 * HOUR
MIB = 1024 * 1024
MOST_DELAYS = 20

_DATA = _form(directory, "a directory", "where repositories, the database and keys are")
_BIND = _form(address, "host:port, [address]:port or unix:/path", "the address that is served")
_WORKERS = _form(whole(1, 256), "a number from 1 to 256", "worker processes")
_PUBLIC_URL = _form(origin, "an http or https origin such as https://waypost.example", "the origin that clients see")
_DATABASE = _form(str, "a database URL, or nothing for SQLite in the data directory", "where users and tokens are")
_HIDE_USERS = _form(flag, "true or false", "answer an unknown account in the words of a wrong password")
_ATTEMPTS = whole(1, 1_000_000), "a number from 1 to 1,000,000"
_LOGIN_ATTEMPTS = _form(*_ATTEMPTS, "logins that may fail in five minutes from one address, and for one account")
_LOGIN_ATTEMPTS_TOTAL = _form(*_ATTEMPTS, "logins that may fail in five minutes in all")
_CONNECTIONS = _form(whole(10, 1_000_000), "a number from 10 to 1,000,000", "connections that one worker holds")
_PROXIES = _form(
    addresses, "addresses or networks, separated by commas", "proxies whose X-Forwarded-… headers are believed"
)
_WEBHOOK_NETWORKS = _form(
    addresses, "addresses or networks, separated by commas", "private networks that webhooks may be sent to"
)
_WEBHOOK_RETRIES = _form(
    delays,
    "up to 20 whole numbers of seconds, separated by commas",
    "how long to wait before each further try of a webhook",
)
_LOG_LEVEL = _form(
    word("debug", "info", "warning", "error"),
    "debug, info, warning or error",
    "the least severe event that is logged; debug tells of every request",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator can set. Lifetimes and timeouts are in seconds, limits in bytes."""

    data: Path = field(default=Path("data"), metadata=_DATA)
    bind: str = field(default="127.0.0.1:8080", metadata=_BIND)
    workers: int = field(default=2, metadata=_WORKERS)
    public_url: str = field(default="", metadata=_PUBLIC_URL)
    database: str = field(default="", metadata=_DATABASE)
    access_lifetime: int = field(default=900, metadata=_seconds(10, DAY, "how long an access token holds"))
    refresh_idle_lifetime: int = field(
        default=7 * DAY, metadata=_seconds(60, 365 * DAY, "how long a refresh token holds unused")
    )
    refresh_lifetime: int = field(
        default=30 * DAY, metadata=_seconds(60, 3650 * DAY, "how long a login holds however often it is refreshed")
    )
    hide_unknown_users: bool = field(default=False, metadata=_HIDE_USERS)
    login_attempts: int = field(default=10, metadata=_LOGIN_ATTEMPTS)
    login_attempts_total: int = field(default=1000, metadata=_LOGIN_ATTEMPTS_TOTAL)
    json_limit: int = field(default=MIB, metadata=_bytes("the largest JSON body"))
    page_limit: int = field(default=8 * MIB, metadata=_bytes("the largest body of a call that carries a page"))
    import_limit: int = field(
        default=200 * MIB, metadata=_bytes("the largest import file, and the largest list of changes")
    )
    header_timeout: int = field(
        default=10, metadata=_seconds(1, HOUR, "how long a client may take to send the headers of a request")
    )
    body_timeout: int = field(default=30, metadata=_seconds(1, HOUR, "how long a client may take to send a JSON body"))
    write_timeout: int = field(
        default=30, metadata=_seconds(1, HOUR, "how long a client may stop reading in the middle of an answer")
    )
    keepalive: int = field(default=75, metadata=_seconds(0, HOUR, "how long a connection without a request stays open"))
    graceful_timeout: int = field(
        default=30, metadata=_seconds(1, HOUR, "how long requests may go on after a stop was asked for")
    )
    connections: int = field(default=20_000, metadata=_CONNECTIONS)
    trusted_proxies: tuple[str, ...] = field(default=(), metadata=_PROXIES)
    agent_silent: int = field(
        default=5 * 60, metadata=_seconds(2, DAY, "how long an agent may be unheard of before that is told")
    )
    event_lifetime: int = field(
        default=30 * DAY, metadata=_seconds(60, 3650 * DAY, "how long events and deliveries to webhooks are kept")
    )
    webhook_networks: tuple[str, ...] = field(default=(), metadata=_WEBHOOK_NETWORKS)
    webhook_retries: tuple[int, ...] = field(
        default=(5, 60, 300, 1800, 2 * HOUR, 5 * HOUR, 8 * HOUR, 8 * HOUR), metadata=_WEBHOOK_RETRIES
    )
    webhook_timeout: int = field(
        default=15, metadata=_seconds(1, 120, "how long a webhook's receiver may take to answer")
    )
    log_level: str = field(default="info", metadata=_LOG_LEVEL)

    @classmethod
    def read(cls, options: Mapping[str, object], env: Mapping[str, str], toml: Path | None = None) -> "Settings":
        """The settings by option, environment and file, in that order; an option of None counts as not given.

        Raises SettingRefused for a value that is not allowed, an unknown option or key, or an unreadable file.
        """
        file = _read_toml(toml) if toml is not None else {}
        _check_known(options, "option")
        _check_known(file, f"key of {toml}")
        found = {name: _find(name, (options, env, file), toml) for name in FORMS}
        return cls(**{name: value for name, value in found.items() if value is not None})


FORMS: dict[str, Form] = {part.name: part.metadata["form"] for part in fields(Settings)}
"""How each setting is written, by name; the names are those of the record's fields."""


def environment_name(name: str) -> str:
    """The environment variable of a setting: `WAYPOST_LOG_LEVEL` of `log_level`."""
    return ENVIRONMENT_PREFIX + name.upper()


def _find(
    name: str, layers: tuple[Mapping[str, object], Mapping[str, str], Mapping[str, object]], toml: Path | None
) -> Any:
    options, env, file = layers
    variable = environment_name(name)
    given: tuple[tuple[object, str], ...] = (
        (options.get(name), f"option --{name.replace('_', '-')}"),
        (env.get(variable), f"environment variable {variable}"),
        (file.get(name), f"key '{name}' of {toml}"),
    )
    return next((_parse(FORMS[name], value, source) for value, source in given if value is not None), None)


def _parse(form: Form, value: object, source: str) -> object:
    try:
        return form.parse(_text(value))
    except ValueError as ex:
        raise SettingRefused(f"The {source} is {value!r}; allowed: {form.allowed}.") from ex


def _text(value: object) -> str:
    """A value as it would be written in the environment, so that one parser serves all sources."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, str | int | Path):
        return str(value)
    raise ValueError(value)


def _check_known(given: Mapping[str, object], what: str) -> None:
    for name in given:
        if name not in FORMS:
            raise SettingRefused(f"There is no setting '{name}' ({what}); there are: {', '.join(FORMS)}.")


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as ex:
        raise SettingRefused(f"The settings file {path} cannot be read: {ex}.") from ex
