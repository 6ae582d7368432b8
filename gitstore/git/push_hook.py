"""The hook of a repository that checks pushes by path and SSH: its text, its place, and the hooks of others.

Only this module writes it, from its own template. See docs/adr/0046-hooks-for-plain-pushes.md.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.layout import ALLOWED_FILES

HOOK = "hooks/pre-receive"
KEPT_SUFFIX = ".before-waypost"
REFUSED = 10
"""The exit code of the check for a push that it refused with its own words."""
TRIAL = "--trial"
"""In place of the settings: only the start of the check is tried."""
_MODE = 0o755
_QUOTE = "'\\''"  # a quotation mark in a quoted text of the shell
_MOST_BYTES = 1 << 20
_MARK = b"#!/bin/sh\n# The check of pushes by path and SSH, written by Waypost: "
_NAMED = re.compile(r"\npython='((?:[^']|'\\'')*)'\nsettings='((?:[^']|'\\'')*)'\n")
_TEMPLATE = """\
# It is written again at the start of the service. To have none, set push_hooks to false.
python={python}
settings={settings}
if [ -f "$python" ] && [ -x "$python" ]; then
    "$python" -I -X utf8 -m waypost.hook "$settings"
    code=$?
    case $code in
        0) exit 0 ;;
        {refused}) exit 1 ;;
    esac
    fault="ended with the code $code"
else
    fault='is missing, or this user may not run it'
fi
printf '%s\\n' "This push cannot be checked: the Python of Waypost ($python) $fault. Nothing was changed." \\
    'Push over HTTP, or ask the operator to start the service again or to run: waypost doctor --fix' >&2
exit 1
"""


class PushHook(NamedTuple):
    """The hook of a service: its Python, its data directory, and the settings that the check of a push needs."""

    python: str
    root: Path
    limits: PatternLimits = DEFAULT_LIMITS
    allowed_files: tuple[str, ...] = ALLOWED_FILES
    proposal_address: str = ""

    def dump_settings(self) -> str:
        """Return all but the Python as one line of JSON, the argument of the check."""
        return json.dumps([str(self.root), astuple(self.limits), self.allowed_files, self.proposal_address])


def load_settings(text: str) -> PushHook:
    """Read what `dump_settings` wrote; raises ValueError or TypeError for another text."""
    root, limits, allowed, address = json.loads(text)
    return PushHook(sys.executable, Path(root), PatternLimits(*limits), tuple(allowed), address)


def find_python() -> str:
    """Return the path of this Python that lasts longest: in a virtual environment that without a version.

    It is not resolved, so that it is still the environment's own, also after an upgrade of what is in it.
    """
    current = Path(sys.executable)
    if sys.prefix != sys.base_prefix:
        for name in ("python", "python3"):
            with suppress(OSError):
                if (current.parent / name).samefile(current):
                    return str(current.parent / name)
    return str(current)


def render_hook(hook: PushHook) -> bytes:
    """Return the text of the hook; the digest in its second line shows a change by another hand."""
    text = _TEMPLATE.format(python=_quote(hook.python), settings=_quote(hook.dump_settings()), refused=REFUSED)
    return _with_digest(os.fsencode(text))


def is_own(data: bytes) -> bool:
    """Tell whether a hook was written by Waypost, of any version, and not changed since."""
    first, mark, rest = data.partition(_MARK)
    body = rest.partition(b"\n")[2]
    return bool(mark) and not first and data == _with_digest(body)


def find_settings(data: bytes) -> tuple[str, str]:
    """Return the Python and the settings that a hook of Waypost names; empty ones where they cannot be read."""
    found = _NAMED.search(os.fsdecode(data))
    return (_unquote(found[1]), _unquote(found[2])) if found else ("", "")


def read_hook(repository: Path) -> bytes | None:
    """Return the bytes of a repository's hook; None if there is none, empty for anything but a file."""
    path = repository / HOOK
    try:
        if path.parent.is_symlink() or not stat.S_ISREG(path.lstat().st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b"" if path.parent.is_symlink() or path.parent.is_file() else None


def is_executable(repository: Path) -> bool:
    """Tell whether every user may run the hook; Git ignores one that cannot be run."""
    with suppress(OSError):
        return stat.S_IMODE((repository / HOOK).lstat().st_mode) & _MODE == _MODE
    return False


def apply_hook(
    repository: Path, hook: PushHook | None, keep: Callable[[Path], Path] | None = None, *, sync: bool = True
) -> Path | None:
    """Write the hook of a repository if it differs; with None, remove one that Waypost wrote. Raises OSError, OutOfSpace.

    A hook of another hand is never run again, and never lost: it is kept by `keep`, or else beside it under another name.
    Return its new path, None if there was none. Without `sync`, a power cut may take a new hook, until the next start.
    """
    found = read_hook(repository)
    if hook is None:
        if found and is_own(found):
            (repository / HOOK).unlink(missing_ok=True)
        return None
    from gitstore.git.safe_config import claim_hooks  # noqa: PLC0415 - loads dulwich, which settings never need

    data = render_hook(hook)
    with suppress(FileNotFoundError):  # a repository without settings is damaged, and reported elsewhere
        claim_hooks(repository)
    if found == data and is_executable(repository):
        return None
    kept = None if found is None or is_own(found) else (keep or _keep)(_foreign_part(repository))
    (repository / HOOK).parent.mkdir(exist_ok=True)
    replace_file(repository / HOOK, data, mode=_MODE, sync=sync)
    (repository / HOOK).chmod(_MODE)  # whatever the umask
    if sync:
        sync_directory((repository / HOOK).parent)
    return kept


def _foreign_part(repository: Path) -> Path:
    """Return what another hand put in the place of the hook, or of its folder."""
    path = repository / HOOK
    is_folder = path.parent.is_dir() and not path.parent.is_symlink()
    return path if is_folder else path.parent


def _keep(path: Path) -> Path:
    target = next(each for each in _kept_names(path) if not os.path.lexists(each))
    return path.rename(target)


def _kept_names(path: Path) -> Iterator[Path]:
    name, number = f"{path.name}{KEPT_SUFFIX}", 1
    while True:
        yield path.with_name(name if number == 1 else f"{name}.{number}")
        number += 1


def _with_digest(body: bytes) -> bytes:
    return b"%b%b\n%b" % (_MARK, sha256(body).hexdigest().encode(), body)


def _quote(text: str) -> str:
    """Quote a text for the shell, whatever is in it."""
    return "'" + text.replace("'", _QUOTE) + "'"


def _unquote(text: str) -> str:
    return text.replace(_QUOTE, "'")
