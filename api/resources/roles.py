"""Roles, and the permissions that they are made of."""

from collections.abc import Mapping
from typing import Any

from falcon.asgi import Request, Response

from api.access import any_principal, grants, principal_of
from api.background import in_thread
from api.body import read_json
from api.identity.accounts import Accounts
from api.identity.custom_roles import CustomRoles
from api.identity.grants import PROJECT_ACTIONS, SERVER_ACTIONS, Grant, load_grant
from api.identity.principal import caller
from api.paging import write_list


class Roles:
    """All roles."""

    def __init__(self, accounts: Accounts, roles: CustomRoles) -> None:
        self._accounts = accounts
        self._roles = roles

    @grants("role", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """A window of the roles, the built-in ones first."""
        write_list(req, resp, [role.wire() for role in await in_thread(self._accounts.roles)])

    @grants("role", "write")
    async def on_post(self, req: Request, resp: Response) -> None:
        """Make a role: 201; 409 where the name is taken, 403 for grants beyond the caller's own."""
        body = await read_json(req, "role-create")
        role = await in_thread(self._roles.create, caller(principal_of(req)), body["name"], *_fields(body))
        resp.status = 201
        resp.location = f"/api/role/{role.name}"
        resp.media = role.wire()


class RoleResource:
    """One role."""

    def __init__(self, roles: CustomRoles) -> None:
        self._roles = roles

    @grants("role", "read")
    async def on_get(self, _req: Request, resp: Response, name: str) -> None:
        """The role."""
        resp.media = (await in_thread(self._roles.find, name)).wire()

    @grants("role", "write")
    async def on_put(self, req: Request, resp: Response, name: str) -> None:
        """Replace its description and grants; whoever has the role has these from the next request on."""
        body = await read_json(req, "role-update")
        role = await in_thread(self._roles.replace, caller(principal_of(req)), name, *_fields(body))
        resp.media = role.wire()

    @grants("role", "write")
    async def on_delete(self, req: Request, resp: Response, name: str) -> None:
        """Remove it, also from those who have it: 204."""
        await in_thread(self._roles.remove, caller(principal_of(req)), name)
        resp.status = 204


def _fields(body: Mapping[str, Any]) -> tuple[str, list[Grant]]:
    return body.get("description", ""), [load_grant(grant) for grant in body["grants"]]


class Permissions:
    """Everything that can be granted."""

    @any_principal
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Every resource, what may be done to it, and whether that is granted in projects."""
        scopes = {"project": PROJECT_ACTIONS, "server": SERVER_ACTIONS}
        resp.media = {
            "permissions": [
                {"resource": resource, "actions": list(actions), "scope": scope}
                for scope, resources in scopes.items()
                for resource, actions in resources.items()
            ]
        }
