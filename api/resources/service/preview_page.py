"""The page at `/` of a preview: what is served of the folder, as JSON, and as HTML where the dashboard is not built."""

from html import escape
from typing import Any

from falcon.asgi import Request, Response

from api.data.preview import Preview
from api.http.guard.access import public
from api.resources.service.start_page import HTML, JSON, list_links, page_policy, write_page

_MOST_PROBLEMS = 100
_NEXT = (
    ("See the projects that are served.", "GET /api/namespaces"),
    ("Edit a file of the folder and save it; then read the rules again.", "waypost validate"),
)


class PreviewPage:
    """The start page of a preview."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show the projects that are served, and the problems of the last save."""
        state = self._preview.read()
        resp.set_header("Vary", "Accept")
        if req.client_prefers((JSON, HTML)) == HTML:
            resp.set_header("Content-Security-Policy", page_policy())
            resp.set_header("Referrer-Policy", "no-referrer")
            resp.content_type = f"{HTML}; charset=utf-8"
            resp.data = self._page(state)
        else:
            resp.media = self._document(state)

    def _document(self, state: dict[str, Any]) -> dict[str, Any]:
        preview = {"folder": self._preview.folder, "namespace": self._preview.namespace, **state}
        return {
            **list_links(),
            "next": [{"step": step, "command": command} for step, command in _NEXT],
            "preview": preview,
        }

    def _page(self, state: dict[str, Any]) -> bytes:
        preview = self._preview
        served = f"as saved at {state['servedAt']}" if state["servedAt"] else "nothing yet"
        about = (
            f"<p>A preview of <code>{escape(preview.folder)}</code>, as the namespace <code>{escape(preview.namespace)}</code>. "
            f"Served: {escape(served)}. Edit the files; every save without errors is served. Nothing is written there.</p>"
        )
        parts = [
            about,
            *self._problems(state),
            "<h2>Projects</h2><dl>",
            *(self._project(each) for each in state["projects"]),
            "</dl><p>The dashboard is not built here. Run <code>make dashboard</code>, and start the preview again.</p>",
        ]
        return write_page("Waypost preview", "".join(parts))

    def _project(self, project: dict[str, Any]) -> str:
        base = f"/api/namespace/{self._preview.namespace}/project/{project['name']}"
        links = ", ".join(
            f'<a href="{escape(base)}/{path}">{text}</a>'
            for path, text in (
                ("redirects", f"{project['redirects']:,} redirects"),
                ("pages", f"{project['pages']:,} pages"),
                ("version", "version"),
                ("lint", "warnings"),
            )
        )
        return f"<dt>{escape(project['name'])}</dt><dd>{links}</dd>"

    @staticmethod
    def _problems(state: dict[str, Any]) -> list[str]:
        if not state["errors"]:
            return []
        shown = state["problems"][:_MOST_PROBLEMS]
        items = "".join(
            f"<li><code>{escape(each.get('file', ''))}:{each.get('line', 0)}</code> {escape(each['message'])}</li>"
            if "file" in each
            else f"<li>{escape(each['message'])}</li>"
            for each in shown
        )
        return [f"<h2>The last save is not served: {state['errors']:,} errors</h2><ul>{items}</ul>"]
