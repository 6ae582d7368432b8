"""Git over HTTP, as C git speaks it: the first request of a fetch or push, and the fetch itself.

https://git-scm.com/docs/gitprotocol-http
"""

import time
from collections.abc import Callable
from functools import partial

from falcon.asgi import Request, Response

from api.auth.permissions.principal import as_principal
from api.errors import ApiError, Forbidden
from api.http.guard.access import by_basic, grants, light, no_repository, principal_of
from api.http.request.caller_access import check_again
from api.http.request.coded_body import read_inflated
from api.resources.git.pack_stream import PackStream
from api.runtime.jobs.background import run_in_thread, run_transfer
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import NotFound
from gitstore.wire.advertisement import advertise_version_2
from gitstore.wire.fetch.fetch_pack import make_pack
from gitstore.wire.fetch.upload_pack import RECEIVE_PACK, UPLOAD_PACK, answer_fetch, answer_refs

MOST_FETCH_BYTES = 16 << 20
"""Bytes of an inflated request of a fetch, which names what the client has and wants."""

FindRepository = Callable[[str], None]
"""Raises NotFound where there is no such namespace, and Broken where its repository is missing on disk."""


class GitRepositories:
    """The repositories by the names of their namespaces."""

    def __init__(self, directory: DataDirectory, require: FindRepository) -> None:
        self._directory = directory
        self._require = require

    async def find(self, namespace: str) -> NamespacePaths:
        """Return the paths of a namespace; the same 404 as without a permission if there is none."""
        try:
            await run_in_thread(self._require, namespace)
        except NotFound as ex:
            raise no_repository() from ex
        return self._directory.namespace(namespace)


def require_push(req: Request, namespace: str) -> None:
    """Raise Forbidden unless the caller may change anything in the namespace."""
    if not as_principal(principal_of(req)).can_push(namespace):
        raise Forbidden("This needs redirect:write, page:write or project:write in this namespace.")


class InfoRefs:
    """The first request of a fetch or push: the refs, and what the service can do."""

    def __init__(self, repositories: GitRepositories) -> None:
        self._repositories = repositories

    @by_basic
    @grants("project", "read")
    async def on_get(self, req: Request, resp: Response, namespace: str) -> None:
        """Advertise the refs; in the second version of the protocol, the commands of a fetch."""
        service = req.get_param("service")
        if service not in {
            UPLOAD_PACK,
            RECEIVE_PACK,
        }:  # without one, it is a request of the old protocol for plain files
            raise no_repository()
        if service == RECEIVE_PACK:
            require_push(req, namespace)
        paths = await self._repositories.find(namespace)
        resp.content_type = f"application/x-{service}-advertisement"
        if service == UPLOAD_PACK and is_version_2(req):
            resp.data = advertise_version_2()
        else:
            resp.data = await run_transfer(answer_refs, paths.repository, service)


class UploadPack:
    """A fetch: the negotiation, and the pack."""

    def __init__(self, repositories: GitRepositories) -> None:
        self._repositories = repositories

    @light
    @by_basic
    @grants("project", "read")
    async def on_post(self, req: Request, resp: Response, namespace: str) -> None:
        """Answer a request of a fetch; the pack is sent as it is read from its file."""
        check_media_type(req, UPLOAD_PACK)
        paths = await self._repositories.find(namespace)
        body = await read_inflated(req, MOST_FETCH_BYTES)
        answer = await run_transfer(answer_fetch, paths.repository, body, is_version_2=is_version_2(req))
        resp.content_type = f"application/x-{UPLOAD_PACK}-result"
        if answer.order is None:
            resp.data = answer.head
        else:
            make = partial(run_transfer, make_pack, paths.repository, paths.clones, answer.order)
            resp.stream = PackStream(answer, make, partial(check_again, req, time.monotonic()))


def is_version_2(req: Request) -> bool:
    """Tell whether the client asks for the second version of the protocol; every other value is ignored."""
    return "version=2" in (req.get_header("Git-Protocol") or "").split(":")


def check_media_type(req: Request, service: str) -> None:
    """Raise 415 unless the body is a request of the service."""
    wanted = f"application/x-{service}-request"
    if (req.content_type or "").partition(";")[0].strip().lower() != wanted:
        raise ApiError(
            415, "unsupported_media_type", f"Send the request of Git, with the header Content-Type: {wanted}."
        )
