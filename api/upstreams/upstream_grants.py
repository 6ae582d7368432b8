"""The grants to set an upstream: it publishes what its host has, or shows a host what is here."""

from collections.abc import Mapping
from typing import Any

from api.auth.permissions.grants import EVERY
from api.auth.permissions.principal import Principal
from api.errors import Forbidden
from gitstore.upstream.upstream_settings import DraftsPlace, UpstreamMode

_PUBLISHES = (("project", "publish"), ("project", "override"))
_SHOWS = (("project", "read"), ("redirect", "read"), ("page", "read"))


def require_grants(actor: Principal, namespace: str, fields: Mapping[str, Any]) -> None:
    """Raise Forbidden unless the caller may do in every project what the upstream would do for it.

    A source publishes, and changes policies, without a grant of who pushed there; a mirror, and drafts that are pushed, send
    what others may not read here.
    """
    is_source = fields["mode"] == UpstreamMode.SOURCE.value
    is_shown = not is_source or fields.get("drafts") == DraftsPlace.PUSH
    wanted = (_PUBLISHES if is_source else ()) + (_SHOWS if is_shown else ())
    missing = [":".join(each) for each in wanted if not actor.can(*each, namespace, EVERY)]
    if missing:
        raise Forbidden(
            f"Such an upstream needs {', '.join(missing)} in every project of the namespace; nothing changed."
        )
