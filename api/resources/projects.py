"""Projects: made, changed and removed, each as one publish."""

from typing import Any

from falcon.asgi import Request, Response

from api import wire
from api.access import any_principal, grants, principal_of, reads_project, require
from api.authors import author_of
from api.background import in_thread, in_worker
from api.body import read_json
from api.errors import Forbidden, bad_request
from api.paging import write_list
from api.parameters import read_text
from api.served import Served
from gitstore.project_file import ProjectFile
from gitstore.store import Store


class Projects:
    """The projects of a namespace."""

    def __init__(self, served: Served, store: Store) -> None:
        self._served = served
        self._store = store

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """The projects in which the caller may read anything."""
        principal = principal_of(req)
        if not principal.sees(namespace):
            raise Forbidden("This needs a grant to read something in this namespace.")
        served = await self._served.namespace(namespace)
        visible = [name for name in sorted(served.projects) if principal.sees(namespace, name)]
        write_list(req, resp, [await in_thread(_show, self._store, namespace, name) for name in visible])

    @grants("project", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Make a project with empty lists: 201, publish 1."""
        body = await read_json(req, "project-create")
        settings = ProjectFile(**_settings(body, title=body["name"]))
        await in_worker(self._store.create_project, namespace, body["name"], settings, author_of(req))
        resp.status = 201
        resp.location = f"/api/namespace/{namespace}/project/{body['name']}"
        resp.media = await in_thread(_show, self._store, namespace, body["name"])


class ProjectResource:
    """One project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @reads_project
    async def on_get(self, _req: Request, resp: Response, namespace: str, project: str) -> None:
        """The project and what it serves."""
        resp.media = await in_thread(_show, self._store, namespace, project)

    @grants("project", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish new settings; so the caller needs project:publish too, and project:override to end a review."""
        require(req, "project", "publish", namespace, project)
        body = await read_json(req, "project-update")
        if "review" in body or "lint" in body:
            require(req, "project", "override", namespace, project)
        await in_worker(self._store.change_project, namespace, project, _settings(body), author_of(req))
        resp.media = await in_thread(_show, self._store, namespace, project)

    @grants("project", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish the removal of the project: 204. It asks for `?confirm=` with the name; the history stays.

        As the project's policy goes with it, the caller needs project:override where there is one.
        """
        require(req, "project", "publish", namespace, project)
        if read_text(req, "confirm") != project:
            message = f"This takes all redirects and pages of {project} offline. Repeat it with ?confirm={project}."
            raise bad_request(message, "confirmation_required")
        may = principal_of(req).may("project", "override", namespace, project)
        await in_worker(self._store.delete_project, namespace, project, author_of(req), may_change_policy=may)
        resp.status = 204


def _settings(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**more, **{name: body[name] for name in ("title", "description", "review", "lint") if name in body}}


def _show(store: Store, namespace: str, project: str) -> dict[str, Any]:
    return wire.project(store.project(namespace, project), store.drafts(namespace, project))
