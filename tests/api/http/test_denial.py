"""Every route for every kind of caller: a request without the grant is refused before any look-up."""

from collections.abc import Iterator

import pytest

import schemas
from api.app.app import Application, create_app
from api.app.compat_routes import compat_routes
from api.app.content_routes import content_routes
from api.app.event_routes import notice_routes
from api.app.git_hosts import open_pulls
from api.app.identity_routes import identity_routes
from api.app.notifications import open_notifications
from api.app.services import open_services
from api.app.upstream_routes import upstream_routes
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import Principal, PrincipalKind
from api.http.response.compression import CompressionCache
from api.http.response.signed_replies import ManifestSigner
from api.metrics.metrics_store import DIRECTORY, MetricsStore
from api.runtime.serving.convergence import Convergence
from api.runtime.serving.long_poll import LongPolls
from api.runtime.serving.release_loader import ReleaseLoader
from api.settings import Settings
from api.upstreams.upstreams import Upstreams
from gitstore.store.store import store_at
from schemas import Operation
from tests.api.asgi import AsgiResponse, call
from tests.api.fakes import FakeDirectory, dependencies

OPERATIONS = [each for each in schemas.operations() if each.scheme == "bearer"]  # Git's are in tests/e2e
GUARDED = [operation for operation in OPERATIONS if operation.audience != "public"]
GRANTED = [operation for operation in OPERATIONS if operation.audience == "grant"]
IN_PROJECT = [operation for operation in GRANTED if "{project}" in operation.path]
AGENT_HOLDS = (("redirect", "read"), ("page", "read"), ("agent", "write"))
GRANTS = {
    "none": (),
    "agent": tuple(Grant("acme", "shop", *held) for held in AGENT_HOLDS),
    "elsewhere": (Grant("acme", "other", "*", "*"), Grant("other", "*", "*", "*")),
}
TOKENS = {name: Principal(PrincipalKind.TOKEN, 1, name, name, held) for name, held in GRANTS.items()}


def name_of(operation: Operation) -> str:
    """Return the id that a test shows for an operation."""
    return f"{operation.method} {operation.path}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """Return the application with every route of the service, and a directory of fake tokens."""
    settings = Settings(data=tmp_path_factory.mktemp("denial"), invalid_tokens_per_minute=1_000_000)
    store, services = store_at(settings.data), open_services(settings)
    served = ReleaseLoader(store)
    MetricsStore(settings.data / DIRECTORY).clear()  # the server does that at its start
    compressed, convergence = CompressionCache(), Convergence(services.fleet, store.publishes)
    notice = open_notifications(settings, store, served, services)
    extra_routes = [
        *content_routes(
            store,
            served,
            settings,
            compressed,
            LongPolls(served),
            convergence,
            services.reviews(),
            services.namespace_records,
            open_pulls(settings, store, services),
            ManifestSigner(),
            services.fleet,
        ),
        *identity_routes(services, served, store.publishes),
        *notice_routes(served, notice.streams, notice.webhooks),
        *compat_routes(store, served, services, compressed),
        *upstream_routes(served, services, Upstreams(store, services.state, services.clock, settings.upstream_rules)),
    ]
    yield create_app(dependencies(settings, FakeDirectory(dict(TOKENS))), extra_routes)
    services.close()


def ask(app: Application, operation: Operation, authorization: str | None, project: str = "shop") -> AsgiResponse:
    """Return the response to an operation in acme, without a body."""
    path = operation.path.format(
        namespace="acme",
        project=project,
        id="0" * 16,
        name="edge",
        version="1",
        delivery="1",
        session="0" * 32,
        view="x",
    )
    return call(app, operation.method, path, {"Authorization": authorization} if authorization else {})


@pytest.mark.parametrize("operation", GUARDED, ids=name_of)
@pytest.mark.parametrize("authorization", [None, "Bearer svc_unknown", "Bearer a.b.c", "Basic YTpi", "none"])
def test_without_a_token_that_holds_every_guarded_route_is_401(
    whole: Application, operation: Operation, authorization: str | None
) -> None:
    answer = ask(whole, operation, authorization)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.error in {"unauthenticated", "invalid_token"}


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_a_refusal_names_the_grants_of_which_one_would_do(whole: Application, operation: Operation) -> None:
    message = ask(whole, operation, "Bearer none").json()["message"]
    assert message.startswith("This needs ")
    assert all(":".join(pair) in message for pair in operation.accepted)
    assert message.endswith(" in this project.") is ("{project}" in operation.path)
    assert message.endswith(" in this namespace.") is (
        "{namespace}" in operation.path and "{project}" not in operation.path
    )


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_a_token_without_grants_is_403_everywhere_in_the_same_words(whole: Application, operation: Operation) -> None:
    answers = [ask(whole, operation, "Bearer none", project) for project in ("shop", "none", "a.b")]
    assert {answer.status for answer in answers} == {403}
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize("operation", IN_PROJECT, ids=name_of)
def test_grants_of_another_project_or_namespace_count_for_nothing(whole: Application, operation: Operation) -> None:
    assert ask(whole, operation, "Bearer elsewhere").status == 403


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_an_agents_token_can_do_what_an_agent_does_and_nothing_else(whole: Application, operation: Operation) -> None:
    can = "{project}" in operation.path and bool(set(AGENT_HOLDS) & set(operation.accepted))
    assert (ask(whole, operation, "Bearer agent").status != 403) is can


@pytest.mark.parametrize("operation", OPERATIONS, ids=name_of)
def test_no_route_fails_on_a_request_without_anything(whole: Application, operation: Operation) -> None:
    for authorization in (None, "Bearer none", "Bearer agent"):
        assert ask(whole, operation, authorization).status < 500
