"""The check of a push by path or SSH, as Git's hook runs it: its input, its answer on standard error, its exit code."""

import os
import pwd
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from api.auth.tokens.api_token import digest, find_values
from api.auth.tokens.shown_texts import shorten
from content.records.printable import escape_unprintable
from gitstore.errors import StoreError
from gitstore.git.push_hook import REFUSED, TRIAL, PushHook, load_settings
from gitstore.git.repository import Author
from gitstore.pushes.found_tokens import FoundTokens
from gitstore.pushes.hook_files import open_hook_files
from gitstore.pushes.plain_push import PlainAnswer, PlainCheck, PlainPush, read_plain_push
from gitstore.pushes.push import PushRules
from gitstore.pushes.push_notes import note_push
from gitstore.upstream.upstream_settings import read_source

_NOT_NOTED = "No API token was revoked: {}. Revoke those that are valid."
_NOT_RECORDED = "This push is not in the audit trail: {}. Tell the operator."
_TOO_MANY = (
    "More texts have the form of an API token than are looked at: revoke also those of the others that are valid."
)
_ACCEPTED = 0
_INTERRUPTED = 128 + signal.SIGINT


def run(arguments: Sequence[str]) -> int:
    """Check the push on standard input, and return the exit code. With the settings `--trial` nothing is checked."""
    if [*arguments] == [TRIAL]:
        return _ACCEPTED
    push = None
    try:
        hook, push = load_settings(arguments[0]), read_plain_push(sys.stdin.buffer, os.environ)
        answer = _check(hook, push)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except StoreError as ex:
        answer = _refuse(str(ex).rstrip("."))
    except OSError as ex:
        answer = _refuse(f"{ex.strerror or ex}{f' ({ex.filename})' if ex.filename else ''}. Tell the operator")
    except Exception as ex:  # noqa: BLE001 - the outer edge, which translates every exception into a sentence
        answer = _refuse(_describe_bug(ex))
    fault = note_push(Path.cwd(), push, answer, os.environ, shorten) if push and push.commands else ""
    _print([*answer.lines, *([_NOT_RECORDED.format(fault)] if fault else [])])
    return _ACCEPTED if answer.is_accepted else REFUSED


def _check(hook: PushHook, push: PlainPush) -> PlainAnswer:
    repository = Path.cwd()  # Git runs the hook in it
    rules = PushRules(hook.allowed_files, hook.proposal_address)
    with open_hook_files(repository, hook.root, push.quarantine) as paths:
        found = FoundTokens()
        check = PlainCheck(
            paths, _find_author(), partial(_find_token, found), rules, hook.limits, _hold_back(repository)
        )
        answer = check.answer(push, lambda line: _print([line]))
    if not found:
        return answer
    fault = found.note(repository)
    line = _NOT_NOTED.format(fault) if fault else "Valid API tokens among those are revoked within a minute."
    more = [_TOO_MANY] if found.is_full and not fault else []
    return answer._replace(lines=(*answer.lines, line, *more))


def _find_token(found: FoundTokens, data: bytes) -> int | None:
    """Return the position of the first text with the form of a token, and add the digests of all."""
    first = None
    for at, value in find_values(data):
        first = at if first is None else min(first, at)
        if found.is_full:
            break
        found.add(digest(value))
    return first


def _hold_back(repository: Path) -> tuple[str, ...]:
    """Return why release cannot be pushed here: a hook pushes nothing to an upstream, before which release may not move."""
    source = read_source(repository)
    if source is None:
        return ()
    url, branch = source
    why = "Release follows an upstream here, so a push by path or SSH cannot move it. Nothing was changed."
    return why, "Push over HTTP, or to the upstream:", f"  git push {url} HEAD:{branch}"


def _refuse(why: str) -> PlainAnswer:
    return PlainAnswer(is_accepted=False, lines=(f"The push was not accepted: {why}.",))


def _find_author() -> Author:
    """Return the user of the system who pushes, as an author."""
    number = os.geteuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = f"user-{number}"
    return Author(name, f"{name}@localhost")


def _print(lines: Iterable[str]) -> None:
    """Print lines for the pusher; Git puts `remote: ` before each."""
    with suppress(BrokenPipeError):  # the pusher is gone; Git goes by the exit code
        for line in lines:
            sys.stderr.buffer.write(f"{escape_unprintable(line)}\n".encode(errors="backslashreplace"))
        sys.stderr.buffer.flush()


def _describe_bug(ex: Exception) -> str:
    """Return an internal error in one line, for a bug report."""
    place = traceback.extract_tb(ex.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"internal error (a bug); please report this line: {type(ex).__name__}: {ex} ({where})"
