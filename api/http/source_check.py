"""The check, before a change of a namespace, that this node works by the settings of its source, to which it is published."""

from collections.abc import Callable
from contextlib import suppress

from falcon.asgi import Request, Response

from api.runtime.jobs.background import run_in_thread
from gitstore.errors import NotFound

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_PUBLISH = ("/agent", "/upstream", "/webhook", "/git-upload-pack")


class SourceCheck:
    """The middleware that has the settings of a source applied, by `require_applied`, before a request that may publish."""

    def __init__(self, require_applied: Callable[[str], None]) -> None:
        self._require_applied = require_applied

    async def process_resource(
        self, req: Request, _resp: Response, _resource: object, params: dict[str, object]
    ) -> None:
        """Apply them, or refuse the request."""
        namespace = params.get("namespace")
        if req.method in _READS or not isinstance(namespace, str):
            return
        if any(part in (req.uri_template or "") for part in _NO_PUBLISH):
            return
        with suppress(NotFound):  # the responder answers
            await run_in_thread(self._require_applied, namespace)
