"""Admission of callers: their authentication, and the watch over those that wait for something."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from api.errors import ApiError, Unauthenticated, UnknownSession
from api.http.guard.access import Access, missing_grant
from api.interfaces import Authenticator, Password, PasswordCheck, Principal
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import Busy, StoreError

_MAX_RELOADS = 2
_PATIENCE = 5.0
"""Seconds that an unknown caller waits for a locked database."""
_PAUSE = 0.05
_INTERVAL = 1.0
"""Seconds between two looks at the directory while callers wait."""
_EVERY_LOOK = 5
"""Looks after which all waiting callers are checked even if the directory is unchanged: tokens expire by themselves."""
_SLICE = 200
"""Callers that are checked before others have a turn."""
NOT_CHECKED = float("-inf")
"""The time of a check that never was: a caller is asked for its access before it gets an answer."""


Credential = str | Password
"""A token, or a user name with a password."""


class Admission:
    """The callers of one worker: authenticated when a request begins, and again while and after it waits."""

    def __init__(self, authenticator: Authenticator, passwords: PasswordCheck | None = None) -> None:
        self._authenticator = authenticator
        self._passwords = passwords
        self._reloading: asyncio.Task[None] | None = None
        self._waiting: dict[asyncio.Future[None], AdmittedCaller] = {}
        self._watching: asyncio.Task[None] | None = None

    async def authenticate(self, credential: Credential) -> Principal:
        """Return the principal of a token or password, by a directory as new as the database.

        Raises Unauthenticated, and Busy for an unknown token if the database stays locked. Known ones do not wait for it;
        before the directory was read for the first time, none is known.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                await self._refresh()
                return await self._find(credential)
            except Busy:
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(_PAUSE)
            await self._run_once(self._authenticator.reload_locked)

    async def _find(self, credential: Credential) -> Principal:
        if isinstance(credential, Password):
            passwords = self._require_passwords()
            known = passwords.find(credential)
            return await passwords.verify(credential) if known is None else known
        try:
            return self._authenticator.authenticate(credential)
        except UnknownSession as ex:
            await run_in_thread(self._authenticator.learn, ex.session)
        return self._authenticator.authenticate(credential)

    def recall(self, credential: Credential) -> Principal:
        """Return the principal of a token or password by the directory as it is; raises Unauthenticated."""
        if isinstance(credential, Password):
            return self._require_passwords().recall(credential)
        return self._authenticator.authenticate(credential)

    def _require_passwords(self) -> PasswordCheck:
        if self._passwords is None:
            raise Unauthenticated("This service knows no passwords.", "invalid_credentials")
        return self._passwords

    @contextmanager
    def watch(self, caller: "AdmittedCaller") -> Iterator[asyncio.Future[None]]:
        """Give a future that is done when the caller's access ends."""
        ended = asyncio.get_running_loop().create_future()
        self._waiting[ended] = caller
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield ended
        finally:
            del self._waiting[ended]

    async def _watch(self) -> None:
        looks, seen = 0, self._authenticator.edition
        while self._waiting:
            await asyncio.sleep(_INTERVAL)
            looks += 1
            with suppress(StoreError, OSError):  # the last good directory is in use until the database can be read
                await self._refresh()
                if seen != self._authenticator.edition or looks % _EVERY_LOOK == 0:
                    seen = self._authenticator.edition
                    await self._end_lost()

    async def _end_lost(self) -> None:
        for at, (ended, caller) in enumerate(tuple(self._waiting.items())):
            if not ended.done() and caller.is_lost():
                ended.set_result(None)
            if not (at + 1) % _SLICE:
                await asyncio.sleep(0)

    async def _refresh(self) -> None:
        for _ in range(_MAX_RELOADS):
            if self._authenticator.is_fresh():
                break
            # A reload that is already running may have begun before the latest change, so reload twice.
            await self._run_once(self._authenticator.reload)

    async def _run_once(self, reload: Callable[[], None]) -> None:
        """Reload the directory once for all requests that wait for it."""
        if self._reloading is None or self._reloading.done():
            # The attribute keeps the task alive: the event loop holds only a weak reference.
            # https://docs.python.org/3/library/asyncio-task.html#asyncio.create_task
            self._reloading = asyncio.create_task(run_in_thread(reload))
        await asyncio.shield(self._reloading)  # a request that is cancelled must not cancel the reload of the others


class AdmittedCaller:
    """The access of one caller to one responder."""

    __slots__ = ("_access", "_admission", "_credential", "_needed", "_scope", "admitted_at", "principal")

    def __init__(
        self, admission: Admission, credential: Credential, access: Access, namespace: str, project: str
    ) -> None:
        self._admission = admission
        self._credential = credential
        self._access = access
        self._scope = namespace, project
        self._needed: tuple[tuple[str, str], ...] = ()
        self.admitted_at = NOT_CHECKED
        """The monotonic time of the last successful check; NOT_CHECKED before it, and after every wait."""
        self.principal: Principal | None = None
        """Who it is, also without a sufficient grant; None before the first check, and without a valid token."""

    @property
    def has_password(self) -> bool:
        """True if the caller sends a user name and password with its request."""
        return isinstance(self._credential, Password)

    async def check(self) -> Principal:
        """Return the principal; raises 401 without a valid token, and 403 without a sufficient grant."""
        self.principal = principal = await self._admission.authenticate(self._credential)
        self._require(principal)
        self.admitted_at = time.monotonic()
        return principal

    def is_lost(self) -> bool:
        """Tell whether the caller has no access any more, by the directory as it is."""
        try:
            self._require(self._admission.recall(self._credential))
        except ApiError:
            return True
        return False

    @contextmanager
    def watch(self, *needed: tuple[str, str]) -> Iterator[asyncio.Future[None]]:
        """Give a future that is done when the access ends; from now on every check also requires the `needed` grants."""
        self._needed = needed
        try:
            with self._admission.watch(self) as ended:
                yield ended
        finally:
            # What ended the wait may be newer than the loss of the access, however short the wait was.
            self.admitted_at = NOT_CHECKED

    def _require(self, principal: Principal) -> None:
        if not self._access.is_satisfied(principal, *self._scope):
            raise self._access.refusal(*self._scope)
        for resource, action in self._needed:
            if not principal.can(resource, action, *self._scope):
                raise missing_grant([(resource, action)], *self._scope)
