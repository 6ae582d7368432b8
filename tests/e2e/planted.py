"""Bodies of requests with a canary in every text: a unique word that can be looked for afterwards."""

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas import check

_SECRETS = re.compile(
    "password|secret|token|code$|state$|credential|private|cookie|csrf|authorization|signature|key$", re.IGNORECASE
)
CANARY = "cnry[0-9a-f]{20}"
# Fields of any text.
_FREE = frozenset(("description", "note", "message", "content", "firstname", "lastname", "error", "password", "value"))
# Fields that name a state, or what exists in it.
_LEFT_OUT = frozenset(("head", "projects", "project", "state", "ids"))
# Fields whose texts name something that must exist.
_FIXED = frozenset(
    (
        "grants",
        "role",
        "roles",
        "type",
        "status",
        "contentType",
        "events",
        "mode",
        "op",
        "kind",
        "action",
        "expiresAt",
        "head",
        "version",
        "in",
    )
)
_HOSTILE = '\n{"event": "forged"}\x1b[31m\u2028'  # it ends the line of a log, and colours a terminal


@dataclass
class Canaries:
    """The planted words: those that are secret, with the field of each, and the others."""

    secret: dict[str, str] = field(default_factory=dict)
    plain: dict[str, str] = field(default_factory=dict)

    def plant(self, name: str) -> str:
        """Return a new word for a field; it is secret if the name of the field says so."""
        word = f"cnry{secrets.token_hex(10)}"
        (self.secret if _SECRETS.search(name) else self.plain)[word] = name
        return word

    def fill(self, schema: str) -> Any:
        """Return the largest valid example of a schema, with a word in each text that may have one.

        Fields that name a state are left out where they may be, so that the request can succeed.
        """
        body = max(_examples(schema), key=lambda each: len(json.dumps(each)))
        for name in _LEFT_OUT & (body.keys() if isinstance(body, dict) else set()):
            without = {other: value for other, value in body.items() if other != name}
            body = body if check(schema, without) else without
        for steps, name in list(_texts(body, ())):
            *above, last = steps
            owner: Any = body
            for step in above:
                owner = owner[step]
            before = owner[last]
            for owner[last] in self._candidates(name):
                if not check(schema, body):
                    break
            else:
                owner[last] = before
        return body

    def _candidates(self, name: str) -> list[str]:
        word = self.plant(name)
        address = f"https://{word}.example/{word}"
        first = {"url": address, "source": f"/{word}", "target": f"/{word}", "path": f"/{word}"}.get(name, word)
        return [*([word + _HOSTILE] if name in _FREE else []), first, f"/{word}", address]


def _examples(schema: str) -> list[Any]:
    path = Path(__file__).parents[1] / "schemas" / "examples" / f"{schema}.json"
    found: list[Any] = json.loads(path.read_text(encoding="utf-8"))["valid"]
    return found


def _texts(value: Any, steps: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the path of each text that may be another one, and the name of its field."""
    name = next((step for step in reversed(steps) if isinstance(step, str)), "")
    if isinstance(value, str) and name not in _FIXED:
        yield steps, name
    elif isinstance(value, dict | list) and name not in _FIXED:
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(part, (*steps, step))
