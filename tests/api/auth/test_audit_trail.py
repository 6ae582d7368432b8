"""The audit trail of identity: each change with its actor, subject, details and address."""

import asyncio
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from api.app.app import create_app
from api.app.identity_routes import identity_routes
from api.auth.accounts import NewUser
from api.auth.logins.browser import Client
from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR, Principal
from api.db import audit
from api.db.accounts import users
from api.db.audit import Actor, AuditEntry, AuditEvent, AuditFilter
from api.db.audit_chain import Link
from api.db.audit_repeats import Repeat
from api.db.tables import api_tokens, audit_head
from api.http.audit_notes import AuditMiddleware
from api.http.request import caller_access
from api.interfaces import Dependencies
from api.resources.accounts.audit import AuditLog
from tests.api.asgi import call, part
from tests.api.world import PASSWORD, START, World, dump, services_settings, world

ADDRESS = "192.0.2.7"
_READING = everywhere("redirect:read", "page:read")


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


@pytest.fixture
def ada(here: World) -> Principal:
    """Return an administrator who is logged in."""
    here.services.accounts.create(OPERATOR, NewUser("ada", PASSWORD, ["admin"]))
    here.services.logins.login("ada", PASSWORD, Client(ADDRESS))
    return here.services.accounts.principal("ada")


def newest(here: World, event: AuditEvent) -> AuditEntry:
    """Return the newest entry, which must be of this event."""
    with here.services.state.database.reading() as connection:
        entries, _ = audit.list_entries(connection, 1, 0)
    assert (entries[0].event, entries[0].at) == (event, START)
    return entries[0]


def test_login_and_logout_have_the_address_of_the_client(here: World, ada: Principal) -> None:
    entry = newest(here, AuditEvent.LOGIN)
    assert (entry.actor.kind, entry.actor.id, entry.subject, entry.address) == ("user", ada.id, "ada", ADDRESS)
    assert entry.session is not None
    here.services.logins.logout(ada.in_session(entry.session), ADDRESS)
    entry = newest(here, AuditEvent.LOGOUT)
    assert (entry.actor.kind, entry.actor.id, entry.subject, entry.address) == ("user", ada.id, "ada", ADDRESS)


def test_a_name_of_thousands_of_tokens_is_an_actor_too(here: World, ada: Principal) -> None:
    here.services.tokens.create(ada, "ci", _READING)
    with here.services.state.database.writing() as connection:
        row = dict(connection.execute(select(api_tokens)).mappings().one())
        connection.execute(insert(api_tokens), [{**row, "id": n, "hash": str(n)} for n in range(2, 3_000)])
        author = Actor("commit", None, "CI <token-2999@waypost.invalid>")
        audit.record(connection, AuditEntry(START, AuditEvent.PUBLISHED, author, "acme"))
    with here.services.state.database.reading() as connection:
        found, _ = audit.list_entries(connection, 9, 0, AuditFilter(None, "ci"))
    assert [entry.actor for entry in found] == [author]


def test_a_trail_without_its_head_is_an_error_of_the_database(here: World, ada: Principal) -> None:
    access = here.access(ada.name)
    with here.services.state.database.writing() as connection:
        connection.execute(delete(audit_head))
    answer = here.call("GET", "/api/audit/export", access)
    assert (answer.status, answer.error) == (503, "state_broken")
    answer = here.call("POST", "/api/users", access, {"username": "kim", "password": PASSWORD, "roles": []})
    assert (answer.status, answer.error) == (503, "state_broken")


