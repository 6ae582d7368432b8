"""Accounts and API tokens: no one grants more than they hold, and one account with all permissions always remains."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.auth.accounts import NewUser
from api.auth.permissions.grants import BUILT_IN_ROLES, Grant, covers, everywhere, grant_problems
from api.auth.permissions.principal import OPERATOR, Principal, PrincipalKind
from api.db import audit
from api.db.accounts import roles, users
from api.db.audit import AuditEvent
from api.errors import ApiError
from gitstore.errors import AlreadyExists, NotFound
from tests.api.auth.permissions.test_grants import grants
from tests.api.world import PASSWORD, START, World, world
from tests.rounds import rounds


@pytest.fixture
def here(tmp_path: Path) -> World:
    return world(tmp_path)


def person(here: World, held: Sequence[Grant]) -> Principal:
    """Return a new user with grants that a role could not be made with, too."""
    number = here.user("giver").id
    with here.services.state.changing() as connection:
        roles.put_role(connection, roles.RoleRow("held", "", tuple(held), START))
        users.set_roles(connection, number, ["held"])
    return here.services.accounts.principal("giver")


def machine(*held: Grant) -> Principal:
    return Principal(PrincipalKind.TOKEN, 99, "machine", "machine", held)


def code(work: Callable[[], object]) -> tuple[int, str]:
    """Return status and code of the refusal; (0, "") without a refusal."""
    try:
        work()
    except ApiError as ex:
        return ex.status, ex.code
    return 0, ""


def trail(here: World) -> list[tuple[str, str, str]]:
    with here.services.state.database.reading() as connection:
        entries, _ = audit.list_entries(connection, 100, 0)
    return [(entry.event, entry.actor.name, entry.subject) for entry in entries]


def test_an_account_has_the_fields_of_its_request(here: World) -> None:
    user = here.services.accounts.create(OPERATOR, NewUser("Ada.L", PASSWORD, ["viewer", "editor", "viewer"], "Ada"))
    assert (user.username, user.firstname, user.lastname, user.roles) == ("Ada.L", "Ada", "", ("editor", "viewer"))
    assert (user.active, user.created_at, user.last_login_at) == (True, START, None)
    assert here.services.accounts.find(user.id) == user
    assert PASSWORD not in repr(user)
    assert user.password_hash not in repr(user)


@pytest.mark.parametrize("name", ["ada", "ADA", "Ada"])
def test_a_name_is_taken_in_any_case_of_its_letters(here: World, name: str) -> None:
    here.user("ada")
    with pytest.raises(AlreadyExists, match=name):
        here.user(name)
    assert here.services.accounts.window(10, 0)[1] == 1


@pytest.mark.parametrize(
    ("new", "pointer"),
    [
        (NewUser("", PASSWORD), "/username"),
        (NewUser("a b", PASSWORD), "/username"),
        (NewUser("a\n", PASSWORD), "/username"),
        (NewUser("x" * 101, PASSWORD), "/username"),
        (NewUser("ada", "short"), "/password"),
        (NewUser("ada", "é" * 1000), "/password"),
        (NewUser("ada", PASSWORD, ["wizard"]), "/roles/0"),
        (NewUser("ada", PASSWORD, ["viewer", "wizard"]), "/roles/1"),
        (NewUser("ada", PASSWORD, (), "A\x00da"), "/firstname"),
    ],
)
def test_an_invalid_account_is_refused_with_the_pointer(here: World, new: NewUser, pointer: str) -> None:
    with pytest.raises(ApiError) as caught:
        here.services.accounts.create(OPERATOR, new)
    assert caught.value.status == 422
    assert [problem.pointer for problem in caught.value.problems] == [pointer]
    assert here.services.accounts.window(10, 0) == ([], 0)


def test_a_password_hash_with_older_parameters_is_renewed_at_the_next_login(here: World) -> None:
    here.user("ada")
    older = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
    with here.services.state.changing() as connection:
        users.change_user(connection, 1, {"password_hash": older})
    here.login("ada")
    assert here.services.accounts.find(1).password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    here.login("ada")


def test_a_new_password_ends_every_session(here: World) -> None:
    here.user("ada")
    signed_in = here.login("ada")
    here.services.accounts.change(OPERATOR, 1, {"password": "another good one"})
    assert code(lambda: here.services.logins.refresh(signed_in.refresh_token))[0] == 401
    assert code(lambda: here.login("ada")) == (401, "invalid_credentials")
    assert here.services.logins.login("ada", "another good one").user.id == 1


def test_a_user_needs_the_old_password_to_change_their_own(here: World) -> None:
    here.user("ada")
    access = here.access("ada")
    here.services.directory.reload()
    me = here.services.directory.authenticate(access)
    change = here.services.accounts.change_own
    wrong = {"newPassword": "another good one", "currentPassword": "wrong"}
    assert code(lambda: change(me, wrong)) == (403, "wrong_password")
    assert code(lambda: change(me, {"newPassword": "another good one"})) == (403, "wrong_password")
    assert code(lambda: change(me, {"newPassword": "short", "currentPassword": PASSWORD})) == (422, "invalid_body")
    assert change(me, {"firstname": "Augusta"}).firstname == "Augusta"
    assert not code(lambda: here.services.directory.authenticate(access))[0]
    change(me, {"newPassword": "another good one", "currentPassword": PASSWORD})
    here.services.directory.reload()
    assert code(lambda: here.services.directory.authenticate(access))[0] == 401
    assert trail(here)[0] == (AuditEvent.PASSWORD_CHANGED, "ada", "ada")


def test_the_last_account_that_may_do_everything_stays(here: World) -> None:
    first = here.user("first", "admin")
    accounts = here.services.accounts
    for work in (
        lambda: accounts.remove(OPERATOR, first.id),
        lambda: accounts.change(OPERATOR, first.id, {"active": False}),
        lambda: accounts.change(OPERATOR, first.id, {"roles": ["publisher"]}),
    ):
        assert code(work) == (409, "last_admin")
        assert accounts.find(first.id) == first
    second = here.user("second", "admin")
    accounts.remove(OPERATOR, first.id)
    assert code(lambda: accounts.remove(OPERATOR, second.id)) == (409, "last_admin")


def test_accounts_other_than_the_last_one_are_removed(here: World) -> None:
    here.user("admin", "admin")
    viewer = here.user("viewer", "viewer")
    here.services.accounts.remove(OPERATOR, viewer.id)
    with pytest.raises(NotFound):
        here.services.accounts.find(viewer.id)
    with pytest.raises(NotFound):
        here.services.accounts.remove(OPERATOR, viewer.id)
    with pytest.raises(NotFound):
        here.services.accounts.change(OPERATOR, viewer.id, {"active": False})


def test_no_one_changes_an_account_with_more_permissions(here: World) -> None:
    """Otherwise a user with the permission to edit users could set an admin's password, and sign in as the admin."""
    admin, viewer = here.user("admin", "admin"), here.user("viewer", "viewer")
    here.user("second", "admin")
    grants = (*everywhere("user:write", "user:read"), *BUILT_IN_ROLES["viewer"][1])
    here.services.roles.create(OPERATOR, "hr", "", grants)
    here.user("editor", "hr")
    accounts = here.services.accounts
    editor = accounts.principal("editor")
    for work in (
        lambda: accounts.change(editor, admin.id, {"password": "mine from now on"}),
        lambda: accounts.change(editor, admin.id, {"roles": []}),
        lambda: accounts.change(editor, admin.id, {"firstname": "Not"}),
        lambda: accounts.remove(editor, admin.id),
        lambda: accounts.change(editor, viewer.id, {"roles": ["publisher"]}),
        lambda: accounts.create(editor, NewUser("mine", PASSWORD, ["admin"])),
    ):
        assert code(work) == (403, "grant_not_held")
    assert accounts.find(admin.id) == admin
    assert accounts.change(editor, viewer.id, {"password": "another good one"}).roles == ("viewer",)


