"""The pages that Git hosts and answers to pushes link to: of the dashboard, or of the API where the dashboard is not built."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

DASHBOARD = Path(__file__).parents[1] / "dashboard" / "built"
MANIFEST = "built.json"


def is_dashboard_built(folder: Path = DASHBOARD) -> bool:
    """Tell whether there is a built dashboard."""
    return (folder / MANIFEST).exists()


class PageLinks(NamedTuple):
    """The addresses below the public origin of the service; without one there are no links.

    The views of the dashboard are in `dashboard/src/views/routes.ts`.
    """

    public_url: str = ""
    has_dashboard: bool = False

    def upstream(self, namespace: str) -> str:
        """Return the address of a namespace with the state of its upstream."""
        query = urlencode({"name": namespace, "upstream": "shown"})
        return self._below(f"/dashboard/settings/namespaces?{query}", f"/api/namespace/{namespace}/upstream")

    def publish(self, namespace: str, project: str, version: str) -> str:
        """Return the address of a publish in the history of its project."""
        place = f"{namespace}/{project}/history"
        return self._below(
            f"/dashboard/project/{place}?{urlencode({'version': version})}",
            f"/api/namespace/{namespace}/project/{project}/history/{version}",
        )

    def proposal(self, namespace: str, proposal: str) -> str:
        """Return the address of a proposal."""
        return self._below(
            f"/dashboard/proposal/{namespace}/{proposal}", f"/api/namespace/{namespace}/proposal/{proposal}"
        )

    def draft(self, namespace: str, project: str, draft: str) -> str:
        """Return the address of a draft."""
        query = urlencode({"draft": draft})
        return self._below(
            f"/dashboard/project/{namespace}/{project}/draft?{query}",
            f"/api/namespace/{namespace}/project/{project}/draft?{query}",
        )

    def _below(self, view: str, path: str) -> str:
        return self.public_url + (view if self.has_dashboard else path) if self.public_url else ""


def proposal_address(public_url: str) -> str:
    """Return the address of any proposal, with `{namespace}` and `{id}` for its place; empty without a public origin."""
    return PageLinks(public_url, is_dashboard_built()).proposal("{namespace}", "{id}")
