"""Exit codes, and the translation of exceptions into them. A stack trace is never printed."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from api.data.parts import MissingData
from api.errors import ApiError
from api.settings import InvalidSetting
from cli.console.conflict_lines import conflict_lines
from cli.console.output import print_notes
from cli.console.streams import OutputFailed, flush_streams, prepare_streams
from gitstore import errors
from gitstore.git.atomic_io import translate_os_error

SUCCESS = 0
PROBLEMS = 1
USAGE_ERROR = 2
FAILURE = 3
_SERVER_ERROR = 500
_FRAMES = 3
_STARTED_AS = os.geteuid()


class ProblemsFound(Exception):
    """Problems that the command found and has printed."""


class InvalidUsage(Exception):
    """A usage error; the message says what to do instead."""


class CommandFailed(Exception):
    """A failure of the environment, such as a disk, a port or a missing module."""


_PROBLEMS = (
    *(
        errors.Invalid,
        errors.Conflicts,
        errors.StaleDraft,
        errors.StaleProposal,
        errors.StaleVersion,
        errors.StaleItem,
        errors.ApprovalRequired,
    ),
    *(errors.NothingToPublish, errors.NothingToChange, errors.DraftExists),
)
_USAGE_ERRORS = (
    *(InvalidUsage, errors.NotFound, errors.AlreadyExists, errors.BadRequest, errors.NotAllowed),
    *(InvalidSetting, MissingData, click.UsageError),
)


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its code; the error goes to standard error."""
    prepare_streams()
    code = _run(command)
    sys.exit(code if flush_streams() else code or FAILURE)


def _run(command: Callable[[], object]) -> int:
    try:
        command()
    except ProblemsFound:
        return PROBLEMS
    except (click.Abort, KeyboardInterrupt):
        print_notes("waypost: stopped.")
        return FAILURE
    except Exception as ex:  # noqa: BLE001 - the outer edge, which translates every exception into a sentence
        return _report_error(ex)
    return SUCCESS


def _report_error(ex: Exception) -> int:
    """Print the error that stopped the command, and return its exit code; a usage error also prints the usage."""
    # click 8.2 and later raise this for a group without a sub-command; its message is the whole help text.
    # https://click.palletsprojects.com/en/stable/changes/#version-8-2-0
    if isinstance(ex, click.exceptions.NoArgsIsHelpError):
        print_notes(*ex.format_message().splitlines())
        return USAGE_ERROR
    print_notes(*dict.fromkeys(problem.text() for problem in getattr(ex, "problems", ())))
    side = "branch" if isinstance(ex, errors.ProposalConflicts) else "draft"
    print_notes(*(line for each in getattr(ex, "conflicts", ()) for line in conflict_lines(each, side)))
    if isinstance(ex, click.UsageError) and ex.ctx:
        print_notes(*ex.ctx.get_usage().splitlines(), f"Try '{ex.ctx.command_path} --help'.", "")
    print_notes(*f"waypost: {_message(ex)}".splitlines())
    return _exit_code(ex)


def _exit_code(ex: Exception) -> int:
    if isinstance(ex, _PROBLEMS):
        return PROBLEMS
    if isinstance(ex, ApiError):
        return FAILURE if ex.status >= _SERVER_ERROR else USAGE_ERROR
    return USAGE_ERROR if isinstance(ex, _USAGE_ERRORS) else FAILURE


def _message(ex: Exception) -> str:
    if isinstance(ex, click.MissingParameter):
        # click 8 puts each choice of a missing option on a separate line, after a tab:
        # https://github.com/pallets/click/blob/main/src/click/types.py (Choice.get_missing_message)
        return " ".join(ex.format_message().split())
    if isinstance(ex, click.ClickException):
        return ex.format_message()
    if isinstance(ex, OSError):
        return _os_error_message(ex)
    if isinstance(ex, errors.StoreError):
        return _store_message(ex)
    if isinstance(ex, (ApiError, InvalidSetting, MissingData, OutputFailed, InvalidUsage, CommandFailed)):
        return str(ex)
    return _internal_error_message(ex)


def _store_message(ex: errors.StoreError) -> str:
    """Return the store's message with the action at the command line; does not repeat a message of the problems."""
    if isinstance(ex, errors.Conflicts) and not isinstance(ex, errors.ProposalConflicts):
        return f"{ex} Run `waypost edit resolve` with --take draft or --take release, for all or by --source."
    if isinstance(ex, errors.Invalid) and any(problem.message in str(ex) for problem in ex.problems):
        return "Nothing changed; see the errors above."
    return f"{ex}{_database_reason(ex)}"


def _database_reason(ex: errors.StoreError) -> str:
    """Return the database's own message; a service logs it, but a command has no log."""
    if isinstance(ex, errors.AlreadyExists):
        return ""  # the message is complete
    reason = getattr(ex.__cause__, "orig", None)
    return f" The database says: {reason}." if reason else ""


def _os_error_message(ex: OSError) -> str:
    """Return the system's message, with the file if there is one."""
    store_error = translate_os_error(ex)
    if store_error is not ex:
        return str(store_error)
    reason = f"{ex.strerror or ex}{_acting_user(ex)}."
    return f"{ex.filename}: {reason}" if ex.filename else reason


def _acting_user(ex: OSError) -> str:
    """Return a hint if root is not allowed to do something, since it continues as the owner of the data directory."""
    if not isinstance(ex, PermissionError) or os.geteuid() == _STARTED_AS:
        return ""
    return " (this command runs as the owner of the data directory)"


def _internal_error_message(ex: Exception) -> str:
    """Return an internal error in one line, for a bug report."""
    frames = traceback.extract_tb(ex.__traceback__)[-_FRAMES:]
    places = ", ".join(f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}" for frame in frames)
    return f"internal error (a bug); please report this line: {type(ex).__name__}: {ex} ({places})"
