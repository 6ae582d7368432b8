"""Validation of query parameter names against the contract: a misspelled `dryRun` is refused, not ignored.

The endpoints of agents accept any parameter, since agents in the field may send anything; so does login.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falcon.asgi import Request

from api.errors import ApiError, bad_request
from content.records.nearness import nearest
from schemas import query_names
from schemas.wording import clip

_PROJECT = "/api/namespace/{namespace}/project/{project}"
# Reads that refuse unknown parameters: ignoring a filter would answer another question. Other reads ignore them.
_CLOSED = (
    *(f"{_PROJECT}/{part}" for part in ("changes", "draft", "diff", "history", "lint", "export", "test")),
    "/api/audit",
)

_AGENTS = frozenset({("POST", f"{_PROJECT}/agents"), ("PATCH", f"{_PROJECT}/agents/{{name}}/hit")})
_OPEN = ("/auth/", "/compat/", "/health/")
_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

# Query parameter names by method and path template; operations that accept any parameter are not listed.
AllowedParameters = Mapping[tuple[str, str], Sequence[str]]


def list_allowed_parameters() -> AllowedParameters:
    """Return the parameters of each operation that refuses unknown ones; computed once, when the service starts."""
    return dict(_known(query_names()))


def check_parameters(req: Request, known: AllowedParameters) -> None:
    """Refuse with 400 a query parameter that is unknown to the operation or given more than once."""
    if not req.query_string:
        return
    allowed = known.get((req.method, req.uri_template or ""))
    if allowed is None:
        return
    given: Mapping[str, Any] = req.params
    for name, value in given.items():
        if name not in allowed:
            raise _unknown(name, allowed)
        if isinstance(value, list):
            raise bad_request(f"'{name}' is given more than once.", "bad_parameter")


def is_closed(method: str, path: str) -> bool:
    """Tell whether an operation refuses parameters that are not in the contract."""
    if path.startswith(_OPEN) or (method, path) in _AGENTS:
        return False
    return method in _WRITING or any(path == part or path.startswith(f"{part}/") for part in _CLOSED)


def _known(found: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[str, str], Sequence[str]]]:
    for operation, names in found.items():
        method, _, path = operation.partition(" ")
        if is_closed(method, path):
            yield (method, path), names
            if method == "GET":
                yield ("HEAD", path), names


def _unknown(name: str, allowed: Sequence[str]) -> ApiError:
    near = nearest(name, allowed)
    listed = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
    advice = f"did you mean '{near}'?" if near else f"{listed}."
    return bad_request(f"This call has no query parameter '{clip(name)}'; {advice}", "bad_parameter")
