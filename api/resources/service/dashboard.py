"""The dashboard over HTTP: its page, which shows every view, and the files that the page loads."""

from falcon.asgi import Request, Response

from api.data.dashboard_files import StaticFile
from api.errors import not_found
from api.http.guard.access import public
from api.http.response.compression import choose_coding
from api.resources.service.preview_page import PreviewPage
from api.resources.service.start_page import HTML, JSON, StartPage

POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_FOREVER = "public, max-age=31536000, immutable"  # a name changes with the content
_ALWAYS_ASK = "no-cache"


class DashboardStart:
    """The page at `/`: the dashboard for a browser, and the start page for other clients."""

    def __init__(self, page: StaticFile, others: StartPage | PreviewPage) -> None:
        self._page = page
        self._others = others

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show the dashboard if the client prefers HTML."""
        if req.client_prefers((JSON, HTML)) == HTML:
            _show_page(req, resp, self._page)
            resp.set_header("Vary", "Accept, Accept-Encoding")
        else:
            await self._others.on_get(req, resp)


class DashboardEntry:
    """The address that one types without a view."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Lead to the page at `/`: 303."""
        resp.status = 303
        resp.location = "/"


class DashboardView:
    """A view of the dashboard by its address: the same page, which shows it."""

    def __init__(self, page: StaticFile | None) -> None:
        self._page = page

    @public
    async def on_get(self, req: Request, resp: Response, **_address: str) -> None:
        """Show the page; 404 if the dashboard is not built."""
        if self._page is None:
            raise not_found("The dashboard is not built. Run `make dashboard`, and restart the service.")
        _show_page(req, resp, self._page)


class DashboardAssets:
    """The files that the page loads."""

    def __init__(self, files: dict[str, StaticFile]) -> None:
        self._files = files

    @public
    async def on_get(self, req: Request, resp: Response, name: str) -> None:
        """Send a file, which never changes."""
        file = self._files.get(name)
        if file is None:
            raise not_found("There is no such file. The dashboard may have been updated; load its page again.")
        _send(req, resp, file, _FOREVER)


def _show_page(req: Request, resp: Response, page: StaticFile) -> None:
    resp.set_header("Content-Security-Policy", POLICY)
    resp.set_header("Referrer-Policy", "no-referrer")
    _send(req, resp, page, _ALWAYS_ASK)


def _send(req: Request, resp: Response, file: StaticFile, caching: str) -> None:
    coding = choose_coding(req.get_header("Accept-Encoding"), tuple(file.codings))
    resp.set_header("Cache-Control", caching)
    resp.set_header("Vary", "Accept-Encoding")
    resp.content_type = file.media_type
    if coding != "identity":
        resp.set_header("Content-Encoding", coding)
    resp.data = file.codings[coding]
