"""Projects: create, change and remove, each as one publish."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from falcon.asgi import Request, Response

from api import logs
from api.errors import Forbidden, bad_request
from api.http.guard.access import any_principal, author_of, grants, principal_of, reads_project, require
from api.http.guard.content_body import read_content
from api.http.request.json_body import clear_fields
from api.http.request.parameters import read_text
from api.http.response import json_views
from api.http.response.paging import write_list
from api.runtime.health.content_faults import to_fault
from api.runtime.jobs.background import run_in_process, run_in_thread
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import StoreError
from gitstore.history.live import LiveProject
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import POLICY, ProjectFile, default_policy

_log = logs.logger("projects")
_NO_POLICY = default_policy()


class Projects:
    """The projects of a namespace."""

    def __init__(self, served: ReleaseLoader, store: Store) -> None:
        self._releases = served
        self._store = store

    @any_principal
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """List the projects in which the caller may read anything."""
        principal = principal_of(req)
        if not principal.can_see(namespace):
            raise Forbidden("This needs any read grant in this namespace.")
        served = await self._releases.namespace(namespace)
        visible = [served.projects[name] for name in sorted(served.projects) if principal.can_see(namespace, name)]
        write_list(req, resp, await run_in_thread(_show_all, self._store, visible))

    @grants("project", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Create a project with empty lists: 201, publish 1."""
        body = await read_content(req, "project-create")
        name, settings = body["name"], ProjectFile(**_settings(body, title=body["name"]))
        done = await run_in_process(self._store.projects.create, namespace, name, settings, author_of(req))
        req.context.created_project, req.context.policy = name, _policy(body)
        resp.status = 201
        resp.location = f"/api/namespace/{namespace}/project/{name}"
        expected = json_views.new_project(namespace, name, settings, done)
        resp.media = await run_in_thread(_show_written, self._store, expected)


class ProjectResource:
    """One project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @reads_project
    async def on_get(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Show the project, its published version and its state; the cause of a fault needs project:read."""
        shows_cause = principal_of(req).can("project", "read", namespace, project)
        resp.media = await run_in_thread(_show_health, self._store, namespace, project, shows_cause=shows_cause)

    @grants("project", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish new settings; needs project:publish too, and project:override to change the policy."""
        require(req, "project", "publish", namespace, project)
        defaults = {"title": project, "description": "", **_NO_POLICY}
        body = clear_fields(await read_content(req, "project-update"), **defaults)
        if not _NO_POLICY.keys().isdisjoint(body):
            require(req, "project", "override", namespace, project)
            req.context.policy = _policy(body)
        before, settings = await run_in_thread(_show, self._store, namespace, project), _settings(body)
        done = await run_in_process(self._store.projects.change, namespace, project, settings, author_of(req))
        expected = {**before, **settings, **json_views.project_version(done)}
        resp.media = await run_in_thread(_show_written, self._store, expected)

    @grants("project", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str, project: str) -> None:
        """Publish the removal of the project: 204. It requires `?confirm=` with the name; the history remains.

        If the project has a review policy, the caller needs project:override, since the removal ends the policy.
        """
        require(req, "project", "publish", namespace, project)
        if read_text(req, "confirm") != project:
            message = f"This takes all redirects and pages of {project} offline. Repeat it with ?confirm={project}."
            raise bad_request(message, "confirmation_required")
        can = principal_of(req).can("project", "override", namespace, project)
        await run_in_process(self._store.projects.delete, namespace, project, author_of(req), may_change_policy=can)
        resp.status = 204


def _policy(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body that are of the policy."""
    return {name: body[name] for name in POLICY if name in body}


def _settings(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**more, **{name: body[name] for name in ("title", "description", *POLICY) if name in body}}


def _show_health(store: Store, namespace: str, project: str, *, shows_cause: bool) -> dict[str, Any]:
    served = store.releases.project(namespace, project)
    found = [to_fault(namespace, fault) for fault in store.releases.project_faults(namespace, project)]
    faults = found if shows_cause else [replace(fault, detail="") for fault in found]
    return json_views.project(served, store.drafts.names(namespace, project), faults)


def _show_all(store: Store, found: Sequence[LiveProject]) -> list[dict[str, Any]]:
    """Show projects of one state of release: one that is removed meanwhile is in the list as it was."""
    return [json_views.project(each, store.drafts.names(each.namespace, each.name)) for each in found]


def _show(store: Store, namespace: str, project: str) -> dict[str, Any]:
    return json_views.project(store.releases.project(namespace, project), store.drafts.names(namespace, project))


def _show_written(store: Store, expected: dict[str, Any]) -> dict[str, Any]:
    """Show a project after a publish of it; as it was `expected` where it cannot be read, since the publish is live."""
    try:
        found = _show(store, expected["namespace"], expected["name"])
    except (StoreError, OSError) as ex:
        _log.warning("project_not_read", namespace=expected["namespace"], project=expected["name"], exc_info=ex)
        return expected
    return found if found["publishNumber"] >= expected["publishNumber"] else expected
