"""The settings of a repository without those that make Git run a program, or read a file elsewhere.

A backup is data: a person who can write to it cannot have a program run by its restoration. Hooks are not restored either.
"""

import os
import stat
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from dulwich.config import ConfigFile

from gitstore.git.atomic_io import replace_file

# Other sections, such as `include`, `filter`, `alias` and `remote`, can name programs, files or hosts.
_SECTIONS = frozenset(
    {b"core", b"gc", b"receive", b"uploadpack", b"transfer", b"pack", b"repack", b"fsck", b"i18n", b"waypost"}
    | {b"maintenance", b"extensions", b"advice"}
)
_CORE = frozenset(
    {b"repositoryformatversion", b"filemode", b"bare", b"logallrefupdates", b"compression", b"loosecompression"}
    | {b"bigfilethreshold", b"ignorecase", b"precomposeunicode", b"sharedrepository", b"fsync", b"fsyncmethod"}
    | {b"quotepath", b"autocrlf", b"eol", b"safecrlf", b"symlinks", b"packedgitlimit", b"deltabasecachelimit"}
)
_CLAIM = b"\n[core]\n\thooksPath = hooks\n"
# Names of programs and files in these sections.
_UNSAFE = frozenset({b"packobjectshook", b"recentobjectshook", b"procreceiverefs", b"skiplist", b"certnonceseed"})


def read_safe_config(text: bytes) -> tuple[ConfigFile, list[str]]:
    """Return the settings in a text that are safe, and the names of the others. Raises ValueError for another text."""
    found, left_out = ConfigFile.from_file(BytesIO(text)), list[str]()
    safe = ConfigFile()
    for section in found.sections():
        for name, value in found.items(section):
            if (len(section) == 1 and _is_safe(section[0].lower(), name.lower())) or _is_own_hooks(
                section, name, value
            ):
                safe.add(section, name, value)
            else:
                left_out.append(b".".join([*section, name]).decode(errors="replace"))
    return safe, left_out


def is_repository_config(path: Path) -> bool:
    """Tell whether a file has the settings of a repository that this program reads."""
    try:
        config = ConfigFile.from_path(str(path))
        return config.get((b"core",), b"repositoryformatversion") in {b"0", b"1"}
    except (OSError, ValueError, KeyError):
        return False


def find_hooks_path(repository: Path) -> str:
    """Return the folder whose hooks Git runs in place of the repository's own; empty if its settings name no other."""
    try:
        if _has_claim((repository / "config").read_bytes()):
            return ""
        found = ConfigFile.from_path(str(repository / "config")).get((b"core",), b"hooksPath").decode(errors="replace")
    except (OSError, ValueError, KeyError):
        return ""
    with suppress(OSError, ValueError):
        if (repository / found).samefile(repository / "hooks"):
            return ""
    return found


def claim_hooks(repository: Path) -> None:
    """Let a repository's own hooks run also for a user whose own settings name other ones, unless its settings name other ones as well.

    The time of the file stays, from which that of the creation is taken. Raises OSError, OutOfSpace.
    """
    path = repository / "config"
    if _has_claim(path.read_bytes()):
        return
    try:
        if ConfigFile.from_path(str(path)).has_section((b"core",)) and not _names_hooks(path):
            before = path.stat()
            replace_file(path, path.read_bytes().rstrip(b"\n") + _CLAIM)
            path.chmod(stat.S_IMODE(before.st_mode))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    except ValueError:
        return  # damaged, and reported elsewhere


def _has_claim(text: bytes) -> bool:
    """Tell whether settings name the own hooks, and no others; they are parsed only if not, since that takes long."""
    return _CLAIM in text and text.lower().count(b"hookspath") == 1


def _names_hooks(path: Path) -> bool:
    try:
        return bool(ConfigFile.from_path(str(path)).get((b"core",), b"hooksPath"))
    except KeyError:
        return False


def _is_own_hooks(section: tuple[bytes, ...], name: bytes, value: bytes) -> bool:
    return (*section, name.lower(), value) == (b"core", b"hookspath", b"hooks")


def _is_safe(section: bytes, name: bytes) -> bool:
    if section == b"core":
        return name in _CORE
    return section in _SECTIONS and name not in _UNSAFE
