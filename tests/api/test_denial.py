"""Every route against every kind of caller: what is not granted is refused, before anything is looked for."""

from collections.abc import Iterator

import pytest

import schemas
from api.app import Service, create_app
from api.compat_routes import compat_routes
from api.compression import Compressed
from api.content_routes import content_routes
from api.convergence import Convergence
from api.identity.grants import Grant
from api.identity.principal import Principal, PrincipalKind
from api.identity.service import open_services
from api.identity_routes import identity_routes
from api.ledger import DIRECTORY, Ledger
from api.notice.parts import open_notice
from api.notice_routes import notice_routes
from api.served import Served
from api.settings import Settings
from api.waiting import Waiting
from gitstore.store import store_at
from schemas import Operation
from tests.api.asgi import Answer, call
from tests.api.fakes import FakeDirectory, collaborators

OPERATIONS = schemas.operations()
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
    """How a test shows an operation."""
    return f"{operation.method} {operation.path}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Every route of the service, with a directory of fake tokens in front."""
    settings = Settings(data=tmp_path_factory.mktemp("denial"))
    store, services = store_at(settings.data), open_services(settings)
    served = Served(store)
    Ledger(settings.data / DIRECTORY).clear()  # as the server does at its start
    compressed, convergence = Compressed(), Convergence(services.fleet)
    notice = open_notice(settings, store, served, services)
    further = [
        *content_routes(
            store, served, settings, compressed, Waiting(served), convergence, services.reviews(), notice.teller.forget
        ),
        *identity_routes(services, served, store),
        *notice_routes(served, notice.streams, notice.webhooks),
        *compat_routes(store, served, services, compressed),
    ]
    yield create_app(collaborators(settings, FakeDirectory(dict(TOKENS))), further)
    services.close()


def ask(app: Service, operation: Operation, authorization: str | None, project: str = "shop") -> Answer:
    """The answer to an operation in acme, without a body."""
    path = operation.path.format(namespace="acme", project=project, id="0" * 16, name="edge", version="1", delivery="1")
    return call(app, operation.method, path, {"Authorization": authorization} if authorization else {})


@pytest.mark.parametrize("operation", GUARDED, ids=name_of)
@pytest.mark.parametrize("authorization", [None, "Bearer svc_unknown", "Bearer a.b.c", "Basic YTpi", "none"])
def test_without_a_token_that_holds_every_guarded_route_is_401(
    whole: Service, operation: Operation, authorization: str | None
) -> None:
    answer = ask(whole, operation, authorization)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.error in {"unauthenticated", "invalid_token"}


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_a_refusal_names_the_grants_of_which_one_would_do(whole: Service, operation: Operation) -> None:
    message = ask(whole, operation, "Bearer none").json()["message"]
    assert message.startswith("This needs ")
    assert all(":".join(pair) in message for pair in operation.accepted)
    assert message.endswith(" in this project.") is ("{project}" in operation.path)
    assert message.endswith(" in this namespace.") is (
        "{namespace}" in operation.path and "{project}" not in operation.path
    )


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_a_token_without_grants_is_403_everywhere_in_the_same_words(whole: Service, operation: Operation) -> None:
    answers = [ask(whole, operation, "Bearer none", project) for project in ("shop", "none", "a.b")]
    assert {answer.status for answer in answers} == {403}
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize("operation", IN_PROJECT, ids=name_of)
def test_grants_of_another_project_or_namespace_count_for_nothing(whole: Service, operation: Operation) -> None:
    assert ask(whole, operation, "Bearer elsewhere").status == 403


@pytest.mark.parametrize("operation", GRANTED, ids=name_of)
def test_an_agents_token_can_do_what_an_agent_does_and_nothing_else(whole: Service, operation: Operation) -> None:
    may = "{project}" in operation.path and bool(set(AGENT_HOLDS) & set(operation.accepted))
    assert (ask(whole, operation, "Bearer agent").status != 403) is may


@pytest.mark.parametrize("operation", OPERATIONS, ids=name_of)
def test_no_route_fails_on_a_request_without_anything(whole: Service, operation: Operation) -> None:
    for authorization in (None, "Bearer none", "Bearer agent"):
        assert ask(whole, operation, authorization).status < 500
