"""The routes of Git over HTTP."""

from api.app.services import Services
from api.auth.permissions.principal import Principal
from api.db.namespaces.reviews import Origin
from api.http.audit_notes import AuditNotes
from api.http.routing import Route
from api.resources.git.receive_pack import ReceivePack
from api.resources.git.smart_http import GitRepositories, InfoRefs, UploadPack
from api.reviews.push_records import ServiceRecords
from api.settings import Settings
from gitstore.store.store import Store

_REPOSITORY = "/git/{namespace}.git"


def git_routes(store: Store, settings: Settings, services: Services, notes: AuditNotes) -> list[Route]:
    """Return the routes of every repository."""

    def records_of(caller: Principal, namespace: str, address: str | None) -> ServiceRecords:
        tokens = services.leaked_tokens(caller.actor(), "found in a push", namespace, address)
        return ServiceRecords(services.reviews(), namespace, caller, Origin(address), tokens)

    repositories = GitRepositories(store.directory, store.live.require_namespace)
    return [
        Route(_REPOSITORY + "/info/refs", InfoRefs(repositories)),
        Route(_REPOSITORY + "/git-upload-pack", UploadPack(repositories)),
        Route(_REPOSITORY + "/git-receive-pack", ReceivePack(store, repositories, settings, records_of, notes)),
    ]
