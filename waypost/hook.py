"""The start module of Git's hook: it checks a push by path or SSH, and needs neither the service nor its database.

Git runs it in the repository, with the environment of the pusher. It ends with 0, or with 10 for a push that is refused in
its own words; any other code means that the push was not checked.
"""

import gc
import sys

from waypost.__main__ import find_packages

_CANNOT_RUN = 3


def main() -> None:
    """Check the push on standard input."""
    gc.disable()  # nothing of the imports is garbage, and to look for it takes a sixth of their time
    sys.path.insert(0, find_packages())
    try:
        from cli.pre_receive import run  # noqa: PLC0415 - found by the path of the line before
    except Exception as ex:  # noqa: BLE001 - an installation may be incomplete in any way
        sys.stderr.write(f"Waypost cannot be imported: {type(ex).__name__}: {ex}\n")
        sys.exit(_CANNOT_RUN)
    gc.enable()
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
