"""The settings of the service in one frozen record; each from an option, WAYPOST_…, waypost.toml or its default."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

from api.page_links import proposal_address
from api.setting_formats import (
    DAY,
    GIB,
    HOUR,
    MIB,
    SettingFormat,
    address,
    addresses,
    algorithms,
    choice,
    cost,
    delays,
    directory,
    file_patterns,
    flag,
    folders,
    integer,
    issuer,
    key_file,
    key_files,
    names,
    origin,
    prompt,
    role_map,
    seconds,
    setting,
    size,
)
from api.setting_sources import (
    InvalidSetting,
    Layers,
    environment_name,
    find_setting,
    read_toml,
    require_known,
    require_known_variables,
)
from content.records.pattern_limits import PatternLimits
from gitstore.git.push_hook import PushHook, find_python
from gitstore.layout import ALLOWED_FILES
from gitstore.upstream.upstream_rules import UpstreamRules

__all__ = [
    "DAY",
    "SECRET_SETTINGS",
    "SETTING_FORMATS",
    "InvalidSetting",
    "Settings",
    "environment_name",
]

_DATA = setting(directory, "a directory", "the directory of repositories, database and keys")
_INIT = setting(
    flag, "true or false", "create the data directory and an administrator, if it does not exist or is empty"
)
_BIND = setting(address, "host:port, [address]:port or unix:/path", "the address to listen on")
_WORKERS = setting(integer(1, 256), "a number from 1 to 256", "the number of worker processes")
_PUBLIC_URL = setting(
    origin,
    "an http or https origin such as https://waypost.example",
    "the public origin of the service, as clients see it",
)
_DATABASE = setting(
    str, "a database URL, or nothing for SQLite in the data directory", "the database of users, tokens and other state"
)
_OPENID_ISSUER = setting(issuer, "a URL, or nothing", "the issuer of OpenID Connect; needs `public_url`")
_OPENID_CLIENT = setting(str, "a text", "the client id that the provider gave to this service")
_OPENID_SECRET = setting(
    str,
    "a text",
    "the client secret; no option, since other users of the machine could read it: set it in the environment",
)
_OPENID_SCOPES = setting(str, "scopes, separated by spaces", "the scopes that the provider is asked for")
_OPENID_PROMPT = setting(
    prompt,
    "consent, login, select_account or several of them, separated by spaces, or nothing",
    "what the provider is asked to show at each login; many give a refresh token only with consent",
)
_OPENID_ALGORITHMS = setting(
    algorithms, "RS256, ES256, EdDSA and others with a public key", "the algorithms that ID tokens may be signed with"
)
_OPENID_ROLES_CLAIM = setting(
    str, "a claim such as groups, or realm_access.roles", "the claim with the roles; without it, roles are set here"
)
_OPENID_ROLES = setting(
    role_map,
    "pairs value=role, separated by commas",
    "the roles of the claim's values; without it, values are names of roles",
)
_OPENID_PROVISIONING = setting(flag, "true or false", "create an account at the first login of an unknown person")
_OPENID_DEFAULT_ROLES = setting(
    names,
    "names of roles, separated by commas",
    "the roles of accounts that are created, without a claim with the roles",
)
_OPENID_NETWORKS = setting(
    addresses,
    "addresses or networks, separated by commas",
    "private networks in which the provider may be, also by http without TLS",
)
_PASSWORD_LOGIN = setting(flag, "true or false", "let accounts log in by password; false needs `openid_issuer`")
_PASSWORD_ACCOUNT = setting(
    str, "the name of an account", "the account that may log in by password all the same, while the provider is away"
)
_HIDE_USERS = setting(flag, "true or false", "give the same error for an unknown account as for a wrong password")
_ATTEMPTS = integer(1, 1_000_000), "a number from 1 to 1,000,000"
_LOGIN_ATTEMPTS = setting(
    *_ATTEMPTS,
    "failed logins allowed in five minutes from one address, and for one account; with the OpenID provider, for one person, "
    "and ten times as many from one address",
)
_LOGIN_ATTEMPTS_TOTAL = setting(*_ATTEMPTS, "failed logins allowed in five minutes in total")
_PER_MINUTE = integer(0, 1_000_000), "a number from 0 (no limit) to 1,000,000"
_WRITES = setting(
    *_PER_MINUTE, "writes allowed in a minute to one user or token, and four times as many to one address"
)
_HEAVY_CALLS = setting(
    *_PER_MINUTE, "tests, lints, diffs, imports and exports allowed in a minute to one user or token, as for writes"
)
_INVALID_TOKENS = setting(*_PER_MINUTE, "requests without a valid token allowed in a minute from one address")
_READS = setting(*_PER_MINUTE, "reads allowed in a minute, as for writes; any limit makes the reads of agents slower")
_CONNECTIONS = setting(
    integer(10, 1_000_000), "a number from 10 to 1,000,000", "the maximum number of connections of one worker"
)
_AGENTS = setting(
    integer(1, 10_000_000), "a number from 1 to 10,000,000", "the maximum number of agents of one project"
)
_OBJECTS = setting(
    integer(1_000, 10_000_000),
    "a number from 1,000 to 10,000,000",
    "the most objects of one push by Git: files, folders and commits",
)
_MAPS = setting(
    integer(0, 1_000_000),
    "a number from 0 to 1,000,000",
    "the most files of releases that a worker maps, and so holds open; it reads others into memory",
)
_PROXIES = setting(
    addresses, "addresses or networks, separated by commas", "proxies whose X-Forwarded-… headers are trusted"
)
_WEBHOOK_NETWORKS = setting(
    addresses, "addresses or networks, separated by commas", "private networks that webhooks may be sent to"
)
_UPSTREAM_NETWORKS = setting(
    addresses,
    "addresses or networks, separated by commas",
    "private networks in which upstreams may be, also by http without TLS",
)
_UPSTREAM_FOLDERS = setting(
    folders, "absolute paths, separated by commas", "folders of this machine in which repositories may be upstreams"
)
_WEBHOOK_RETRIES = setting(
    delays,
    "up to 20 whole numbers of seconds, separated by commas",
    "the delay before each retry of a webhook",
)
_AUDIT_LIFETIME = setting(
    integer(0, 36_500),
    "a number from 0 (forever) to 36,500",
    "the days after which entries of the audit trail are removed; a checkpoint takes their place",
)
_PROPOSAL_STALE = setting(
    integer(1, 3650), "a number from 1 to 3650", "the days without a new commit before a proposal is reported stale"
)
_ALLOWED_FILES = setting(
    file_patterns,
    "paths such as .gitignore, or folders such as .vscode/**, separated by commas; no folder with the name of a project",
    "the files that may be beside the projects in Git, in addition to README.md and others that are known; none is read",
)
_PUSH_HOOKS = setting(
    flag, "true or false", "check pushes by path and SSH too, by a hook that the service writes into each repository"
)
_SIGNING_KEY = setting(
    key_file,
    "the path of an OpenSSH Ed25519 private key without a passphrase, or nothing; /dev/null for no signatures where there were some",
    "the key that signs the commits of the service, and its manifests",
)
_PUBLIC_KEYS = setting(
    key_files,
    "paths of OpenSSH Ed25519 public keys, separated by commas",
    "the public keys that are served beside that of signing_key: of other nodes, the former ones and the next one",
)
_LOG_LEVEL = setting(
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
    access_lifetime: int = field(default=900, metadata=seconds(10, DAY, "the lifetime of an access token"))
    refresh_idle_lifetime: int = field(
        default=7 * DAY, metadata=seconds(60, 365 * DAY, "the lifetime of an unused refresh token")
    )
    refresh_lifetime: int = field(
        default=30 * DAY, metadata=seconds(60, 3650 * DAY, "the lifetime of a login, however often it is refreshed")
    )
    hide_unknown_users: bool = field(default=False, metadata=_HIDE_USERS)
    openid_issuer: str = field(default="", metadata=_OPENID_ISSUER)
    openid_client_id: str = field(default="", metadata=_OPENID_CLIENT)
    openid_client_secret: str = field(default="", repr=False, metadata=_OPENID_SECRET)
    openid_scopes: str = field(default="openid profile email", metadata=_OPENID_SCOPES)
    openid_prompt: str = field(default="", metadata=_OPENID_PROMPT)
    openid_algorithms: tuple[str, ...] = field(default=("RS256", "ES256"), metadata=_OPENID_ALGORITHMS)
    openid_roles_claim: str = field(default="", metadata=_OPENID_ROLES_CLAIM)
    openid_roles: tuple[str, ...] = field(default=(), metadata=_OPENID_ROLES)
    openid_provisioning: bool = field(default=False, metadata=_OPENID_PROVISIONING)
    openid_default_roles: tuple[str, ...] = field(default=(), metadata=_OPENID_DEFAULT_ROLES)
    personal_token_lifetime: int = field(
        default=366 * DAY, metadata=seconds(60, 3650 * DAY, "the longest lifetime of a personal token")
    )
    openid_session_lifetime: int = field(
        default=DAY // 2,
        metadata=seconds(60, 365 * DAY, "the lifetime of a login by OpenID Connect, however often refreshed"),
    )
    openid_timeout: int = field(default=5, metadata=seconds(1, 60, "the time allowed for one request to the provider"))
    openid_networks: tuple[str, ...] = field(default=(), metadata=_OPENID_NETWORKS)
    password_login: bool = field(default=True, metadata=_PASSWORD_LOGIN)
    password_login_account: str = field(default="", metadata=_PASSWORD_ACCOUNT)
    login_attempts: int = field(default=10, metadata=_LOGIN_ATTEMPTS)
    login_attempts_total: int = field(default=1000, metadata=_LOGIN_ATTEMPTS_TOTAL)
    writes_per_minute: int = field(default=3000, metadata=_WRITES)
    heavy_calls_per_minute: int = field(default=600, metadata=_HEAVY_CALLS)
    invalid_tokens_per_minute: int = field(default=600, metadata=_INVALID_TOKENS)
    reads_per_minute: int = field(default=0, metadata=_READS)
    json_limit: int = field(default=MIB, metadata=size("the largest JSON body"))
    page_limit: int = field(default=8 * MIB, metadata=size("the largest body of a request with a page"))
    import_limit: int = field(
        default=200 * MIB, metadata=size("the largest import file, and the largest list of changes")
    )
    push_limit: int = field(default=GIB, metadata=size("the largest push by Git, as it is sent"))
    push_content_limit: int = field(
        default=16 * GIB, metadata=size("the largest content of all objects of one push together, uncompressed")
    )
    push_objects_limit: int = field(default=500_000, metadata=_OBJECTS)
    header_timeout: int = field(
        default=10, metadata=seconds(1, HOUR, "the time allowed for a client to send the headers of a request")
    )
    body_timeout: int = field(
        default=30, metadata=seconds(1, HOUR, "the time allowed for a client to send a JSON body")
    )
    write_timeout: int = field(
        default=30,
        metadata=seconds(
            1, HOUR, "the time after which a client that reads less than 512 bytes a second is disconnected"
        ),
    )
    keepalive: int = field(default=75, metadata=seconds(0, HOUR, "the time for which an idle connection stays open"))
    graceful_timeout: int = field(
        default=30, metadata=seconds(1, HOUR, "the time allowed for running requests to finish at a stop")
    )
    connections: int = field(default=20_000, metadata=_CONNECTIONS)
    trusted_proxies: tuple[str, ...] = field(default=(), metadata=_PROXIES)
    agent_silent: int = field(
        default=5 * 60, metadata=seconds(2, DAY, "the time without a heartbeat before an agent is reported silent")
    )
    agents_per_project: int = field(default=100_000, metadata=_AGENTS)
    proposal_stale_days: int = field(default=30, metadata=_PROPOSAL_STALE)
    event_lifetime: int = field(
        default=30 * DAY, metadata=seconds(60, 3650 * DAY, "the retention time of events and webhook deliveries")
    )
    audit_lifetime_days: int = field(default=0, metadata=_AUDIT_LIFETIME)
    webhook_networks: tuple[str, ...] = field(default=(), metadata=_WEBHOOK_NETWORKS)
    webhook_retries: tuple[int, ...] = field(
        default=(5, 60, 300, 1800, 2 * HOUR, 5 * HOUR, 8 * HOUR, 8 * HOUR), metadata=_WEBHOOK_RETRIES
    )
    webhook_timeout: int = field(
        default=15, metadata=seconds(1, 120, "the time allowed for a webhook's receiver to respond")
    )
    upstream_networks: tuple[str, ...] = field(default=(), metadata=_UPSTREAM_NETWORKS)
    upstream_folders: tuple[str, ...] = field(default=(), metadata=_UPSTREAM_FOLDERS)
    upstream_timeout: int = field(
        default=20, metadata=seconds(1, HOUR, "the time allowed for one request to an upstream, with its response")
    )
    regex_rule_limit: int = field(
        default=5_000, metadata=cost("the largest program of one new regular expression, in instructions of RE2")
    )
    regex_project_limit: int = field(
        default=4_000_000, metadata=cost("the largest programs of a project's regular expressions together")
    )
    regex_call_limit: int = field(
        default=4_000_000,
        metadata=cost("the largest programs of the regular expressions that one call adds or changes"),
    )
    regex_call_seconds: int = field(
        default=20, metadata=seconds(1, HOUR, "the CPU time for compiling the regular expressions of one call")
    )
    allowed_files: tuple[str, ...] = field(default=ALLOWED_FILES, metadata=_ALLOWED_FILES)
    push_hooks: bool = field(default=True, metadata=_PUSH_HOOKS)
    signing_key: Path | None = field(default=None, metadata=_SIGNING_KEY)
    public_keys: tuple[Path, ...] = field(default=(), metadata=_PUBLIC_KEYS)
    job_timeout: int = field(
        default=300, metadata=seconds(1, DAY, "the time allowed for one job in a process, such as a publish")
    )
    job_memory: int = field(
        default=GIB, metadata=size("the memory of a process for jobs above which it is replaced after its job")
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
        return proposal_address(self.public_url)

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

        Raises InvalidSetting for a value that is not allowed, an unknown option or key, a misspelled variable, or a file that is not
        TOML; OSError for one that cannot be read.
        """
        file = read_toml(toml) if toml is not None else {}
        require_known(options, SETTING_FORMATS, "option")
        require_known(file, SETTING_FORMATS, f"key of {toml}")
        require_known_variables(env, SETTING_FORMATS)
        layers = Layers(options, env, file, toml)
        found = {name: find_setting(name, form, layers) for name, form in SETTING_FORMATS.items()}
        settings = cls(**{**defaults, **{name: value for name, value in found.items() if value is not None}})
        _check_openid(settings)
        return settings


# By the names of the record's fields.
SETTING_FORMATS: dict[str, SettingFormat] = {part.name: part.metadata["form"] for part in fields(Settings)}
# Settings that are no options: every user of a machine may read the command lines of its processes.
SECRET_SETTINGS = frozenset(part.name for part in fields(Settings) if not part.repr)


_IS = ("", "is", "are")


def _check_openid(settings: Settings) -> None:
    if settings.openid_issuer and not (settings.public_url and settings.openid_client_id):
        missing = [name for name in ("public_url", "openid_client_id") if not getattr(settings, name)]
        raise InvalidSetting(
            f"The setting openid_issuer needs {' and '.join(missing)}, which {_IS[len(missing)]} not set."
        )
    if not settings.password_login and not settings.openid_issuer:
        raise InvalidSetting(
            "The setting password_login can be false only with openid_issuer: otherwise there is no login."
        )
