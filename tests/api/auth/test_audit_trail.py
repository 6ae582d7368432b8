"""The audit trail of identity: each change with its actor, subject, details and address."""

from pathlib import Path

import pytest

from api.auth.accounts import NewUser
from api.auth.browser import Client
from api.auth.grants import everywhere
from api.auth.principal import OPERATOR, Principal
from api.db import audit
from api.db.accounts import users
from api.db.audit import AuditEntry, AuditEvent
from tests.api.world import PASSWORD, START, World, world

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
