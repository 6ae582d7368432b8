"""Namespaces."""

from collections.abc import Callable

from falcon.asgi import Request, Response

from api import logs, wire
from api.access import any_principal, grants, principal_of
from api.authors import author_of
from api.background import in_thread
from api.body import read_json
from api.errors import bad_request
from api.paging import write_list
from api.parameters import read_text
from gitstore.errors import Broken, StoreError
from gitstore.live import LiveNamespace
from gitstore.namespaces import Namespace
from gitstore.store import Store

_log = logs.logger("namespaces")


class Namespaces:
    """All namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """The namespaces in which the caller may read anything; one that is broken is named, and takes none along."""
        principal = principal_of(req)
        visible = [name for name in await in_thread(self._store.namespaces) if principal.sees(name)]
        write_list(req, resp, [await in_thread(_list, self._store, name) for name in visible])

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Make a namespace: 201."""
        body = await read_json(req, "namespace-create")
        made = await in_thread(self._store.create_namespace, body["name"], body.get("description", ""), author_of(req))
        resp.status = 201
        resp.location = f"/api/namespace/{made.name}"
        resp.media = wire.namespace(made, 0)


class NamespaceResource:
    """One namespace."""

    def __init__(self, store: Store, forget: Callable[[str], None]) -> None:
        self._store = store
        self._forget = forget

    @grants("namespace", "read")
    async def on_get(self, _req: Request, resp: Response, namespace: str) -> None:
        """The namespace."""
        resp.media = await in_thread(_show, self._store, namespace)

    @grants("namespace", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str) -> None:
        """Change the description."""
        body = await read_json(req, "namespace-update")
        await in_thread(self._store.describe_namespace, namespace, body["description"])
        resp.media = await in_thread(_show, self._store, namespace)

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str) -> None:
        """Set the namespace aside: 204. It asks for `?confirm=` with the name, and erases nothing."""
        if read_text(req, "confirm") != namespace:
            message = f"This takes {namespace} and all its projects offline. Repeat it with ?confirm={namespace}."
            raise bad_request(message, "confirmation_required")
        await in_thread(self._store.delete_namespace, namespace)
        try:
            await in_thread(self._forget, namespace)
        except (StoreError, OSError) as ex:  # it is gone all the same; who tells of publishes tries again
            _log.warning("namespace_not_forgotten", namespace=namespace, error=str(ex))
        resp.status = 204


def _list(store: Store, name: str) -> dict[str, object]:
    try:
        return _show(store, name)
    except (Broken, OSError):
        return {"name": name, "description": "", "projects": None, "createdAt": None}


def _show(store: Store, name: str) -> dict[str, object]:
    found: Namespace = store.namespace(name)
    served: LiveNamespace = store.served(name)
    return wire.namespace(found, len(served.projects))
