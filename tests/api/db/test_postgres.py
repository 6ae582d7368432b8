"""The state in a real PostgreSQL: the same tables and answers, and the same guarantees for concurrent writers."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from api.app.services import Services
from api.auth.logins.passwords import hash_password
from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR
from api.db import audit
from api.db.accounts import sessions, users
from api.db.audit import Actor, AuditEntry, AuditEvent, AuditFilter, list_entries, record
from api.db.database import Database
from api.db.errors import StateBroken, StateBusy
from api.db.events import deliveries, events, webhooks
from api.db.events.events import Event, EventType
from api.db.events.webhooks import Webhook
from api.db.namespaces.reviews import Action, DraftKey, Person, Remark, add_remark, find_last_steps
from api.db.schema import migrate
from api.db.state_store import open_state_store
from api.db.tables import metadata
from api.db.upgrade import configure
from api.errors import ApiError, Unauthenticated
from api.events.signature import mint_secret
from api.events.webhook_dispatcher import Outbox
from tests.api.auth.logins.test_throttle import HERE, status
from tests.api.db.described_schema import describe_schema
from tests.api.db.migrations import newest_migration
from tests.api.openid.signing_in import signing_in
from tests.api.world import AGENTS, PASSWORD, START, ManualClock, World, shaped, world
from tests.openid_provider import hostile_provider
from tests.postgres import Postgres, running_postgres

pytestmark = pytest.mark.usefixtures("postgres_programs")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def url(server: Postgres) -> str:
    return server.database()


@pytest.fixture
def here(tmp_path: Path, url: str) -> Iterator[World]:
    found = world(tmp_path, database=url)
    found.user("root", "admin")
    yield found
    found.services.close()


def migrated(folder: Path, url: str) -> int:
    """Return the number of migrations after a process has opened the state."""
    state = open_state_store(folder, url)
    with state.database.reading() as connection:
        done = connection.execute(text("SELECT count(*) FROM alembic_version")).scalar_one()
    state.close()
    return int(done)


def test_nodes_that_start_at_once_migrate_once_to_the_tables_of_the_program(tmp_path: Path, url: str) -> None:
    folders = [tmp_path / str(node) for node in range(4)]
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        assert list(pool.map(migrated, folders, [url] * 4)) == [1] * 4
    state = open_state_store(folders[0], url)
    with state.database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert MigrationContext.configure(connection).get_current_revision() == newest_migration()
    state.close()


def described(database: Database) -> list[str]:
    with closing(database), database.reading() as connection:
        return describe_schema(connection)


def test_a_new_database_has_what_all_migrations_make(tmp_path: Path, url: str, server: Postgres) -> None:
    """The tables, with their columns in the same order, the indexes and the first rows."""
    migrated = Database(server.database())
    config = configure()
    with migrated.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    assert described(open_state_store(tmp_path, url).database) == described(migrated)


def test_tables_of_another_program_are_kept_and_those_of_the_same_name_are_refused(tmp_path: Path, url: str) -> None:
    with closing(Database(url)) as database:
        with database.writing() as connection:
            connection.execute(text("CREATE TABLE audit (in_the_way INTEGER)"))
            connection.execute(text("CREATE TABLE other (kept INTEGER)"))
        with pytest.raises(StateBroken):
            migrate(database, tmp_path / "lock")
        with database.writing() as connection:
            assert set(inspect(connection).get_table_names()) == {"audit", "other"}
            connection.execute(text("DROP TABLE audit"))
        migrate(database, tmp_path / "lock")
        with database.reading() as connection:
            assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version", "other"}


def test_accounts_roles_tokens_and_agents_live_there(here: World) -> None:
    admin = here.access("root")
    role = {"name": "reader", "grants": [{"namespace": "acme", "resource": "redirect", "action": "read"}]}
    shaped(here.call("POST", "/api/roles", admin, role), "role", 201)
    made = {"username": "Ada", "password": PASSWORD, "roles": ["reader"]}
    assert here.call("POST", "/api/users", admin, made).status == 201
    assert here.call("POST", "/api/users", admin, {**made, "username": "ADA"}).error == "already_exists"
    assert len(shaped(here.call("GET", "/api/me", here.access("ada")), "me")["grants"]) == 1
    token = here.token("redirect:read", "agent:*")
    agent = {"name": "edge", "type": "default", "version": 3, "load_duration": 2**62, "error": "nul \0 in it"}
    for _ in range(2):
        assert here.call("POST", AGENTS, token, agent).status == 200
    assert here.call("PATCH", f"{AGENTS}/edge/hit", token).status == 200
    here.services.fleet.heartbeats.flush()
    found = shaped(here.call("GET", f"{AGENTS}/edge", token), "agent-state")
    assert (found["load_duration"], found["error"], found["publishNumber"]) == (2**62, "nul \ufffd in it", 3)
    assert here.call("POST", "/api/token/1/rotate", admin).status == 200
    assert here.call("GET", "/api/me", token).status == 401
    trail = shaped(here.call("GET", "/api/audit?actor=root&since=2026-01-01T00:00:00Z", admin), "audit-list")
    assert trail["total"] == 4
    assert here.call("DELETE", "/api/user/2", admin).status == 204
    assert here.call("DELETE", "/api/role/reader", admin).status == 204


def test_sessions_rotate_end_and_are_swept(here: World) -> None:
    signed_in = here.login("root")
    again = here.services.logins.refresh(signed_in.refresh_token)
    assert here.services.logins.refresh(signed_in.refresh_token).refresh_token == again.refresh_token
    here.clock.advance(seconds=11)
    with pytest.raises(ApiError):
        here.services.logins.refresh(signed_in.refresh_token)
    with pytest.raises(ApiError):
        here.services.logins.refresh(again.refresh_token)
    here.clock.advance(days=60)
    assert here.services.logins.sweep() == 1


def test_a_login_with_the_old_password_waits_for_its_change_and_fails(here: World) -> None:
    """The change ends the sessions that it sees; a login in between would leave one that it does not see."""
    state, number = here.services.state, here.services.accounts.principal("root").id
    with ThreadPoolExecutor(1) as thread:
        with state.changing() as connection:
            users.change_user(connection, number, {"password_hash": hash_password("another horse battery")})
            sessions.revoke_all(connection, number, here.clock(), "password was changed")
            login = thread.submit(here.login, "root")
            wait_for_a_lock(state.database)
        with pytest.raises(Unauthenticated, match="changed during the login"):
            login.result(PATIENCE)
    with state.database.reading() as connection:
        assert sessions.list_open(connection, number, here.clock(), 10, 0) == ([], 0)


ENDS: dict[str, Callable[[Services, int], object]] = {
    "another identity": lambda services, number: services.identities.set(OPERATOR, number, "kim-1"),
    "no identity": lambda services, number: services.identities.remove(OPERATOR, number),
    "deactivated": lambda services, number: services.accounts.change(OPERATOR, number, {"active": False}),
    "deleted": lambda services, number: services.accounts.remove(OPERATOR, number),
}


@pytest.mark.parametrize("roles_claim", ["", "groups"])
@pytest.mark.parametrize("end", ENDS)
def test_a_login_with_the_provider_waits_for_the_end_of_its_account_and_fails(
    tmp_path: Path, url: str, end: str, roles_claim: str
) -> None:
    """As with a password, also where the login changes the roles, which takes one more lock."""
    with (
        hostile_provider() as provider,
        signing_in(tmp_path, provider, url, openid_roles_claim=roles_claim, openid_provisioning=False) as here,
        ThreadPoolExecutor(2) as threads,
    ):
        services, number = here.world.services, here.world.user("ada").id
        services.identities.set(OPERATOR, number, "ada-1")
        provider.claims["groups"] = ["readers"]
        with services.state.database.writing() as connection:
            connection.execute(text("SELECT * FROM audit_head FOR UPDATE"))  # the last lock before a commit
            ending = threads.submit(ENDS[end], services, number)
            wait_for_a_lock(services.state.database)
            login = threads.submit(here.login)
            wait_for_a_lock(services.state.database, 2)
        ending.result(PATIENCE)
        with pytest.raises(ApiError) as refused:
            login.result(PATIENCE)
        assert refused.value.status in {401, 403}
        with services.state.database.reading() as connection:
            assert sessions.list_open(connection, number, here.world.clock(), 10, 0) == ([], 0)


def wait_for_a_lock(database: Database, least: int = 1) -> None:
    """Return when so many transactions wait for another one."""
    end, waiting = monotonic() + PATIENCE, 0
    while waiting < least:
        assert monotonic() < end, "no transaction waits"
        with database.reading() as connection:
            waiting = connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one()


def test_of_many_who_refresh_at_once_all_get_the_one_successor(here: World) -> None:
    token = here.login("root").refresh_token
    with ThreadPoolExecutor(8) as pool:
        found = {each.refresh_token for each in pool.map(here.services.logins.refresh, [token] * 16)}
    assert len(found) == 1


def test_logins_that_fail_are_counted_and_no_name_is_an_error(here: World) -> None:
    for name in ("\0", "a\0b", "nobody", "%", "\u2028"):
        assert status(here, name, "x", None) == 403
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: status(here, "root", "wrong", HERE), range(16)))
    assert (found.count(401), found.count(429)) == (10, 6)


def test_creators_of_tokens_are_found_for_any_numbers_in_commits(here: World) -> None:
    root = here.services.accounts.principal("root")
    number = here.services.tokens.create(root, "ci", everywhere("redirect:read")).token.id
    with here.services.state.database.reading() as connection:
        assert audit.find_token_owners(connection, [number, 10**17]) == {number: {root.id}}


def test_the_last_steps_of_reviews_are_found_for_many_drafts(here: World) -> None:
    keys = [DraftKey("acme", "shop", f"d{number}") for number in range(700)]
    with here.services.state.database.writing() as connection:
        for action in (Action.REQUEST, Action.APPROVE, Action.COMMENT):
            add_remark(connection, Remark(START, keys[699], "a" * 40, action, Person("user", 1, "kim", "Kim", "kim@a")))
    with here.services.state.database.reading() as connection:
        last = find_last_steps(connection, keys)
    assert [(key, remark.action) for key, remark in last.items()] == [(keys[699], Action.APPROVE)]


def test_events_are_in_order_and_each_delivery_is_claimed_by_one(here: World) -> None:
    database = here.services.state.database
    with database.writing() as connection:
        owner = OPERATOR.actor()
        fields: Any = {"events": (), "projects": (), "description": "", "active": True, "secret": mint_secret()}
        hook = Webhook("acme", "http://h.example/", **fields, created_at=START, created_by="x", owner=owner)
        number = webhooks.add_webhook(connection, hook)
        assert webhooks.find_webhook(connection, "acme", number).owner == OPERATOR.actor()

    def tell(at: int) -> int:
        with database.writing() as connection:
            return events.record_event(
                connection, Event(START, "acme", "shop", EventType.PUBLISHED, {"at": at}, str(at))
            )

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(tell, range(12)))
    with database.reading() as connection:
        assert [each.id for each in events.list_events(connection, 0, 100)] == sorted(numbers)
    box = Outbox(database, database, ManualClock(), (1,), timedelta(seconds=10))
    with ThreadPoolExecutor(4) as pool:
        claimed = [each.delivery.id for found in pool.map(lambda _: box.take(3, []), range(8)) for each in found]
    while found := box.take(3, []):
        claimed += [each.delivery.id for each in found]
    assert sorted(claimed) == sorted(set(claimed))
    with database.reading() as connection:
        assert len(claimed) == deliveries.list_deliveries(connection, number, None, 100, 0)[1] == 12


def test_a_transaction_that_waits_for_a_lock_gives_up_after_the_patience(here: World, url: str) -> None:
    hasty = Database(url, lock_timeout=0.2)
    with here.services.state.database.writing() as connection:
        connection.execute(text("UPDATE generation SET number = number + 1"))
        begun = monotonic()
        with pytest.raises(StateBusy), hasty.writing() as other:
            other.execute(text("UPDATE generation SET number = number + 1"))
    assert monotonic() - begun < 30, "the transaction did not give up after its patience"
    hasty.close()


def test_the_actor_of_an_entry_is_found_there_by_account_and_operator(here: World) -> None:
    number = here.services.accounts.principal("root").id
    of_commit = Actor("commit", None, f"R <user-{number}@waypost.invalid>")
    entries = [
        AuditEntry(START, AuditEvent.PUBLISHED, of_commit, "old"),
        AuditEntry(START, AuditEvent.PUBLISHED, Actor("commit", None, "R <r>"), "new", {"account": "root"}),
        AuditEntry(START, AuditEvent.PUBLISHED, Actor("user", number, "root"), "as", {"operator": "Grace"}),
    ]
    with here.services.state.database.writing() as connection:
        for entry in entries:
            record(connection, entry)
    for name, expected in (("root", ["as", "new", "old"]), ("operator", ["as"]), ("Grace", ["as"]), ("r", [])):
        with here.services.state.database.reading() as connection:
            found, _ = list_entries(connection, 9, 0, AuditFilter(AuditEvent.PUBLISHED, name))
        assert [each.subject for each in found] == expected
