"""Commit messages: a sentence about the change, then trailers that `git log` and this product can read."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitstore.git.repository import Author
from gitstore.git.signed_release import PUBLISH_TRAILER
from gitstore.layout import CommitId

# Trailers: https://git-scm.com/docs/git-interpret-trailers
PUBLISHED_BY = PUBLISH_TRAILER
WRITTEN_BY = "Written-by"
APPROVED_BY = "Approved-by"
VERIFIED_SIGNER = "Verified-signer"  # the principal and the key of the commit's signature
OVERRIDE = "Override-reason"
ROLLED_BACK_TO = "Rolled-back-to"
SELECTED_FROM = "Selected-from"
MERGED_PROPOSAL = "Merged-proposal"  # of the publish of a proposal: its id
MERGED_HEAD = "Merged-head"  # of a publish with one parent: the head of the draft or proposal that it merged
HIGHEST_NUMBER = "Highest-publish-number"
DECISION_TRAILER = "Settled"
_OURS = (
    PUBLISHED_BY,
    WRITTEN_BY,
    APPROVED_BY,
    VERIFIED_SIGNER,
    OVERRIDE,
    ROLLED_BACK_TO,
    SELECTED_FROM,
    MERGED_PROPOSAL,
    MERGED_HEAD,
    HIGHEST_NUMBER,
)
_RESERVED = (*_OURS, DECISION_TRAILER)
_ACCOUNT = re.compile(r" <[^<>]*@waypost\.invalid>")  # the address that an account has in commits
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A project and its number, at most 15 digits, which every JSON reader can hold exactly.
_HIGHEST_NUMBER = re.compile(r"(?:^|, )([A-Za-z0-9_-]{1,50}) ([1-9][0-9]{0,14})(?=, |$)")


class Message(NamedTuple):
    """A parsed commit message; several trailers of one name become one value, between commas."""

    text: str
    trailers: Mapping[str, str]


def merged_head(parents: Sequence[CommitId], trailers: Mapping[str, str]) -> CommitId | None:
    """Return the head that a commit on release merged: its second parent, or the commit that a trailer names.

    None without either; the trailer of a pushed commit can be any text.
    """
    named = trailers.get(MERGED_HEAD, "")
    return parents[1] if len(parents) > 1 else CommitId(named) if _COMMIT.fullmatch(named) else None


def dump_message(text: str, trailers: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return a whole message; a line of the text that would read as one of our trailers is indented.

    A trailer with several values is repeated; one without a value is left out.
    """
    lines = [f" {line}" if _is_trailer(line, _RESERVED) else line for line in text.strip().splitlines()]
    tail = dump_trailers(trailers)
    return "\n".join([*lines, "", tail] if tail else [*lines, ""])


def dump_trailers(trailers: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return the lines of trailers; one with several values is repeated, and one without a value is left out."""
    each = [
        (name, value) for name, found in trailers.items() for value in ((found,) if isinstance(found, str) else found)
    ]
    return "".join(f"{name}: {' '.join(value.split())}\n" for name, value in each if value)


def load_message(message: str) -> Message:
    """Split a message into its text and our trailers."""
    lines = message.rstrip().splitlines()
    own: dict[str, list[str]] = {}
    for name, _, value in (line.partition(":") for line in lines if _is_trailer(line)):
        own.setdefault(name, []).append(value.strip())
    text = "\n".join(line for line in lines if not _is_trailer(line)).strip()
    return Message(text, {name: ", ".join(values) for name, values in own.items()})


def signature(author: Author) -> str:
    """Return a person as the value of a trailer."""
    return author.line().decode()


def searched_person(signed: str) -> str:
    """Return what people are found by: name and address, or the name alone where the address is that of an account here."""
    return _ACCOUNT.sub("", signed)


def dump_highest_numbers(numbers: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the trailers that name the highest publish number of each project."""
    return {HIGHEST_NUMBER: tuple(f"{name} {number}" for name, number in sorted(numbers.items()))}


def load_highest_numbers(message: str) -> dict[str, int]:
    """Return the highest publish number of each project that the trailers of a commit name."""
    if HIGHEST_NUMBER not in message:  # all but a few commits of a history
        return {}
    found = _HIGHEST_NUMBER.findall(load_message(message).trailers.get(HIGHEST_NUMBER, ""))
    return {name: int(number) for name, number in found}


def _is_trailer(line: str, names: Sequence[str] = _OURS) -> bool:
    return line.startswith(tuple(f"{name}:" for name in names))
