"""Conflicts that people have settled: what a decision was about, and how long it holds."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from content.record import identity_id


class Decision(NamedTuple):
    """A settled conflict: the draft's value holds for as long as release has the value that was `seen`.

    `kind` is `redirect`, `page` or `file`, `id` the record's (of a file: `identity_id` of its path), `field` as in the
    conflict, and `seen` the digest of release's value.
    """

    kind: str
    id: str
    field: str
    seen: str


def digest(value: object) -> str:
    """16 hex digits that stand for a value of a conflict: a text, a list, a mapping of fields, or None."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class Decisions:
    """Decisions by what they are about."""

    def __init__(self, found: Iterable[Decision] = ()) -> None:
        self._seen: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for decision in found:
            self._seen[decision.kind, decision.id][decision.field].add(decision.seen)

    def holds(self, kind: str, identity: str, field: str, release: object) -> bool:
        """Tell whether a conflict was settled while release had this value."""
        return digest(release) in self.of(kind, identity).get(field, ())

    def of(self, kind: str, identity: str) -> Mapping[str, set[str]]:
        """By field, the digests of release's values that were decided on; the identity of a file is its path."""
        return self._seen.get((kind, identity_id(identity)), {}) if self._seen else {}
