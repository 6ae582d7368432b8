"""Roles, and the permissions that they are made of."""

from falcon.asgi import Request, Response

from api.access import any_principal, grants
from api.background import in_thread
from api.identity.accounts import Accounts
from api.identity.grants import PROJECT_ACTIONS, SERVER_ACTIONS
from api.paging import write_list


class Roles:
    """All roles."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @grants("role", "read")
    async def on_get(self, req: Request, resp: Response) -> None:
        """A window of the roles, the built-in ones first."""
        write_list(req, resp, [role.wire() for role in await in_thread(self._accounts.roles)])


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
