"""A repository that others own: whether all of it is in allowed folders, whether this program knows its format, what is checked out."""

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from dulwich.config import ConfigFile

from gitstore.git.alternates import list_borrowed
from gitstore.layout import BRANCH_PREFIX

_MAX_CONFIG_BYTES = 1 << 20
_MAX_HEAD_BYTES = 4096
_NEWEST_VERSION = 1
_FILES = ("HEAD", "config", "objects", "refs", "packed-refs", "hooks", "shallow", "worktrees")
_WALKED = ("refs", "worktrees")
# https://git-scm.com/docs/repository-version; these change nothing of what is read or written here
_EXTENSIONS = frozenset({b"noop", b"noop-v1", b"preciousobjects", b"worktreeconfig", b"relativeworktrees"})
_VALUES = {b"objectformat": b"sha1", b"refstorage": b"files"}
_SWITCHED_OFF = frozenset({b"ignore", b"warn", b"false", b"no", b"off", b"0"})


def is_below(path: Path, folders: Sequence[str]) -> bool:
    """Tell whether a path is in one of the folders, with the links of both resolved."""
    found = path.resolve()
    return any(found.is_relative_to(Path(folder).resolve()) for folder in folders)


def find_way_out(repository: Path, folders: Sequence[str]) -> str:
    """Return the first file by which a repository leads elsewhere; empty if it is in the folders with all that it borrows.

    Links in it are taken for ways out wherever they lead. Raises Broken for alternates that cannot be followed.
    """
    if (repository / "commondir").exists():
        return "commondir"
    for name in _FILES:
        if (repository / name).is_symlink():
            return name
    for borrowed in list_borrowed(repository / "objects"):
        if not is_below(Path(borrowed), folders):
            return "objects/info/alternates"
        if any(_list_links(Path(borrowed))):
            return "objects/info/alternates"
    links = (link for name in ("objects", *_WALKED) for link in _list_links(repository / name))
    return next((str(link.relative_to(repository)) for link in links), "")


def _list_links(folder: Path) -> Iterator[Path]:
    """Yield the links in a folder; what ends meanwhile, as files of other pushes do, has none."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink():
                yield path


def find_unknown_format(repository: Path) -> str:
    """Return the setting of a format that this program does not read or write, such as `objectformat = sha256`; empty without."""
    config = _read_config(repository)
    if config is None:
        return "a damaged file config"
    version = _find(config, b"core", b"repositoryformatversion") or b"0"
    if not version.isdigit() or int(version) > _NEWEST_VERSION:
        return f"repositoryformatversion = {_show(version)}"
    for section in config.sections():
        if len(section) == 1 and section[0].lower() == b"extensions":
            for name, value in config.items(section):
                if not _is_known(name.lower(), value.strip().lower()):
                    return f"{_show(name)} = {_show(value)}"
    return ""


def _is_known(name: bytes, value: bytes) -> bool:
    return name in _EXTENSIONS or _VALUES.get(name) == value


def is_checked_out(repository: Path, ref: str) -> bool:
    """Tell whether a working tree is at a branch, which C git then does not move: see `receive.denyCurrentBranch`."""
    config = _read_config(repository)
    if config is not None and (_find(config, b"receive", b"denycurrentbranch") or b"").lower() in _SWITCHED_OFF:
        return False
    heads = [*repository.glob("worktrees/*/HEAD")]
    if not _is_bare(repository, config):
        heads.append(repository / "HEAD")
    return any(_names(head, ref) for head in heads)


def _is_bare(repository: Path, config: ConfigFile | None) -> bool:
    said = _find(config, b"core", b"bare") if config else None
    if said is None:
        return repository.name != ".git"  # as C git guesses
    return said.lower() in {b"true", b"yes", b"on", b"1"}


def _names(head: Path, ref: str) -> bool:
    try:
        with head.open("rb") as file:
            text = file.read(_MAX_HEAD_BYTES)
    except OSError:
        return False
    return text.startswith(b"ref:") and text[4:].strip() == ref.encode() and ref.startswith(BRANCH_PREFIX)


def _read_config(repository: Path) -> ConfigFile | None:
    """Read the settings without files that they include; None for damaged ones."""
    try:
        with (repository / "config").open("rb") as file:
            return ConfigFile.from_file(BytesIO(file.read(_MAX_CONFIG_BYTES)))
    except FileNotFoundError:
        return ConfigFile()
    except (OSError, ValueError):
        return None


def _find(config: ConfigFile, section: bytes, name: bytes) -> bytes | None:
    try:
        return config.get((section,), name).strip()
    except KeyError:
        return None


def _show(text: bytes) -> str:
    return text[:40].decode("ascii", "replace").replace("\n", " ")
