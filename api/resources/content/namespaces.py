"""Namespaces."""

from collections.abc import Callable

from falcon.asgi import Request, Response

from api import logs
from api.errors import bad_request
from api.http.guard.access import any_principal, author_of, grants, principal_of
from api.http.request.json_body import read_json
from api.http.request.parameters import read_text
from api.http.response import json_views
from api.http.response.paging import write_list
from api.runtime.background import run_in_thread
from api.runtime.content_faults import to_fault
from gitstore.errors import Broken, StoreError
from gitstore.history.live import LiveNamespace
from gitstore.namespaces.namespaces import Namespace
from gitstore.store.store import Store

_log = logs.logger("namespaces")


class Namespaces:
    """All namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """List the namespaces in which the caller may read anything; a broken one is listed by name, with null fields."""
        principal = principal_of(req)
        visible = [name for name in await run_in_thread(self._store.namespaces.names) if principal.can_see(name)]
        write_list(req, resp, [await run_in_thread(_list, self._store, name) for name in visible])

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create a namespace: 201."""
        body = await read_json(req, "namespace-create")
        created = await run_in_thread(
            self._store.namespaces.create, body["name"], body.get("description", ""), author_of(req)
        )
        resp.status = 201
        resp.location = f"/api/namespace/{created.name}"
        resp.media = json_views.namespace(created, 0)


class NamespaceResource:
    """One namespace."""

    def __init__(self, store: Store, forget: Callable[[str], None]) -> None:
        self._store = store
        self._forget = forget

    @grants("namespace", "read")
    async def on_get(self, _req: Request, resp: Response, namespace: str) -> None:
        """Show the namespace and its state; also one whose repository cannot be read."""
        resp.media = await run_in_thread(_show_health, self._store, namespace)

    @grants("namespace", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str) -> None:
        """Change the description."""
        body = await read_json(req, "namespace-update")
        await run_in_thread(self._store.namespaces.describe, namespace, body["description"])
        resp.media = await run_in_thread(_show, self._store, namespace)

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str) -> None:
        """Archive the namespace: 204. It requires `?confirm=` with the name, and erases nothing."""
        if read_text(req, "confirm") != namespace:
            message = f"This takes {namespace} and all its projects offline. Repeat it with ?confirm={namespace}."
            raise bad_request(message, "confirmation_required")
        await run_in_thread(self._store.namespaces.delete, namespace)
        try:
            await run_in_thread(self._forget, namespace)
        except (StoreError, OSError) as ex:  # it is archived all the same; the publish-event relay tries again
            _log.warning("namespace_not_forgotten", namespace=namespace, error=str(ex))
        resp.status = 204


def _list(store: Store, name: str) -> dict[str, object]:
    try:
        return _show(store, name)
    except (Broken, OSError):
        return {"name": name, "description": "", "projects": None, "createdAt": None}


def _show_health(store: Store, name: str) -> dict[str, object]:
    state = store.releases.faults(name)
    health = {"health": json_views.health([to_fault(name, fault) for fault in state.faults])}
    try:
        return {**_show(store, name), **health}
    except (StoreError, OSError):
        projects = state.served or None
        return {"name": name, "description": "", "projects": projects, "createdAt": None, **health}


def _show(store: Store, name: str) -> dict[str, object]:
    found: Namespace = store.namespaces.read(name)
    served: LiveNamespace = store.releases.namespace(name)
    return json_views.namespace(found, len(served.projects))