class Noted:
    """The notes for the trail, in a list."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def count(self, repeat: Repeat) -> None:
        """Note an event that is counted."""
        self.events.append(repeat.event)

    async def store(self, entry: AuditEntry) -> None:
        """Note an entry."""
        self.events.append(entry.event)

    def now(self) -> datetime:
        """Return the time for entries."""
        return START


def test_a_refused_logout_of_a_browser_is_no_failed_login(here: World, tmp_path: Path, ada: Principal) -> None:
    services, noted = here.services, Noted()
    dependencies = Dependencies(services_settings(tmp_path), services.directory, csrf=services.csrf())
    app = create_app(dependencies, identity_routes(services, here.projects, here.projects), audit=noted)
    cookie = {"Cookie": f"__Host-waypost-access={here.access(ada.name)}", "Host": "waypost.example"}
    assert call(app, "DELETE", "/auth/session", cookie).error == "csrf_failed"
    wrong = [part(dump({"username": "ada", "password": "wrong"}))]
    assert call(app, "POST", "/auth/session", {"Content-Type": "application/json"}, wrong).status == 401
    assert noted.events == [AuditEvent.REFUSED, AuditEvent.LOGIN_FAILED]


@pytest.mark.parametrize(
    ("path", "tries", "last"),
    [
        ("/auth/login", 11, AuditEvent.LOGINS_LIMITED),  # the setting login_attempts is 10
        ("/api/users", 1, AuditEvent.INPUT_REFUSED),
    ],
)
def test_refusals_have_the_names_of_the_logging_vocabulary(
    here: World, tmp_path: Path, ada: Principal, path: str, tries: int, last: AuditEvent
) -> None:
    services, noted = here.services, Noted()
    dependencies = Dependencies(services_settings(tmp_path), services.directory, csrf=services.csrf())
    app = create_app(dependencies, identity_routes(services, here.projects, here.projects), audit=noted)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {here.access(ada.name)}"}
    sent = headers if path.startswith("/api") else {"Content-Type": "application/json"}
    for _ in range(tries):
        call(app, "POST", path, sent, [part(dump({"username": "kim", "password": "wrong"}))])
    assert noted.events[-1] == last
    assert len(noted.events) == tries


def test_what_goes_beyond_a_rate_limit_has_a_name_of_its_own() -> None:
    noted, context = Noted(), SimpleNamespace(error="too_many_requests")
    req: Any = SimpleNamespace(method="PUT", uri_template="/api/roles", remote_addr=ADDRESS, context=context)
    resp: Any = SimpleNamespace(status_code=429)
    asyncio.run(AuditMiddleware(noted).process_response(req, resp, None, _succeeded=False))
    assert noted.events == [AuditEvent.RATE_LIMITED]


def test_login_keeps_the_hash_of_the_password(here: World, ada: Principal) -> None:
    """Guard: a new hash at each login would cost each of them a second time."""
    before = here.services.accounts.find(ada.id)
    here.services.logins.login("ada", PASSWORD, Client(ADDRESS))
    after = here.services.accounts.find(ada.id)
    assert (after.password_hash, after.last_login_at) == (before.password_hash, START)


def test_token_is_recorded_with_its_id_and_grants(here: World, ada: Principal) -> None:
    """Guard: reviews ask the trail who has seen the value of a token. That person is no independent reviewer of it."""
    created = here.services.tokens.create(ada, "ci", _READING).token
    entry = newest(here, AuditEvent.TOKEN_CREATED)
    grants = [grant.text() for grant in _READING]
    assert (entry.actor.id, entry.subject, entry.detail) == (ada.id, "ci", {"id": created.id, "grants": grants})
    other = here.services.tokens.create(OPERATOR, "other", _READING).token
    here.services.tokens.rotate(ada, other.id)
    entry = newest(here, AuditEvent.TOKEN_ROTATED)
    assert (entry.subject, entry.detail) == ("other", {"id": other.id})
    with here.services.state.database.reading() as connection:
        owners = audit.find_token_owners(connection, [created.id, other.id])
    assert owners == {created.id: {ada.id}, other.id: {ada.id}}
    here.services.tokens.remove(ada, created.id)
    entry = newest(here, AuditEvent.TOKEN_REVOKED)
    assert (entry.actor.id, entry.subject) == (ada.id, "ci")
    assert entry.detail["id"] == created.id


def test_account_is_recorded_with_its_changed_fields_and_no_password(here: World, ada: Principal) -> None:
    kim = here.services.accounts.create(ada, NewUser("kim", PASSWORD, ["viewer"]))
    assert newest(here, AuditEvent.USER_CREATED).detail == {"roles": ["viewer"]}
    here.services.accounts.change(ada, kim.id, {"lastname": "Kim"})
    assert newest(here, AuditEvent.USER_UPDATED).detail == {"fields": ["lastname"]}
    here.services.accounts.change(ada, kim.id, {"roles": ["editor"]})
    assert newest(here, AuditEvent.PRIVILEGES_CHANGED).detail == {"fields": ["roles"], "roles": ["editor"]}
    here.services.accounts.change(ada, kim.id, {"password": f"{PASSWORD} 2"})
    assert newest(here, AuditEvent.PASSWORD_CHANGED).detail == {"fields": ["password"]}
    here.services.accounts.remove(ada, kim.id)
    entry = newest(here, AuditEvent.USER_DELETED)
    assert (entry.actor.id, entry.subject) == (ada.id, "kim")
    with here.services.state.database.reading() as connection:
        assert users.find_named(connection, "kim") is None


def test_user_name_that_is_not_unicode_is_counted_like_any_other(here: World) -> None:
    """Guard: the key of an attempt is made of whatever a client sends as its name."""
    assert here.services.logins.throttle.take("\ud800", ADDRESS)


def test_an_export_ends_without_its_last_line_once_the_access_has_ended(
    here: World, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise who lost the grant would read on, and a part would pass for the whole."""
    with here.services.state.database.writing() as connection:
        for number in range(1_100):
            entry = AuditEntry(START, AuditEvent.PUBLISHED, Actor("commit", None, "Kim"), str(number))
            audit.record(connection, entry)
    access, read = here.access(ada.name), AuditLog.lines
    [*_, last] = here.call("GET", "/api/audit/export", access).body.splitlines()
    assert b'"head"' in last

    def read_and_lose_access(log: AuditLog, after: int, head: Link) -> tuple[list[bytes], int]:
        with here.services.state.changing() as connection:
            users.set_roles(connection, ada.id or 0, [])
        return read(log, after, head)

    monkeypatch.setattr(AuditLog, "lines", read_and_lose_access)
    monkeypatch.setattr(caller_access, "SHORT", -1.0)  # as if the read had taken a second
    assert here.call("GET", "/api/audit/export", access).body == b""