def test_an_api_token_neither_makes_tokens_nor_changes_accounts(here: World) -> None:
    admin = machine(*everywhere("*:*"))
    user = here.user("ada")
    accounts, tokens = here.services.accounts, here.services.tokens
    here.token("redirect:read")
    for work in (
        lambda: accounts.create(admin, NewUser("eve", PASSWORD)),
        lambda: accounts.change(admin, user.id, {"password": "another good one"}),
        lambda: accounts.remove(admin, user.id),
        lambda: accounts.change_own(admin, {"firstname": "x"}),
        lambda: tokens.create(admin, "more", everywhere("redirect:read")),
        lambda: tokens.remove(admin, 1),
    ):
        assert code(work) == (403, "forbidden")


@settings(max_examples=rounds(8, 20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(grants, max_size=4), st.lists(grants, min_size=1, max_size=4))
def test_a_token_holds_only_what_its_giver_holds(held: list[Grant], wanted: list[Grant]) -> None:
    with TemporaryDirectory() as folder:
        here = world(Path(folder))
        held = [*held, *everywhere("token:write")]
        giver = person(here, held)
        answer = code(lambda: here.services.tokens.create(giver, "t", wanted))
        if grant_problems(wanted):
            assert answer == (422, "invalid_body")
        else:
            assert answer == ((0, "") if covers(held, wanted) else (403, "grant_not_held"))
        assert here.services.tokens.window(10, 0)[1] == (answer == (0, ""))
        here.services.close()


def test_a_token_that_has_expired_already_is_not_made(here: World) -> None:
    with pytest.raises(ApiError) as caught:
        here.services.tokens.create(OPERATOR, "late", everywhere("redirect:read"), START)
    assert [problem.pointer for problem in caught.value.problems] == ["/expiresAt"]


def test_every_change_is_in_the_trail_by_its_name_and_without_secrets(here: World) -> None:
    user = here.user("ada", "admin")
    here.services.accounts.change(OPERATOR, user.id, {"password": "another good one", "firstname": "Augusta"})
    here.services.accounts.change(OPERATOR, user.id, {"roles": ["admin", "viewer"]})
    value = here.token("redirect:read")
    here.services.tokens.remove(OPERATOR, 1)
    here.user("eve")
    here.login("eve")
    here.services.accounts.remove(OPERATOR, 2)
    found = trail(here)
    assert [(event, subject) for event, _, subject in reversed(found) if event != AuditEvent.USER_UPDATED] == [
        (AuditEvent.USER_CREATED, "ada"),
        (AuditEvent.PASSWORD_CHANGED, "ada"),
        (AuditEvent.PRIVILEGES_CHANGED, "ada"),
        (AuditEvent.TOKEN_CREATED, "ci"),
        (AuditEvent.TOKEN_REVOKED, "ci"),
        (AuditEvent.USER_CREATED, "eve"),
        (AuditEvent.LOGIN, "eve"),
        (AuditEvent.USER_DELETED, "eve"),
    ]
    with here.services.state.database.reading() as connection:
        whole = repr(audit.list_entries(connection, 100, 0))
    assert value not in whole
    assert "good one" not in whole
