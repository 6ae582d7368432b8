"""Decisions: conflicts that a person resolved, each valid for one value of release."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from content.records.record import identity_id


class Decision(NamedTuple):
    """A resolved conflict: the draft's value is used while release has the value with `release_digest`.

    `kind` is `redirect`, `page` or `file`, `id` the record's (of a file: `identity_id` of its path), `field` as in the
    conflict.
    """

    kind: str
    id: str
    field: str
    release_digest: str


def digest(value: object) -> str:
    """Return 16 hex digits for a value of a conflict: a text, a list, a mapping of fields, or None."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class Decisions:
    """Decisions by kind and id."""

    def __init__(self, found: Iterable[Decision] = ()) -> None:
        self._digests: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for decision in found:
            self._digests[decision.kind, decision.id][decision.field].add(decision.release_digest)

    def covers(self, kind: str, identity: str, field: str, release: object) -> bool:
        """Return whether a decision resolves a conflict in which release has this value."""
        return digest(release) in self.of(kind, identity).get(field, ())

    def of(self, kind: str, identity: str) -> Mapping[str, set[str]]:
        """Return the digests of release's values in the decisions, by field; the identity of a file is its path."""
        return self._digests.get((kind, identity_id(identity)), {}) if self._digests else {}
