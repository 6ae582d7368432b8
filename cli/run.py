"""`waypost run`: a Python file that uses Waypost's packages."""

import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import click

from cli.console.streams import restore_streams

_RAISED = 1
_INTERRUPTED = 128 + signal.SIGINT


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(file: str, args: tuple[str, ...]) -> NoReturn:
    """Run a Python file that can import Waypost's packages.

    As `python FILE ARGS` does, but imports find Waypost's `api`, `cli`, `content`, `gitstore` and `schemas` first. The
    exit code and the traceback are those of the file.
    """
    path = Path(file).absolute()
    sys.argv = [file, *args]
    if not sys.flags.safe_path:
        sys.path.insert(1, str(path.resolve().parent))
    restore_streams()
    _execute(path)


def _execute(path: Path) -> NoReturn:
    """Execute a file as the main module, which is also what processes that it starts by `multiprocessing` import."""
    main = ModuleType("__main__")
    main.__file__ = str(path)
    sys.modules["__main__"] = main
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - what was asked for
    except SystemExit:
        raise
    except BaseException as ex:  # noqa: BLE001 - shown as Python does, without the frames of this command
        trace = ex.__traceback__ and ex.__traceback__.tb_next
        sys.excepthook(type(ex), ex.with_traceback(trace), trace)
        sys.exit(_INTERRUPTED if isinstance(ex, KeyboardInterrupt) else _RAISED)
    sys.exit()
