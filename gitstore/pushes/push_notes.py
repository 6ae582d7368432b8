"""Pushes by path and SSH, noted by their hook for the audit trail: which refs, what the hook answered, and from where."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from gitstore.git.refs import is_ref
from gitstore.layout import CommitId
from gitstore.pushes.hook_notes import Note, NoteFolder
from gitstore.pushes.plain_push import PlainAnswer, PlainPush
from gitstore.pushes.push import RefUpdate

FOLDER = "waypost-pushes"
MOST_REFS = 100
MOST_CHARACTERS = 200
WITHHELD = "(withheld)"
_MOST_BYTES = 256 << 10
_ID = re.compile("[0-9a-f]{40}", re.ASCII)


class PushNote(NamedTuple):
    """A push: its first refs, the number of the others, whether the hook accepted it or why not, and the address of SSH.

    Anyone who may write to the repository can write any note, but not as another user of the system.
    """

    updates: tuple[RefUpdate, ...]
    more: int
    is_accepted: bool
    reason: str
    address: str


def push_notes(repository: Path) -> NoteFolder:
    """Return the notes of a repository."""
    return NoteFolder(repository, FOLDER, _MOST_BYTES)


def note_push(
    repository: Path,
    push: PlainPush,
    answer: PlainAnswer,
    environment: Mapping[str, str],
    shorten: Callable[[str], str],
) -> str:
    """Note a push before its refs move; return why not, empty if it was noted. `shorten` withholds secrets."""
    reason = "" if answer.is_accepted else next(iter(answer.lines), "")
    content = {
        "refs": [[_plain(show_ref(each.ref, shorten)), each.old, each.new] for each in push.commands[:MOST_REFS]],
        "more": max(0, len(push.commands) - MOST_REFS),
        "accepted": answer.is_accepted,
        "reason": _plain(shorten(reason)),
        # https://man.openbsd.org/ssh#SSH_CONNECTION
        "address": _plain(environment.get("SSH_CONNECTION", "").partition(" ")[0][:MOST_CHARACTERS]),
    }
    return push_notes(repository).write(orjson.dumps(content))


def show_ref(ref: str, shorten: Callable[[str], str]) -> str:
    """Return the name of a ref; a text that is none can be anything, such as a password at the wrong place."""
    return shorten(ref) if is_ref(ref) else WITHHELD


def load_push(note: Note) -> PushNote | None:
    """Read a note; None for one that the hook did not write."""
    try:
        found = orjson.loads(note.file.read(_MOST_BYTES))
        refs = found["refs"][:MOST_REFS]
        updates = tuple(RefUpdate(_text(name), _commit(old), _commit(new)) for name, old, new in refs)
        more, is_accepted = found["more"], found["accepted"]
        if type(more) is not int or type(is_accepted) is not bool or not 0 <= more < 1 << 31:
            return None
        return PushNote(updates, more, is_accepted, _text(found["reason"]), _text(found["address"]))
    except (KeyError, TypeError, ValueError):
        return None


def _plain(text: str) -> str:
    """Replace what JSON cannot have: lone surrogates, for bytes that are not UTF-8."""
    return text.encode(errors="replace").decode()


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError
    return found[:MOST_CHARACTERS]


def _commit(found: Any) -> CommitId | None:
    if found is None:
        return None
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise ValueError
    return CommitId(found)
