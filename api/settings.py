"""The settings of the service in one frozen record; each from an option, WAYPOST_…, waypost.toml or its default."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from content.records.pattern_limits import PatternLimits
from gitstore.git.push_hook import PushHook, find_python
from gitstore.layout import ALLOWED_FILES, is_file_pattern
from gitstore.upstream.upstream_rules import UpstreamRules

ENVIRONMENT_PREFIX = "WAYPOST_"
LARGEST_PORT = 65535
PROPOSAL_PATH = "/api/namespace/{namespace}/proposal/{id}"
"""The path of a proposal, with places for its namespace and its id."""


class InvalidSetting(ValueError):
    """An invalid setting; the message names its source and the allowed values."""


class SettingFormat(NamedTuple):
    """The format of a setting: `parse` raises ValueError, `allowed` describes the valid values, `about` the effect."""

    parse: Callable[[str], object]
    allowed: str
    about: str


def integer(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers within bounds, in ASCII digits."""

    def parse(text: str) -> int:
        if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(text)
        return int(text)

    return parse


def choice(*words: str) -> Callable[[str], str]:
    """Return a parser of one of the words, ignoring case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return parse


def directory(text: str) -> Path:
    """Parse a path; never empty."""
    if not text.strip():
        raise ValueError(text)
    return Path(text)


def flag(text: str) -> bool:
    """Parse `true` or `false`."""
    return choice("true", "false")(text) == "true"


def address(text: str) -> str:
    """Parse `host:port`, `[v6]:port` or `unix:/path`."""
    if not re.fullmatch(r"unix:/.+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]*):[0-9]{1,5}", text):
        raise ValueError(text)
    if not text.startswith("unix:") and int(text.rpartition(":")[2]) > LARGEST_PORT:
        raise ValueError(text)
    return text


def origin(text: str) -> str:
    """Parse an http or https origin without a path, or an empty text for none."""
    if text and not re.fullmatch(r"https?://[A-Za-z0-9.:\[\]-]+/?", text):
        raise ValueError(text)
    return text.rstrip("/")


def addresses(text: str) -> tuple[str, ...]:
    """Parse addresses or networks, separated by commas; empty for none."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for part in found:
        ip_network(part)
    return found


def names(text: str) -> tuple[str, ...]:
    """Parse names, separated by commas; empty for none."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def algorithms(text: str) -> tuple[str, ...]:
    """Parse signature algorithms with a public key, separated by commas."""
    found = names(text)
    if not found or not set(found) <= _ALGORITHMS:
        raise ValueError(text)
    return found


def role_map(text: str) -> tuple[str, ...]:
    """Parse pairs `value=role`, separated by commas; empty for none."""
    found = names(text)
    if not all(re.fullmatch("[^=]+=[A-Za-z0-9_-]{1,50}", part) for part in found):
        raise ValueError(text)
    return found


def issuer(text: str) -> str:
    """Parse the http or https URL of a provider, or an empty text for none."""
    if text and not re.fullmatch(r"https?://[!-~]{1,480}", text):
        raise ValueError(text)
    return text


def folders(text: str) -> tuple[str, ...]:
    """Parse absolute paths, separated by commas; empty for none."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(part.startswith("/") for part in found):
        raise ValueError(text)
    return found


