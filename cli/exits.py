"""Exit codes, and the one place where an exception becomes one. There is never a stack trace."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from api.errors import ApiError
from api.settings import SettingRefused
from cli.conflict_lines import conflict_lines
from cli.output import print_notes
from cli.streams import OutputRefused, flush_streams, prepare_streams
from gitstore import errors
from gitstore.durable import translated

FINE = 0
PROBLEMS = 1
WRONG_USE = 2
FAILURE = 3
_SERVER_ERROR = 500
_FRAMES = 3


class ProblemsFound(Exception):
    """The command did its work, and found something wrong that it has printed."""


class WrongUse(Exception):
    """The command was asked for what cannot be; the message says what to do instead."""


class Failed(Exception):
    """The machine did not let the command do its work."""


_PROBLEMS = (
    *(errors.Invalid, errors.Conflicts, errors.StaleDraft, errors.StaleItem, errors.ApprovalRequired),
    *(errors.NothingToPublish, errors.NothingToChange, errors.DraftExists),
)
_WRONG_USE = (
    *(WrongUse, errors.NotFound, errors.AlreadyExists, errors.BadRequest, errors.NotAllowed),
    *(SettingRefused, click.UsageError),
)


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run a command and leave with its exit code; what stopped it goes to standard error."""
    prepare_streams()
    code = _outcome(command)
    sys.exit(code if flush_streams() else code or FAILURE)


def _outcome(command: Callable[[], object]) -> int:
    try:
        command()
    except ProblemsFound:
        return PROBLEMS
    except (click.Abort, KeyboardInterrupt):
        print_notes("waypost: stopped.")
        return FAILURE
    except Exception as ex:  # noqa: BLE001 - the outer edge: nobody else would turn it into a sentence
        return _tell(ex)
    return FINE


def _tell(ex: Exception) -> int:
    """Say what stopped the command, and give its exit code; a usage error shows how the command is used, too."""
    if isinstance(ex, click.exceptions.NoArgsIsHelpError):
        print_notes(*ex.format_message().splitlines())
        return WRONG_USE
    print_notes(*dict.fromkeys(problem.text() for problem in getattr(ex, "problems", ())))
    print_notes(*(line for each in getattr(ex, "conflicts", ()) for line in conflict_lines(each)))
    if isinstance(ex, click.UsageError) and ex.ctx:
        print_notes(*ex.ctx.get_usage().splitlines(), f"Try '{ex.ctx.command_path} --help'.", "")
    print_notes(*f"waypost: {_sentence(ex)}".splitlines())
    return _code(ex)


def _code(ex: Exception) -> int:
    if isinstance(ex, _PROBLEMS):
        return PROBLEMS
    if isinstance(ex, ApiError):
        return FAILURE if ex.status >= _SERVER_ERROR else WRONG_USE
    return WRONG_USE if isinstance(ex, _WRONG_USE) else FAILURE


def _sentence(ex: Exception) -> str:
    if isinstance(ex, click.MissingParameter):
        return " ".join(ex.format_message().split())  # click lists choices in lines of their own, with tabs
    if isinstance(ex, click.ClickException):
        return ex.format_message()
    if isinstance(ex, OSError):
        return _system(ex)
    if isinstance(ex, errors.StoreError):
        return _store_sentence(ex)
    if isinstance(ex, (ApiError, SettingRefused, OutputRefused, WrongUse, Failed)):
        return str(ex)
    return _defect(ex)


def _store_sentence(ex: errors.StoreError) -> str:
    """What stopped the store, and what to do at the command line; what the problems say already is not said twice."""
    if isinstance(ex, errors.Conflicts):
        return f"{ex} `waypost edit resolve` does that, with --take draft or --take release, for all or by --source."
    if isinstance(ex, errors.Invalid) and str(ex) in {problem.message for problem in ex.problems}:
        return "Nothing was done: what is wrong is named above."
    return f"{ex}{_reason(ex)}"


def _reason(ex: errors.StoreError) -> str:
    """The database's own words, for a service has them in its log, and a command has none."""
    reason = getattr(ex.__cause__, "orig", None)
    return f" The database says: {reason}." if reason else ""


def _system(ex: OSError) -> str:
    """What the machine says, with the file that it says it of."""
    told = translated(ex)
    if told is not ex:
        return str(told)
    reason = ex.strerror or str(ex)
    return f"{ex.filename}: {reason}." if ex.filename else f"{reason}."


def _defect(ex: Exception) -> str:
    """What is our fault, in one line that a report of it can quote."""
    frames = traceback.extract_tb(ex.__traceback__)[-_FRAMES:]
    places = ", ".join(f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}" for frame in frames)
    return f"this is a defect of Waypost; please report this line: {type(ex).__name__}: {ex} ({places})"
