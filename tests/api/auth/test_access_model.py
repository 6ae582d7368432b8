"""The access of each credential after any course of changes, compared with a small model of accounts, roles and tokens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from api.auth.accounts import NewUser
from api.auth.permissions.custom_roles import CustomRoles
from api.auth.permissions.grants import BUILT_IN_ROLES, Grant, everywhere
from api.auth.permissions.principal import OPERATOR, Principal, PrincipalKind
from api.auth.tokens.new_token import NewToken
from api.errors import ApiError, ExpiredToken, Unauthenticated, UnknownSession
from gitstore.errors import AlreadyExists, NotFound
from tests.api.world import PASSWORD, World, world
from tests.hashing import hashing_remembered
from tests.rounds import rounds

ROLES = ("admin", "publisher", "viewer", "agent", "one", "two")
OWN_ROLES = ROLES[4:]
POOL = (
    *everywhere("*:*", "redirect:read", "redirect:*", "user:write", "role:write", "token:write", "*:read"),
    Grant("acme", "*", "redirect", "write"),
    Grant("acme", "shop", "*", "*"),
    Grant("acme", "shop", "project", "publish"),
    Grant("other", "*", "page", "read"),
)
PROBES = tuple(
    Grant(namespace, project, *permission.split(":"))
    for namespace, project in (("acme", "shop"), ("acme", "blog"), ("acme", "*"), ("other", "shop"), ("*", "*"))
    for permission in (
        "redirect:read",
        "redirect:write",
        "page:read",
        "agent:write",
        "project:publish",
        "project:override",
    )
) + everywhere("user:write", "role:write", "token:write", "audit:read")
ACCESS = timedelta(minutes=15)

numbers = st.integers(0, 60)
own_roles = st.sampled_from(OWN_ROLES)
many_roles = st.lists(st.sampled_from(ROLES), max_size=2, unique=True)
some_grants = st.lists(st.sampled_from(POOL), min_size=1, max_size=2, unique=True)
days = st.sampled_from([None, 1, 5])
overlaps = st.sampled_from([timedelta(0), timedelta(hours=1), timedelta(days=6)])


def holds(held: Iterable[Grant], wanted: Grant) -> bool:
    """Tell whether one of the held grants is at least as wide as the wanted one, field by field."""
    return any(all(mine in ("*", its) for mine, its in zip(one, wanted, strict=True)) for one in held)


def holds_all(held: Sequence[Grant], wanted: Iterable[Grant]) -> bool:
    """Tell the same for several."""
    return all(holds(held, each) for each in wanted)


def allowed(held: Iterable[Grant]) -> frozenset[Grant]:
    """Return what the model says that these grants allow."""
    holding = tuple(held)
    return frozenset(probe for probe in PROBES if holds(holding, probe))


@cache
def permitted(kind: PrincipalKind, grants: tuple[Grant, ...]) -> frozenset[Grant]:
    """Return what a principal with these grants can do, as the service says."""
    caller = Principal(kind, 1, "", "", grants)
    return frozenset(
        probe for probe in PROBES if caller.can(probe.resource, probe.action, probe.namespace, probe.project)
    )


@dataclass
class Account:
    """A user of the model."""

    roles: set[str]
    is_active: bool = True


@dataclass
class Token:
    """An API token of the model; `values` has the end of each of its values."""

    number: int
    grants: tuple[Grant, ...]
    role: str | None
    expires_at: datetime | None
    owner: int | None
    value: str
    previous: tuple[str, datetime] | None = None


@dataclass
class Login:
    """A session of the model, with the caller as it was at the login."""

    user: int
    access: str
    until: datetime
    caller: Principal


@dataclass
class Model:
    """The present state; a credential that is not in it any more may do nothing."""

    roles: dict[str, tuple[Grant, ...]] = field(default_factory=dict)
    accounts: dict[int, Account] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    logins: list[Login] = field(default_factory=list)

    def grants_of_role(self, name: str | None) -> tuple[Grant, ...]:
        """Return the grants of a role, built in or not; none without it."""
        return BUILT_IN_ROLES[name][1] if name and name in BUILT_IN_ROLES else self.roles.get(name or "", ())

    def has_role(self, name: str) -> bool:
        """Tell whether there is a role."""
        return name in BUILT_IN_ROLES or name in self.roles

    def held(self, user: int) -> list[Grant]:
        """Return the grants of a user: those of all their roles; none without an active account."""
        account = self.accounts.get(user)
        roles = account.roles if account and account.is_active else ()
        return [grant for role in roles for grant in self.grants_of_role(role)]

    def given(self, token: Token) -> list[Grant]:
        """Return the grants of a token and of its role."""
        return [*token.grants, *self.grants_of_role(token.role)]

    def of_token(self, token: Token) -> frozenset[Grant]:
        """Return what a token may do: a personal one no more than its owner."""
        own = allowed(self.given(token))
        return own if token.owner is None else own & allowed(self.held(token.owner))

    def has_admin(self) -> bool:
        """Tell whether an active account may do everything."""
        return any(holds_all(self.held(number), everywhere("*:*")) for number in self.accounts)

    def end_sessions(self, user: int) -> None:
        """End the sessions of a user."""
        self.logins = [each for each in self.logins if each.user != user]

    def end_personal(self, user: int) -> None:
        """Remove the personal tokens of a user."""
        self.tokens = [each for each in self.tokens if each.owner != user]

    def values(self, now: datetime) -> Iterator[tuple[str, frozenset[Grant]]]:
        """Yield the credentials that are valid, with what they may do."""
        for login in self.logins:
            if now < login.until:
                yield login.access, allowed(self.held(login.user))
        for token in self.tokens:
            if token.expires_at is None or now < token.expires_at:
                yield token.value, self.of_token(token)
                if token.previous and now < token.previous[1]:
                    yield token.previous[0], self.of_token(token)


class Access(RuleBasedStateMachine):
    """Changes by anyone: a change is done if the model allows it, and then all credentials may do what the model says."""

    @initialize()
    def begin(self) -> None:
        """Create an administrator, two users with own roles, and a token of each kind, in an empty folder."""
        self.folder = TemporaryDirectory()
        self.here: World = world(Path(self.folder.name))
        self.model = Model()
        self.issued: list[str] = []
        self.create_user(0, ["admin"])
        self.log_in(0)
        self.create_role(0, "one", list(everywhere("redirect:*", "token:write")))
        self.create_role(0, "two", list(everywhere("role:write", "user:write")))
        self.create_user(0, ["one", "viewer"])
        self.create_user(0, ["two"])
        self.log_in(1)
        self.create_token(0, list(everywhere("page:read")), "one", None)
        self.create_personal(0, 1, list(everywhere("redirect:read")), "one", 5)
        self.create_token(0, list(everywhere("*:*")), None, None)

    def teardown(self) -> None:
        """Close the database."""
        if hasattr(self, "here"):
            self.here.services.close()
            self.folder.cleanup()

    @property
    def now(self) -> datetime:
        """The time."""
        return self.here.clock()

    # Choices and outcomes.

    def caller(self, number: int) -> tuple[Principal, list[Grant], Login | None]:
        """Return the operator, or one who logged in, as they were then; and the grants that they have now."""
        login = self.pick(number // 2, self.model.logins) if number % 2 else None
        if login is None:
            return OPERATOR, list(everywhere("*:*")), None
        return login.caller, self.model.held(login.user) if self.now < login.until else [], login

    def attempt(self, expected: bool, caller: Principal, change: Callable[[], Any]) -> Any:  # noqa: FBT001 - as short as a rule
        """Return the result of a change, None for a refusal; fails if the model says otherwise.

        A caller who has more grants than at their admission may be refused for those.
        """
        is_stale = caller is not OPERATOR and caller.grants != self.again(caller)
        before = self.snapshot()
        try:
            found = change() or True
        except (ApiError, AlreadyExists, NotFound, Unauthenticated):
            assert not expected or is_stale
            assert self.snapshot() == before, "a refusal changed something"
            return None
        assert expected, "the service did what the model refuses"
        return found

    def again(self, caller: Principal) -> tuple[Grant, ...]:
        """Return the grants that the account of a caller has now."""
        return tuple(dict.fromkeys(self.model.held(caller.id)))

    def snapshot(self) -> object:
        """Return all accounts, roles and tokens."""
        services = self.here.services
        found = services.tokens.window(1_000, 0)[0]
        return services.accounts.window(1_000, 0), services.accounts.roles(), [(each.id, each.hash) for each in found]

    def pick(self, number: int, found: Iterable[Any]) -> Any:
        """Return one of several; None of none."""
        choices = list(found)
        return choices[number % len(choices)] if choices else None

    def keeps_admin(self, change: Callable[[Model], None]) -> bool:
        """Tell whether a change leaves an administrator, if there is one."""
        after = Model(
            dict(self.model.roles),
            {number: Account(set(each.roles), each.is_active) for number, each in self.model.accounts.items()},
        )
        change(after)
        return after.has_admin() or not self.model.has_admin()

    # Accounts.

    @rule(by=numbers, roles=many_roles)
    def create_user(self, by: int, roles: list[str]) -> None:
        """Create an account with roles, which its creator must hold."""
        caller, held, _ = self.caller(by) if self.model.accounts else (OPERATOR, list(everywhere("*:*")), None)
        given = [grant for role in roles for grant in self.model.grants_of_role(role)]
        known = all(map(self.model.has_role, roles))
        expected = known and holds_all(held, [*everywhere("user:write"), *given])
        new = NewUser(f"user-{len(self.issued)}-{len(self.model.accounts)}-{by}", PASSWORD, roles)

        def create() -> Any:
            with hashing_remembered():
                return self.here.services.accounts.create(caller, new)

        taken = {user.username for user in self.here.services.accounts.window(1_000, 0)[0]}
        found = self.attempt(expected and new.username not in taken, caller, create)
        if found:
            self.model.accounts[found.id] = Account(set(roles))

    @rule(by=numbers, which=numbers, roles=many_roles)
    def set_roles(self, by: int, which: int, roles: list[str]) -> None:
        """Replace the roles of an account."""
        (caller, held, _), number = self.caller(by), self.pick(which, self.model.accounts)
        given = [
            grant for role in {*roles, *self.model.accounts[number].roles} for grant in self.model.grants_of_role(role)
        ]

        def change(model: Model) -> None:
            model.accounts[number].roles = set(roles)

        expected = all(map(self.model.has_role, roles)) and holds_all(held, [*everywhere("user:write"), *given])
        fields = {"roles": roles}
        if self.attempt(
            expected and self.keeps_admin(change),
            caller,
            lambda: self.here.services.accounts.change(caller, number, fields),
        ):
            change(self.model)

    @rule(by=numbers, which=numbers, active=st.booleans())
    def activate(self, by: int, which: int, active: bool) -> None:  # noqa: FBT001 - a rule has no keyword-only parameters
        """Deactivate an account, which ends its sessions and personal tokens, or activate it."""
        (caller, held, _), number = self.caller(by), self.pick(which, self.model.accounts)
        given = [grant for role in self.model.accounts[number].roles for grant in self.model.grants_of_role(role)]

        def change(model: Model) -> None:
            model.accounts[number].is_active = active

        expected = holds_all(held, [*everywhere("user:write"), *given]) and self.keeps_admin(change)
        fields = {"active": active}
        if self.attempt(expected, caller, lambda: self.here.services.accounts.change(caller, number, fields)):
            change(self.model)
            if not active:
                self.end_account(number)

    @rule(which=numbers)
    def end_and_return(self, which: int) -> None:
        """Deactivate an account and activate it: what it had stays ended."""
        self.activate(0, which, False)  # noqa: FBT003 - as above
        self.activate(0, which, True)  # noqa: FBT003 - as above

    @rule(by=numbers, which=numbers)
    def remove_user(self, by: int, which: int) -> None:
        """Remove an account."""
        (caller, held, _), number = self.caller(by), self.pick(which, self.model.accounts)
        given = [grant for role in self.model.accounts[number].roles for grant in self.model.grants_of_role(role)]

        def change(model: Model) -> None:
            del model.accounts[number]

        expected = holds_all(held, [*everywhere("user:write"), *given]) and self.keeps_admin(change)
        if self.attempt(expected, caller, lambda: self.here.services.accounts.remove(caller, number)):
            change(self.model)
            self.end_account(number)

    def end_account(self, number: int) -> None:
        """End what an account has."""
        self.model.end_sessions(number)
        self.model.end_personal(number)

    # Roles.

    @rule(by=numbers, name=own_roles, grants=some_grants)
    def create_role(self, by: int, name: str, grants: list[Grant]) -> None:
        """Create a role."""
        caller, held, _ = self.caller(by)
        expected = not self.model.has_role(name) and holds_all(held, [*everywhere("role:write"), *grants])
        if self.attempt(expected, caller, lambda: self.roles.create(caller, name, "", grants)):
            self.model.roles[name] = tuple(grants)

    @rule(by=numbers, name=st.sampled_from(ROLES[3:]), grants=some_grants)
    def replace_role(self, by: int, name: str, grants: list[Grant]) -> None:
        """Replace the grants of a role."""
        caller, held, _ = self.caller(by)

        def change(model: Model) -> None:
            model.roles[name] = tuple(grants)

        needed = [*everywhere("role:write"), *grants, *self.model.roles.get(name, ())]
        expected = name in self.model.roles and holds_all(held, needed) and self.keeps_admin(change)
        if self.attempt(expected, caller, lambda: self.roles.replace(caller, name, "", grants)):
            change(self.model)

    @rule(by=numbers, name=st.sampled_from(ROLES[3:]))
    def remove_role(self, by: int, name: str) -> None:
        """Remove a role, also from accounts and tokens: a new one with its name gives them nothing."""
        caller, held, _ = self.caller(by)

        def change(model: Model) -> None:
            model.roles.pop(name, None)
            for account in model.accounts.values():
                account.roles.discard(name)

        needed = [*everywhere("role:write"), *self.model.roles.get(name, ())]
        expected = name in self.model.roles and holds_all(held, needed) and self.keeps_admin(change)
        if self.attempt(expected, caller, lambda: self.roles.remove(caller, name)):
            change(self.model)
            for token in self.model.tokens:
                token.role = None if token.role == name else token.role

    @rule(name=own_roles, grants=some_grants)
    def name_again(self, name: str, grants: list[Grant]) -> None:
        """Remove a role, and create another one with its name: who had the first one has nothing of it."""
        self.remove_role(0, name)
        self.create_role(0, name, grants)

    @rule(which=numbers)
    def demote_all_but(self, which: int) -> None:
        """Take all roles from each account but one: the last administrator keeps theirs."""
        for number in range(len(self.model.accounts)):
            if number != which % len(self.model.accounts):
                self.set_roles(0, number, [])

    @rule(name=own_roles, roles=many_roles)
    def give_administration(self, name: str, roles: list[str]) -> None:
        """Let a role of its own be all that administrators have, then try to take it from all."""
        self.replace_role(0, name, list(everywhere("*:*")))
        self.create_role(0, name, list(everywhere("*:*")))
        self.set_roles(0, 1, [name])
        for number in range(len(self.model.accounts)):
            if number != 1:
                self.set_roles(0, number, roles if "admin" not in roles else [])
        self.remove_role(0, name)

    @rule(which=numbers, overlap=overlaps)
    def outlive(self, which: int, overlap: timedelta) -> None:
        """Rotate a token with an overlap, and wait for a part of it."""
        self.rotate(0, which, overlap, False)  # noqa: FBT003 - as above
        self.wait(2)

    @rule()
    def reach_beyond(self) -> None:
        """Let each user rotate each token and take all roles from each account that hold more, in a valid session."""
        for who, number in enumerate(self.model.accounts):
            sessions = {each.user: place for place, each in enumerate(self.model.logins) if self.now < each.until}
            if number not in sessions:
                self.log_in(who)
            by = 2 * sessions.get(number, len(self.model.logins) - 1) + 1
            _, held, _ = self.caller(by)
            for which, token in enumerate(self.model.tokens):
                if not holds_all(held, self.model.given(token)):
                    self.rotate(by, which, timedelta(0), False)  # noqa: FBT003 - as above
            for which, account in enumerate(self.model.accounts.values()):
                if not holds_all(held, [grant for role in account.roles for grant in self.model.grants_of_role(role)]):
                    self.set_roles(by, which, [])

    @property
    def roles(self) -> CustomRoles:
        """The operations on roles."""
        return self.here.services.roles

    # Credentials.

    @rule(which=numbers)
    def log_in(self, which: int) -> None:
        """Open a session of an account, if it is active."""
        number = self.pick(which, self.model.accounts)
        name = self.here.services.accounts.find(number).username
        try:
            access = self.here.access(name)
        except ApiError:
            assert not self.model.accounts[number].is_active
            return
        assert self.model.accounts[number].is_active
        self.issued.append(access)
        caller = self.authenticate(access)
        assert caller is not None
        self.model.logins.append(Login(number, access, self.now + ACCESS, caller))

    @rule(which=numbers)
    def log_out(self, which: int) -> None:
        """End a session."""
        login = self.pick(which, self.model.logins)
        if login:
            self.here.services.logins.logout(login.caller)
            self.model.logins.remove(login)

    @rule(by=numbers, grants=some_grants, role=st.sampled_from([None, None, *ROLES[1:]]), lasts=days)
    def create_token(self, by: int, grants: list[Grant], role: str | None, lasts: int | None) -> None:
        """Create a token of a machine."""
        caller, held, _ = self.caller(by)
        expires_at = self.now + timedelta(days=lasts) if lasts else None
        known = role is None or self.model.has_role(role)
        needed = [*everywhere("token:write"), *grants, *self.model.grants_of_role(role)]
        tokens = self.here.services.tokens
        found = self.attempt(
            known and holds_all(held, needed), caller, lambda: tokens.create(caller, "ci", grants, expires_at, role)
        )
        self.add(found, grants, role, expires_at, None)

    @rule(by=numbers, which=numbers, grants=some_grants, role=st.sampled_from([None, None, *ROLES[1:]]), lasts=days)
    def create_personal(self, by: int, which: int, grants: list[Grant], role: str | None, lasts: int | None) -> None:
        """Create a personal token: by its owner or the operator, with a part of the owner's grants, and with an end."""
        (caller, _, login), owner = self.caller(by), self.pick(which, self.model.accounts)
        expires_at = self.now + timedelta(days=lasts) if lasts else None
        is_own = caller is OPERATOR or bool(login and login.user == owner and self.now < login.until)
        known = role is None or self.model.has_role(role)
        part = self.model.accounts[owner].is_active and holds_all(
            self.model.held(owner), [*grants, *self.model.grants_of_role(role)]
        )
        new, tokens = NewToken("laptop", grants, expires_at, role), self.here.services.personal_tokens()
        expected = is_own and known and part and expires_at is not None
        self.add(
            self.attempt(expected, caller, lambda: tokens.create(caller, owner, new)), grants, role, expires_at, owner
        )

    def add(
        self, found: Any, grants: Sequence[Grant], role: str | None, expires_at: datetime | None, owner: int | None
    ) -> None:
        """Add a token that was created."""
        if found:
            self.issued.append(found.value)
            self.model.tokens.append(Token(found.token.id, tuple(grants), role, expires_at, owner, found.value))

    @rule(by=numbers, which=numbers, overlap=overlaps, own=st.booleans())
    def rotate(self, by: int, which: int, overlap: timedelta, own: bool) -> None:  # noqa: FBT001 - as above
        """Replace the value of a token; the last one is valid for the overlap, and no other one."""
        (caller, held, login), token = self.caller(by), self.pick(which, self.model.tokens)
        if token is None:
            return
        is_live = token.expires_at is None or self.now < token.expires_at
        is_owner = token.owner is not None and bool(login and login.user == token.owner and self.now < login.until)
        if own and token.owner is not None:
            personal = self.here.services.personal_tokens()
            change = lambda: personal.rotate(caller, token.owner, token.number, overlap)  # noqa: E731 - a rule of its own is longer
            expected = is_live and (caller is OPERATOR or is_owner)
        else:
            change = lambda: self.here.services.tokens.rotate(caller, token.number, overlap)  # noqa: E731 - as above
            given = self.model.given(token) if token.owner is None else []
            may = token.owner is None or caller is OPERATOR or is_owner
            expected = is_live and may and holds_all(held, [*everywhere("token:write"), *given])
        found = self.attempt(expected, caller, change)
        if found:
            token.previous = (token.value, self.now + overlap) if overlap else None
            token.value = found.value
            self.issued.append(found.value)

    @rule(by=numbers, which=numbers)
    def remove_token(self, by: int, which: int) -> None:
        """Remove a token, whose grants the caller need not have."""
        (caller, held, _), token = self.caller(by), self.pick(which, self.model.tokens)
        if token is not None:
            tokens = self.here.services.tokens
            expected = holds_all(held, everywhere("token:write"))
            if self.attempt(expected, caller, lambda: tokens.remove(caller, token.number)):
                self.model.tokens.remove(token)

    @rule(hours=st.sampled_from([0.1, 2, 30]))
    def wait(self, hours: float) -> None:
        """Let time pass."""
        self.here.clock.advance(hours=hours)

    # What must hold.

    def authenticate(self, value: str) -> Principal | None:
        """Return the caller with a credential, as a request finds it; None if it is invalid."""
        directory = self.here.services.directory
        if not directory.is_fresh():
            directory.reload()
        for _ in range(2):
            try:
                return directory.authenticate(value)
            except UnknownSession as ex:
                directory.learn(ex.session)
            except (ExpiredToken, Unauthenticated):
                return None
        return None

    @invariant()
    def each_credential_may_do_what_the_model_says(self) -> None:
        """Ask for all that were ever issued."""
        if not hasattr(self, "issued"):
            return
        expected = dict(self.model.values(self.now))
        for value in self.issued:
            caller = self.authenticate(value)
            found = None if caller is None else permitted(caller.kind, caller.grants)
            assert found == expected.get(value)
            if value.startswith("svc_"):
                assert (self.here.services.directory.admit(value) is None) == (caller is None)
                assert caller is None or not caller.is_person


Access.TestCase.settings = settings(max_examples=rounds(12, 400), stateful_step_count=rounds(40, 80))
TestAccess = Access.TestCase
