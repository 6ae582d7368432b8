"""Decisions on conflicts, stored in the trailers of a draft's own commits, so that they travel with its branch."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from content.changes.decision import Decision
from content.changes.diff import chosen_names
from gitstore.git.repository import Repository
from gitstore.history.messages import DECISION_TRAILER
from gitstore.layout import CommitId

_TRAILER = re.compile(rf"{DECISION_TRAILER}: (redirect|page|file) ([0-9a-f]{{16}}) ([A-Za-z]+|-) ([0-9a-f]{{16}})")
_WHOLE = "-"
# Commits of a draft that are read at most; a longer draft resolves its conflicts by a merge.
_LONGEST = 10_000


def dump_decisions(text: str, decisions: Iterable[Decision]) -> str:
    """Return a commit message with the decisions as trailers."""
    lines = [
        f"{DECISION_TRAILER}: {kind} {id_} {field or _WHOLE} {seen}"
        for kind, id_, field, seen in sorted(set(decisions))
    ]
    return "\n".join([text, "", *lines]) + "\n"


def read_decisions(
    repository: Repository, head: CommitId | None, base: CommitId, ids: Collection[str] = ()
) -> list[Decision]:
    """Return the decisions of a draft since it last merged release or began; with `ids` only on these records."""
    found = _decisions(repository, head, base) if head else iter(())
    return [each for each in found if not ids or any(name in ids for name in chosen_names(each.kind, each.id))]


def _decisions(repository: Repository, head: CommitId, base: CommitId) -> Iterator[Decision]:
    for info in islice(repository.first_parents(head), _LONGEST):
        if info.id == base:
            return
        for line in info.message.splitlines():
            if found := _TRAILER.fullmatch(line):
                kind, id_, field, seen = found.groups()
                yield Decision(kind, id_, "" if field == _WHOLE else field, seen)
        if base in info.parents:
            return