def file_patterns(text: str) -> tuple[str, ...]:
    """Parse paths of files beside the projects, or folders there with `/**`, separated by commas; empty for none."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(map(is_file_pattern, found)):
        raise ValueError(text)
    return found


def delays(text: str) -> tuple[int, ...]:
    """Parse up to 20 whole numbers of seconds, separated by commas."""
    found = tuple(integer(0, DAY)(part.strip()) for part in text.split(","))
    if len(found) > MAX_DELAYS:
        raise ValueError(text)
    return found


def _format(parse: Callable[[str], object], allowed: str, about: str) -> dict[str, SettingFormat]:
    return {"form": SettingFormat(parse, allowed, about)}


def _seconds(least: int, most: int, about: str) -> dict[str, SettingFormat]:
    return _format(integer(least, most), f"seconds from {least} to {most:,}", about)


def _bytes(about: str) -> dict[str, SettingFormat]:
    return _format(integer(1024, 2**40), "bytes from 1024 upwards", about)


def _cost(about: str) -> dict[str, SettingFormat]:
    return _format(integer(100, 10**12), "a number from 100 upwards", about)


HOUR = 60 * 60
DAY = 24 * HOUR
MIB = 1024 * 1024
GIB = 1024 * MIB
MAX_DELAYS = 20

_DATA = _format(directory, "a directory", "the directory of repositories, database and keys")
_INIT = _format(
    flag, "true or false", "create the data directory and an administrator, if it does not exist or is empty"
)
_BIND = _format(address, "host:port, [address]:port or unix:/path", "the address to listen on")
_WORKERS = _format(integer(1, 256), "a number from 1 to 256", "the number of worker processes")
_PUBLIC_URL = _format(
    origin,
    "an http or https origin such as https://waypost.example",
    "the public origin of the service, as clients see it",
)
_DATABASE = _format(
    str, "a database URL, or nothing for SQLite in the data directory", "the database of users, tokens and other state"
)
_ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
)
_OPENID_ISSUER = _format(issuer, "a URL, or nothing", "the issuer of OpenID Connect; needs `public_url`")
_OPENID_CLIENT = _format(str, "a text", "the client id that the provider gave to this service")
_OPENID_SECRET = _format(
    str, "a text", "the client secret; as an option it is visible to other users of the machine, so use the environment"
)
_OPENID_SCOPES = _format(str, "scopes, separated by spaces", "the scopes that the provider is asked for")
_OPENID_ALGORITHMS = _format(
    algorithms, "RS256, ES256, EdDSA and others with a public key", "the algorithms that ID tokens may be signed with"
)
_OPENID_ROLES_CLAIM = _format(
    str, "a claim such as groups, or realm_access.roles", "the claim with the roles; without it, roles are set here"
)
_OPENID_ROLES = _format(
    role_map,
    "pairs value=role, separated by commas",
    "the roles of the claim's values; without it, values are names of roles",
)
_OPENID_PROVISIONING = _format(flag, "true or false", "create an account at the first login of an unknown person")
_OPENID_DEFAULT_ROLES = _format(
    names,
    "names of roles, separated by commas",
    "the roles of accounts that are created, without a claim with the roles",
)
_OPENID_NETWORKS = _format(
    addresses,
    "addresses or networks, separated by commas",
    "private networks in which the provider may be, also by http without TLS",
)
_PASSWORD_LOGIN = _format(flag, "true or false", "let accounts log in by password; false needs `openid_issuer`")
_PASSWORD_ACCOUNT = _format(
    str, "the name of an account", "the account that may log in by password all the same, while the provider is away"
)
_HIDE_USERS = _format(flag, "true or false", "give the same error for an unknown account as for a wrong password")
_ATTEMPTS = integer(1, 1_000_000), "a number from 1 to 1,000,000"
_LOGIN_ATTEMPTS = _format(*_ATTEMPTS, "failed logins allowed in five minutes from one address, and for one account")
_LOGIN_ATTEMPTS_TOTAL = _format(*_ATTEMPTS, "failed logins allowed in five minutes in total")
_PER_MINUTE = integer(0, 1_000_000), "a number from 0 (no limit) to 1,000,000"
_WRITES = _format(
    *_PER_MINUTE, "writes allowed in a minute to one user or token, and four times as many to one address"
)
_HEAVY_CALLS = _format(
    *_PER_MINUTE, "tests, lints, diffs, imports and exports allowed in a minute to one user or token, as for writes"
)
_INVALID_TOKENS = _format(*_PER_MINUTE, "requests without a valid token allowed in a minute from one address")
_READS = _format(*_PER_MINUTE, "reads allowed in a minute, as for writes; any limit makes the reads of agents slower")
_CONNECTIONS = _format(
    integer(10, 1_000_000), "a number from 10 to 1,000,000", "the maximum number of connections of one worker"
)
_AGENTS = _format(
    integer(1, 10_000_000), "a number from 1 to 10,000,000", "the maximum number of agents of one project"
)
_OBJECTS = _format(
    integer(1_000, 10_000_000),
    "a number from 1,000 to 10,000,000",
    "the most objects of one push by Git: files, folders and commits",
)
_MAPS = _format(
    integer(0, 1_000_000),
    "a number from 0 to 1,000,000",
    "the most files of releases that a worker maps, and so holds open; it reads others into memory",
)
_PROXIES = _format(
    addresses, "addresses or networks, separated by commas", "proxies whose X-Forwarded-… headers are trusted"
)
_WEBHOOK_NETWORKS = _format(
    addresses, "addresses or networks, separated by commas", "private networks that webhooks may be sent to"
)
_UPSTREAM_NETWORKS = _format(
    addresses,
    "addresses or networks, separated by commas",
    "private networks in which upstreams may be, also by http without TLS",
)
_UPSTREAM_FOLDERS = _format(
    folders, "absolute paths, separated by commas", "folders of this machine in which repositories may be upstreams"
)
_WEBHOOK_RETRIES = _format(
    delays,
    "up to 20 whole numbers of seconds, separated by commas",
    "the delay before each retry of a webhook",
)
_PROPOSAL_STALE = _format(
    integer(1, 3650), "a number from 1 to 3650", "the days without a new commit before a proposal is reported stale"
)
_ALLOWED_FILES = _format(
    file_patterns,
    "paths such as .gitignore, or folders such as .vscode/**, separated by commas; no folder with the name of a project",
    "the files that may be beside the projects in Git, in addition to README.md and others that are known; none is read",
)
_PUSH_HOOKS = _format(
    flag, "true or false", "check pushes by path and SSH too, by a hook that the service writes into each repository"
)
_LOG_LEVEL = _format(
    choice("debug", "info", "warning", "error"),
    "debug, info, warning or error",
    "the least severe level that is logged; debug logs every request",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the service. Lifetimes and timeouts are in seconds, limits in bytes."""

    data: Path = field(default=Path("data"), metadata=_DATA)
    init: bool = field(default=False, metadata=_INIT)
    bind: str = field(default="127.0.0.1:8080", metadata=_BIND)
    workers: int = field(default=2, metadata=_WORKERS)
    public_url: str = field(default="", metadata=_PUBLIC_URL)
    database: str = field(default="", metadata=_DATABASE)
    access_lifetime: int = field(default=900, metadata=_seconds(10, DAY, "the lifetime of an access token"))
    refresh_idle_lifetime: int = field(
        default=7 * DAY, metadata=_seconds(60, 365 * DAY, "the lifetime of an unused refresh token")
    )
    refresh_lifetime: int = field(
        default=30 * DAY, metadata=_seconds(60, 3650 * DAY, "the lifetime of a login, however often it is refreshed")
    )
    hide_unknown_users: bool = field(default=False, metadata=_HIDE_USERS)
    openid_issuer: str = field(default="", metadata=_OPENID_ISSUER)
    openid_client_id: str = field(default="", metadata=_OPENID_CLIENT)
    openid_client_secret: str = field(default="", repr=False, metadata=_OPENID_SECRET)
    openid_scopes: str = field(default="openid profile email", metadata=_OPENID_SCOPES)
    openid_algorithms: tuple[str, ...] = field(default=("RS256", "ES256"), metadata=_OPENID_ALGORITHMS)
    openid_roles_claim: str = field(default="", metadata=_OPENID_ROLES_CLAIM)
    openid_roles: tuple[str, ...] = field(default=(), metadata=_OPENID_ROLES)
    openid_provisioning: bool = field(default=False, metadata=_OPENID_PROVISIONING)
    openid_default_roles: tuple[str, ...] = field(default=(), metadata=_OPENID_DEFAULT_ROLES)
    openid_session_lifetime: int = field(
        default=DAY // 2,
        metadata=_seconds(60, 365 * DAY, "the lifetime of a login by OpenID Connect, however often refreshed"),
    )
    openid_timeout: int = field(default=5, metadata=_seconds(1, 60, "the time allowed for one request to the provider"))
    openid_networks: tuple[str, ...] = field(default=(), metadata=_OPENID_NETWORKS)
    password_login: bool = field(default=True, metadata=_PASSWORD_LOGIN)
    password_login_account: str = field(default="", metadata=_PASSWORD_ACCOUNT)
    login_attempts: int = field(default=10, metadata=_LOGIN_ATTEMPTS)
    login_attempts_total: int = field(default=1000, metadata=_LOGIN_ATTEMPTS_TOTAL)
    writes_per_minute: int = field(default=3000, metadata=_WRITES)
    heavy_calls_per_minute: int = field(default=600, metadata=_HEAVY_CALLS)
    invalid_tokens_per_minute: int = field(default=600, metadata=_INVALID_TOKENS)
    reads_per_minute: int = field(default=0, metadata=_READS)
    json_limit: int = field(default=MIB, metadata=_bytes("the largest JSON body"))
    page_limit: int = field(default=8 * MIB, metadata=_bytes("the largest body of a request with a page"))
    import_limit: int = field(
        default=200 * MIB, metadata=_bytes("the largest import file, and the largest list of changes")
    )
    push_limit: int = field(default=GIB, metadata=_bytes("the largest push by Git, as it is sent"))
    push_content_limit: int = field(
        default=16 * GIB, metadata=_bytes("the largest content of all objects of one push together, uncompressed")
    )
    push_objects_limit: int = field(default=500_000, metadata=_OBJECTS)
    header_timeout: int = field(
        default=10, metadata=_seconds(1, HOUR, "the time allowed for a client to send the headers of a request")
    )
    body_timeout: int = field(
        default=30, metadata=_seconds(1, HOUR, "the time allowed for a client to send a JSON body")
    )
    write_timeout: int = field(
        default=30,
        metadata=_seconds(
            1, HOUR, "the time after which a client that reads less than 512 bytes a second is disconnected"
        ),
    )
    keepalive: int = field(default=75, metadata=_seconds(0, HOUR, "the time for which an idle connection stays open"))
    graceful_timeout: int = field(
        default=30, metadata=_seconds(1, HOUR, "the time allowed for running requests to finish at a stop")
    )
    connections: int = field(default=20_000, metadata=_CONNECTIONS)
    trusted_proxies: tuple[str, ...] = field(default=(), metadata=_PROXIES)
    agent_silent: int = field(
        default=5 * 60, metadata=_seconds(2, DAY, "the time without a heartbeat before an agent is reported silent")
    )
    agents_per_project: int = field(default=100_000, metadata=_AGENTS)
    proposal_stale_days: int = field(default=30, metadata=_PROPOSAL_STALE)
    event_lifetime: int = field(
        default=30 * DAY, metadata=_seconds(60, 3650 * DAY, "the retention time of events and webhook deliveries")
    )
    webhook_networks: tuple[str, ...] = field(default=(), metadata=_WEBHOOK_NETWORKS)
    webhook_retries: tuple[int, ...] = field(
        default=(5, 60, 300, 1800, 2 * HOUR, 5 * HOUR, 8 * HOUR, 8 * HOUR), metadata=_WEBHOOK_RETRIES
    )
    webhook_timeout: int = field(
        default=15, metadata=_seconds(1, 120, "the time allowed for a webhook's receiver to respond")
    )
    upstream_networks: tuple[str, ...] = field(default=(), metadata=_UPSTREAM_NETWORKS)
    upstream_folders: tuple[str, ...] = field(default=(), metadata=_UPSTREAM_FOLDERS)
    upstream_timeout: int = field(
        default=20, metadata=_seconds(1, HOUR, "the time allowed for one request to an upstream, with its response")
    )
    regex_rule_limit: int = field(
        default=5_000, metadata=_cost("the largest program of one new regular expression, in instructions of RE2")
    )
    regex_project_limit: int = field(
        default=4_000_000, metadata=_cost("the largest programs of a project's regular expressions together")
    )
    regex_call_limit: int = field(
        default=4_000_000,
        metadata=_cost("the largest programs of the regular expressions that one call adds or changes"),
    )
    regex_call_seconds: int = field(
        default=20, metadata=_seconds(1, HOUR, "the CPU time for compiling the regular expressions of one call")
    )
    allowed_files: tuple[str, ...] = field(default=ALLOWED_FILES, metadata=_ALLOWED_FILES)
    push_hooks: bool = field(default=True, metadata=_PUSH_HOOKS)
    job_timeout: int = field(
        default=300, metadata=_seconds(1, DAY, "the time allowed for one job in a process, such as a publish")
    )
    job_memory: int = field(
        default=GIB, metadata=_bytes("the memory of a process for jobs above which it is replaced after its job")
    )
    release_maps: int = field(default=2_000, metadata=_MAPS)
    log_level: str = field(default="info", metadata=_LOG_LEVEL)

    @property
    def pattern_limits(self) -> PatternLimits:
        """The limits of regular expressions, as the content store takes them."""
        return PatternLimits(
            self.regex_rule_limit, self.regex_project_limit, self.regex_call_limit, self.regex_call_seconds
        )

    @property
    def upstream_rules(self) -> UpstreamRules:
        """The rules for all upstreams, as the content store takes them."""
        return UpstreamRules(
            self.upstream_networks,
            self.upstream_folders,
            float(self.upstream_timeout),
            self.push_limit,
            self.allowed_files,
        )

    @property
    def proposal_address(self) -> str:
        """The address of a proposal; empty where the public origin is not known."""
        return self.public_url and self.public_url + PROPOSAL_PATH

    @property
    def push_hook(self) -> PushHook | None:
        """The hook of every repository; None for none."""
        if not self.push_hooks:
            return None
        return PushHook(
            find_python(), self.data.absolute(), self.pattern_limits, self.allowed_files, self.proposal_address
        )

    @classmethod
    def read(
        cls,
        options: Mapping[str, object],
        env: Mapping[str, str],
        toml: Path | None = None,
        defaults: Mapping[str, object] = MappingProxyType({}),
    ) -> "Settings":
        """Return the settings from options, environment and file, in that order; an option of None counts as not given.

        `defaults` are for a command with defaults of its own.

        Raises InvalidSetting for a value that is not allowed, an unknown option or key, or a file that is not TOML; OSError for one
        that cannot be read.
        """
        file = _read_toml(toml) if toml is not None else {}
        _check_known(options, "option")
        _check_known(file, f"key of {toml}")
        found = {name: _find(name, (options, env, file), toml) for name in SETTING_FORMATS}
        settings = cls(**{**defaults, **{name: value for name, value in found.items() if value is not None}})
        _check_openid(settings)
        return settings


# By the names of the record's fields.
SETTING_FORMATS: dict[str, SettingFormat] = {part.name: part.metadata["form"] for part in fields(Settings)}


def _check_openid(settings: Settings) -> None:
    if settings.openid_issuer and not (settings.public_url and settings.openid_client_id):
        raise InvalidSetting("The setting openid_issuer needs public_url and openid_client_id.")
    if not settings.password_login and not settings.openid_issuer:
        raise InvalidSetting(
            "The setting password_login can be false only with openid_issuer: otherwise there is no login."
        )


def environment_name(name: str) -> str:
    """Return the environment variable of a setting: `WAYPOST_LOG_LEVEL` for `log_level`."""
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
    return next((_parse(SETTING_FORMATS[name], value, source) for value, source in given if value is not None), None)


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


def _check_known(given: Mapping[str, object], what: str) -> None:
    for name in given:
        if name not in SETTING_FORMATS:
            raise InvalidSetting(f"Unknown setting '{name}' ({what}). Use one of: {', '.join(SETTING_FORMATS)}.")


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as ex:
        raise InvalidSetting(f"The settings file {path} cannot be read: {ex}.") from ex
