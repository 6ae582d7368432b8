"""The operator's rules for all upstreams; a module of its own, since every command loads the settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpstreamRules:
    """The operator's settings for all upstreams: private networks and folders that are allowed, and limits."""

    networks: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    seconds: float = 20.0
    most_bytes: int = 1 << 30
    allowed_files: tuple[str, ...] = ()
