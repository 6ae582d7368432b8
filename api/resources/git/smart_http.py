"""Git over HTTP, as C git speaks it: the first request of a fetch or push, and the fetch itself.

https://git-scm.com/docs/gitprotocol-http
"""

from falcon.asgi import Request

from api.auth.principal import as_principal
from api.errors import Forbidden
from api.http.guard.access import principal_of


def require_push(req: Request, namespace: str) -> None:
    """Raise Forbidden unless the caller may change anything in the namespace."""
    if not as_principal(principal_of(req)).can_push(namespace):
        raise Forbidden("This needs redirect:write, page:write or project:write in this namespace.")
