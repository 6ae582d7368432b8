"""The check that the data directory is there, before each request that needs it and after its answer.

A directory may go away between the two, and then an answer such as "no such namespace" or an empty list is not true.
"""

from falcon.asgi import Request, Response

from api.data.served_data import DataLost, ServedData
from api.http.error_handlers import write_error
from api.http.response.redaction import clear_response

WITHOUT_DATA = frozenset(
    {"/", "/health/ping", "/health/ready", "/compat/flecto/health/ping", "/openapi.json", "/schemas/{name}"}
)
"""Routes whose answers do not depend on the data directory. Readiness reports it itself."""
_READS = frozenset({"GET", "HEAD"})
_ERROR = 400


class DataCheck:
    """The middleware that answers 503 while the data directory, or a part of it, is lost."""

    def __init__(self, served: ServedData) -> None:
        self._served = served

    async def process_resource(
        self, req: Request, _resp: Response, _resource: object, _params: dict[str, object]
    ) -> None:
        """Refuse the request, so that it creates nothing in place of the lost part."""
        if req.uri_template not in WITHOUT_DATA:
            self._served.require()

    async def process_response(
        self,
        req: Request,
        resp: Response,
        _resource: object,
        _req_succeeded: bool,  # noqa: FBT001 - Falcon's signature
    ) -> None:
        """Replace a result of a read, or an error, by 503; the success of a change stays one."""
        if req.uri_template is None or req.uri_template in WITHOUT_DATA:
            return
        if req.method not in _READS and resp.status_code < _ERROR:
            return
        fault = self._served.check()
        if fault:
            await clear_response(resp)
            write_error(resp, DataLost(fault))
