"""The counts of all workers, for Prometheus."""

from falcon.asgi import Request, Response

from api.access import any_principal
from api.errors import Unavailable
from api.exposition import CONTENT_TYPE, render
from api.meter import Meter


class Metrics:
    """What the service has counted since it started."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    @any_principal
    async def on_get(self, _req: Request, resp: Response) -> None:
        """All metrics of all workers, at most a second old.

        For any valid token: they tell of numbers and route templates, and name no namespace, project or person.
        Prometheus sends a token that it reads from a file (`authorization: {credentials_file: ...}`).
        """
        try:
            resp.data = render(await self._meter.read())
        except OSError as ex:
            raise Unavailable("The counts of the workers cannot be read from disk.", "metrics_unavailable") from ex
        resp.content_type = CONTENT_TYPE
