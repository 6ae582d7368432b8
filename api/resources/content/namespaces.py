"""Namespaces."""

from typing import Protocol

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.db.audit import Actor
from api.errors import bad_request
from api.http.guard.access import EVERYWHERE, any_principal, author_of, grants, missing_grant, principal_of
from api.http.guard.content_body import read_content
from api.http.request.json_body import clear_fields
from api.http.request.parameters import read_text
from api.http.response import json_views
from api.http.response.paging import write_list
from api.runtime.health.content_faults import to_fault
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import Broken, NotFound, StoreError
from gitstore.history.live import LiveNamespace
from gitstore.namespaces.namespaces import Namespace
from gitstore.namespaces.records import NamespaceRecords
from gitstore.store.store import Store


class RecordsOf(Protocol):
    """The records of namespaces outside Git, changed on behalf of an actor."""

    def __call__(self, actor: Actor, *, keep_grants: bool = False) -> NamespaceRecords:
        """Return the records."""


class Namespaces:
    """All namespaces."""

    def __init__(self, store: Store, records: RecordsOf) -> None:
        self._store = store
        self._records = records

    @any_principal
    async def on_get(self, req: Request, resp: Response) -> None:
        """List the namespaces in which the caller may read anything; a broken one is listed by name, with null fields."""
        principal = principal_of(req)
        visible = [name for name in await run_in_thread(self._store.namespaces.names) if principal.can_see(name)]
        listed = [await run_in_thread(_list, self._store, name) for name in visible]
        write_list(req, resp, [each for each in listed if each])

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create a namespace: 201. Grants that name an earlier one end, unless the caller keeps them."""
        body = await read_content(req, "namespace-create")
        records = self._records(_actor(req), keep_grants=body.get("keepGrants", False))
        created = await run_in_thread(
            self._store.namespaces.create, body["name"], body.get("description", ""), author_of(req), records
        )
        resp.status = 201
        resp.location = f"/api/namespace/{created.name}"
        resp.media = json_views.namespace(created, 0)


class NamespaceResource:
    """One namespace."""

    def __init__(self, store: Store, records: RecordsOf) -> None:
        self._store = store
        self._records = records

    @grants("namespace", "read")
    async def on_get(self, _req: Request, resp: Response, namespace: str) -> None:
        """Show the namespace and its state; also one whose repository cannot be read."""
        resp.media = await run_in_thread(_show_health, self._store, namespace)

    @grants("namespace", "write")
    async def on_patch(self, req: Request, resp: Response, namespace: str) -> None:
        """Change the description."""
        body = clear_fields(await read_content(req, "namespace-update"), description="")
        served: LiveNamespace = await run_in_thread(self._store.releases.namespace, namespace)
        changed = await run_in_thread(self._store.namespaces.describe, namespace, body["description"])
        resp.media = json_views.namespace(changed, len(served.projects))

    @grants("namespace", "write")
    async def on_delete(self, req: Request, resp: Response, namespace: str) -> None:
        """Archive the namespace: 204. It requires `?confirm=` with the name, and erases nothing."""
        if read_text(req, "confirm") != namespace:
            message = f"This takes {namespace} and all its projects offline. Repeat it with ?confirm={namespace}."
            raise bad_request(message, "confirmation_required")
        await run_in_thread(self._store.namespaces.delete, namespace, self._records(_actor(req)))
        resp.status = 204


class ArchivedNamespaces:
    """The archived namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @grants("namespace", "write")
    async def on_get(self, req: Request, resp: Response) -> None:
        """List the archived namespaces, of one name or all; by name, the last archived first."""
        found = await run_in_thread(self._store.namespaces.archived, read_text(req, "namespace"))
        write_list(req, resp, [json_views.archived_namespace(each) for each in found])


class NamespaceRestore:
    """The restoration of an archived namespace."""

    def __init__(self, store: Store, records: RecordsOf) -> None:
        self._store = store
        self._records = records

    @grants("namespace", "write")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Restore the last archived namespace of the name, or the one with the id `?archive=`.

        It needs namespace:write everywhere, like the creation: the archive may be of other users than the grants are.
        """
        if not principal_of(req).can("namespace", "write", EVERYWHERE, EVERYWHERE):
            raise missing_grant([("namespace", "write")], EVERYWHERE, EVERYWHERE)
        archive, records = read_text(req, "archive"), self._records(_actor(req))
        found = await run_in_thread(self._store.namespaces.restore, namespace, archive, author_of(req), records)
        restored = Namespace(found.name, found.description, found.created_at)
        resp.media = json_views.namespace(restored, found.projects or 0)


def _actor(req: Request) -> Actor:
    return as_principal(principal_of(req)).actor()


def _list(store: Store, name: str) -> dict[str, object] | None:
    """Show a namespace of the list; None if it was deleted meanwhile."""
    try:
        return _show(store, name)
    except NotFound:
        return None
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
