"""The guard of a preview: requests of other sites are refused, and so are changes, since the files are the content.

A preview answers without a login, so any page in the user's browser could try to use it: by a form (its Origin is
another), or by a name of its own that leads to this machine (its Host is another).
"""

from collections.abc import Iterable
from typing import Any

from falcon.asgi import Request, Response

from api.data.preview import Preview
from api.errors import ApiError, Forbidden, Unavailable

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SITES = frozenset({"", "same-origin", "none"})
_PROJECT = "/api/namespace/{namespace}/project/{project}"
_AGENTS = (("POST", "/agents"), ("DELETE", "/agents/{name}"), ("PATCH", "/agents/{name}/hit"))
# The calls that change no content although their method could.
_ALLOWED = frozenset(
    {
        ("POST", f"{_PROJECT}/test"),
        ("POST", "/git/{namespace}.git/git-upload-pack"),
        *((method, f"{base}{_PROJECT}{path}") for base in ("", "/compat/flecto") for method, path in _AGENTS),
    }
)
_MOST_PROBLEMS = 20


class PreviewGuard:
    """The middleware of a preview."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview
        self._hosts = preview.hosts
        self._is_served = False

    async def process_request(self, req: Request, _resp: Response) -> None:
        """Refuse a request to another host than this machine, and a change that another site asks for."""
        if (req.get_header("Host") or "").lower() not in self._hosts:
            raise ApiError(
                421,
                "unknown_host",
                f"A preview answers on this machine only: use {_first(self._preview.origins)}.",
            )
        if req.method in _SAFE:
            return
        origin, site = req.get_header("Origin"), req.get_header("Sec-Fetch-Site") or ""
        if (origin is not None and origin.lower() not in self._preview.origins) or site not in _SITES:
            raise Forbidden(
                "Another site asked for this. A preview takes requests of its own pages only.", "other_origin"
            )

    async def process_resource(self, req: Request, _resp: Response, _resource: object, params: dict[str, Any]) -> None:
        """Refuse changes, and reads of a namespace that is not served yet."""
        if req.method not in _SAFE and (req.method, req.uri_template) not in _ALLOWED:
            raise Forbidden(
                f"This is a preview of {self._preview.folder}, and changes nothing there. Edit the files; every save is "
                "served. No login is needed.",
                "preview_only",
            )
        if params.get("namespace") == self._preview.namespace and not self._is_served:
            self._require_served()

    def _require_served(self) -> None:
        state = self._preview.read()
        if state["servedAt"]:
            self._is_served = True
            return
        reason = f"it has errors ({state['errors']})" if state["errors"] else "it is being read"
        raise Unavailable(
            f"Nothing of {self._preview.folder} is served yet: {reason}. The terminal of the preview shows the problems.",
            "preview_not_served",
        ).with_details(problems=state["problems"][:_MOST_PROBLEMS])


def _first(origins: Iterable[str]) -> str:
    return min(origins)
