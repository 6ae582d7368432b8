"""Query parameters held against the contract: one that is mistyped is refused, so that a dry run stays one.

What agents call stays open, for an agent in the field may send anything, and so does signing in.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from falcon.asgi import Request

from api.errors import ApiError, bad_request
from content.nearness import nearest
from schemas import Operation, operations
from schemas.wording import clip

_PROJECT = "/api/namespace/{namespace}/project/{project}"
_CLOSED = (
    *(f"{_PROJECT}/{part}" for part in ("draft", "diff", "history", "lint", "export", "test")),
    "/api/audit",
)
"""Here a filter that is passed over would answer another question; reads elsewhere take what they know."""
_AGENTS = frozenset({("POST", f"{_PROJECT}/agents"), ("PATCH", f"{_PROJECT}/agents/{{name}}/hit")})
_OPEN = ("/auth/", "/compat/", "/health/")
_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

Known = Mapping[tuple[str, str], tuple[str, ...]]
"""By method and path template, the names of the query parameters; without those that take any."""


def known_parameters() -> Known:
    """What each operation takes of those that take nothing else; made once, when the service starts."""
    return dict(_known(operations()))


def check_parameters(req: Request, known: Known) -> None:
    """400 for a query parameter that the operation does not have, or that is there more than once."""
    if not req.query_string:
        return
    taken = known.get((req.method, req.uri_template or ""))
    if taken is None:
        return
    given: Mapping[str, Any] = req.params
    for name, value in given.items():
        if name not in taken:
            raise _unknown(name, taken)
        if isinstance(value, list):
            raise bad_request(f"'{name}' is given more than once.", "bad_parameter")


def is_closed(method: str, path: str) -> bool:
    """Tell whether an operation takes the parameters of the contract and no others."""
    if path.startswith(_OPEN) or (method, path) in _AGENTS:
        return False
    return method in _WRITING or any(path == part or path.startswith(f"{part}/") for part in _CLOSED)


def _known(found: Iterable[Operation]) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    for each in found:
        if is_closed(each.method, each.path):
            yield (each.method, each.path), each.query
            if each.method == "GET":
                yield ("HEAD", each.path), each.query


def _unknown(name: str, taken: tuple[str, ...]) -> ApiError:
    near = nearest(name, taken)
    there = f"it takes {', '.join(taken)}" if taken else "it takes none"
    advice = f"did you mean '{near}'?" if near else f"{there}."
    return bad_request(f"This call has no query parameter '{clip(name)}'; {advice}", "bad_parameter")
