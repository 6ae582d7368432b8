"""The start module: puts Waypost's own packages first on the path, and runs the command line.

Their names (`api`, `cli`, `content`, `gitstore`, `schemas`) are common. In the wheel they are in a private folder, so that
other distributions may use these names too; in a checkout they are at the top.
"""

import sys
from pathlib import Path

_HERE = Path(__file__).absolute().parent
_PRIVATE = _HERE / "_packages"


def find_packages() -> str:
    """Return the folder of Waypost's own packages."""
    return str(_PRIVATE if _PRIVATE.is_dir() else _HERE.parent)


def main() -> None:
    """Run the `waypost` command; helper processes take the path over from this one."""
    sys.path.insert(0, find_packages())
    from cli.main import run  # noqa: PLC0415 - found by the path of the line before

    run()


if __name__ == "__main__":
    main()
