"""The formats of settings: parsers of their texts, and the words that describe the valid ones."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import NamedTuple

from gitstore.layout import is_file_pattern

LARGEST_PORT = 65535
_ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
)


class FaultyEntry(ValueError):
    """A list with an entry that is not allowed."""

    def __init__(self, entry: str) -> None:
        super().__init__(entry)
        self.entry = entry


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


def key_file(text: str) -> Path | None:
    """Parse the path of a key, or an empty text for none."""
    return Path(text).absolute() if text.strip() else None


def key_files(text: str) -> tuple[Path, ...]:
    """Parse paths of public keys, separated by commas; empty for none."""
    return tuple(Path(part.strip()).absolute() for part in text.split(",") if part.strip())


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
        try:
            ip_network(part)
        except ValueError as ex:
            raise FaultyEntry(part) from ex
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
    for part in found:
        if not re.fullmatch("[^=]+=[A-Za-z0-9_-]{1,50}", part):
            raise FaultyEntry(part)
    return found


def issuer(text: str) -> str:
    """Parse the http or https URL of a provider, or an empty text for none."""
    if text and not re.fullmatch(r"https?://[!-~]{1,480}", text):
        raise ValueError(text)
    return text


def prompt(text: str) -> str:
    """Parse the pages that a provider shows, separated by spaces, or an empty text; `none` allows no login."""
    if not set(text.split()) <= {"consent", "login", "select_account"}:
        raise ValueError(text)
    return " ".join(text.split())


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


def setting(parse: Callable[[str], object], allowed: str, about: str) -> dict[str, SettingFormat]:
    """Return the metadata of a setting's field."""
    return {"form": SettingFormat(parse, allowed, about)}


def seconds(least: int, most: int, about: str) -> dict[str, SettingFormat]:
    """Return the metadata of a time."""
    return setting(integer(least, most), f"seconds from {least} to {most:,}", about)


def size(about: str) -> dict[str, SettingFormat]:
    """Return the metadata of a number of bytes."""
    return setting(integer(1024, 2**40), "bytes from 1024 upwards", about)


def cost(about: str) -> dict[str, SettingFormat]:
    """Return the metadata of a cost of regular expressions."""
    return setting(integer(100, 10**12), "a number from 100 upwards", about)


HOUR = 60 * 60
DAY = 24 * HOUR
MIB = 1024 * 1024
GIB = 1024 * MIB
MAX_DELAYS = 20
