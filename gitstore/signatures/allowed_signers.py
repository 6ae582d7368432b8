"""The file `allowed_signers`: whose keys may sign commits, when, and for what.

Its format is that of OpenSSH, so that `git verify-commit` reads the same file: https://man.openbsd.org/ssh-keygen#ALLOWED_SIGNERS.
Times without a Z are UTC here, on every node; OpenSSH takes them in the time zone of the machine.
"""

import re
from calendar import timegm
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from time import gmtime, strftime, strptime
from typing import NamedTuple

from content.records.printable import escape_unprintable
from gitstore.signatures.public_key import InvalidKey, PublicKey

FILE = "allowed_signers"
_MOST_BYTES = 1 << 20
_MOST_PROBLEMS = 10
_KEY_KIND = re.compile(r"(?:sk-)?(?:ssh|ecdsa)-[A-Za-z0-9@.-]+")
# A word that ends at white space outside quotation marks; a quoted part may have an escaped quotation mark.
_WORD = re.compile(r'(?:"(?:\\"|[^"])*"|[^\s"])+')
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:\\"|[^"])*)")?(?:,|$)')
_TIMES = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_OPTIONS = ("namespaces", "valid-after", "valid-before")


class InvalidSigners(ValueError):
    """A file that cannot be read; `problems` are its sentences, each with its line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = tuple(problems)


class AllowedSigner(NamedTuple):
    """A line of the file; times are seconds since 1970, None without a limit, and `namespaces` is empty for any."""

    principals: str
    key: PublicKey
    namespaces: str = ""
    valid_after: int | None = None
    valid_before: int | None = None

    @property
    def name(self) -> str:
        """The signer as history shows it: the principals and the fingerprint of the key."""
        return f"{self.principals} {self.key.fingerprint}"

    def find_fault(self, namespace: str, times: Sequence[int]) -> str:
        """Return why the key may not sign for a namespace at these times; empty where it may."""
        if self.namespaces and not _matches(namespace, self.namespaces):
            return f'may sign only for namespaces="{self.namespaces}", which lacks {namespace}'
        for time in times:
            if self.valid_after is not None and time < self.valid_after:
                return f"is valid only from {_show_time(self.valid_after)} on"
            if self.valid_before is not None and time > self.valid_before:
                return f"was valid only until {_show_time(self.valid_before)}"
        return ""


def load_allowed_signers(data: bytes) -> tuple[AllowedSigner, ...]:
    """Read the file; raises InvalidSigners for lines that are not in the format, or that would be read differently by Git."""
    if len(data) > _MOST_BYTES:
        raise InvalidSigners([f"{FILE}: The file has more than {_MOST_BYTES >> 20} MiB. Remove lines."])
    try:
        text = data.decode()
    except UnicodeDecodeError as ex:
        raise InvalidSigners([f"{FILE}: The file is not UTF-8. Save it as UTF-8."]) from ex
    found, problems = list[AllowedSigner](), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            found.append(_load_line(stripped))
        except (InvalidKey, ValueError) as ex:
            problems.append(escape_unprintable(f"{FILE}:{number}: {ex}."))
    if problems:
        raise InvalidSigners(problems[:_MOST_PROBLEMS])
    return tuple(found)


def _load_line(line: str) -> AllowedSigner:
    if re.sub(r'"(?:\\"|[^"])*"', "", line).count('"'):
        raise ValueError("a quotation mark has no end")
    principals, *rest = _WORD.findall(line)
    options = {} if rest and _KEY_KIND.fullmatch(rest[0]) else _load_options(rest.pop(0) if rest else "")
    if len(rest) < 2 or not _KEY_KIND.fullmatch(rest[0]):  # noqa: PLR2004 - the kind and the key
        raise ValueError(
            "a line has principals, options, the kind of a key and the key, as in <email> ssh-ed25519 <key>"
        )
    if "-cert-v" in rest[0]:
        raise ValueError("certificates are not supported; list the keys of the signers themselves")
    name = principals[1:-1] if principals[0] == principals[-1] == '"' else principals
    if not name:
        raise ValueError("the principals are empty")
    if not name.isprintable():
        raise ValueError("the principals have characters that cannot be printed")
    after, before = (_load_time(options[key]) if key in options else None for key in _OPTIONS[1:])
    if after is not None and before is not None and before <= after:
        raise ValueError("valid-before is not later than valid-after")
    return AllowedSigner(name, PublicKey.parse(rest[0], rest[1]), options.get("namespaces", ""), after, before)


def _load_options(text: str) -> Mapping[str, str]:
    """Return the options of a line by their names."""
    found, at = dict[str, str](), 0
    while at < len(text):
        option = _OPTION.match(text, at)
        if option is None:
            raise ValueError(f'the options {text[:80]!r} are not as in namespaces="git",valid-before="20301231Z"')
        name, value = option[1].lower(), option[2]
        if name == "cert-authority":
            raise ValueError("cert-authority is not supported; list the keys of the signers themselves")
        if name not in _OPTIONS:
            raise ValueError(f"the option {name[:40]!r} is unknown; use one of {', '.join(_OPTIONS)}")
        if value is None or name in found:
            raise ValueError(f'the option {name} is given once, with a value in quotation marks: {name}="…"')
        found[name] = value.replace('\\"', '"')
        at = option.end()
    return found


def _load_time(text: str) -> int:
    """Return a time in seconds since 1970."""
    digits = text.removesuffix("Z")
    if digits.isascii() and digits.isdecimal() and len(digits) in _TIMES:
        with suppress(ValueError):  # such as a 13th month
            return timegm(strptime(digits, _TIMES[len(digits)]))
    raise ValueError(f"the time {text[:40]!r} is not YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with Z for UTC")


def _show_time(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))


def _matches(name: str, patterns: str) -> bool:
    """Tell whether a list of patterns has a name: `*` and `?` are wildcards, and `!` excludes."""
    found = False
    for pattern in patterns.split(","):
        # Brackets are plain characters here: https://man.openbsd.org/ssh_config#PATTERNS
        plain = pattern.removeprefix("!").replace("[", "[[]")
        if re.fullmatch(translate(plain), name):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def find_signers(signers: Sequence[AllowedSigner], key: PublicKey) -> Iterator[AllowedSigner]:
    """Yield the lines with a key."""
    return (each for each in signers if each.key == key)
