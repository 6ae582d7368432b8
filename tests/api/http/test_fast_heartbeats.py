"""Heartbeats that are answered ahead of the framework, and those that are left to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api import logs
from api.app.data_directory import adopt
from api.app.services import Services, open_services
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.data.parts import DataParts
from api.data.served_data import ServedData
from api.db.agents.agents import AgentKey
from api.http.compat import BASE
from api.http.fast_heartbeats import FastHeartbeats
from api.http.fast_path import PreparedResponse
from api.metrics.counters import Counters
from api.settings import Settings
from gitstore.git.repository import Author
from gitstore.store.store import Store
from gitstore.yamlfiles.project_file import ProjectFile

ADA = Author("Ada", "ada@shop.example")
SHOP = "/api/namespace/acme/project/shop"
WRITER = Grant("acme", "shop", "agent", "write")


class Service:
    """A project, tokens, and the heartbeats of both."""

    def __init__(self, data: Path) -> None:
        self.services: Services = open_services(Settings(data=data, agents_per_project=1))
        self.store = Store(data)
        self.store.namespaces.create("acme", "", ADA)
        self.store.projects.create("acme", "shop", ProjectFile("Shop"), ADA)
        self.counters = Counters()
        self.last_token: int | None = None
        self.fast = FastHeartbeats(self.services.directory, self.store.live, self.services.fleet.note, self.counters)

    def token(self, *grants: Grant) -> bytes:
        """Create a token with grants; return its header."""
        issued = self.services.tokens.create(OPERATOR, f"agent {len(grants)}", list(grants))
        self.services.directory.reload()
        self.last_token = issued.token.id
        return f"Bearer {issued.value}".encode()

    def send(
        self,
        bearer: bytes,
        path: str = f"{SHOP}/agents/edge-1/hit",
        query: str = "",
        headers: tuple[tuple[bytes, bytes], ...] = (),
        hosts: tuple[bytes, ...] = (b"waypost.example",),
    ) -> PreparedResponse | None:
        """Send a heartbeat to a namespace whose state was read."""
        while self.store.live.peek("acme") is None:  # a ref that moved a moment ago is looked at twice
            self.store.live.refresh("acme")
        given = (*((b"host", host) for host in hosts), (b"authorization", bearer), *headers)
        return self.fast.answer(path, path.encode(), query, given)

    @property
    def noted(self) -> list[AgentKey]:
        """The agents with a pending heartbeat."""
        return list(self.services.fleet.heartbeats._pending)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.services.close()


@pytest.mark.parametrize("base", ["", BASE])
@pytest.mark.parametrize("headers", [(), ((b"content-length", b"0"),), ((b"user-agent", b"edge"),)])
def test_a_plain_heartbeat_is_noted_and_counted(
    service: Service, base: str, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    bearer = service.token(WRITER)
    answers = [service.send(bearer, f"{base}{SHOP}/agents/edge-1/hit", headers=headers) for _ in range(2)]
    assert [each and each.answer.reply.status for each in answers] == [200, 200]
    assert len({each.line for each in answers if each}) == 2, "each response has a request id of its own"
    assert service.noted == [AgentKey("acme", "shop", "edge-1")]
    counted = {key[1:]: count for key, count in service.counters.counts().items() if key[0] == "waypost_requests_total"}
    assert counted == {
        (f"{base}/api/namespace/{{namespace}}/project/{{project}}/agents/{{name}}/hit", "PATCH", "200"): 2
    }


@pytest.mark.parametrize(
    "header",
    [
        (b"content-length", b"2"),
        (b"transfer-encoding", b"chunked"),
        (b"expect", b"100-continue"),
        (b"x-request-id", b"mine"),
        (b"authorization", b"Bearer svc_another"),
        (b"host", b"other.example"),
    ],
)
def test_a_heartbeat_that_is_not_plain_is_left_to_the_framework(service: Service, header: tuple[bytes, bytes]) -> None:
    assert service.send(service.token(WRITER), headers=(header,)) is None
    assert service.noted == []


@pytest.mark.parametrize("hosts", [(), (b"shop example",), (b"a/b",), (b"a", b"b")])
def test_a_heartbeat_without_a_valid_host_is_left_to_the_framework(service: Service, hosts: tuple[bytes, ...]) -> None:
    assert service.send(service.token(WRITER), hosts=hosts) is None
    assert service.noted == []


def test_without_the_data_directory_a_heartbeat_is_left_to_the_framework(service: Service, tmp_path: Path) -> None:
    """The framework refuses it: it could not be written."""
    parts = DataParts(tmp_path, None)
    served = ServedData(parts, adopt(parts))
    service.fast = FastHeartbeats(
        service.services.directory, service.store.live, service.services.fleet.note, service.counters, served
    )
    bearer = service.token(WRITER)
    assert service.send(bearer) is not None
    (tmp_path / "repos").rename(tmp_path / "elsewhere")
    assert served.check()
    (tmp_path / "elsewhere").rename(tmp_path / "repos")
    assert service.send(bearer) is None


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (f"{SHOP}/agents/edge-1/hit", "a=b"),
        (f"{SHOP}/agents/edge%201/hit", ""),
        (f"{SHOP}/agents/edge 1/hit", ""),
        (f"{SHOP}/agents//hit", ""),
        (f"{SHOP}/agents/edge-1/hit/", ""),
        (f"{SHOP}/agents/edge-1", ""),
        (f"{SHOP}/agents/edge-1/hits", ""),
        (f"{SHOP}/drafts/edge-1/hit", ""),
        (f"/other{SHOP}/agents/edge-1/hit", ""),
        ("/api/namespace/acme/project/none/agents/edge-1/hit", ""),
    ],
)
def test_another_path_is_left_to_the_framework(service: Service, path: str, query: str) -> None:
    everyone = service.token(Grant("*", "*", "*", "*"))
    assert service.send(everyone, path, query) is None
    assert service.noted == []


@pytest.mark.parametrize(
    ("grant", "may"),
    [
        (WRITER, True),
        (Grant("acme", "*", "agent", "*"), True),
        (Grant("acme", "shop", "agent", "read"), False),
        (Grant("acme", "docs", "agent", "write"), False),
        (Grant("other", "shop", "agent", "write"), False),
        (Grant("acme", "shop", "redirect", "*"), False),
    ],
)
def test_the_grant_to_write_agents_of_the_project_is_needed(service: Service, grant: Grant, *, may: bool) -> None:
    """Guard: nothing behind it checks the grant again. Sent twice, since the second check is a remembered one."""
    bearer = service.token(grant)
    everyone = service.token(Grant("*", "*", "*", "*"), WRITER)
    for _ in range(2):
        assert service.send(everyone) is not None
        assert (service.send(bearer) is not None) is may


def test_a_token_that_is_removed_or_invented_is_left_to_the_framework(service: Service) -> None:
    bearer = service.token(WRITER)
    assert service.send(bearer) is not None
    assert service.last_token is not None
    service.services.tokens.remove(OPERATOR, service.last_token)
    service.services.directory.reload()
    assert service.send(bearer) is None
    assert service.send(b"Bearer svc_invented") is None


def test_with_debug_logs_each_heartbeat_goes_through_the_framework(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "is_debug_enabled", lambda: True)
    assert service.send(service.token(WRITER)) is None


def test_a_new_agent_of_a_full_project_is_left_to_the_framework(service: Service) -> None:
    """The framework looks it up in the database, and refuses it."""
    bearer = service.token(WRITER)
    assert service.send(bearer) is not None
    while service.services.fleet.heartbeats.flush():
        pass
    assert service.send(bearer, f"{SHOP}/agents/edge-2/hit") is None
    assert service.noted == []


def test_with_too_many_pending_a_heartbeat_is_left_to_the_framework(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.db.agents.heartbeats.MOST_PENDING", 0)
    assert service.send(service.token(WRITER)) is None
