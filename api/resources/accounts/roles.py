"""Roles and permissions over HTTP."""

from collections.abc import Collection, Mapping
from typing import Any

from falcon.asgi import Request, Response

from api.auth.accounts import Accounts
from api.auth.permissions.custom_roles import CustomRoles
from api.auth.permissions.grants import PROJECT_ACTIONS, SERVER_ACTIONS, Grant, grant_problems, load_grant
from api.auth.permissions.principal import as_principal
from api.auth.permissions.roles import Role
from api.http.guard.access import any_principal, grants, principal_of
from api.http.guard.content_body import read_content
from api.http.request.if_match import read_if_match
from api.http.response.paging import write_list
from api.runtime.jobs.background import run_in_thread
from content.records.problem import Problem


class Roles:
    """All roles."""

    def __init__(self, accounts: Accounts, roles: CustomRoles) -> None:
        self._accounts = accounts
        self._roles = roles

    @grants("role", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show a window of the roles, the built-in ones first."""
        write_list(req, resp, [role.wire() for role in await run_in_thread(self._accounts.roles)])

    @grants("role", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Create a role: 201; 409 if the name is taken, 403 for grants beyond the caller's own."""
        body = await read_content(req, "role-create", further=_find_problems)
        role = await run_in_thread(self._roles.create, as_principal(principal_of(req)), body["name"], *_fields(body))
        resp.status = 201
        resp.location = f"/api/role/{role.name}"
        _write(resp, role)


class RoleResource:
    """One role."""

    def __init__(self, roles: CustomRoles) -> None:
        self._roles = roles

    @grants("role", "read")
    async def on_get(self, _req: Request, resp: Response, name: str) -> None:
        """Show the role."""
        _write(resp, await run_in_thread(self._roles.find, name))

    @grants("role", "write")
    async def on_put(self, req: Request, resp: Response, name: str) -> None:
        """Replace its description and grants, if it still has the etag of `If-Match`; its users have them from their next request on."""
        body = await read_content(req, "role-update", further=_find_problems)
        actor, etag = as_principal(principal_of(req)), read_if_match(req)
        _write(resp, await run_in_thread(self._roles.replace, actor, name, *_fields(body), etag))

    @grants("role", "write")
    async def on_delete(self, req: Request, resp: Response, name: str) -> None:
        """Remove the role, also from its users, if it still has the etag of `If-Match`: 204."""
        await run_in_thread(self._roles.remove, as_principal(principal_of(req)), name, read_if_match(req))
        resp.status = 204


def _write(resp: Response, role: Role) -> None:
    resp.set_header("ETag", f'"{role.etag}"')
    resp.media = role.wire()


def _find_problems(fields: Mapping[str, Any], _refused: Collection[str]) -> list[Problem]:
    return grant_problems(map(load_grant, fields.get("grants", ())))


def _fields(body: Mapping[str, Any]) -> tuple[str, list[Grant]]:
    return body.get("description", ""), [load_grant(grant) for grant in body["grants"]]


class Permissions:
    """The permissions that can be granted."""

    @any_principal
    async def on_get(self, _req: Request, resp: Response) -> None:
        """List every resource with its actions and its scope, project or server."""
        scopes = {"project": PROJECT_ACTIONS, "server": SERVER_ACTIONS}
        resp.media = {
            "permissions": [
                {"resource": resource, "actions": list(actions), "scope": scope}
                for scope, resources in scopes.items()
                for resource, actions in resources.items()
            ]
        }
