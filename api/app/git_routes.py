"""The routes of Git over HTTP."""

from api.http.routing import Route
from api.resources.git.receive_pack import ReceivePack
from api.resources.git.smart_http import GitRepositories, InfoRefs, UploadPack
from api.settings import Settings
from gitstore.store.store import Store

_REPOSITORY = "/git/{namespace}.git"


def git_routes(store: Store, settings: Settings) -> list[Route]:
    """Return the routes of every repository."""
    repositories = GitRepositories(store.directory, store.live.require_namespace)
    return [
        Route(_REPOSITORY + "/info/refs", InfoRefs(repositories)),
        Route(_REPOSITORY + "/git-upload-pack", UploadPack(repositories)),
        Route(_REPOSITORY + "/git-receive-pack", ReceivePack(store, repositories, settings)),
    ]
